"""All attacks; a new one is a module here with a ``PROMISE``, named in the tuple below."""

from . import (
    bit_flips,
    black_box,
    compositions,
    containers,
    enumeration,
    ids,
    killings,
    odd_rows,
    parameters,
    parts,
    public_steps,
    quiet,
    races,
    readers,
    sensitivity,
    streams,
)

_MODULES = (
    sensitivity,
    streams,
    enumeration,
    containers,
    readers,
    public_steps,
    odd_rows,
    ids,
    quiet,
    parameters,
    parts,
    races,
    compositions,
    killings,
    bit_flips,
    black_box,
)
PROMISES = {module.PROMISE.name: module.PROMISE for module in _MODULES}
