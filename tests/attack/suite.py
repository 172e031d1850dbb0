"""All attacks; a new one is a module here with a ``PROMISE``, named in the tuple below."""

from . import (
    bit_flips,
    black_box,
    containers,
    killings,
    odd_rows,
    parameters,
    races,
    readers,
    sensitivity,
)

_MODULES = (
    sensitivity,
    containers,
    readers,
    odd_rows,
    parameters,
    races,
    killings,
    bit_flips,
    black_box,
)
PROMISES = {module.PROMISE.name: module.PROMISE for module in _MODULES}
