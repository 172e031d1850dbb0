"""Compilation with fixed types: once a machine where code can be kept, once a process elsewhere."""

import logging
from functools import cache
from pathlib import Path

import numba

from .kept import is_kept

_OPTIONS = {"error_model": "numpy", "nogil": True, "boundscheck": False}
_NO_COUNTING = {"_nrt": False}


def compiled(signature, *, allocates=True):
    """Return a decorator that compiles for these types only, when the module is imported.

    The code is kept beside the source or, where that cannot be written, in the user's cache folder.
    What makes no array does without the counting of references, which takes a third of the time
    where many arrays are handed on.
    """
    options = _OPTIONS if allocates else _OPTIONS | _NO_COUNTING

    def compile_now(function):
        if not is_kept(Path(function.__code__.co_filename), function.__name__):
            say_so()
        try:
            return numba.njit(signature, cache=True, **options)(function)
        except Exception:  # no folder to keep code in, a full disk, code of another version
            return numba.njit(signature, **options)(function)

    return compile_now


@cache
def say_so():
    """Say, once a process, why the first large problem on a machine takes longer."""
    logging.getLogger("skdp_bary").warning(
        "skdp_bary: compiling exact transport, once on this machine; takes up to a minute ..."
    )


def compiled_type(group, *fields):
    """Return the type of a named tuple for `compiled`, from the names of its fields' types."""
    return numba.types.NamedTuple([_type(field) for field in fields], group)


def signature(*arguments):
    """Return the signature of a function of these types, or names of types, that returns an int."""
    return numba.int64(*(_type(each) if isinstance(each, str) else each for each in arguments))


def _type(name):
    return numba.core.sigutils.normalize_signature(f"({name},)")[0][0]


def inlined(function):
    """Compile a small function, which makes no array, into those that call it."""
    return numba.njit(**_OPTIONS, **_NO_COUNTING)(function)


def summing(function):
    """Do the same, and add what the function adds in any order: several terms at a time."""
    return numba.njit(fastmath={"reassoc"}, **_OPTIONS, **_NO_COUNTING)(function)
