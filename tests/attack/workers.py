"""Attacks in several processes, each with trials of its own."""

import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from .runner import merged, run_attacks
from .suite import PROMISES


def run_in_processes(names, minutes, workers, seed):
    """Run the named attacks in every process for so many minutes and return the merged lines."""
    jobs = [(names, minutes, (seed, worker)) for worker in range(workers)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        lines = merged(pool.map(_attack, *zip(*jobs, strict=True)))
    order = [PROMISES[name].text for name in PROMISES]
    return sorted(lines, key=lambda line: (order.index(line.promise), line.subject))


def _attack(names, minutes, seed):
    warnings.simplefilter("ignore")
    return run_attacks([PROMISES[name] for name in names], minutes, seed)
