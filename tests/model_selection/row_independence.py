"""Hostile tables for the steps called public: does one row move a bit of another one?

``trial(rng)`` puts a random listed step behind a random declared form, and brings it rows that one
further row turns into another type, layout, order or size.
"""

import pickle
import warnings
from inspect import signature

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn import kernel_approximation, preprocessing, random_projection
from sklearn.base import clone
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import ColumnTransformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils import all_estimators
from threadpoolctl import threadpool_limits

from skdp_bary import (
    DomainScaler,
    JLTransformer,
    PrivateKMeans,
    PrivateMeasure,
    RowByRow,
    SchemaTransformer,
    check_private,
)
from skdp_bary.schema import Category, Integer, Number, Schema, Text
from tests.world import FUNCTIONS, as_floats

JOBS = ["cook", "nurse", "7", "12"]
GRADES = [1, 2, 3]
_UNKNOWN = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
_TABLE = Schema(
    {
        "age": Integer(0, 120),
        "income": Number(-1e3, 1e6),
        "job": Category(JOBS, missing=True),
        "grade": Category(GRADES, missing=True),
        "note": Text(missing=True),
        "rate": Number(0, 1, missing=True),
    }
)


def numeric_steps():
    """Steps that take numbers; the last ones are wrapped."""
    return [
        preprocessing.Binarizer(threshold=0.3),
        preprocessing.FunctionTransformer(),
        preprocessing.PolynomialFeatures(3),
        random_projection.SparseRandomProjection(3, density=0.4, random_state=0),
        random_projection.SparseRandomProjection(3, dense_output=True, random_state=0),
        preprocessing.PolynomialFeatures(2, interaction_only=True, order="F"),
        SimpleImputer(strategy="constant", fill_value=0.5, keep_empty_features=True),
        DomainScaler((0, 1)),
        DomainScaler((0.2, 0.3), clip=False),
        DomainScaler((0.2, 0.9), target="ball"),
        JLTransformer(3, random_state=0),
        RowByRow(preprocessing.Normalizer()),
        RowByRow(random_projection.GaussianRandomProjection(3, random_state=0)),
        RowByRow(kernel_approximation.RBFSampler(n_components=5, random_state=0)),
    ]


SPARSE = ("Binarizer", "JLTransformer", "PolynomialFeatures", "SparseRandomProjection")


def steps_alone():
    """Every step of scikit-learn that needs no other one, at every word and flag it takes."""
    for name, cls in sorted(all_estimators(type_filter="transformer")):
        parameters = signature(cls).parameters.values()
        if hasattr(cls, "transform") and all(each.default is not each.empty for each in parameters):
            yield from (cls(**{**_SMALL.get(name, {}), **each}) for each in _variants(cls))


_SMALL = {
    "GaussianRandomProjection": {"n_components": 3},
    "IterativeImputer": {"missing_values": -1.0, "sample_posterior": True, "max_iter": 2},
    "KBinsDiscretizer": {"n_bins": 2, "subsample": 20},
    "LatentDirichletAllocation": {"max_iter": 2, "n_components": 3},
    "LocallyLinearEmbedding": {"eigen_solver": "dense"},
    "NMF": {"shuffle": True, "init": "random", "max_iter": 5},
    "NeighborhoodComponentsAnalysis": None,  # needs labels
    "MiniBatchSparsePCA": None,  # returns no row for one row
    "Nystroem": {"n_components": 3},
    "PatchExtractor": None,  # of pictures
    "QuantileTransformer": {"n_quantiles": 9},
    "RandomTreesEmbedding": {"n_estimators": 2},
    "SparsePCA": None,  # returns no row for one row
    "SparseRandomProjection": {"n_components": 3},
    "TargetEncoder": None,  # needs labels
} | {
    name: {"n_components": 3, "max_iter": 5}
    for name in ("DictionaryLearning", "FactorAnalysis", "FastICA", "MiniBatchDictionaryLearning",
                 "MiniBatchNMF")
}  # fmt: skip


def _variants(cls):
    """Yield parameters: a stream where there is one, and every word or flag of the class."""
    if _SMALL.get(cls.__name__, {}) is None:
        return
    defaults = {name: p.default for name, p in signature(cls).parameters.items()}
    own = {"random_state": np.random.RandomState(0)} if "random_state" in defaults else {}
    yield {}  # whose stream is that of numpy
    yield own
    for name, rules in getattr(cls, "_parameter_constraints", {}).items():
        if name == "metric":  # distances draw nothing, and there are thirty of them
            continue
        for rule in rules:
            words = getattr(rule, "options", [True, False] if rule == "boolean" else [])
            for word in sorted(words, key=str):
                if type(word) in (str, bool) and word != defaults.get(name):
                    yield own | {name: word}


