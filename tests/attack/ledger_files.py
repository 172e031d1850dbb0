"""Ledger files renamed, copied, exchanged and cut off: no charge is forgotten, and errors say how
to go on."""

import os
import re
import resource
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, LedgerError, ReadOnlyLedgerError
from tests.privacy.test_ledger_together import (
    journal,
    kill_in_a_charge,
    move_as_told,
    restore_as_told,
    side,
)

from .promises import Promise, Trial, repeated

_CEILING = 1.0
_STEPS = 14
_NAMES = ("one.db", "two.db")
_REFUSED = (BudgetError, LedgerError)


def rename(rng):
    """Rename and copy the files of a ledger in between charges and killed ones."""
    with tempfile.TemporaryDirectory() as folder:
        return Renaming(Path(folder), rng).run()


class Renaming:
    """One ledger whose files go by two names, and what was granted from it."""

    def __init__(self, folder, rng):
        self._rng = rng
        self._places = [folder / name for name in _NAMES]
        self._granted = []
        self._open = [BudgetAccountant(_CEILING, ledger=self._places[0])]

    def run(self):
        """Return a trial."""
        acts = [self._charge, self._charge, self._kill, self._rename, self._rename, self._copy]
        for _ in range(_STEPS):
            acts[self._rng.integers(len(acts))]()
        total = sum((amount for _, amount in self._granted), Fraction(0))
        for place in self._places:
            self._judge(place)
        return Trial("renamed", float(total), "" if total <= 1 else f"{float(total)} was granted")

    def _judge(self, place):
        """Whoever can still spend has to know of everything that was granted."""
        try:
            budget = BudgetAccountant.open(place)
            budget.spend(1e-6)
        except _REFUSED:
            return
        held = {entry.who for entry in budget.entries}
        assert {who for who, _ in self._granted} <= held, "a ledger forgot a charge"
        budget.verify()

    def _charge(self):
        amount = Fraction(int(self._rng.integers(1, 10)), 20)
        who = str(len(self._granted))
        try:
            if self._rng.random() < 0.3:
                budget = self._open[self._rng.integers(len(self._open))]
            else:
                budget = BudgetAccountant.open(self._place())
                self._open.append(budget)
            budget.spend(float(amount), who=who)
        except _REFUSED:
            return
        self._granted.append((who, amount))

    def _kill(self):
        place = self._place()
        if place.exists():
            kill_in_a_charge(place, torn=self._rng.random() < 0.5)

    def _rename(self):
        """Rename the files, without the journal or some alone; nothing is overwritten."""
        here, there = self._rng.permutation(self._places)
        chances = ((1, 1, 1), (1, 1, 0), (0.5, 0.5, 0.5))[self._rng.integers(3)]
        for file, chance in zip((lambda place: place, side, journal), chances, strict=True):
            if self._rng.random() < chance and file(here).exists() and not file(there).exists():
                file(here).rename(file(there))

    def _copy(self):
        here, there = self._rng.permutation(self._places)
        for file in (lambda place: place, side, journal):
            if self._rng.random() < 0.3 and file(here).exists() and not file(there).exists():
                shutil.copy(file(here), file(there))

    def _place(self):
        return self._places[self._rng.integers(len(self._places))]


def exchange(rng):
    """Break a ledger, do what the error says, and charge it again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kept").mkdir()
        path = folder / "kept" / "budget.db"
        budget = BudgetAccountant(_CEILING, ledger=path)
        n_early, n_late = rng.integers(0, 4), rng.integers(1, 12)
        for number in range(n_early):
            budget.spend(0.05, who=f"early {number}")
        budget.backup(folder / "backup.db")
        shutil.copy(path, folder / "copy.db")
        for number in range(n_late):
            budget.spend(0.01, who=f"late {number}", note="x" * 1500)
        if rng.random() < 0.7:
            kill_in_a_charge(path, torn=rng.random() < 0.5)
        _break(path, folder, rng)
        broken = path.exists() and path.read_bytes()
        try:
            budget = BudgetAccountant.open(path)
        except LedgerError as refused:
            assert broken == (path.exists() and path.read_bytes()), "a refused file was changed"
            budget = _as_told(refused, path, folder)
        held = {entry.who for entry in budget.entries}
        assert {f"early {number}" for number in range(n_early)} <= held, "it forgot more than told"
        try:
            budget.spend(0.05)
        except ReadOnlyLedgerError as refused:  # the copy is whole: SQLite undid a charge in it
            budget = _as_told(refused, path, folder)
            budget.spend(0.05)
        assert BudgetAccountant.open(path).verify(budget.receipt()) == len(budget.entries)
    return Trial("restored as the error says")


def _break(path, folder, rng):
    way = rng.integers(5)
    if way == 0:
        shutil.copy(folder / "copy.db", path)
    elif way == 1:
        os.replace(folder / "copy.db", path)
    elif way == 2:
        os.truncate(path, int(rng.integers(path.stat().st_size)))
    elif way == 3:
        path.unlink()
    else:
        side(path).write_bytes(rng.bytes(20))


def _as_told(refused, path, folder):
    """Do what errors say, one after the other; the backup is there in the end."""
    for _ in range(4):
        if "BudgetAccountant.restore(" in str(refused):
            away = Path(tempfile.mkdtemp(dir=folder)) / "away"
            return restore_as_told(refused, away, folder / "backup.db")
        assert re.search("Move .* into another folder", str(refused)), f"no way out: {refused}"
        move_as_told(refused, Path(tempfile.mkdtemp(dir=folder)) / "away")
        try:
            return BudgetAccountant.open(path)
        except LedgerError as error:
            refused = error
    raise AssertionError(f"four times told and no ledger: {refused}")


def fill(rng):
    """Spend until the disk is full: what was granted, and nothing else, is in the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "budget.db"
        budget = BudgetAccountant(_CEILING, ledger=path)
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        room = path.stat().st_size + int(rng.integers(0, 20_000))
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
        granted = []
        try:
            for number in range(60):
                budget.spend(0.001, who=str(number), note="x" * int(rng.integers(1000)))
                granted.append(str(number))
        except LedgerError:
            pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        held = [entry.who for entry in BudgetAccountant.open(path).entries]
        assert held == granted, f"{len(granted)} charges were granted, the file holds {len(held)}"
        BudgetAccountant.open(path).spend(0.5)
    return Trial("full disks")


def act(rng):
    """One trial of some kind."""
    return (rename, exchange, fill)[rng.choice(3, p=[0.6, 0.3, 0.1])](rng)


PROMISE = Promise(
    "ledger files",
    "Renaming, copying, truncating or swapping ledger files loses no charge; errors say what to do",
    repeated(act),
)
