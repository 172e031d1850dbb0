"""All attacks; a new one is a module here with a ``PROMISE``, named in the tuple below."""

from . import black_box, containers, killings, odd_rows, parameters, races, readers, sensitivity

PROMISES = {
    module.PROMISE.name: module.PROMISE
    for module in (
        sensitivity,
        containers,
        readers,
        odd_rows,
        parameters,
        races,
        killings,
        black_box,
    )
}
