"""Pickles know which version wrote them and what they hold; damaged ones are refused."""

import copy
import warnings
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from pickle import UnpicklingError

import numpy as np

from ._version import __version__
from .exceptions import VersionWarning

_KEY, _CHECKSUM = "_skdp_bary_version", "_skdp_bary_checksum"
_PLAIN = (bool, int, float, complex, str, bytes, range, date, time, timedelta, Decimal, Fraction)
# Others write their versions, and a budget is another one in another process: its ledger tells.
_LEFT_OUT = {_KEY, _CHECKSUM, "_sklearn_version", "accountant"}


class VersionedPickle:
    """Write the version and a checksum into pickles, and say so where they do not fit.

    The checksum is of all attributes but the budget, as far as they are made of plain Python
    objects, arrays and what this package defines. Of others, such as steps of scikit-learn, only
    the class is held to it.
    """

    def __getstate__(self):
        state = super().__getstate__()
        return {**state, _CHECKSUM: checksum((type(self), state)), _KEY: __version__}

    def __setstate__(self, state):
        own = {name: value for name, value in state.items() if name not in (_KEY, _CHECKSUM)}
        version = state.get(_KEY, __version__)
        if version == __version__:
            _refuse_damaged(self, own, state.get(_CHECKSUM))
        warn_of_other_version(f"This {type(self).__name__}", version)
        super().__setstate__(own)

    # copies are not written anywhere
    def __copy__(self):
        made = type(self).__new__(type(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self).__new__(type(self))
        vars(made).update(copy.deepcopy(vars(self), memo))
        return made


def _refuse_damaged(made, state, told):
    if told != checksum((type(made), state)):
        raise UnpicklingError(
            f"This pickle of a {type(made).__name__} is damaged: its checksum differs. Read "
            "another copy of it. A new fit costs budget again."
        )


def checksum(value):
    """Return a checksum of a value, the same before it is pickled and after."""
    digest = blake2b(digest_size=16)
    _tell(digest.update, value, ())
    return digest.hexdigest()


def _tell(update, value, around):
    """Pass the bytes of a value on, of objects as they are pickled; `around` are those it is in."""
    kind = np.ndarray if isinstance(value, np.memmap) else type(value)
    update(f"{kind.__module__} {kind.__qualname__} ".encode())
    if id(value) in around:
        return
    inside = (*around, id(value))
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind != "O":
        update(f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())
    elif isinstance(value, np.ndarray):
        _tell(update, (value.shape, value.tolist()), inside)
    elif isinstance(value, dict):
        for pair in value.items():
            if not (isinstance(pair[0], str) and pair[0] in _LEFT_OUT):
                _tell(update, pair, inside)
    elif isinstance(value, list | tuple):
        update(f"{len(value)} ".encode())
        for one in value:
            _tell(update, one, inside)
    elif isinstance(value, set | frozenset):
        update(" ".join(sorted(map(checksum, value))).encode())
    elif hasattr(value, "__qualname__"):  # a class or a function
        update(f"{value.__module__} {value.__qualname__} ".encode())
    elif isinstance(value, _PLAIN):
        update(f"{value!r} ".encode("utf-8", "surrogatepass"))
    elif _is_plain_object(value):
        _tell(update, value.__reduce_ex__(4)[1:3], inside)


def _is_plain_object(value):
    """Whether an object is one of this package, or is pickled as all that it holds."""
    kind = type(value)
    if isinstance(value, VersionedPickle) or kind.__module__.split(".")[0] == "skdp_bary":
        return True
    usual = ("__reduce__", "__reduce_ex__", "__getstate__")
    is_usual = all(getattr(kind, name, None) is getattr(object, name, None) for name in usual)
    return is_usual and hasattr(value, "__dict__") and not hasattr(kind, "__setstate__")


def warn_of_other_version(what, version):
    """Say that another version wrote a thing, where that is so."""
    if version != __version__:
        warnings.warn(
            f"{what} was written by skdp_bary {version}, and this is {__version__}: what it "
            "computes may differ. What was released, and what it cost, does not change.",
            VersionWarning,
            stacklevel=3,
        )
