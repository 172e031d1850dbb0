"""A budget in memory: what interrupts a spend leaves a ledger that can be verified."""

import sys

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError
from tests.world import LOCK


class Interrupt(BaseException):
    """What a user's Ctrl-C raises, at a chosen moment."""


WATCHED = {"MemoryLedger", "RunningSums"}  # everything else a spend does comes before


def interrupted_at(moment, act):
    """Run `act`, interrupted before one of its instructions here; return how many it came to."""
    count = 0

    def watch(frame, event, arg):
        nonlocal count
        if frame.f_code.co_qualname.partition(".")[0] not in WATCHED:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            count += 1
            if count == moment:
                raise Interrupt
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        act()
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
        if LOCK.locked():  # between taking a lock and the block under it no real interrupt comes
            LOCK.release()
    return count


ACTS = {
    "spend": lambda budget: budget.spend(0.25, who="last"),
    "part": lambda budget: budget.part("b").spend(0.25, who="last"),
    "raise": lambda budget: budget.raise_ceiling(3.0, who="last"),
    "read": lambda budget: budget.total(),
}


@pytest.mark.parametrize("act", ACTS)
def test_an_interrupt_at_any_instruction_leaves_a_ledger_that_verifies(act):
    moment, outcomes, finished = 0, set(), False
    while not finished:
        moment += 1
        budget = BudgetAccountant(2.0)
        budget.spend(0.5)
        budget.part("a").spend(0.25)
        finished = interrupted_at(moment, lambda budget=budget: ACTS[act](budget)) < moment
        stands = budget.entries[-1].who == "last"
        outcomes.add(stands)
        assert budget.verify(budget.receipt()) == 2 + stands
        spent = {"spend": 1.0, "part": 0.75, "raise": 0.75, "read": 0.75}[act]
        assert budget.total()[0] == (spent if stands else 0.75)
        ceiling = 3.0 if stands and act == "raise" else 2.0
        assert budget.remaining()[0] == ceiling - budget.total()[0]
        budget.spend(budget.remaining()[0])
        with pytest.raises(BudgetError):
            budget.spend(1e-6)
    assert moment > 50
    assert outcomes == ({True, False} if act != "read" else {False})
