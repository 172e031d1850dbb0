"""Published methods, each in one file that cites its source and says what is wrong with it."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .sliced_noise import calibrate_sigma
    from .sliced_privacy import bernstein_bound, clt_bound
    from .sliced_rows import NoisyRowsSlicedWasserstein

_HOMES = {
    "NoisyRowsSlicedWasserstein": "sliced_rows",
    "bernstein_bound": "sliced_privacy",
    "calibrate_sigma": "sliced_noise",
    "clt_bound": "sliced_privacy",
}
_WITH_TORCH = ()  # names that need the extra "torch"

__all__ = [
    "NoisyRowsSlicedWasserstein",
    "bernstein_bound",
    "calibrate_sigma",
    "clt_bound",
]


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module 'skdp_bary.papers' has no attribute {name!r}")
    if name in _WITH_TORCH:
        from .._optional import import_optional

        import_optional("torch", "torch", f"skdp_bary.papers.{name}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__():
    return sorted(__all__)
