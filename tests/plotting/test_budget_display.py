import numpy as np
import pytest
from matplotlib import pyplot

from skdp_bary import BudgetAccountant
from skdp_bary.plotting import BudgetDisplay
from tests.cases import every


def spend(accountant):
    accountant.spend(0.5, who="whole one")
    accountant.part("a").spend(0.3, who="part")
    accountant.part("b").spend(0.4, who="part")
    accountant.spend(0.1, who="whole two")
    accountant.part("a").spend(0.2, who="part")
    return accountant


@every(
    "neighbors, running",
    [
        ("add_remove", [0.5, 0.8, 0.9, 1.0, 1.1]),
        ("replace_one", [0.5, 0.8, 0.9, 1.0, 1.1]),
        ("replace_any", [0.5, 0.8, 1.2, 1.3, 1.5]),
    ],
)
def test_the_running_total_ends_where_the_accountant_does(neighbors, running):
    accountant = spend(BudgetAccountant(2.0, neighbors=neighbors))
    display = BudgetDisplay.from_accountant(accountant)
    np.testing.assert_allclose(display.running, running)
    assert display.running[-1] == pytest.approx(accountant.total()[0])


def test_bars_show_the_entries_and_their_parts():
    display = BudgetDisplay.from_accountant(spend(BudgetAccountant(2.0)))
    heights = [bar.get_height() for bar in display.bars_]
    assert heights == [0.5, 0.3, 0.4, 0.1, 0.2]
    colors = [bar.get_facecolor() for bar in display.bars_]
    assert colors[0] == colors[3] and colors[1] == colors[4]
    assert len(set(colors)) == 3
    legend = {text.get_text() for text in display.axes_.get_legend().get_texts()}
    assert legend == {"whole data", "a", "b", "total", "ceiling"}


def test_entries_are_named():
    display = BudgetDisplay.from_accountant(spend(BudgetAccountant(2.0)))
    names = [text.get_text() for text in display.axes_.get_xticklabels()]
    assert names == ["whole one", "part", "part", "whole two", "part"]


def test_many_entries_are_counted_instead():
    accountant = BudgetAccountant(1.0)
    for _ in range(40):
        accountant.spend(0.01, who="survey")
    assert BudgetDisplay.from_accountant(accountant).axes_.get_xlabel() == "entry"


def test_renyi_budgets_show_their_total_only():
    accountant = BudgetAccountant(1.0, 1e-6, composition="renyi")
    accountant.spend(0.1, who="survey")
    display = BudgetDisplay.from_accountant(accountant)
    assert display.running is None and display.total == accountant.total()[0]


def test_an_empty_ledger_can_be_drawn():
    display = BudgetDisplay.from_accountant(BudgetAccountant(1.0))
    assert len(display.bars_) == 0 and display.total == 0.0


def test_given_axes_are_used():
    _, axes = pyplot.subplots()
    display = BudgetDisplay.from_accountant(BudgetAccountant(1.0), ax=axes)
    assert display.axes_ is axes and display.plot(ax=axes) is display
