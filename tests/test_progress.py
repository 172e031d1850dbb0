"""What a fit says while it runs, and beside an interrupt."""

import inspect
import traceback

import joblib
import numpy as np
import pytest

from skdp_bary import BudgetAccountant, PrivateKMeans, PrivateMeasure
from tests.discovery import private_estimators
from tests.world import home

counting = home("collect")
desk_module = home("Desk")
arrays = home("ArraySource")

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
    with pytest.raises(ValueError, match="verbose must be 0 or 1 or 2"):
        measure(verbose=3).fit(X)


def test_rows_are_quarters_and_never_numbers(monkeypatch, capsys):
    """A line a part would tell how many parts there are, at a border whether a row is there."""
    said = []
    monkeypatch.setattr(arrays, "CHUNK_ROWS", 7)
    for n_rows in (7, 8, 3 * 7, 60):
        measure(n_hint=9, depth=3, verbose=2).fit(X[:n_rows])
        said.append(capsys.readouterr().err)
    with joblib.parallel_config("loky", n_jobs=2), monkeypatch.context() as patched:
        patched.setattr(counting, "Parallel", lambda: list)
        patched.setattr(counting, "delayed", lambda f: f)
        measure(n_hint=9, depth=3, verbose=2).fit(X)
    assert set(said) == {capsys.readouterr().err}
    assert said[0].count("%") == 4 and said[0].splitlines()[0].endswith(" 25% 50% 75% 100%")


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
