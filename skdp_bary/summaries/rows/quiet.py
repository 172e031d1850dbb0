"""Errors from workers and readers: those of this package quote no value of rows, others may."""

from functools import update_wrapper

from ..._values import unquoted

_KINDS = (ValueError, TypeError, RuntimeError, ImportError)
_MARK = "_quotes_no_row"
_END = object()


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


def quiet_items(items):
    """Yield what an iterator gives; errors of pandas' readers of files, which quote, are not shown.

    Other iterators, and their errors, are the caller's own. They are left open.
    """
    if type(items).__module__.split(".")[0] != "pandas":
        for item in items:  # and no "yield from", which would close them
            yield item
        return
    while (item := unquoted(next, items, _END)) is not _END:
        yield item


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
