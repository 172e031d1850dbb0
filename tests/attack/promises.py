"""What an attack is: a promise of the package, and an endless supply of trials to break it."""

import signal
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trial:
    """The outcome of one attempt."""

    subject: str = ""  # what was attacked, where a promise is about several things
    ratio: float | None = None  # realized over stated, where there is something to measure
    violation: str = ""  # what contradicts the promise, in words
    count: int = 1  # how many trials this is the outcome of


@dataclass(frozen=True)
class Promise:
    """A promise and the attack on it, which takes a numpy generator and yields trials.

    A trial that takes longer than a few seconds yields None in between.
    """

    name: str  # one word or two, to choose it by
    text: str  # as the table shows it
    attack: Callable
    shares: float = 1.0  # of the time, beside one share of every other attack


class OutOfTime(BaseException):
    """A trial took too long; nothing that it calls takes this for an error of its own."""


@contextmanager
def time_limit(seconds):
    """Raise OutOfTime within, after so many seconds; only the main thread can be stopped so."""

    def stop(*_):
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def repeated(attempt, seconds=30.0):
    """Return an attack that makes one attempt after the other.

    ``attempt(rng)`` returns a Trial, or None for a trial without a violation; an AssertionError is
    a violation. Attempts that take longer than so many seconds are given up and do not count.
    """

    def attack(rng):
        while True:
            try:
                with time_limit(seconds):
                    trial = attempt(rng)
            except OutOfTime:
                continue
            except AssertionError as failure:
                trial = Trial(violation=first_line(failure))
            yield Trial() if trial is None else trial

    return attack


def first_line(error):
    """Return the first line of what an error says, or its kind where it says nothing."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


def spawn(rng):
    """Return a generator of its own for one trial, so that trials do not depend on each other."""
    return np.random.default_rng(rng.integers(2**63))
