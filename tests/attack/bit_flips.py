"""Ledger files with a flipped bit: refused, or as they were; none gives budget back."""

import tempfile
from pathlib import Path

from skdp_bary import BudgetAccountant
from tests.ledger_flips import CRASHED, GAVE_BUDGET, flip_bits
from tests.world import RELATIONS

from .promises import Promise, Trial

_PARTS = ("north", "south")
_FLIPS = 40  # at once
_ROUNDS = 10  # of one ledger


def flips(rng):
    """Yield what became of flips in one small ledger after the other."""
    while True:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "budget.db"
            _make_ledger(path, rng)
            written = [offset for offset, byte in enumerate(path.read_bytes()) if byte]
            for _ in range(_ROUNDS):
                # most of a small file is empty: every other flip is where something is written
                anywhere = rng.integers(8 * path.stat().st_size, size=_FLIPS // 2)
                within = 8 * rng.choice(written, size=_FLIPS // 2) + rng.integers(8)
                yield from _flip(path, [*anywhere.tolist(), *within.tolist()])


def _flip(path, positions):
    outcomes = flip_bits(path, positions, _PARTS)
    for outcome, count in outcomes.items():
        bad = outcome in (GAVE_BUDGET, CRASHED)
        found = f"{outcome}: {count} of the bits {positions}" if bad else ""
        yield Trial(violation=found, count=count)


def _make_ledger(path, rng):
    budget = BudgetAccountant(3.0, 1e-5, neighbors=str(rng.choice(RELATIONS)), ledger=path)
    for number in range(rng.integers(1, 8)):
        part = str(rng.choice(["", *_PARTS]))
        view = budget.part(part) if part else budget
        view.spend(float(rng.uniform(0.01, 0.3)), float(rng.choice([0.0, 1e-7])), who=f"{number}")
    if rng.random() < 0.5:
        budget.raise_ceiling(3.5, who="board")


PROMISE = Promise("bit flips", "No flipped bit of a ledger file gives budget back", flips)