_SEEN = [0]


def counting(row):
    """A function that keeps something of rows outside of the step; zeros show nothing of it."""
    _SEEN[0] += int(np.ravel(row)[0] > 0.5)
    return row + _SEEN[0]


def steps_that_meet_rows():
    """Steps with functions of numpy through which a row meets the rows before it."""
    call = preprocessing.FunctionTransformer
    square, first = call(np.square), np.array([[True, False, False, False]])
    mine = np.array([counting], dtype=object)
    return [
        make_pipeline(square, call(np.empty_like)),  # memory where the rows before were
        make_pipeline(square, call(np.sqrt, kw_args={"where": first})),
        call(np.sqrt, kw_args={"out": np.zeros((1, 4)), "where": first}),
        call(np.sqrt, kw_args={"casting": "unsafe", "dtype": "f4"}),
        call(np.piecewise, kw_args={"condlist": np.ones((1, 1, 4), bool), "funclist": mine}),
        call(np.random.poisson),
        call(np.lib.stride_tricks.as_strided, kw_args={"shape": (1, 5)}),
        call(np.log1p, kw_args={"extra": mine}),
        call(np.clip, kw_args={"a_min": np.zeros((1, 4)), "a_max": mine}),
        call(np.clip, kw_args={"a_min": 0, "a_max": 1, "out": np.zeros((1, 4))}),
        call(np.vectorize(counting)),
        call(np.frompyfunc(counting, 1, 1)),
        FeatureAgglomeration(pooling_func=counting),
        Nystroem(kernel=np.log, n_components=3),  # writes the logarithm of one row into another
    ]


def steps_of_functions():
    """Every function that is called public in a FunctionTransformer."""
    given = {np.clip: {"a_min": 0.1, "a_max": np.full((1, 4), 0.6)}, np.round: {"decimals": 1}}
    for function, names in FUNCTIONS:
        arguments = {name: value for name, value in _GIVEN.items() if name in names}
        arguments = given.get(function, arguments)
        yield preprocessing.FunctionTransformer(function, kw_args=arguments)


_GIVEN = {"axis": 1, "keepdims": True, "nan": 0.0, "posinf": 1.0}


_HOSTILE = [-1.0, 0.0, -0.0, 7.0, 5e-324, 1e16, -1e154, 1.7e308, -1.7e308]


