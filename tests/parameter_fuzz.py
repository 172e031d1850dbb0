"""Odd parameters and rows: one trial of any public class, and what kind of fault it showed.

``trial(seed)`` is deterministic: it picks a class, changes parameters to values that are nonsense
or extreme, offers rows of odd shapes, fits, and says which promise was broken, if one was.
"""

import math
import traceback
import warnings
from decimal import Decimal
from fractions import Fraction
from inspect import signature
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import skdp_bary
from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, RelationError
from skdp_bary.geometry import Ball
from skdp_bary.model_selection import PrivateSearchCV
from skdp_bary.papers import ShuffleAnalyzer, ShuffleClient, ShufflePlan, ShuffleRounds
from skdp_bary.schema import Boolean, Category, Number, Schema
from skdp_bary.schema import Integer as WholeNumber
from tests.discovery import private_estimators, public_estimators
from tests.estimators import quick
from tests.world import RELATIONS

NONSENSE = "accepted nonsense"
NAMELESS = "an error that does not name the parameter"
ODD = "an error of an odd class"
LIBRARY = "an error from inside a library"
LATE = "an error after the charge"
FAULTS = (NONSENSE, NAMELESS, ODD, LIBRARY, LATE)

HOME = str(Path(skdp_bary.__file__).parent)
ERRORS = (ValueError, TypeError, BudgetError, RelationError)

