"""What every ledger does, wherever its entries live."""

import pickle
import threading
from dataclasses import replace
from fractions import Fraction

import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.exceptions import BudgetError, LedgerError
from skdp_bary.privacy import Receipt, SpendingPolicy
from tests.world import exact, renyi_budget


def opened(place, **options):
    return BudgetAccountant(**{"epsilon": 1.0, "delta": 1e-6, **options}, ledger=place)


def test_charges_add_up_until_the_ceiling(place):
    accountant = opened(place)
    accountant.spend(0.6, 1e-7, who="survey é\n'", note="seeded, not private")
    with pytest.raises(BudgetError, match="0.4"):
        accountant.spend(0.5)
    accountant.spend(0.4)
    assert accountant.total() == (1.0, 1e-7)
    assert [entry.epsilon for entry in accountant.entries] == [0.6, 0.4]
    first = accountant.entries[0]
    assert (first.who, first.note) == ("survey é\n'", "seeded, not private")


def test_ceilings_are_rounded_down(place):
    """A unit more than was written, of epsilon or of delta, is never granted."""
    accountant = opened(place, epsilon=0.1234569, delta=1.9e-18)
    yearly = accountant.under(SpendingPolicy(0.0987659, 1.9e-18))
    assert yearly.remaining() == (0.098765, 1e-18)
    for payer, most in (
        (accountant, 0.123456),
        (accountant.part("a"), 0.123456),
        (yearly, 0.098765),
    ):
        assert payer.remaining() == (most, 1e-18)
        for more in ((most + 1e-6, 0.0), (most, 1.5e-18)):
            with pytest.raises(BudgetError, match="Nothing was charged"):
                payer.spend(round(more[0], 6), more[1])
    accountant.raise_ceiling(0.2222229, 2.9e-18)
    assert accountant.remaining() == (0.222222, 2e-18)
    accountant.spend(0.222222, 2e-18)
    assert accountant.remaining() == (0.0, 0.0)


@pytest.mark.parametrize("epsilon, delta", [(1.0, 1e-6), (0.3, 3e-18), (7.7, 1e-3)])
def test_ceilings_of_renyi_losses_are_rounded_down(place, epsilon, delta):
    accountant = opened(place, epsilon=epsilon, delta=delta, composition="renyi")
    ceiling, order = accountant._filter.ceiling, accountant._filter.order
    assert 0 <= Fraction(renyi_budget(order, epsilon, delta / 2)) * 10**6 - ceiling.loss < 1
    assert 0 <= exact(delta) / 2 * 10**18 - ceiling.delta < 1


@pytest.mark.parametrize("policy", [None, SpendingPolicy(1.0)])
def test_threads_with_budget_for_one_charge_make_one(place, policy):
    accountant = opened(place, epsilon=1.0 if policy is None else 9.0)
    spender = accountant if policy is None else accountant.under(policy)
    outcomes = []

    def race():
        try:
            spender.spend(0.7)
            outcomes.append("charged")
        except BudgetError:
            outcomes.append("refused")

    threads = [threading.Thread(target=race) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["charged"] + ["refused"] * 7
    assert len(accountant.entries) == 1


def test_a_receipt_tells_whether_the_ledger_still_holds_it(place):
    accountant = opened(place)
    empty = accountant.receipt()
    accountant.spend(0.1)
    first = Receipt.from_json(accountant.receipt().to_json())
    accountant.spend(0.2)
    for receipt in (None, empty, first, accountant.receipt()):
        assert accountant.verify(receipt) == 2
    later = replace(first, number=5)
    altered = replace(first, link=empty.link)
    for receipt in (later, altered):
        with pytest.raises(LedgerError, match="older copy"):
            accountant.verify(receipt)
    with pytest.raises(LedgerError, match="another ledger"):
        accountant.verify(replace(first, ledger="other"))
    with pytest.raises(TypeError):
        accountant.verify("receipt")


class TestRaise:
    def test_it_is_logged_and_admits_more(self, place):
        accountant = opened(place)
        accountant.spend(0.9)
        accountant.raise_ceiling(2.0, who="board", note="second wave")
        assert (accountant.epsilon, accountant.delta) == (2.0, 1e-6)
        accountant.spend(1.1, 1e-6)
        assert accountant.remaining() == (0.0, 0.0)
        spent, raised, _ = accountant.entries
        assert (spent.kind, raised.kind) == ("spend", "raise")
        assert (raised.epsilon, raised.delta, raised.who) == (2.0, 1e-6, "board")
        assert accountant.verify(accountant.receipt()) == 3
        assert accountant.total() == (2.0, 1e-6)
        assert "new ceiling; second wave" in str(accountant)

    @pytest.mark.parametrize(
        "ceiling", [(1.0, 1e-6), (0.5, 1e-6), (2.0, 1e-7), (0.5, 1e-5)], ids=str
    )
    def test_it_never_lowers(self, place, ceiling):
        accountant = opened(place)
        accountant.spend(0.9)
        with pytest.raises(BudgetError, match="new limit must be above"):
            accountant.raise_ceiling(*ceiling)
        assert (accountant.epsilon, accountant.delta) == (1.0, 1e-6)
        assert len(accountant.entries) == 1

    def test_parts_and_open_accountants_follow(self, place):
        accountant = opened(place)
        other = accountant if place is None else BudgetAccountant.open(place)
        part = other.part("north")
        accountant.raise_ceiling(2.0)
        part.spend(1.5)
        assert part.remaining()[0] == 0.5
        assert other.remaining()[0] == 0.5 and other.epsilon == 2.0

    def test_renyi_losses_keep_their_order(self, place):
        accountant = opened(place, composition="renyi")
        order = accountant._filter.order
        accountant.spend(0.2)
        before = accountant.total()
        accountant.raise_ceiling(3.0)
        assert accountant._filter.order == order
        assert accountant.total() == before
        accountant.spend(accountant.remaining()[0])
        assert 2.9 < accountant.total()[0] <= 3.0
        if place is not None:
            found = BudgetAccountant.open(place)
            assert found._filter.order == order and found.total() == accountant.total()
            assert opened(place, composition="renyi", epsilon=3.0)._filter.order == order

    def test_what_was_pickled_before_follows_too(self, place):
        accountant = opened(place)
        copy = pickle.loads(pickle.dumps(accountant))
        if place is None:
            with pytest.raises(BudgetError, match="memory of another process"):
                copy.raise_ceiling(5.0)
            return
        accountant.raise_ceiling(2.0)
        copy.spend(1.5)
        assert copy.epsilon == 2.0
