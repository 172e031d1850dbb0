"""What a fit says while it runs, and beside an interrupt."""

import inspect
import traceback

import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateKMeans, PrivateMeasure
from tests.discovery import private_estimators
from tests.world import home

desk_module = home("Desk")

X = np.random.default_rng(0).random((60, 2))


def measure(**settings):
    return PrivateMeasure(bounds=(0, 1), method="haar", **settings)


@pytest.mark.parametrize("name", private_estimators())
def test_every_estimator_takes_verbose(name):
    cls = private_estimators()[name]
    assert inspect.signature(cls).parameters["verbose"].default == 0


@pytest.mark.filterwarnings("ignore:Parts of bounds")
def test_nothing_a_bar_or_lines(capsys):
    measure().fit(X)
    assert capsys.readouterr().err == ""
    measure(verbose=1).fit(X)
    bar = capsys.readouterr().err
    assert "\r" in bar and "1/2 count" in bar and "2/2 tree" in bar
    assert bar.endswith("post-processing\n")
    measure(verbose=2).fit(X)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("PrivateMeasure: step 1 of 2, count: DiscreteLaplace(epsilon=")
    assert lines[2:] == ["PrivateMeasure: post-processing"]  # one line per step
    measure(verbose=2).fit(X[:7])  # and no word of how many rows there are
    assert capsys.readouterr().err.splitlines()[2:] == lines[2:]
    with pytest.raises(ValueError, match="verbose must be 0 or 1 or 2"):
        measure(verbose=3).fit(X)


@pytest.mark.parametrize(
    ("place", "charged", "words"),
    [
        ("collect", 0, "nothing was charged"),
        ("release", 1, "after 1 of 2 steps: epsilon=1.0, delta=0.0 was charged"),
    ],
)
def test_an_interrupt_says_what_was_charged(monkeypatch, place, charged, words):
    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(desk_module, place, interrupt)
    budget = BudgetAccountant(2.0)
    with pytest.raises(KeyboardInterrupt) as stopped:
        measure(accountant=budget).fit(X)
    assert words in "".join(traceback.format_exception(stopped.value))
    assert len(budget.entries) == charged


def test_an_interrupt_during_the_charge_points_to_the_entries(monkeypatch):
    budget = BudgetAccountant(2.0)

    def charge(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr(BudgetAccountant, "charge", charge)
    with pytest.raises(KeyboardInterrupt) as stopped:
        PrivateKMeans(2, bounds=(0, 1), accountant=budget).fit(X)
    assert "see the accountant's entries" in "".join(stopped.value.__notes__)