HOSTILE = [
    math.nan, math.inf, -math.inf, -1, -0.5, -(2**63), 2**63, 10**400, 1e300, 5e-324 * 1j, True,
    "nonsense", "", b"grid", object(), object, [], (), {}, set(), [[]], [math.nan], [[math.nan]],
    ["1"], [["1", "2"]], (0,), (1, 0), (0, 1e-90), (-1e100, 1e100), (1e300, 2e300), (0, math.nan),
    (False, True), ("0", "1"), ((0,), (1, 2, 3)), (0, 10**400), [1, "a"], (1, None), [2**63],
    [1.5, 2.5], np.array(math.nan), np.zeros((2, 0)), np.zeros((0, 2)), np.datetime64("2020"),
    np.float32("inf"), Decimal("NaN"), np.ma.masked, range(0), 1.5,
]  # fmt: skip
ODD_TYPES = [
    np.timedelta64(3), np.timedelta64(3, "D"), np.timedelta64("NaT"), bytearray(b"\x01"),
    bytearray(b"ab"), b"\x03", memoryview(b"ab"), [np.timedelta64(1)], (bytearray(b"\0"),),
    [bytearray(b"\0\1"), bytearray(b"\1\2")], (np.timedelta64(1), np.timedelta64(2)),
]  # fmt: skip
SENSIBLE = {  # what is nonsense elsewhere, by the place in the list above
    "random_state": (2**63, 10**400),
    "clip": (True,),
    "classes": (["1"], (0,), (1, 0), (0, 1e-90), (-1e100, 1e100), ("0", "1"), (1e300, 2e300),
                [2**63], [1.5, 2.5], (False, True)),
    "levels": ((1, 0),),
    "class_weights": ([1.5, 2.5],),
    "class_prior": ([1.5, 2.5],),
    "bounds": ([1.5, 2.5],),
    "param_grid": ({},),
    "p": (True,),
    "mean_trials": (1.5,),
    "align": (1.5,),
    "epsilon": (1.5,),
    "estimator": (object,),
    "row_map": (object,),
    "views": (object,),
}  # fmt: skip
EXTREME = {
    "bounds": [
        (0, 1e-30), (-1e30, 1e30), (1e9, 1e9 + 1), (-1e-20, 1e-20), (0, 1e-29), (0, 1e30),
        None, "ball", "tiny ball", "huge ball",
    ],
    "n_hint": [None, 1, 2, 2**53],
    "epsilon": [1e-300, 1e-17, 1e-9, 1e-3, 10.0, 1e3, 1e6, 1e9, np.float32(0.1), 7],
    "delta": [0.0, -0.0, 1e-300, 1e-12, 0.5, 1 - 1e-9, 5e-324],
    "neighbors": [None, "add_remove", "replace_one", "replace_any"],
    "n_atoms": [1, 7, 300, np.int8(3)],
    "n_clusters": [1, 7, 300, 4096],
    "n_init": [1, 3],
    "max_iter": [0, 1, 2, 20],
    "n_rounds": [1, 2, 20],
    "depth": ["auto", 0, 1, 12],
    "resolution": [2, 2**24],
    "bandwidth": [2.0**-24, 1.0],
    "n_kept": [1, 4, 2**24],
    "top_share": [1e-300, 5e-324, 1.0],
    "n_quantiles": [None, 1, 4096],
    "n_projections": [None, 1, 300],
    "n_min": [None, 1, 2**30],
    "n_components": ["auto", None, 1, 2, 256, 2**24],
    "class_spread": [None, 1e-30, 1e30, 1e-9],
    "subsample": [None, 1e-300, 1e-9, 0.01, 1.0],
    "distortion": [None, 1e-300, 1e-9, 0.5, 1 - 1e-12],
    "image_shape": [None, (1, 2), (1, 1, 2), [1, 2], (2, 2), (1, 1), (2**20, 2**20)],
    "reference": [None, [[0.0, 0.0]], [[1e300, 1e300]], [[0.5, 0.5]]],
    "directions": ["tight", "iid", [[1.0], [0.0]], [[1e-300], [0.0]], [[1e300], [1e300]]],
    "init": ["grid", None, [[0.5, 0.5], [0.1, 0.1]], [[1e300, 0.0], [0.0, 0.0]]],
    "align": [0, -0.0, 1e6],
    "hidden": [1, 3],
    "score_share": [1e-300, 1e-6, 0.5, 1 - 1e-6],
    "mean_trials": [None, 1.1, 3],
    "n_guaranteed": [2, 30],
    "n_max": [2, 60],
    "units": [1, 2**8],
    "classes": [None, [0], [0, 1], ["a", "b"], list(range(300))],
    "class_weights": [None, [1.0], [1e-100, 1e100], [1, 2]],
    "class_prior": [None, [1.0], [1e-100, 1e100], [1, 2]],
    "levels": [(1,), (2, 1), (5,)],
    "schema": [Number(0, 1e-30), Number(-1e30, 1e30), Number(1e-300, 1e300, log=True),
               WholeNumber(0, 1), WholeNumber(-(2**53), 2**53), Category([0, 1]), Boolean(),
               Number(0, 1, missing=True), Number(-1e308, 1e308), Number(0, 1, 1e-300),
               Schema([Number(0, 1), Category([0], missing=True)])],
    "label": [None, 0, 1, 3],
    "method": "options", "p": [1, 2, 2.0],
    "trials": "options", "target": "options",
}  # fmt: skip
_METHODS = {
    "PrivateKMeans": (), "PrivateEMDHeatmap": ("adaptive", "one_shot"),
    "LevelwiseEMDHeatmap": ("paper", "dense", "laplace", "topk"),
    "PrivateMeasure": ("pyramid", "haar"),
    "PrivateWassersteinBarycenter": ("auto", "coreset", "pyramid", "clusters", "subspace"),
    "SubsampledBarycenter": ("auto", "coreset", "pyramid", "clusters", "subspace"),
    "CoresetBarycenter": ("perturbation", "projected"),
    "PrivateDomainAdapter": ("self_training", "moments"),
    "DPSlicedWasserstein": ("sketch", "scalar"),
}  # fmt: skip
_OPTIONS = {
    "target": ("box", "ball"),
}  # fmt: skip


_OF_ROWS = ("X", "array", "chunk", "sample", "feature", "y ", "rows", "Column")


class _Plan(SimpleNamespace):
    """A federated plan as something with parameters and a fit."""

    def fit(self, X, y=None):
        """Make the plan, and one round of it."""
        plan = self.kind(**self.params)
        plan = plan.first if isinstance(plan, ShuffleRounds) else plan
        clients = range(min(3, plan.n_max))
        batches = [ShuffleClient(plan)._messages(np.zeros((0, 2))) for _ in clients]
        try:
            ShuffleAnalyzer(plan).fit(np.concatenate(batches))
        except ValueError as error:  # too few for nearly all plans
            if "took part" not in str(error):
                raise


