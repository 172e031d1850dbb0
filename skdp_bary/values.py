"""Tables read column by column: each value by itself, names of columns, and rows as float64."""

import re
import warnings
from collections.abc import Mapping
from decimal import Decimal
from difflib import get_close_matches
from numbers import Complex, Real

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ._sklearn import search_has_groups
from .exceptions import PrivacyWarning

# Values as they were given: column by column, each value read by itself.

_NAME_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_ID_ENDINGS = {"id", "ids", "pid", "uid", "uuid", "guid", "ssn"}
_ID_NAMES = {"", "index", "key", "user", "userid", "person", "patient", "customer", "name"}
_ARROW_NUMBERS = {
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("halffloat", "float", "double"),
}
_FLOAT_TYPES = ("halffloat", "float", "double", "float16", "float32", "float64")
_ARROW_DECIMALS = {f"decimal{bits}" for bits in (32, 64, 128, 256)}
_ARROW_DATES = ("date", "time", "duration", "month")
_NO_DATES = (
    "dates and durations are not numbers. Count days from a public day, for example "
    "(dates - pandas.Timestamp('2020-01-01')).dt.days"
)
_ENCODE = (
    "convert numbers by pd.to_numeric(column, errors='coerce') and dropna(), dates by "
    "SchemaTransformer(schema), categories by OneHotEncoder(categories=schema.levels()) behind it"
)
QUOTES_NO_ROW = "_quotes_no_row"  # mark of errors that this package raises on a worker
COMPLEX = "Complex data not supported"  # words that scikit-learn's checks look for


def is_missing(value):
    """Whether a value is None, NaN, NaT or pandas' NA, none of which equals itself."""
    if value is None or value is np.ma.masked:
        return True
    if isinstance(value, Decimal):  # one that signals cannot even be compared
        return value.is_nan()
    same = value == value
    if isinstance(same, (bool, np.bool_)):
        return not same
    return same is value  # of pandas' NA; what answers with something else, as tensors do, is there


def refuse_masked(values, name):
    """Raise where a masked array hides entries: arrays made of it would show what lies beneath."""
    parts = values if isinstance(values, (list, tuple)) else (values,)
    for part in parts:
        if isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part):
            raise ValueError(
                f"{name} has masked entries. Fill them, for example with {name}.filled(0), or "
                "leave those rows out."
            )


def names_somebody(name):
    """Whether a name is one that people give to IDs, or pandas to a column without a name."""
    if not isinstance(name, str):
        return False
    last_word = (_NAME_WORDS.findall(name) or [""])[-1].lower()
    plain = name.strip().lower()
    return plain in _ID_NAMES or last_word in _ID_ENDINGS or plain.startswith("unnamed: ")


def column_names(X):
    """Return the names of the columns of a dataframe or Arrow table, or None where it has none."""
    if hasattr(X, "column_names"):  # Arrow: its columns are the values themselves
        return list(X.column_names)
    if type(X).__name__ == "LazyFrame":  # whose attribute warns that it is slow
        return list(X.collect_schema().names())
    return list(X.columns) if hasattr(X, "columns") else None


def columns_like(X, names, what):
    """Return `X` with its columns in the order of `names`, matched by name.

    Parameters
    ----------
    X : object
        Rows.
    names : list or None
        What the columns must be called; None: they have no names.
    what : str
        What `X` is, for the error.
    """
    own = column_names(X)
    if own == names:
        return X
    if own is None or names is None:
        has, others = ("names", "none") if names is None else ("no names", "some")
        raise ValueError(
            f"{what} has {has} of columns, and the rows before it had {others}. Pass all of them "
            "as arrays, or all as dataframes, for example pandas.DataFrame(rows, columns=names)."
        )
    return select_columns(X, names, what)


def select_columns(X, names, what):
    """Return a frame with exactly the columns `names`, in that order, or raise naming columns."""
    own = column_names(X)
    refuse_equal_names(own, what)
    missing = [name for name in names if name not in own]
    unknown = [name for name in own if name not in names]
    if missing or unknown:
        raise ValueError(
            f"{what} has other columns than expected: missing {missing!r}, not known {unknown!r}. "
            "Pass exactly the columns expected, in any order, for example X[names], without those "
            "that groups, y or sample_weight name."
        )
    return X if own == list(names) else some_columns(X, names)


