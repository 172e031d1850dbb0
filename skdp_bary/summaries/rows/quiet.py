"""Errors from workers: those of this package quote no value of rows, those of others may."""

from functools import update_wrapper

from ..._values import unquoted

_KINDS = (ValueError, TypeError, RuntimeError, ImportError)
_MARK = "_quotes_no_row"


class Quiet:
    """A function of this package, for workers; its own errors are known by a mark.

    Parameters
    ----------
    function : callable
    """

    def __init__(self, function):
        update_wrapper(self, function)
        self._function = function

    def __call__(self, *arguments, **options):
        """Return what the function returns, or raise what it raises."""
        try:
            return self._function(*arguments, **options)
        except _KINDS as error:
            if type(error) in _KINDS:
                setattr(error, _MARK, True)  # travels with it
            raise


def computed(result):
    """Return the value of a delayed result; errors that may quote rows are not shown."""
    value, error = unquoted(_value_or_error, result)
    if error is not None:
        raise error
    return value


def _value_or_error(result):
    try:
        return result.compute(), None
    except _KINDS as error:
        if not getattr(error, _MARK, False):
            raise
        return None, error