def _search(**params):
    given = {"param_grid": {"n_init": [1, 2]}} | params
    model = skdp_bary.PrivateKMeans(2, bounds=(0, 1), n_hint=30)
    return PrivateSearchCV(given.pop("estimator", model), given.pop("param_grid"), **given)


_PLAN = {"bounds": (0, 1), "epsilon": 1.0, "delta": 1e-6, "n_guaranteed": 3, "n_max": 6}


def makers():
    """Return, by name, the parameters that may change and a function that makes an object."""
    found = {}
    for name in public_estimators():
        cls, base = quick(name)
        names = sorted(signature(public_estimators()[name]).parameters)
        found[name] = (names, base, lambda params, cls=cls: cls(**params))
    names = sorted(_search().get_params(deep=False))
    found["PrivateSearchCV"] = (names, {"mean_trials": 3.0}, lambda params: _search(**params))
    for kind, more in ((ShufflePlan, {"levels": (1,)}), (ShuffleRounds, {})):
        names = [n for n in kind._parameter_rules if n not in ("cells",)]
        found[kind.__name__] = (
            names,
            _PLAN | more,
            lambda params, kind=kind: _Plan(kind=kind, params=params),
        )
    return found


MAKERS = makers()


def trial(seed):
    """Run one trial.

    Returns
    -------
    fault : str
        One of ``FAULTS``, or "" where nothing was wrong.
    case : str
        What was tried, in words.
    """
    rng = np.random.default_rng(seed)
    name = str(rng.choice(sorted(MAKERS)))
    names, base, make = MAKERS[name]
    style = str(rng.choice(["nonsense", "extreme", "extreme", "rows"]))
    X, words, width = _rows(rng, style)
    params = dict(base)
    changed = []
    if style == "nonsense":
        changed = [str(rng.choice(names))]
        params[changed[0]] = _nonsense(rng, changed[0])
    elif style == "extreme":
        candidates = [n for n in names if n in EXTREME]
        for chosen in rng.permutation(candidates)[:3]:
            changed.append(str(chosen))
            params[str(chosen)] = _extreme(rng, name, str(chosen), width)
    case = f"{name}, {style}, {words}: " + repr({key: params.get(key) for key in changed})[:300]
    fault, error = _run(name, make, params, X, rng, style, changed)
    return fault, f"{case} -> {error}"


def odd_type_trial(seed):
    """Give one parameter a number of an odd type, or bytes; return as :func:`trial` does.

    Fractions and numbers of numpy are taken for the number that they are; durations and bytes,
    which numpy takes for numbers, are refused.
    """
    rng = np.random.default_rng(seed)
    name = str(rng.choice(sorted(MAKERS)))
    names, base, make = MAKERS[name]
    changed = str(rng.choice(names))
    value = base.get(changed)
    numbers = isinstance(value, (int, float)) or changed in ("epsilon", "delta", "verbose")
    style = "extreme" if numbers and rng.random() < 0.7 else "nonsense"
    if style == "extreme":
        value = {"epsilon": 0.5, "delta": 2.0**-20, "verbose": 0}.get(changed, value)
        kinds = [Fraction, np.float64, np.float32, np.longdouble]
        if isinstance(value, int):
            kinds = [np.int8, np.uint8, np.int16, np.int64, np.uint64]
        value = kinds[int(rng.integers(len(kinds)))](value)
        if name in ("PrivateEMDHeatmap",) and changed == "delta":
            value = np.float32(0.0)
    else:
        value = ODD_TYPES[int(rng.integers(len(ODD_TYPES)))]
    case = f"{name}, {changed}={value!r}"
    X = np.random.default_rng(0).random((40, 2))
    fault, error = _run(name, make, base | {changed: value}, X, rng, style, [changed])
    return fault, f"{case} -> {error}"


