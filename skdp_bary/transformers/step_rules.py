"""Steps of scikit-learn that treat every row by itself, and how numbers grow in them."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from itertools import chain
from numbers import Real

import numpy as np
from numpy.random import RandomState
from scipy import special
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

from ..geometry.bounds import check_domain, width_of

# How numbers grow in a step: how large those can be that it makes of numbers of a known size.

LARGEST = float(np.finfo(np.float64).max)
LIMIT = 1e308  # what stays below it is a float, however it was rounded on the way
_WIDEST = 1e9  # columns: no table has more
_LONGEST = 2.0**63  # words of a text, and categories


def largest_behind(step, grows, largest):
    """Value of a function of this file, infinity if it cannot be computed."""
    try:
        with np.errstate(all="ignore"):
            found = float(grows(step, np.float64(largest)))
    except (TypeError, ValueError, AttributeError):  # a fit will say what is wrong
        return np.inf
    return found if found == found else np.inf


def may_overflow(before, behind):
    """Whether a step may make a number too large for floats of one that is not."""
    return not behind < LIMIT and not behind == before <= LARGEST


def powers(step, largest):
    """Products of up to `degree` numbers."""
    degree = step.degree if np.ndim(step.degree) == 0 else max(step.degree)
    return max(1.0, largest) ** degree


def sums(step, largest):
    """Sums of all columns over the root of the density."""
    density = 1.0 / _WIDEST if step.density == "auto" else step.density
    return largest * _WIDEST / np.sqrt(density)


def with_fill(step, largest):
    """The numbers themselves, or what is put where one is missing."""
    return max(largest, abs(np.float64(step.fill_value)))


def codes(step, largest):
    """Numbers of categories, or what represents those that are not listed or missing."""
    marks = [step.unknown_value, step.encoded_missing_value]
    return max(_LONGEST, *(abs(float(m)) for m in marks if m is not None and m == m))


def counts(step, largest):
    """How often words occur in a text."""
    return _LONGEST


def ones(step, largest):
    """Zeros and ones."""
    return 1.0


def scaled(step, largest):
    """Numbers moved and divided by public bounds; those that are clipped fill a unit domain.

    What is not clipped is cut off at the largest float.
    """
    if step.clip:
        return 1.0
    domain = check_domain(step.bounds, width_of(step.bounds, 1))
    if step.target == "box":
        offset, scale = np.abs(domain.low).max(), (domain.high - domain.low).min()
    else:
        offset, scale = np.abs(domain.center).max(), domain.radius
    return min((largest + offset) / scale, LARGEST)


def projected(step, largest):
    """Products with a public matrix, cut off at the largest float or at the radius of `bounds`.

    Its entries are at most 10 standard deviations of a Gaussian, or a root of the number of
    features.
    """
    if step.bounds is not None:
        largest = check_domain(step.bounds, width_of(step.bounds, 1)).radius
    return min(largest * _WIDEST * np.sqrt(_WIDEST), LARGEST)


# Whose code a step runs: names of classes and methods can be given to anything.

_HEAP_TYPE = 1 << 9  # of types that Python code made; others cannot be made to claim a name


def library_of(cls):
    """Return the library that a class is found in by its own name, or None.

    Parameters
    ----------
    cls : type
    """
    module = cls.__module__
    found = sys.modules.get(module)
    for name in cls.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is cls or not cls.__flags__ & _HEAP_TYPE:
        return module.split(".")[0]
    return None


def replaced_method(step):
    """Return the name of a method of the class that the step itself holds another one for, or None.

    Parameters
    ----------
    step : object
    """
    held = getattr(step, "__dict__", {})
    return next((name for name in held if callable(getattr(type(step), name, None))), None)


def is_private(step):
    """Whether a step adds noise to what it learns, of this package or of diffprivlib.

    Parameters
    ----------
    step : object
    """
    if type(step) is FrozenEstimator:  # it has all methods of what it holds, and fits nothing
        return False
    return hasattr(step, "privacy_plan") or library_of(type(step)) == "diffprivlib"


def keeps_rows_apart(step):
    """Whether what a private step makes of a row depends on its release and on that row alone.

    Parameters
    ----------
    step : object
    """
    return library_of(type(step)) == "skdp_bary" and getattr(step, "_row_by_row", False)


# Steps of scikit-learn that treat every row by itself: under which parameters, behind which rows.


@dataclass(frozen=True)
class Fault:
    """Why a step is not public.

    Parameters
    ----------
    reason, advice : str
        What is wrong, and what to do about it.
    learns : bool
        Whether it learns from the rows.
    """

    reason: str
    advice: str
    learns: bool = False


@dataclass(frozen=True)
class Rule:
    """What is known of a class of scikit-learn.

    Parameters
    ----------
    fault : callable
        Takes a step; returns None where its parameters are fine, else a Fault.
    takes : frozenset of str
        Forms of rows that it treats one by one.
    gives : callable
        Takes a step and the kind of form before it; returns what it changes of the form.
    missing_fault : callable
        Takes a step; returns what is wrong with it where numbers may be missing, or None.
    grows : callable
        Takes a step and the largest size of a number before it; returns the largest behind it, and
        on the way.
    """

    fault: Callable
    takes: frozenset
    gives: Callable
    missing_fault: Callable = lambda step: None
    grows: Callable = lambda step, largest: largest

    @property
    def numeric(self):
        """Whether it raises on values that are not numbers."""
        return "mixed" in self.takes and "raw" not in self.takes

    @property
    def texts(self):
        """Whether it raises on values that are no texts."""
        return self.takes == _TABLE

    def largest(self, step, before):
        """Return the largest size of a number behind a step, infinity beyond floats."""
        return largest_behind(step, self.grows, before)


def sklearn_name(step):
    """Name of a scikit-learn class itself, or None; a subclass may do anything."""
    return type(step).__name__ if library_of(type(step)) == "sklearn" else None


def _learns(advice):
    return Fault("it learns from the rows without noise", advice, learns=True)


def _names_values(advice):
    return Fault("its errors or warnings name values of rows, before anything is charged", advice)


def _rounds_together(advice):
    return Fault("it learns nothing, but the last bits of a row depend on other rows", advice)


def faults_alone(step):
    """Yield what is wrong with the step in a RowByRow, and with all that it holds.

    It is cloned there and fitted on public rows: what keeps its fit in a clone was fitted by the
    caller, on whatever rows, and a private step would be charged for zeros. Code of others may keep
    rows elsewhere: a copy of the step forgets with it what it kept in itself, not what a function
    kept in a closure, nor what a class keeps in itself or in its module. And a function of numpy
    may pass on memory that it did not write, where a row before was.
    """
    if is_private(step):
        yield PRIVATE_INSIDE
        return
    if keeps_fit(step):
        yield FITTED_BEFORE
    elif replaced_method(step) or library_of(type(step)) not in ("sklearn", "skdp_bary"):
        yield _KEEPS_IN_CLASS
    held = step.get_params(deep=False) if hasattr(step, "get_params") else {}
    calls = sklearn_name(step) == "FunctionTransformer"
    if calls and not _is_known_call(held.pop("func"), held.pop("kw_args")):
        yield KEEPS_IN_FUNCTION
    if held.get("verbose"):
        yield _PRINTS
    own = signature(type(step)).parameters
    for name, value in held.items():
        if name not in own or value is not own[name].default:
            yield from faults_held(value)


def keeps_fit(step):
    """Whether an estimator keeps what it was fitted to before, as one that is frozen.

    It is cloned as it is, or reads what another one learned elsewhere.
    """
    if is_private(step):
        return False
    own = getattr(type(step), "__sklearn_clone__", BaseEstimator.__sklearn_clone__)
    words = getattr(step, "prefit", None), getattr(step, "cv", None)
    return own is not BaseEstimator.__sklearn_clone__ or any(
        type(word) in (bool, str) and word in (True, "prefit") for word in words
    )


def _is_known_call(function, arguments):
    """Whether a function is known to write anew all that it returns, of its one row alone."""
    names = next((names for known, names in FUNCTIONS if known is function), None)
    arguments = {} if arguments is None else arguments
    if names is None or type(arguments) is not dict or not arguments.keys() <= names:
        return False
    return all(map(_is_plain, arguments.values()))


_NUMBER_TO_NUMBER = [
    function
    for module in (np, special)
    for function in vars(module).values()
    if isinstance(function, np.ufunc)
    and (function.nin, function.nout, function.signature) == (1, 1, None)
    and any(types.startswith("d") for types in function.types)  # np.frompyfunc has objects only
]
_ARGUMENTS = [
    (np.clip, {"a_min", "a_max", "min", "max"}),
    (np.cumsum, {"axis"}),
    (np.max, {"axis", "keepdims"}),
    (np.mean, {"axis", "keepdims"}),
    (np.min, {"axis", "keepdims"}),
    (np.nan_to_num, {"nan", "posinf", "neginf"}),
    (np.round, {"decimals"}),
    (np.sort, {"axis"}),
    (np.sum, {"axis", "keepdims"}),
    (special.softmax, {"axis"}),
]
FUNCTIONS = [(function, set()) for function in (None, *_NUMBER_TO_NUMBER)] + _ARGUMENTS

FITTED_BEFORE = Fault(
    "it was fitted before, on rows that nothing here has seen",
    "if those rows are public, write RowByRow(step, X_public)",
)
PRIVATE_INSIDE = Fault(
    "it holds a private step, which RowByRow refuses to fit on public rows",
    "write make_pipeline(..., RowByRow(private_step))",
)
_PRINTS = Fault("it prints lines about every row, and so how many there are", "leave verbose=0")
_KEEPS_IN_CLASS = Fault(
    "its class, or that of a part of it, is not from scikit-learn, and may keep earlier rows in "
    "itself or in its module, which cannot be checked",
    "use steps of scikit-learn whose parameters are numbers, text, or arrays of them, or make sure "
    "that it keeps nothing outside of the step",
)
KEEPS_IN_FUNCTION = Fault(
    "it calls a function that may keep earlier rows, or return memory that held them",
    "give FunctionTransformer a function of one number of numpy or scipy.special, such as np.log1p,"
    " without kw_args, or "
    + ", ".join(function.__name__ for function, _ in _ARGUMENTS)
    + " with numbers, or make sure that yours keeps nothing outside of the step",
)


def _is_plain(value):
    """Whether a value is None, a number, text or an array of those, but not of objects."""
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return library_of(type(value)) == "numpy" and value.dtype.kind in "biufcSUmM"
    return type(value) in (type(None), bool, int, float, complex, str, bytes)


def faults_held(value):
    """Yield what is wrong with a parameter, not at its default: only public facts are plain.

    These are numbers, texts and arrays of them, and steps that are known.
    """
    if _is_plain(value) or type(value) in (range, RandomState):
        return
    # types of numbers or texts, as dtype parameters take
    types = (np.generic, bool, int, float, complex, str)
    if isinstance(value, type) and issubclass(value, types):
        if library_of(value) in ("builtins", "numpy"):
            return
    elif isinstance(value, np.dtype) and library_of(type(value)) == "numpy":
        return
    if hasattr(value, "get_params") and not isinstance(value, type):
        yield from faults_alone(value)
        return
    parts = None
    if type(value) is dict:
        parts = value.values()
    elif type(value) in (list, tuple, set, frozenset):
        parts = value
    elif type(value) is slice:
        parts = (value.start, value.stop, value.step)
    elif type(value) is np.ndarray and value.dtype == object:
        parts = value.ravel()
    if parts is not None:
        for part in parts:
            yield from faults_held(part)
    elif callable(value):
        yield KEEPS_IN_FUNCTION
    else:  # a domain or a schema of this package is a public fact
        ours = library_of(type(value)) == "skdp_bary" and not replaced_method(value)
        public = ("skdp_bary.geometry.", "skdp_bary.schema.")
        ours = ours and type(value).__module__.startswith(public)
        if not (ours or _is_pandas_na(value)):
            yield _KEEPS_IN_CLASS


_ALONE = "wrap it in RowByRow, or use JLTransformer or DomainScaler"


def _none(step):
    return None


def _together(step):
    if sklearn_name(step) == "RBFSampler" and step.gamma == "scale":
        return _learns("give gamma as a number: 'scale' takes the variance of the rows")
    if getattr(step, "n_components", None) == "auto":
        return _learns("pass n_components as a number, or use JLTransformer")
    return _rounds_together(_ALONE)


def _categories(step):
    if isinstance(step.categories, str):
        return _learns("pass the public categories to its parameter categories")
    if step.min_frequency is not None or step.max_categories is not None:
        return _learns("leave min_frequency and max_categories at None: they count rows")
    if getattr(step, "drop", None) is not None:
        return _names_values("leave drop=None: it warns of categories that are not listed")
    silent = "ignore" if sklearn_name(step) == "OneHotEncoder" else "use_encoded_value"
    if step.handle_unknown != silent:
        return _names_values(f'set handle_unknown="{silent}"')
    return None


def _hasher(step):
    if step.input_type != "string":
        return Fault(
            "it adds up numbers at one place in an order that depends on other rows",
            'set input_type="string"',
        )
    return _float64(step)


def _float64(step):
    is_plain = isinstance(step.dtype, (type, str, np.dtype)) and np.dtype(step.dtype) == np.float64
    return None if is_plain else Fault("short numbers overflow", "leave dtype=np.float64")


def _vectorizer(step):
    for name in ("preprocessor", "tokenizer", "strip_accents", "analyzer"):
        if callable(getattr(step, name)):
            return Fault("it calls a function of yours", f"leave {name} at its default")
    if step.input != "content":
        return Fault("it reads files that rows name", 'set input="content"')
    return _float64(step)


def _identity(step):
    if step.func is None and not step.validate:
        return None
    if step.func is None:
        return Fault("it reads all rows by one common type", "leave validate=False")
    return Fault(
        "it calls a function of yours",
        "make sure that the function treats every row by itself, and keeps nothing of it; one of "
        "numpy, such as np.log1p, can be put into RowByRow",
    )


def _imputer(step):
    if step.strategy != "constant" or step.fill_value is None:
        return _learns('fill with a public value: strategy="constant" and fill_value')
    if isinstance(step.fill_value, Real) and not np.isfinite(step.fill_value):
        return Fault(
            "what it fills in raises, which reveals missing numbers without a charge",
            "give a finite fill_value",
        )
    if not step.keep_empty_features:
        return _learns("set keep_empty_features=True: it drops columns without any value")
    if step.add_indicator:
        return _learns("leave add_indicator=False: it marks columns in which something is missing")
    return None


def _other_marks(step):
    """What is wrong with an imputer to which NaN is no missing value: it raises on it."""
    if _marks_nan(step):
        return None
    return Fault(
        "it raises on missing numbers, which reveals them without a charge",
        "leave missing_values=np.nan",
    )


def _marks_nan(step):
    mark = step.missing_values
    return _is_nan(mark) or _is_pandas_na(mark)  # which means NaN to it


def _is_pandas_na(value):
    return type(value).__name__ == "NAType" and library_of(type(value)) == "pandas"


def _is_nan(value):
    return isinstance(value, Real) and bool(value != value)


def _sparse_projection(step):
    if isinstance(step.n_components, str):
        return _learns("pass n_components as a number, or use JLTransformer")
    # "auto" is 1 / sqrt(n_features): dense for one feature only, where nothing is added up
    thin = isinstance(step.density, Real) and 0 < step.density < 1
    if step.density != "auto" and not thin:
        return _rounds_together("give a density below 1, or use JLTransformer")
    return None


def _filled(step, kind):
    found = {"kind": "numbers" if kind == "numbers" else "mixed"}
    return found | ({"missing": False} if _marks_nan(step) else {})


def _as_before(step, kind):
    return {"kind": "csr" if kind == "csr" else "numbers"}


def _always(**form):
    return lambda step, kind: form


def _codes(step, kind):
    listed = isinstance(step.categories, str) or any(map(_is_nan, chain(*step.categories)))
    missing = (listed and _is_nan(step.encoded_missing_value)) or _is_nan(step.unknown_value)
    return {"kind": "numbers", "missing": missing}


def _as_told(step, kind):
    return {"missing": False, "kind": "csr" if step.sparse_output else "numbers"}


def _projected(step, kind):
    dense = kind != "csr" or step.dense_output
    return {"kind": "numbers" if dense else "csr"}


_ANY = frozenset({"raw", "table", "numbers", "csr", "mixed"})
_DENSE = frozenset({"table", "numbers", "mixed"})
_NUMERIC = _DENSE | {"csr"}
_LISTED = frozenset({"table", "numbers"})
_TABLE = frozenset({"table"})
_dense = _always(kind="numbers")
_csr = _always(kind="csr")

RULES = {
    "Binarizer": Rule(_none, _NUMERIC, _as_before, grows=ones),
    "FeatureHasher": Rule(_hasher, _TABLE, _csr, grows=counts),
    "FunctionTransformer": Rule(
        _identity, _ANY, lambda step, kind: {"kind": "mixed"} if kind == "table" else {}
    ),
    "GaussianRandomProjection": Rule(_together, _ANY, _dense),
    "HashingVectorizer": Rule(_vectorizer, _TABLE, _csr, grows=counts),
    "Normalizer": Rule(_together, _ANY, _always()),
    "OneHotEncoder": Rule(_categories, _LISTED, _as_told, grows=ones),
    "OrdinalEncoder": Rule(_categories, _LISTED, _codes, grows=codes),
    "PolynomialFeatures": Rule(_none, _NUMERIC, _as_before, grows=powers),
    "RBFSampler": Rule(_together, _ANY, _dense),
    "SimpleImputer": Rule(_imputer, _LISTED, _filled, missing_fault=_other_marks, grows=with_fill),
    "SparseRandomProjection": Rule(_sparse_projection, _NUMERIC, _projected, grows=sums),
}
