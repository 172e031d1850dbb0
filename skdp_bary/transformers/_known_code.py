"""Whose code a step runs: names of classes and methods can be given to anything."""

import sys

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
    return hasattr(step, "privacy_plan") or library_of(type(step)) == "diffprivlib"
