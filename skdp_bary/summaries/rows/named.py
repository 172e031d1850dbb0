"""Columns that are named: labels, weights and ids that stand in one table with the features."""

from ..._values import column_names, exact_values, some_columns

_ONE_WORD = {"bool", "string", "large_string", "string_view"}
_LABELS = ("int", "uint", "float", "double", "halffloat")
_WEIGHTS = (*_LABELS, "decimal")


def names_no_column(part, name):
    """Return in words that columns cannot be named here."""
    return (
        f"{part}={name!r} names a column, and X has no columns with names. Pass the values, and "
        "leave that column out of X."
    )


def taken_out(X, named):
    """Return a table without some of its columns, and these columns.

    Parameters
    ----------
    X : dataframe or Arrow table
    named : dict
        Names of columns, by what they are: ``"y"``, ``"groups"``, ``"sample_weight"``.
    """
    own = column_names(X)
    for part, name in named.items():
        if own is None:
            raise ValueError(names_no_column(part, name))
        if own.count(name) != 1:
            words = "is no column of X" if name not in own else "names several columns of X"
            raise ValueError(f"{part}={name!r} {words}; it has {own}.")
    features = [name for name in own if name not in named.values()]
    return some_columns(X, features), {p: _values(X, p, name) for p, name in named.items()}


def _values(X, part, name):
    if not hasattr(X, "column_names"):
        return X[name] if hasattr(X, "iloc") else exact_values(X[name])
    column = X.column(name)
    kind = column.type
    if str(kind).startswith("dictionary<"):
        kind = kind.value_type
    word = str(kind).split("(")[0]
    if part == "sample_weight":
        is_right, allowed = word.startswith(_WEIGHTS) or word == "bool", "numbers"
    else:
        numbers = _LABELS[: 5 if part == "y" else 2]
        is_right = word in _ONE_WORD or word.startswith(numbers)
        allowed = "numbers or text" if part == "y" else "integers or text"
    if not is_right:
        raise ValueError(f"{part}={name!r} must hold {allowed}, got the Arrow type {kind}.")
    return exact_values(column)


class Taken:
    """Takes the same columns out of every chunk.

    Parameters
    ----------
    named : dict
        See :func:`taken_out`.
    """

    def __init__(self, named):
        self._named = named

    def __call__(self, table):
        """Return ``(X, y, sample_weight, groups)`` of one chunk, which must be a table."""
        if isinstance(table, tuple):
            raise ValueError(
                f"{', '.join(self._named)} name columns, so chunks must be tables, not tuples."
            )
        X, beside = taken_out(table, self._named)
        return X, *(beside.get(part) for part in ("y", "sample_weight", "groups"))
