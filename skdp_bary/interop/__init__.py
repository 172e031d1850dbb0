"""Budgets for models of other libraries; each needs its library, which is imported when used."""

from importlib import import_module

_HOMES = {"DiffprivlibAccountant": "skdp_bary.interop.diffprivlib"}

__all__ = list(_HOMES)


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp_bary.interop' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__():
    return sorted(__all__)
