"""From rows to integers: checks that cannot be switched off, labels, weights, masses of persons."""

import datetime
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import every
from tests.world import PERSON_UNITS, WEIGHT_UNITS, as_floats, home, open_source, read

check_floats, persons = home("check_floats").check_floats, home("encode_persons")
column, encode_labels = persons.column, persons.encode_labels
encode_persons, encode_weights = persons.encode_persons, persons.encode_weights
person_keys, person_spans = home("person_keys").person_keys, persons.person_spans

# Values


@every("value", [np.nan, np.inf, -np.inf])
def test_not_finite_is_refused_whatever_scikit_learn_is_told(value):
    X = np.ones((5, 2))
    X[3, 1] = value
    message = "NaN" if np.isnan(value) else "infinity"
    with sklearn.config_context(assume_finite=True), pytest.raises(ValueError, match=message):
        check_floats(X)


def masked(mask):
    return np.ma.array([[0.0, 5.0]], mask=[mask])


REFUSED = {
    "text": ([["a"]], "must hold real numbers, got dtype str"),
    "complex": ([[1j]], "Complex data not supported"),
    "missing": ([[None]], "contains NaN"),
    "date": (np.array([["2020"]], "datetime64[Y]"), "dates and durations"),
    "duration": (np.array([[5]], "timedelta64[s]"), "dates and durations"),
    "masked": (masked([False, True]), "X has masked entries"),
    "masked rows": ([masked([True, False])[0]], "X has masked entries"),
    "complex objects": (np.array([[1.0, np.complex128(2j)]], dtype=object), "Complex data"),
    "durations as objects": (np.array([[np.timedelta64(5, "s")]], dtype=object), "dates and"),
    "dates in a frame": (pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}), "column 'day'"),
    "with a zone": (pd.DataFrame({"day": pd.to_datetime(["2020"], utc=True)}), "column 'day'"),
    "durations in a frame": (pd.DataFrame({"t": pd.to_timedelta([5])}), "column 't'"),
    "complex in a frame": (pd.DataFrame({"z": [1j], "a": [1]}), "column 'z'"),
    "dates in polars": (pl.DataFrame({"day": [datetime.date(2020, 1, 1)]}), "column 'day'"),
    "too large for a float": (np.array([[10**400]], dtype=object), "infinity"),
}


@every("X, message", REFUSED.values())
def test_what_is_no_number_is_refused(X, message):
    """Before anything is read of the rows, in arrays, frames and chunks."""
    for call in (check_floats, open_source, lambda X: open_source([X])):
        with pytest.raises((ValueError, TypeError), match=message):
            list(call(X).read(0))


def test_labels_are_needed_and_messages_name_no_value():
    with pytest.raises(TypeError, match="from a string or object to a number") as caught:
        check_floats(np.array([[1, "Mallory"]], dtype=object))
    assert "Mallory" not in str(caught.value)
    assert check_floats(masked([False, False])).tolist() == [[0.0, 5.0]]  # it hides nothing
    with pytest.raises(ValueError, match="y is needed"):
        encode_labels(None, np.array([1]), 2)
    with pytest.raises(ValueError, match="y must have one value per row, got"):
        encode_labels([1, 1], np.array([1]), 3)
    with pytest.raises(ValueError, match="sample_weight must have one value"):
        column(np.ones((2, 2)), "sample_weight", 2)


@pytest.mark.filterwarnings("ignore:The behavior of DataFrame concatenation")
def test_a_column_of_a_frame_is_read_by_its_own_type():
    """What one row holds in one column changes no bit of what others hold elsewhere."""
    large = 2**60 + 1
    rows = {"a": [large, 3], "b": [0.1, 0.2], "c": [True, False]}
    expected = [[float(large), 0.1, 1.0], [3.0, 0.2, 0.0]]
    for frame in (pd.DataFrame(rows), pl.DataFrame(rows), pd.DataFrame(rows, dtype=object)):
        assert check_floats(frame).tolist() == expected
    nullable = pd.DataFrame(rows).convert_dtypes()
    assert check_floats(nullable).tolist() == expected
    nullable.loc[2] = [None, 0.5, True]
    assert as_floats(nullable)[:2].tolist() == expected


# Labels


LONG = 2**53 + 1  # no float


@every(
    "groups",
    [
        pl.Series([LONG, LONG - 1, None]),
        pl.DataFrame({"id": [LONG, LONG - 1, None]}),
        pa.array([LONG, LONG - 1, None]),
        pa.chunked_array([[LONG], [LONG - 1, None]]),
        pd.Series([LONG, LONG - 1, None], dtype="Int64"),
        pd.Series([LONG, LONG - 1, None], dtype="int64[pyarrow]"),
        pd.Series([LONG, LONG - 1, None], dtype=pd.CategoricalDtype([LONG, LONG - 1])),
        pd.DataFrame({"id": pd.array([LONG, LONG - 1, None], dtype="Int64")}),
    ],
)
def test_a_missing_id_is_refused_and_lets_no_long_ids_run_together(groups):
    for number in (encode_persons, person_keys):
        with pytest.raises(ValueError, match="got missing ones"):
            number(groups, 3)
    there = groups.iloc[:2] if hasattr(groups, "iloc") else groups[:2]
    assert encode_persons(there, 2).tolist() in ([0, 1], [1, 0])
    low, high = person_keys(there, 2)
    assert len(set(zip(low.tolist(), high.tolist(), strict=True))) == 2


