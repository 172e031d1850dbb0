"""Checks of what a fit accepts, what it keeps, and where its noise comes from."""

import pickle
import struct
import warnings
from importlib.util import find_spec

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from ..exceptions import PrivacyWarning
from ..inspection._recording import quiet, record_fit
from ..privacy._neighbors import ADD_REMOVE
from ._hostile import make_arguments, public_classes
from ._settings import default_setting, is_unfitted, require, settings, with_budget
from ._state import leaves

_CONFIGURATIONS = [
    {"skip_parameter_validation": skip, "assume_finite": finite}
    for skip in (False, True)
    for finite in (False, True)
]
_BAD_PARAMETERS = {
    "epsilon": (0.0, -1.0, np.nan, np.inf, "1", None),
    "delta": (-0.1, 1.0, np.nan, "0", None),
    "neighbors": ("swap", 1),
    "n_hint": (0, -5, 2.5, "many"),
    "random_state": ("seed", -1),
}


def check_bad_rows_are_refused_before_the_charge(estimator):
    """NaN and infinity raise under every scikit-learn configuration, and nothing is charged."""
    charged, accountant = with_budget(default_setting(estimator))
    for configuration in _CONFIGURATIONS:
        for name, arguments in _bad_rows(charged):
            with config_context(**configuration), quiet():
                _require_refused(charged, arguments, f"{name} under {configuration}")
            require(not accountant.entries, f"{name} was charged under {configuration}.")


def check_bad_parameters_are_refused_before_the_charge(estimator):
    """Numbers that carry the guarantee are checked under every scikit-learn configuration."""
    charged, accountant = with_budget(default_setting(estimator))
    arguments = make_arguments(charged)
    for configuration in _CONFIGURATIONS:
        for name, values in _BAD_PARAMETERS.items():
            for value in values:
                bad = clone(charged).set_params(**{name: value})
                if getattr(bad, name) is None and getattr(charged, name) is None:
                    continue
                with config_context(**configuration), quiet():
                    _require_refused(bad, arguments, f"{name}={value!r} under {configuration}")
    require(not accountant.entries, "A fit with a bad parameter was charged.")


def check_no_rows_are_kept(estimator):
    """A fitted estimator holds no value of a row and nothing of the length of the data."""
    for candidate in settings(estimator):
        candidate.set_params(random_state=0, epsilon=min(candidate.epsilon, 0.05))
        suspects = []
        for n_rows in (137, 211):
            arguments = make_arguments(candidate, n_rows, seed=n_rows)
            arguments["X"] += np.random.default_rng(n_rows).random(arguments["X"].shape) * 1e-3
            with quiet():
                fitted = clone(candidate).fit(**arguments)
            _require_no_values(fitted, arguments["X"])
            private_size = candidate.neighbors == ADD_REMOVE
            suspects.append(set(_lengths(vars(fitted), n_rows, private_size)))
        kept = sorted(suspects[0] & suspects[1])
        require(not kept, f"These fitted attributes have the length of the data: {kept}.")


def check_fresh_noise(estimator):
    """Without random_state every fit has new noise, whatever the state of numpy's generator."""
    for candidate in settings(estimator):
        candidate.set_params(epsilon=min(candidate.epsilon, 1e-3))  # equal draws are then rare
        arguments = make_arguments(candidate)
        state = np.random.get_state()  # noqa: NPY002
        runs = []
        for _ in range(4):
            np.random.seed(0)  # noqa: NPY002
            runs.append(record_fit(candidate, arguments, answers_only=True).records)
        np.random.set_state(state)  # noqa: NPY002
        released = [[record.released for record in records] for records in runs]
        require(all(released), "A fit released nothing.")
        require(
            not all(_equal(released[0], other) for other in released[1:]),
            "Fits with random_state=None released the same numbers again and again.",
        )
        _require_noise([record for records in runs for record in records])


