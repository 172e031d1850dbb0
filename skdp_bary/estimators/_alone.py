"""One fit of an object at a time."""

import os
from contextlib import contextmanager
from threading import get_ident

_FITS = {}  # identity of an object that is being fitted: the thread that does it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_FITS.clear)  # the threads are not there


@contextmanager
def fitted_alone(estimator):
    """Raise RuntimeError, before anything is read or charged, while another thread fits the object.

    Fitted attributes of two fits would mix, and of one of them the charge alone would be left.
    """
    me = get_ident()
    key = id(estimator)
    nested = _FITS.get(key) == me
    if _FITS.setdefault(key, me) != me:  # one step: of several threads one comes first
        raise RuntimeError(
            f"This {type(estimator).__name__} is being fitted by another thread, and would hold "
            "attributes of two fits. Give each thread a clone; they share the accountant."
        )
    try:
        yield
    finally:
        if not nested:
            del _FITS[key]
