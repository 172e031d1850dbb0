"""All attacks; a new one is a module here with a ``PROMISE``, named in the tuple below."""

import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from . import (
    bit_flips,
    black_box,
    borrowed,
    commands,
    compositions,
    containers,
    damage,
    held,
    ids,
    killings,
    ledger_files,
    parts,
    policies,
    races,
    receipts,
    sensitivity,
    streams,
    texts,
)
from .runner import merged, run_attacks

_ALL = (
    *(sensitivity.PROMISE, held.PROMISE, streams.PROMISE, borrowed.ENUMERATION, containers.PROMISE),
    texts.PROMISE,
    *(borrowed.READERS, borrowed.PUBLIC_STEPS, borrowed.ODD_ROWS, ids.PROMISE, borrowed.QUIET),
    *(borrowed.PARAMETERS, borrowed.ODD_TYPES, parts.PROMISE, races.PROMISE),
    *(compositions.PROMISE, killings.PROMISE, ledger_files.PROMISE, receipts.PROMISE),
    *(policies.PROMISE, bit_flips.PROMISE, damage.PROMISE, commands.PROMISE, black_box.PROMISE),
)
PROMISES = {promise.name: promise for promise in _ALL}


def run_in_processes(names, minutes, workers, seed):
    """Run the named attacks in every process for so many minutes and return the merged lines."""
    jobs = [(names, minutes, (seed, worker)) for worker in range(workers)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        lines = merged(pool.map(_attack, *zip(*jobs, strict=True)))
    order = [promise.text for promise in _ALL]
    return sorted(lines, key=lambda line: (order.index(line.promise), line.subject))


def _attack(names, minutes, seed):
    warnings.simplefilter("ignore")
    return run_attacks([PROMISES[name] for name in names], minutes, seed)
