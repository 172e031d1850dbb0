"""Flipped bits and bytes of a ledger file give no budget back."""

import os
import random
import sqlite3
import struct
from contextlib import closing

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import LedgerError
from tests.ledger_flips import CRASHED, GAVE_BUDGET, REFUSED, flip_bits
from tests.world import home

_sqlite = home("SqliteLedger")

PARTS = ("north", "south")


@pytest.fixture
def ledger(tmp_path):
    """A small ledger with all kinds of entries."""
    path = tmp_path / "budget.db"
    budget = BudgetAccountant(1.0, 1e-6, neighbors="replace_any", ledger=path)
    budget.spend(0.25, 1e-7, who="first")
    budget.part("north").spend(0.125, who="second")
    budget.part("south").spend(0.25)
    budget.raise_ceiling(1.5, who="board")
    budget.spend(0.0625, who="last")
    return path


@pytest.mark.parametrize("n_flips", [400, pytest.param(None, marks=pytest.mark.slow)])
def test_no_flipped_bit_gives_budget(ledger, n_flips):
    with closing(sqlite3.connect(ledger)) as db:  # fewer empty bytes to try
        db.execute("PRAGMA page_size = 1024")
        db.execute("VACUUM")
    size = 8 * ledger.stat().st_size
    chosen = range(size) if n_flips is None else random.Random(0).sample(range(size), n_flips)
    outcomes = flip_bits(ledger, chosen, PARTS)
    assert outcomes[GAVE_BUDGET] == outcomes[CRASHED] == 0, outcomes
    assert outcomes[REFUSED] > 0.02 * len(chosen)


def test_no_flipped_bit_of_what_is_written_gives_budget(ledger):
    """Most of a small file is empty; these bits are those of its numbers and words."""
    written = [offset for offset, byte in enumerate(ledger.read_bytes()) if byte]
    chosen = random.Random(1).sample([8 * o + bit for o in written for bit in range(8)], 400)
    outcomes = flip_bits(ledger, chosen, PARTS)
    assert outcomes[GAVE_BUDGET] == outcomes[CRASHED] == 0, outcomes
    assert outcomes[REFUSED] > 300


@pytest.mark.parametrize("kept", [0.0, 0.3, 0.7, 0.99])
def test_a_ledger_cut_short_is_refused(ledger, kept):
    os.truncate(ledger, int(kept * ledger.stat().st_size))
    for find in (BudgetAccountant.open, lambda path: BudgetAccountant(1.5, 1e-6, ledger=path)):
        with pytest.raises(LedgerError):
            find(ledger)


def test_flips_are_seen_where_nothing_is_checked(ledger, monkeypatch):
    """Without the checks of the file, some flips do give budget."""
    monkeypatch.setattr(_sqlite, "take_in", trusting)
    monkeypatch.setattr(_sqlite.SqliteLedger, "_check_file", lambda self, db: None)
    data = ledger.read_bytes()
    offset = data.index(struct.pack(">d", 1.5))
    outcomes = flip_bits(ledger, range(8 * offset, 8 * (offset + 8)), PARTS)
    assert outcomes[GAVE_BUDGET] > 0


def trusting(name, sums, rows):
    for *entry, loss, delta_units, link in rows:
        _, _, _, _, epsilon, delta, part, _, kind, _ = entry
        sums.add(part, loss, delta_units, link, (epsilon, delta) if kind == "raise" else None)