def check_seeded_noise_is_marked(estimator):
    """An integer random_state reproduces the noise, warns, and is noted in the ledger."""
    charged, accountant = with_budget(default_setting(estimator).set_params(random_state=7))
    arguments = make_arguments(charged)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        charged.fit(**arguments)
    said = [str(w.message) for w in caught if issubclass(w.category, PrivacyWarning)]
    require(any("random_state" in text for text in said), "A seeded fit did not warn.")
    notes = [entry.note for entry in accountant.entries]
    marked = [note.endswith("seeded, not private") for note in notes]
    require(marked == [True], f"The ledger notes a seeded fit as {notes}.")
    first, second, other = (
        [r.released for r in record_fit(e, arguments, answers_only=True).records]
        for e in (charged, charged, clone(charged).set_params(random_state=8))
    )
    require(_equal(first, second), "Two fits with one random_state released different numbers.")
    require(not _equal(first, other), "Fits with different random_state released equal numbers.")
    require(all(r.seeded for r in first), "A seeded release does not say so.")
    fresh = clone(charged).set_params(random_state=None)
    unseeded = record_fit(fresh, arguments, answers_only=True).records
    require(not any(r.released.seeded for r in unseeded), "An unseeded release says seeded.")


def _bad_rows(estimator):
    for value in (np.nan, np.inf, -np.inf):
        arguments = make_arguments(estimator)
        arguments["X"][-1, -1] = value
        yield f"{value} in X", arguments
        yield f"{value} in a list", arguments | {"X": arguments["X"].tolist()}
        if "y" not in arguments:
            yield f"{value} in a chunk", {"X": [arguments["X"][:30], arguments["X"][30:]]}
        if find_spec("pandas") is not None:
            import pandas

            yield f"{value} in a dataframe", arguments | {"X": pandas.DataFrame(arguments["X"])}
    for value in (np.nan, np.inf, -1.0):
        arguments = make_arguments(estimator, kind="weights")
        arguments["sample_weight"][-1] = value
        yield f"{value} in sample_weight", arguments
    if public_classes(estimator) is not None:
        arguments = make_arguments(estimator)
        labels = arguments["y"].astype(object)
        labels[-1] = "a label outside the public classes"
        yield "an unknown label", arguments | {"y": labels}


def _require_refused(estimator, arguments, what):
    try:
        estimator.fit(**arguments)
    except (ValueError, TypeError):
        require(is_unfitted(estimator), f"{what} was refused but left fitted attributes.")
        return
    raise AssertionError(f"{what} was accepted.")


def _require_no_values(fitted, X):
    """Look for the numbers of the rows in everything that is pickled."""
    held = pickle.dumps({k: v for k, v in vars(fitted).items() if k != "accountant"})
    for value in X.ravel().tolist():
        little, big = struct.pack("<d", value), struct.pack(">d", value)
        if little in held or big in held:
            raise AssertionError(f"The fitted estimator holds the value {value} of a row.")


def _lengths(state, n_rows, private_size):
    """Yield the paths of arrays, containers and, where it is private, numbers of size `n_rows`."""
    for path, leaf in leaves(state, "fitted"):
        if isinstance(leaf, np.ndarray):
            found = n_rows in leaf.shape
        else:
            counts = private_size or path.endswith(".length")
            found = counts and _is_number(leaf) and leaf == n_rows
        if found:
            yield path


def _is_number(leaf):
    return isinstance(leaf, (int, float, np.number)) and not isinstance(leaf, bool)


def _equal(first, second):
    ours, theirs = ([v.tobytes() for r in records for v in r.values] for records in (first, second))
    return ours == theirs


def _require_noise(records):
    """The numbers that should have noise differ from the exact answers."""
    moved = drawn = 0
    for record in records:
        released = record.released
        for exact, value, scale in zip(record.exact, released.values, released.scales, strict=True):
            if scale > 0:
                drawn += exact.size
                moved += int((exact != value).sum())
    require(moved > 0.5 * drawn, f"Only {moved} of {drawn} released numbers have noise on them.")