def stream_trial(step, rng, fitted_on_zeros=False):
    """Return what went wrong with a step whose rows come in other orders and beside others.

    None where the step takes no such rows, or not with these parameters.
    """
    example = np.abs(rng.random((20, 4)))
    example[::5, 1] = example[1::5, 2] = -1.0 if isinstance(step, IterativeImputer) else 0.0
    rows = rng.permutation(example)[:6]
    hostile = np.abs(rng.random((3, 4)))
    hostile[:2, :3] = example[0, 1]
    hostile[2, rng.random(4) < 0.7] = rng.choice(_HOSTILE)
    order = rng.permutation(len(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            wrapped = RowByRow(step, None if fitted_on_zeros else example).fit(rows)
        except (ValueError, TypeError, AttributeError, NotImplementedError):
            return None
        try:
            expected = wrapped.transform(rows)
            behind = wrapped.transform(np.concatenate([hostile, rows]))
            found = {
                "again": wrapped.transform(rows),
                "turned": wrapped.transform(rows[order])[np.argsort(order)],
                "behind hostile rows": behind[3:],
                "pickled": pickle.loads(pickle.dumps(wrapped)).transform(rows[::-1])[::-1],
            }
        except Exception as error:
            return [f"{step!r}: {type(error).__name__} on some row"]
    if not np.isfinite(behind).all():
        return [f"{step!r}: no numbers for some row"]
    moved = [what for what, images in found.items() if images.tobytes() != expected.tobytes()]
    return [f"{step!r}: rows moved {what}" for what in moved]


def verdict_trial(rng):
    """Return what one further row changes of a random composite that is called public.

    Its parts may have been fitted on all rows before, fail on some row, or be private.
    """
    rows = rng.random((6, 2)) + 0.1
    whole = np.vstack([rows, rng.choice(_HOSTILE[:6], (1, 2))])
    seed, found = int(rng.integers(2**31)), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in (rows, whole):
            step = _composite(np.random.default_rng(seed), given)
            if not check_private(make_pipeline(step, PrivateMeasure(bounds=(0, 1)))).ok:
                return []
            try:
                images = as_floats(step.fit(given).transform(given))[: len(rows)].tobytes()
            except Exception as error:
                images = type(error).__name__
            found.append(images)
    return [] if found[0] == found[1] else [f"{step!r}: a row changed what is made of others"]


def _composite(rng, rows):
    """A step that may have been fitted on these rows, in others, all row by row."""
    scaler, model = preprocessing.StandardScaler().fit(rows), Ridge().fit(rows, rows[:, 0])
    step = _pick(
        rng,
        [
            *(preprocessing.Normalizer(), FrozenEstimator(scaler)),
            SelectFromModel(FrozenEstimator(model), prefit=True, threshold=-1.0),
            *(kernel_approximation.AdditiveChi2Sampler(), preprocessing.PowerTransformer()),
            preprocessing.FunctionTransformer(_pick(rng, [np.log, np.sqrt, np.arcsin, np.exp])),
            preprocessing.OneHotEncoder(categories=[[0.0, 1.0]] * 2),
            *(preprocessing.SplineTransformer(extrapolation="error"), PrivateKMeans(2)),
        ],
    )
    for _ in range(rng.integers(3)):
        around = _pick(
            rng,
            [
                lambda part: make_pipeline(DomainScaler((0, 1)), part),
                lambda part: make_pipeline(part, DomainScaler((-4, 4))),
                lambda part: FeatureUnion([("part", part)]),
                lambda part: ColumnTransformer([("part", part, [0, 1])]),
                RowByRow,
            ],
        )
        step = around(step)
    return RowByRow(step, np.random.default_rng(0).random((9, 2)))


def table_steps():
    """Steps that take a table of numbers, categories and text."""
    one_hot = preprocessing.OneHotEncoder(
        categories=_TABLE.levels("job", "grade"), handle_unknown="ignore", sparse_output=False
    )
    ordinal = preprocessing.OrdinalEncoder(categories=_TABLE.levels("job"), **_UNKNOWN)
    fill = SimpleImputer(strategy="constant", fill_value=0.5, keep_empty_features=True)
    return [
        ColumnTransformer([("kinds", one_hot, [2, 3]), ("age", "passthrough", [0, 1])]),
        ColumnTransformer([("job", ordinal, [2]), ("rate", fill, [5])]),
        ColumnTransformer(
            [
                ("words", HashingVectorizer(n_features=32), 4),
                ("union", FeatureUnion([("a", ordinal), ("b", one_hot_of("grade"))]), [3]),
            ],
            sparse_threshold=0,
        ),
    ]


def one_hot_of(name):
    """An encoder of one column."""
    return preprocessing.OneHotEncoder(categories=_TABLE.levels(name), handle_unknown="ignore")


def trial(rng):
    """Return what went wrong in one random case, as text, and how many rows moved at most.

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    violations : list of str
    worst : int
    """
    if rng.random() < 0.3:
        step, rows = _pick(rng, table_steps()), _table_rows(rng)
        pipeline, builds = make_pipeline(SchemaTransformer(_TABLE), step), TABLES
    elif rng.random() < 0.1:  # takes arrays only
        rows = [[str(value) for value in row] for row in _table_rows(rng)]
        rows[-1][4] = _pick(rng, [rows[-1][4], "half an emoji \ud83d"])
        hashed = FeatureHasher(8, input_type="string")
        pipeline, builds = make_pipeline(SchemaTransformer([Text()] * 6), hashed), (_plain,)
    else:
        step = _pick(rng, numeric_steps())
        is_sparse = type(step).__name__ in SPARSE and rng.random() < 0.4
        rows, thinned = (
            _numeric_rows(rng),
            [preprocessing.FunctionTransformer(sparse.csr_array)] * is_sparse,
        )
        pipeline = make_pipeline(SchemaTransformer(Number(0, 1)), *thinned, step)
        builds = MATRICES + is_sparse * SPARSE_MATRICES
    return check_independence(rng, pipeline, rows, builds)


def check_independence(rng, pipeline, rows, builds):
    """Compare the images of the first row on: whole, without the last row, alone, in subsets."""
    kept, worst, violations = rows[:-1], 0, []  # the last one is hostile
    expected = images(pipeline, kept, builds[0], rng)
    n = len(kept)
    subset = np.flatnonzero(rng.random(n) < 0.5)
    cases = [("beside a hostile row", np.arange(n), rows), ("turned", np.arange(n)[::-1], None)]
    cases += [("in a subset", subset, None)] if len(subset) else []
    cases += [("alone", np.array([i]), None) for i in rng.permutation(n)[:4]]
    for what, places, given in cases:
        given = [kept[i] for i in places] if given is None else given
        build = _pick(rng, builds)
        with threadpool_limits(int(rng.integers(1, 4))):
            found = images(pipeline, given, build, rng)[: len(places)]
        moved = sum(a != b for a, b in zip(found, (expected[i] for i in places), strict=True))
        worst = max(worst, moved)
        if moved:
            step = type(pipeline[-1]).__name__
            violations.append(
                f"{step}: {moved} of {len(places)} rows moved {what} ({build.__name__})"
            )
    return violations, worst


def images(pipeline, rows, build, rng):
    """Return the images of rows under a pipeline fitted on them, each as bytes."""
    fitted = clone(pipeline).fit(build([*rows, *rows], rng))  # some steps want two rows
    found = fitted.transform(build(rows, rng))
    found = found.toarray() if sparse.issparse(found) else as_floats(found)  # as estimators do
    return [row.tobytes() for row in np.ascontiguousarray(found)]


def _pick(rng, choices):
    return choices[int(rng.integers(len(choices)))]


def _numeric_rows(rng):
    n = int(rng.choice([1, 2, 3, 5, 8, 17, 33, 65, 130]))
    whole = rng.random() < 0.5
    X = rng.integers(0, 2, (n, 9)) if whole else rng.random((n, 9)).astype(np.float32)
    X = X * (rng.random((n, 9)) < rng.choice([0.2, 1.0]))
    hostile = [0.1, 1 / 3, "0.7", True, 2**70, -5, np.float64(1e-300), 0.0, 1]
    return [*X.tolist(), list(rng.permutation(np.array(hostile, dtype=object)))]


def _table_rows(rng):
    n = int(rng.choice([1, 2, 3, 7, 20, 50]))
    rows = [
        [
            int(rng.integers(100)), int(rng.integers(1000)), _pick(rng, ["7", "12", "99"]),
            int(rng.integers(1, 5)), _pick(rng, ["red fox", "fox fox hen", "hen"]), 1,
        ]
        for _ in range(n)
    ]  # fmt: skip
    hostile = [
        ["58.5", 0.5, "nurse", "3", None, None],
        [3.5, "12", None, None, 5, 0.25],
        [10**30, -1e300, 12, 2.5, "x" * 50, "nan"],
    ]
    return [*rows, _pick(rng, hostile)]


def _plain(rows, rng):
    return np.array(rows, dtype=object)


def _natural(rows, rng):
    """The type that numpy chooses by looking at all values."""
    strings = any(isinstance(v, str) or (isinstance(v, int) and abs(v) > 2**62) for v in rows[-1])
    return np.array(rows, dtype=object if strings else None)


def _fortran(rows, rng):
    return np.asfortranarray(_natural(rows, rng))


def _strided(rows, rng):
    X = _natural(rows, rng)
    wide = np.empty((2 * X.shape[0] + 1, 2 * X.shape[1] + 1), dtype=X.dtype)
    wide[1::2, 1::2] = X
    return wide[1::2, 1::2]


def _pandas(rows, rng):
    frame = pd.DataFrame(rows, columns=[f"c{i}" for i in range(len(rows[0]))])
    small = {c: np.int8 for c in frame if frame[c].dtype == np.int64 and abs(frame[c]).max() < 99}
    return frame.astype(small)


def _named(rows, rng):
    frame = pd.DataFrame(rows, columns=list(_TABLE.names))
    return frame[list(rng.permutation(frame.columns))]


def _nullable(rows, rng):
    return _named(rows, rng).convert_dtypes()


def _categorical(rows, rng):
    frame = _named(rows, rng)
    return frame.astype({"job": "category", "grade": "category", "note": "category"})


def _polars(rows, rng):
    data = {name: [row[i] for row in rows] for i, name in enumerate(_TABLE.names)}
    try:
        return pl.DataFrame(data)
    except (TypeError, OverflowError):
        return pd.DataFrame(data)  # polars holds one type a column


def _coo(rows, rng):
    dense = _as_floats(rows)
    places, columns = np.nonzero(dense)
    order = rng.permutation(len(places))
    entries = (dense[places, columns][order], (places[order], columns[order]))
    return sparse.coo_array(entries, shape=dense.shape)


def _unsorted_csr(rows, rng):
    matrix = _coo(rows, rng).tocsr()
    for start, stop in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        matrix.indices[start:stop] = matrix.indices[start:stop][::-1].copy()
        matrix.data[start:stop] = matrix.data[start:stop][::-1].copy()
    return sparse.csr_matrix((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)


def _as_floats(rows):
    return np.array([[float(value) for value in row] for row in rows])


MATRICES = (_plain, _natural, _fortran, _strided, _pandas)
SPARSE_MATRICES = (_coo, _unsorted_csr)
TABLES = (_plain, _named, _nullable, _categorical, _polars)