# Weights


def test_weights_are_rounded_down_and_capped_and_many_rows_share_one_mass():
    weights = encode_weights([0.0, 1.0, 7.0, 0.5, 1 / 3, 1e-300, np.nextafter(1, 0)], 7)
    third = WEIGHT_UNITS // 3
    full = WEIGHT_UNITS
    assert weights.tolist() == [0, full, full, full // 2, third, 0, full - 1]
    assert weights.dtype == np.int64
    n = 3 * PERSON_UNITS
    _, masses = person_spans(np.zeros((n, 1)), None, np.zeros(n, dtype=int), None)
    assert masses.sum() == PERSON_UNITS
    assert set(np.unique(masses)) == {0, 1}


@every("weight", [-1e-9, np.nan, np.inf])
def test_weights_are_checked(weight):
    with pytest.raises(ValueError, match="finite non-negative"):
        encode_weights([1.0, weight], 2)


# Masses of persons

rows = st.lists(
    st.tuples(
        st.integers(0, 3),  # person
        st.integers(0, 1),  # label
        st.sampled_from([-1.5, -0.0, 0.0, 2.0]),
        st.sampled_from([0.0, 1.0]),
        st.sampled_from([0, 1, 5, WEIGHT_UNITS // 3, WEIGHT_UNITS]),
    ),
    min_size=1,
    max_size=12,
)


def reference(table):
    """Masses by the rule in the docstring, in fractions, one person at a time."""
    masses = [0] * len(table)
    for person in {row[0] for row in table}:
        own = sorted((row[1:], i) for i, row in enumerate(table) if row[0] == person)
        total = sum(key[-1] for key, _ in own)
        running = 0
        for key, i in own:
            if total:
                upper = Fraction(PERSON_UNITS * (running + key[-1]), total)
                masses[i] = int(upper) - int(Fraction(PERSON_UNITS * running, total))
            running += key[-1]
    return masses


def masses_of(table):
    person, label, *values, weight = np.array(table, dtype=float).T
    X, integers = np.stack(values, axis=1), (v.astype(np.int64) for v in (label, person, weight))
    return person_spans(X, *integers)[1]


@settings(max_examples=200, deadline=None)
@given(rows)
def test_person_masses_are_the_running_floor(table):
    assert masses_of(table).tolist() == reference(table)


HOSTILE_VALUES = {
    "zeros and extremes": [-0.0, 0.0, 5e-324, -5e-324, 1e308, -1e308, -1.0, 1.0],
    "both zeros": [-0.0, 0.0],
    "the same leading bits": 1.0 + 2.0**-52 * np.arange(40),
    "both signs": np.random.default_rng(0).standard_normal(50),
}


@every("values", HOSTILE_VALUES.values())
@every("labeled", [False, True])
def test_rows_are_ordered_as_by_lexsort(values, labeled):
    """Whatever bits the one sort has room for, down to none for the values."""
    rng, order = np.random.default_rng(1), persons.person_order
    for n_persons in (1, 5, 2**20, 2**57, 2**62):
        X = rng.choice(values, (300, 2))
        people = rng.integers(n_persons, size=300) if n_persons > 5 else np.arange(300) % n_persons
        weights = rng.integers(3, size=300)
        codes = rng.integers(2, size=300) if labeled and n_persons < 2**62 else None
        keys = [weights, X[:, 1], X[:, 0], *([] if codes is None else [codes]), people]
        assert np.array_equal(order(X, codes, people, weights), np.lexsort(keys))


def test_values_do_not_change_how_a_person_divides_among_labels():
    """Under replace_one the mass of a class is public: it may follow from the labels only."""
    rng = np.random.default_rng(0)
    labels = np.array([0, 1, 1, 0, 1, 0, 0])
    persons = np.zeros(7, dtype=int)
    masses = (person_spans(rng.random((7, 2)), labels, persons, None)[1] for _ in range(20))
    assert len({tuple(np.bincount(labels, own)) for own in masses}) == 1


def test_a_persons_mass_is_shared_among_the_rows_inside_public_bounds():
    X = np.array([0.1, 5.0, 0.9, 7.0, 8.0])[:, None]
    weighted = [0.25, 1.0, 0.75, 1.0, 1.0], [1, 0, 3, 0, 0]
    for weights, shares in ((None, [2, 0, 2, 0, 0]), weighted):
        beside = {"groups": [0, 0, 0, 1, 0], "sample_weight": weights, "mass_bounds": (0.0, 1.0)}
        (chunk,) = read(open_source(X, **beside))
        assert (chunk.masses * 4 // PERSON_UNITS).tolist() == shares