def _nonsense(rng, name):
    known = [repr(value) for value in SENSIBLE.get(name, ())]
    values = [value for value in HOSTILE if repr(value) not in known]
    return values[int(rng.integers(len(values)))]


def _extreme(rng, owner, name, width):
    values = EXTREME[name]
    if values == "options":
        values = _METHODS[owner] if name == "method" else _OPTIONS[name]
    value = values[int(rng.integers(len(values)))]
    if isinstance(value, str) and value.endswith("ball"):
        radius = {"ball": 1.0, "tiny ball": 1e-25, "huge ball": 1e29}[value]
        value = Ball(np.zeros(width), radius)
    return value


def _rows(rng, style):
    """Return rows, what they are in words, and their width."""
    n_rows = int(rng.choice([3, 10, 40]))
    width = int(rng.choice([1, 2, 2, 2, 4]))
    X = rng.random((n_rows, width))
    if style != "rows":
        return X, f"{n_rows} rows of {width}", width
    odd = {
        "one row": X[:1],
        "no row": X[:0],
        "no feature": X[:, :0],
        "one dimension": X[0],
        "three dimensions": X[None],
        "a number": 3.0,
        "None": None,
        "a word": "rows.xyz",
        "NaN": np.where(X > 0.9, math.nan, X),
        "infinity": np.full_like(X, math.inf),
        "complex": X * 1j,
        "objects": np.full((3, 2), object()),
        "words": np.full((3, 2), "x"),
        "far": X * 1e300,
        "no rows from a callable": lambda: iter([]),
        "None from a callable": lambda: None,
        "a number from a callable": lambda: 3,
        "rows from a callable": lambda: X,
        "an empty chunk": lambda: iter([X[:0]]),
        "chunks": [X, X],
        "an iterator": iter([X]),
        "an empty iterator": iter([]),
        "chunks of two widths": [X, np.hstack([X, X])],
        "a chunk that is no table": lambda: iter([X[0]]),
        "a chunk of two parts too many": lambda: iter([(X, None, None, None)]),
        "numbers as chunks": iter([1, 2]),
        "a function that raises": lambda: 1 / 0,
        "a dict": {"a": 1},
        "a ragged list": [[1.0], [1.0, 2.0]],
    }
    words = str(rng.choice(sorted(odd)))
    return odd[words], words, width


def _run(name, make, params, X, rng, style, changed):
    relation = params.get("neighbors")
    named = isinstance(relation, str) and relation in RELATIONS
    known = relation if named else "add_remove"
    accountant = BudgetAccountant(1e9, 0.9, neighbors=known)
    pays = name in private_estimators() or name == "PrivateSearchCV"
    if pays and "accountant" not in changed:
        params = params | {"accountant": accountant}
    if pays and "random_state" not in changed:
        params = params | {"random_state": int(rng.integers(100))}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = make(params)
            made.fit(X)
        except Exception as error:
            return _fault_of(error, accountant, name, style, changed), f"{error!r}"[:300]
    if style == "nonsense" or not _is_finite(made):
        return NONSENSE, "fitted"
    return "", "fitted"


def _fault_of(error, accountant, name, style, changed):
    if accountant.entries:
        return LATE
    if not isinstance(error, ERRORS):
        own = style == "rows" and isinstance(error, ZeroDivisionError)  # of the caller's function
        return "" if own else ODD
    frames = traceback.extract_tb(error.__traceback__)
    checks_rows = frames[-1].filename.endswith("sklearn/utils/validation.py")
    if not frames[-1].filename.startswith(HOME) and not checks_rows:
        return LIBRARY
    known = changed if style == "nonsense" else MAKERS[name][0]
    rows = () if style == "nonsense" else _OF_ROWS
    if not any(word in str(error) for word in (*known, *rows)):
        return NAMELESS
    return ""


def _is_finite(made):
    """Whether nothing that was fitted is NaN or infinite."""
    return all(
        np.isfinite(value).all()
        for value in vars(made).values()
        if isinstance(value, np.ndarray) and value.dtype.kind == "f"
    )
