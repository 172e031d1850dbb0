"""Pickles know which version wrote them."""

import warnings

from ._version import __version__
from .exceptions import VersionWarning

_KEY = "_skdp_bary_version"


class VersionedPickle:
    """Write the version into pickles, and say so where another one wrote what is read."""

    def __getstate__(self):
        return {**super().__getstate__(), _KEY: __version__}

    def __setstate__(self, state):
        own = dict(state)
        warn_of_other_version(f"This {type(self).__name__}", own.pop(_KEY))
        super().__setstate__(own)


def warn_of_other_version(what, version):
    """Say that another version wrote a thing, where that is so."""
    if version != __version__:
        warnings.warn(
            f"{what} was written by skdp_bary {version}, and this is {__version__}: what it "
            "computes may differ. What was released, and what it cost, does not change.",
            VersionWarning,
            stacklevel=3,
        )