def refuse_equal_names(names, what):
    """Raise where two columns have one name."""
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"{what} has several columns of one name: {twice}. Rename all but one of them, for "
            f"example to {twice[0] + '_2'!r}."
        )


def no_column(part, name, names):
    """Text: no column of X is called so, and which one may be meant."""
    meant = get_close_matches(str(name), list(map(str, names)), n=1, cutoff=0.0)
    example = f" For example {part}={meant[0]!r}." if meant else ""
    return f"{part}={name!r} is not a column of X, which has {names}.{example}"


def some_columns(X, names):
    """Return a frame with some of its columns, in the order of `names`."""
    return X[list(names)] if hasattr(X, "iloc") else X.select(list(names))


def column_values(X, place):
    """Return one column of an array, dataframe or Arrow table, by position, as a 1-d array.

    Where entries are masked, or cannot be held by a plain type, it is an array of objects.
    """
    if isinstance(X, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(X)[:, place]
        values = X.data[:, place].astype(object if mask.any() else X.dtype)  # a copy
        if mask.any():
            values[mask] = None
        return values
    if hasattr(X, "column_names"):
        return exact_values(X.column(place))
    if hasattr(X, "iloc"):
        series = X.iloc[:, place]
        return np.asarray(series) if isinstance(series.dtype, np.dtype) else exact_values(series)
    if hasattr(X, "columns"):
        return exact_values(X[:, place])
    return array_of(X, "X")[:, place]


def array_of(values, name):
    """Return values as an array; numpy's own words about lists tell how many there are."""
    try:
        return np.asarray(values)
    except Exception as error:
        kind = type(error).__name__
    raise ValueError(
        f"{name} must be an array, or a list of rows of one length, got {type(values).__name__}: "
        f"numpy raised {kind}. Its text may reveal how many rows there are and is not shown. "
        f"Call numpy.asarray({name}) to see it."
    )


def unquoted(read, *arguments):
    """Call `read`; errors of engines quote values of rows, so only marked ones are shown."""
    try:
        return read(*arguments)
    except Exception as error:
        kind, ours = type(error).__name__, error if getattr(error, QUOTES_NO_ROW, False) else None
    if ours is not None:
        raise ours
    raise ValueError(  # outside of the handler: the error that quotes is no context of this one
        f"X could not be read: its source raised {kind}, whose text may quote rows and is not "
        "shown. Read X without a fit to see it, for example list(X)."
    )


def exact_values(values):
    """Return an array of a pandas, polars or Arrow column in which every value is as it was given.

    Where one value is missing, these libraries make floats of all integers, and those beyond 2**53
    become others; where none is, text of numpy's own kind, without the NULs at its end. Such a
    column is returned as objects. Text that is not UTF-8 is rejected.
    """
    return unquoted(_as_given, values)


def _as_given(values):
    if str(getattr(values, "type", "")).startswith("dictionary<"):  # of Arrow
        values = values.cast(values.type.value_type)
    told = getattr(values, "to_pylist", None) or (
        hasattr(values, "null_count") and getattr(values, "to_list", None)
    )
    if told:
        plain = np.asarray(values)
        declared = str(getattr(values, "type", None) or values.dtype).lower()
        made_floats = plain.dtype.kind == "f" and declared not in _FLOAT_TYPES
        return as_array_of_objects(told()) if made_floats or plain.dtype.kind in "SU" else plain
    codes = getattr(getattr(values, "cat", values), "codes", None)  # a column, index or plain array
    if codes is not None:
        kinds = [*getattr(values, "cat", values).categories, None]
        codes = np.asarray(codes)
        if (codes >= 0).all():
            return np.asarray(values)
        return as_array_of_objects([kinds[code] for code in codes])
    if not hasattr(values, "isna"):  # of torch, whose types are its own
        return np.asarray(values)
    if values.dtype.kind in "iu":
        return values.to_numpy(dtype=object if values.isna().any() else None)
    values = np.asarray(values.to_numpy())
    return values if values.dtype.kind in "biufmMO" else values.astype(object)


def as_array_of_objects(values):
    """Return a list as a 1-d array of objects, whatever they are."""
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def as_numbers(X, name="X"):
    """Return values as an array of a real type that holds them, or raise; no value is changed.

    Parameters
    ----------
    X : array-like, dataframe or Arrow table
        Missing entries become NaN.
    name : str
        What the values are called in errors.
    """
    refuse_masked(X, name)
    refuse_other_tensors(X, name)
    names = column_names(X)
    if names is None:
        return _numbers(array_of(X, name), name)
    if _is_plain_frame(X):
        return X.to_numpy(dtype=np.float64)
    if not names:
        return np.empty((len(X), 0))
    columns, is_arrow = [], hasattr(X, "column_names")
    for place, column in enumerate(names):
        what = f"column {column!r} of {name}"
        values = _numbers_of_arrow(X.column(place), what) if is_arrow else column_values(X, place)
        columns.append(values if is_arrow else _numbers(values, what))
    # a column of its own type at a time: a common type would round integers next to floats
    rows = np.empty((len(columns[0]), len(columns)))
    with np.errstate(over="ignore"):
        for place, values in enumerate(columns):
            rows[:, place] = values
    return rows


def refuse_other_tensors(X, name):
    """Raise, in words, on tensors of torch that cannot become arrays as they are."""
    if type(X).__module__.split(".")[0] != "torch":
        return
    if str(getattr(X, "dtype", "")) == "torch.bfloat16":
        raise TypeError(f"{name} is of type bfloat16, which numpy lacks: pass {name}.float().")
    if getattr(X, "requires_grad", None) is True:
        raise TypeError(f"{name} records gradients, which end here: pass {name}.detach().")


def becomes_a_new_array(X):
    """Whether :func:`as_numbers` shares no memory with `X`, as is so of Arrow tables."""
    return column_names(X) is not None and not _is_plain_frame(X)


def as_floats(X, name="X"):
    """Return values as float64, each rounded by itself, or raise; see :func:`as_numbers`."""
    with np.errstate(over="ignore"):  # longer floats become infinite, which is refused
        return as_numbers(X, name).astype(np.float64, copy=False)


def _is_plain_frame(X):
    """Whether a frame of pandas gives its numbers at once, perhaps without a copy."""
    return hasattr(X, "iloc") and all(
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in X.dtypes
    )


def _numbers_of_arrow(column, what):
    """Return a column of an Arrow table as numbers: its declared type says whether it holds any."""
    if str(column.type).startswith("dictionary<"):
        column = column.cast(column.type.value_type)
    word = str(column.type).split("(")[0]
    if word in _ARROW_DECIMALS:
        return _floats_of_decimals(column)
    if word not in _ARROW_NUMBERS:
        advice = _NO_DATES if word.startswith(_ARROW_DATES) else _ENCODE
        raise ValueError(
            f"{what} must hold real numbers, got the Arrow type {column.type}; {advice}."
        )
    return np.asarray(column.cast("int8") if word == "bool" else column)


def _floats_of_decimals(column):
    """Return the float nearest to every decimal.

    Where the declared type leaves both exact as floats, it is the quotient of the digits and a
    power of ten; where it does not, Python rounds one value after another.
    """
    kind = column.type
    if not (str(kind).startswith("decimal128") and kind.precision <= 15 and 0 <= kind.scale <= 22):
        values = column.to_pylist()
        return np.fromiter((_rounded(value) for value in values), np.float64, len(values))
    parts = [np.empty(0)]
    for part in getattr(column, "chunks", [column]):
        words = np.frombuffer(part.buffers()[1] or b"", np.int64)  # two a value, the lower first
        digits = words[2 * part.offset : 2 * (part.offset + len(part)) : 2]
        floats = digits / 10.0**kind.scale
        floats[np.asarray(part.is_null())] = np.nan
        parts.append(floats)
    return np.concatenate(parts)


def _numbers(values, what):
    kind = values.dtype.kind
    if kind in "biuf":
        return values
    if kind == "O":
        floats = (_float_of(value, what) for value in values.ravel())
        return np.fromiter(floats, np.float64, values.size).reshape(values.shape)
    if kind == "c":
        raise ValueError(f"{COMPLEX}: {what} must hold real numbers, for example values.real.")
    if kind in "mM":
        raise ValueError(f"{what} must hold real numbers; {_NO_DATES}.")
    word = {"U": "str", "S": "bytes"}.get(kind, "with fields")
    raise ValueError(f"{what} must hold real numbers, got dtype {word}; {_ENCODE}.")


def _float_of(value, what):
    """Return one object as a float: NaN for what is missing, infinity beyond all floats."""
    if isinstance(value, (float, int)) or value is None:
        return _rounded(value)
    if isinstance(value, np.timedelta64) or type(value).__name__ in ("Timestamp", "Timedelta"):
        raise ValueError(f"{what} must hold real numbers; {_NO_DATES}.")
    if isinstance(value, (Real, Decimal, np.bool_)) or is_missing(value):
        return _rounded(value)
    if isinstance(value, Complex):
        raise ValueError(f"{COMPLEX}: {what} must hold real numbers, for example values.real.")
    raise TypeError(
        f"{what} must hold real numbers: an argument must be changed from a string or object to a "
        f"number; {_ENCODE}."
    )


def _rounded(value):
    if value is None or is_missing(value):
        return np.nan
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def refuse_sparse(X):
    """Raise on sparse rows where only dense ones are taken, with what does take them."""
    if issparse(X):
        raise TypeError(
            "X is a sparse matrix, and dense rows are needed here. JLTransformer(n_components, "
            "bounds=...) projects sparse rows, each by itself and at no cost, to dense ones; "
            "X.toarray() writes all zeros out."
        )


def refuse_other_shapes(X):
    """Raise where rows have not two dimensions, or no columns, without a word of how many."""
    if X.ndim != 2:
        word = {0: "scalar", 1: "1D"}.get(X.ndim, f"{X.ndim}D")
        way = (
            "X.reshape(len(X), -1) makes a row of each image"
            if X.ndim > 2
            else "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row, frame[['age']] "
            "for a column of a dataframe"
        )
        raise ValueError(
            f"Expected 2D array, got {word} array instead: X must have two dimensions. Reshape "
            f"your data: {way}."
        )
    if not X.shape[1]:
        raise ValueError(NO_COLUMNS)


NO_COLUMNS = (
    "X must have at least one column, got none. A list without rows has none: pass "
    "np.empty((0, n_features)), or bounds with a low and a high end for every feature."
)


_NAN = (
    "Input X contains NaN. Leave out such rows, by frame.dropna() before X, y and groups are taken "
    "from it, or fill in a public value: frame.fillna(0), in a pipeline "
    "SimpleImputer(strategy='constant', fill_value=0, keep_empty_features=True)."
)
_INFINITY = "Input X contains infinity. Put a public value in its place, or leave out such rows."


def check_floats(X):
    """Return the rows as float64, refusing anything that is not a finite number."""
    X = as_floats(X)
    refuse_other_shapes(X)
    return check_finite(X)


def check_finite(X):
    """Return an array, or raise where a number is not finite.

    The check is made here and not by scikit-learn because ``assume_finite`` must not disable it.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total_is_finite = np.isfinite(X.sum())
    if not total_is_finite and not np.isfinite(X).all():
        raise ValueError(_NAN if np.isnan(X).any() else _INFINITY)
    return X


def with_width(X, width):
    """Return an empty list as no rows of so many columns; None: no one knows, which will raise."""
    return np.empty((0, width or 0)) if isinstance(X, (list, tuple)) and not X else X


def canonical_csr(X):
    """Return sparse rows as CSR in float64: sorted, without duplicates, each row by itself.

    Entries at one place are added in the order in which they are given. scipy sorts only if some
    row is out of order, by a sort that does not keep that order: there, one row changes how the
    entries of others are added.
    """
    # in the order given, as sums of floats depend on it
    entries = X.tocoo()
    order = np.lexsort((entries.col, entries.row))  # stable
    rows, columns = entries.row[order], entries.col[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    values = as_floats(entries.data)[order]
    sums = np.bincount(np.cumsum(first) - 1, weights=values)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[first], minlength=X.shape[0]))])
    fits = max(*X.shape, len(sums)) <= np.iinfo(np.int32).max
    index = np.int32 if fits else np.int64
    parts = (sums.astype(np.float64), columns[first].astype(index), starts.astype(index))
    matrix = csr_array(parts, shape=X.shape)
    matrix.has_canonical_format = True
    return matrix


# Rows as the public transformers read them: float64, whatever the types of the columns are.


def read_rows(estimator, X, *, reset, accept_sparse=False):
    """Return rows as a float64 array or canonical CSR, each a function of its row alone, or raise.

    Names and number of the features are recorded, or compared with those recorded.
    """
    known = getattr(estimator, "_known_features", int)() if reset else estimator.n_features_in_
    X = with_width(X, known)
    rows = finite_rows(X, accept_sparse=accept_sparse, estimator=estimator)
    validate_data(estimator, X, skip_check_array=True, reset=reset)
    return rows


def read_points(estimator, X):
    """Return public points as float64, or raise: names are compared only where they have any."""
    if column_names(X) is not None:
        return read_rows(estimator, X, reset=False)
    return rows_of_width(X, estimator.n_features_in_, estimator=estimator)


def rows_of_width(X, n_features, *, estimator=None):
    """Return rows of so many finite numbers as float64, or raise."""
    rows = finite_rows(X, estimator=estimator)
    if rows.shape[1] != n_features:
        raise ValueError(
            f"X must have {n_features} features, got {rows.shape[1]}. Pass those of the fit, for "
            "example X[:, columns]."
        )
    return rows


def finite_rows(X, *, accept_sparse=False, estimator=None):
    """Return rows of finite numbers as float64; no error names a value."""
    if not accept_sparse:
        refuse_sparse(X)
    rows = canonical_csr(X) if issparse(X) else as_floats(X)
    refuse_other_shapes(rows)
    with np.errstate(all="ignore"):  # it adds up all numbers to see whether all are finite
        return check_array(
            rows,
            accept_sparse=accept_sparse,
            dtype=np.float64,
            ensure_min_samples=0,
            estimator=estimator,
            input_name="X",
        )


def names_seen(transformer):
    """Return the names of the columns that ``fit`` saw, or None where they had none."""
    names = getattr(transformer, "feature_names_in_", None)
    return None if names is None else list(names)


# Signs in the names of columns that they are ids and no features; names are public.


def warn_of_ids(names, bounds):
    """Warn where a column is read as a number whose name is one of an ID.

    Parameters
    ----------
    names : list of str or None
        Of the columns that are features; None where they have none.
    bounds : object
        Where they name the columns, someone has said in public that all of them are features.
    """
    if isinstance(bounds, Mapping):
        return
    ids = [name for name in names or () if names_somebody(name)]
    if ids:
        warnings.warn(
            f"The column {ids[0]!r} is read as a feature, and its name is one of an id: drop it, "
            f"or pass it as groups={ids[0]!r}. Bounds by name say that it is a feature.",
            PrivacyWarning,
            stacklevel=3,
        )


def warn_of_unread_ids(y):
    """Warn where a fit without groups may have been given IDs as labels.

    Parameters
    ----------
    y : object
        Series, or anything else.
    """
    name = getattr(y, "name", None)
    if name and names_somebody(name):
        warnings.warn(
            f"y is named {name!r}, as an id is, but y holds labels: every row counts as a "
            "person. Pass person ids as fit(X, groups=ids).",
            PrivacyWarning,
            stacklevel=3,
        )


def warn_of_unread_groups():
    """Warn where a search of scikit-learn was given groups, which its fits do not see."""
    if search_has_groups():
        warnings.warn(
            "groups given to a search or a cross-validation divide its folds, and this fit does "
            "not see them: every row counts as a person. Where they are person ids, set "
            "sklearn.set_config(enable_metadata_routing=True) and "
            "estimator.set_fit_request(groups=True).",
            PrivacyWarning,
            stacklevel=3,
        )
