"""Share time among attacks and count what they found."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .promises import Trial

_MOST_CRASHES = 3  # of one attack; after that it is given up
_MOST_TEXTS = 20  # violations of one line that are kept in words


@dataclass
class Line:
    """What was found about one promise, or about one thing that it is made for."""

    promise: str
    subject: str = ""
    trials: int = 0
    worst: float | None = None
    violations: int = 0
    texts: list = field(default_factory=list)

    def add(self, trial):
        """Count what was tried and found."""
        texts = [trial.violation] if trial.violation else []
        self.merge(Line(self.promise, self.subject, trial.count, trial.ratio, len(texts), texts))

    def merge(self, other):
        """Add what another run found about the same."""
        self.trials += other.trials
        self.violations += other.violations
        self.texts = [*self.texts, *other.texts][:_MOST_TEXTS]
        if other.worst is not None:
            self.worst = other.worst if self.worst is None else max(self.worst, other.worst)


@dataclass
class _Running:
    promise: object
    rng: np.random.Generator
    trials: Iterator
    spent: float = 0.0
    done: int = 0
    crashes: int = 0
    ended: bool = False

    def go_on(self):
        """Return the next trial, or None where there is none yet or none any more."""
        begin = time.perf_counter()
        try:
            trial = next(self.trials)
        except StopIteration:
            self.ended, trial = True, None
        except Exception as error:  # whatever breaks an attack has to be looked at
            self.crashes += 1
            self.ended = self.crashes >= _MOST_CRASHES
            self.trials = self.promise.attack(self.rng)
            trial = Trial(violation=f"the attack broke: {type(error).__name__}: {error}")
        self.spent += (time.perf_counter() - begin) / self.promise.shares
        self.done += trial is not None
        return trial


def run_attacks(promises, minutes, seed):
    """Run attacks in turns until the time is over; return a list of Line.

    Whichever attack has had the least of its share is next, and each has at least one trial.
    """
    streams = np.random.SeedSequence(seed).spawn(len(promises))
    running = []
    for promise, stream in zip(promises, streams, strict=True):
        rng = np.random.default_rng(stream)
        running.append(_Running(promise, rng, promise.attack(rng)))
    lines, deadline = {}, time.perf_counter() + 60.0 * minutes
    while running:
        turn = min(running, key=lambda each: each.spent)
        if time.perf_counter() >= deadline:
            late = [each for each in running if not each.done]
            if not late:
                break
            turn = late[0]
        trial = turn.go_on()
        if trial is not None:
            text, subject = turn.promise.text, trial.subject
            lines.setdefault((text, subject), Line(text, subject)).add(trial)
        if turn.ended:
            running.remove(turn)
    return list(lines.values())


def merged(runs):
    """Return the lines of several runs as those of one, in the order of first sight."""
    lines = {}
    for line in (line for run in runs for line in run):
        key = line.promise, line.subject
        lines.setdefault(key, Line(*key)).merge(line)
    return list(lines.values())
