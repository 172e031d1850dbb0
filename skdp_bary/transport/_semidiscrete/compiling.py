"""Compilation with fixed types: once a machine where code can be kept, once a process elsewhere."""

import numba

_OPTIONS = {"error_model": "numpy", "nogil": True, "boundscheck": False}


def compiled(signature):
    """Return a decorator that compiles for these types only, when the module is imported.

    The code is kept beside the source or, where that cannot be written, in the user's cache folder.
    """

    def compile_now(function):
        try:
            return numba.njit(signature, cache=True, **_OPTIONS)(function)
        except Exception:  # no folder to keep code in, a full disk, code of another version
            return numba.njit(signature, **_OPTIONS)(function)

    return compile_now


def inlined(function):
    """Compile a small function into those that call it."""
    return numba.njit(**_OPTIONS)(function)
