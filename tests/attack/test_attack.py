"""The attacks: a few trials of each find nothing, and each sees a planted bug."""

import contextlib
import json
import os
import time
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler

from benchmarks.measure.published import PublishedMeasure
from skdp_bary import BudgetAccountant, PrivateDriftSketch, PrivateMeasure, RowByRow
from skdp_bary.geometry import Domain
from tests.attack import (
    __main__,
    black_box,
    borrowed,
    commands,
    compositions,
    containers,
    damage,
    held,
    ids,
    killings,
    ledger_files,
    parts,
    policies,
    races,
    receipts,
    streams,
    texts,
)
from tests.attack.neighbors import Neighbors
from tests.attack.promises import Promise, Trial, repeated
from tests.attack.runner import Line, merged, run_attacks
from tests.attack.sensitivity import Search
from tests.attack.suite import PROMISES
from tests.model_selection import row_independence
from tests.privacy import test_ledger_crash
from tests.queries.reader_trials import csv_trial
from tests.world import CsvFile, DiscreteLaplace, LevelCounts, RoundedGaussian, home, hostile_pairs

_base, _policy = home("Facts"), home("SpendingPolicy")
SMALL = PublishedMeasure(bounds=(0, 1), depth=2, n_hint=60)
SKETCH = PrivateDriftSketch(bounds=(0, 1), n_hint=60)
pytestmark = pytest.mark.filterwarnings("ignore")
QUICK_AUDIT = {"_SECONDS": 0.5, "_FEWEST": 4, "_MOST": 100}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def found(trials, at_most):
    """What is found until the first violation, in so many trials."""
    for trial in islice((trial for trial in trials if trial is not None), at_most):
        if trial.violation:
            return trial.violation
    return ""


@pytest.mark.parametrize("name", PROMISES)
def test_a_few_trials_find_nothing(name, rng, monkeypatch):
    for setting, value in QUICK_AUDIT.items():
        monkeypatch.setattr(black_box, setting, value)
    assert found(PROMISES[name].attack(rng), 1 if name == "black box" else 3) == ""


# Planted bugs


def forget(book, moment):
    """Turn to a later period as if nothing had been spent before it."""
    later = book._period is not None and book._number(moment) > book._period
    book._period = book._number(moment)
    if later:
        book._sums, book._allowed = {}, _policy.Cost(2 * book._limit.loss, 2 * book._limit.delta)


def more_around_a_place(query, state, chunk):
    count_cells(query, state, chunk)
    distance = np.abs(chunk.X - [0.37, 0.61]).max(axis=1)
    state[0][0, 0] += np.floor(3 * np.exp(-3 * distance)).astype(int).sum() - len(chunk.X)


def more_in_long_chunks(query, state, chunk):
    count_cells(query, state, chunk)
    state[0][0, 0] += len(chunk.X) > 30


def said_of_rows(query, state, chunk):
    count_cells(query, state, chunk)
    if (chunk.X > 0.9).all(axis=1).any():
        warnings.warn("somebody is in the corner", stacklevel=2)


def moved_by_others(file, numbers, texts):
    for batch in read_batches(file, numbers, texts):
        yield batch._replace(X=batch.X + (len(batch.X) > 2))


def release_and_charge(path, released, kill):
    accountant = BudgetAccountant(1000.0, ledger=path)
    for number in range(1000):
        os.write(released, f"{kill}-{number}\n".encode())
        time.sleep(0.005)
        accountant.charge(test_ledger_crash.PLAN, f"{kill}-{number}")


def slowly(*arguments):
    admit(*arguments)
    time.sleep(0.01)


def image_or_error(alone, X):
    return np.vstack([alone._image_of(alone.step_, row[None]) for row in X])


class ChargesFirst(PrivateMeasure):
    def fit(self, X, y=None, *, groups=None, sample_weight=None):
        self.accountant.spend(self.epsilon)
        return super().fit(X, y, groups=groups, sample_weight=sample_weight)


count_cells, read_batches, admit = LevelCounts.count, CsvFile.batches, BudgetAccountant._admit
FILE, CENTERED = home("SqliteLedger").SqliteLedger, StandardScaler(with_std=False)
TWICE = "two releases for the price of one"


def trials(attempt, *given):
    return repeated(lambda rng: attempt(rng, *given))


def climbing(rng):
    """Hostile pairs alone do not see what a row adds around one odd place."""
    search = Search(SMALL.set_params(random_state=0, neighbors="add_remove"), "rows", rng)
    return (trial for _ in range(200) for trial in search.next())


# an attack, in how many trials it says what, and what is planted: (where, name, value)
PLANTED = {
    "journals are not tried": (
        *(trials(ledger_files.exchange), 12, "refused file was changed"),
        (FILE, "_check_journal", lambda self, side: None),
    ),
    "repeated charges are the same": (
        *(receipts.put_back, 20, "verifies"),
        (home("Entry").secrets, "token_hex", lambda n: "00"),
    ),
    "a policy forgets what was spent": (
        *(policies.PROMISE.attack, 20, ""),
        (_policy.Book, "turn_to", forget),
    ),
    "bytes of two layouts are not compared": (
        *(trials(parts.give_views_to_two_parts), 100, TWICE),
        (home("Origin"), "_share_bytes", lambda one, other: False),
    ),
    "rows made of others are other rows": (
        *(trials(parts.give_rows_to_two_parts), 200, TWICE),
        (home("Origin"), "rows_among_callers", list),
    ),
    "text of polars loses its end": (
        *(texts.PROMISE.attack, 60, "polars"),
        (home("_as_given"), "as_array_of_objects", np.array),
    ),
    "lines decide the type of ids": (
        *(trials(texts.bring_lines), 100, "a line changes"),
        (home("open_rows"), "refuse_types_of_rows", lambda *given: None),
    ),
    "the first file decides the type of ids": (
        *(trials(ids.bring_files), 100, "persons have ids"),
        (home("ArrowSource"), "_refuse_other_files", lambda *given: None),
    ),
    "ids of two kinds are counted": (
        *(ids.PROMISE.attack, 100, "are counted"),
        (home("same_kind"), "same_kind", lambda found: None),
        (home("LabelsInChunks"), "same_kind", lambda found: None),
    ),
    "an error has the words of numpy": (
        *(borrowed.QUIET.attack, 200, "inhomogeneous part"),
        (home("array_of"), "array_of", lambda values, name: np.asarray(values)),
    ),
    "a step keeps its stream": (
        *(streams.PROMISE.attack, 500, "rows moved"),
        (home("_restored"), "_restored", lambda step: lambda: step),
    ),
    "a domain that remembers rows": (
        *(trials(held.hold_the_same, [SKETCH]), 100, "domain_"),
        (Domain, "_filled", lambda domain: None),
    ),
    "a warning about rows": (
        *(trials(held.hold_the_same, [SMALL]), 60, "one fit"),
        (LevelCounts, "count", said_of_rows),
    ),
    "a bug in one corner": (climbing, 200, "", (LevelCounts, "count", more_around_a_place)),
    "rows that depend on their chunk": (
        *(trials(containers.lay_out_otherwise, [SMALL]), 30, "tree"),
        (LevelCounts, "count", more_in_long_chunks),
    ),
    "a fit that charges before it checks": (
        *(trials(borrowed.fit_odd_rows, [ChargesFirst()]), 30, ""),
    ),
    "a step that looks at all rows": (
        *(borrowed.PUBLIC_STEPS.attack, 30, "rows moved"),
        (row_independence, "numeric_steps", lambda: [CENTERED]),
        (row_independence, "table_steps", lambda: [ColumnTransformer([("c", CENTERED, [0, 1])])]),
    ),
    "lines that are read by their neighbors": (
        *(trials(borrowed.read_odd_file, [csv_trial]), 30, "rows were moved"),
        (CsvFile, "batches", moved_by_others),
    ),
    "releases without a checksum": (
        *(damage.PROMISE.attack, 30, "made another release"),
        (home("VersionedPickle"), "checksum", lambda value: ""),
    ),
    "rows that cannot be written": (
        *(trials(commands.try_command, "generate", "--rows"), 200, "1 charges"),
        (home("_check_out"), "_MOST_CELLS", 1 << 80),
    ),
    "parameters without rules": (
        *(borrowed.PARAMETERS.attack, 100, ""),
        (_base, "check_parameters", lambda estimator: None),
    ),
    # two spends at once break the chain, too: either is found, whichever comes first
    "a ledger without a lock": (
        *(races.PROMISE.attack, 30, ""),
        (BudgetAccountant, "_admit", slowly),
        (home("MemoryLedger"), "LOCK", contextlib.nullcontext()),
    ),
    "plans divided anew by epsilons alone": (
        *(compositions.PROMISE.attack, 100, "charged"),
        (BudgetAccountant, "covers", lambda budget, charged, plan: True),
    ),
    "a frozen step is public": (
        *(borrowed.PUBLIC_STEPS.attack, 200, "a row changed"),
        (home("keeps_fit"), "keeps_fit", lambda step: False),
    ),
    "an error about one row": (
        *(streams.PROMISE.attack, 500, ""),
        (RowByRow, "transform", image_or_error),
    ),
    "choices of a search are no charges": (
        *(trials(compositions.choose), 3, "moved a choice"),
        (home("KnowsSearches").KnowsSearches, "_as_searched", lambda estimator, plan: plan),
    ),
    "steps beside each other are not added up": (
        *(trials(compositions.put_together), 60, "charged"),
        (home("plans_to_come"), "chains_to_come", list),
    ),
    "a release before its charge": (
        *(killings.PROMISE.attack, 30, "without its charge"),
        (test_ledger_crash, "charge_and_release", release_and_charge),
    ),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_seen(bug, rng, monkeypatch):
    attack, at_most, words, *planted = PLANTED[bug]
    for place in planted:
        monkeypatch.setattr(*place)
    said = found(attack(rng), at_most)
    assert said and words in said


def test_a_tenth_of_the_noise_is_seen(rng, monkeypatch):
    class Narrow:
        def draw(self, scale, shape, noise):
            return super().draw(scale / 10, shape, noise)

    plans = home("steps_of")
    monkeypatch.setattr(plans, "DiscreteLaplace", type("L", (Narrow, DiscreteLaplace), {}))
    monkeypatch.setattr(plans, "RoundedGaussian", type("G", (Narrow, RoundedGaussian), {}))
    for setting, value in {"_FEWEST": 1, "_MOST": 400, "_EPSILONS": (1.0,)}.items():
        monkeypatch.setattr(black_box, setting, value)
    small = PrivateMeasure(bounds=(0, 1), depth=1, n_hint=60)
    assert "show a loss of at least" in found(black_box.audits(rng, [small]), 2)


@pytest.mark.parametrize("kind", ["rows", "persons", "weights"])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_neighbors_are_split_into_one_person_and_the_others(relation, kind):
    for pair in hostile_pairs(PrivateMeasure(bounds=(0, 1), neighbors=relation), kind):
        neighbors = Neighbors.of(pair)
        sizes = [len(side["X"]) for side in (neighbors.old, neighbors.new)]
        assert sorted(map(bool, sizes)) == [relation == "replace_one", True], pair.name
        for made, given in zip(neighbors.data(), (pair.data, pair.neighbor), strict=True):
            assert sorted(made["X"].tolist()) == sorted(given["X"].tolist())


def breaks(rng):
    raise RuntimeError("no attack")
    yield


class TestRunner:
    def test_an_attack_that_breaks_is_a_violation_and_given_up(self):
        (line,) = run_attacks([Promise("broken", "broken", breaks)], 1.0, 0)
        assert line.violations == 3 and "RuntimeError: no attack" in line.texts[0]

    def test_failed_assertions_are_violations(self):
        def attempt(rng):
            raise AssertionError("one\ntwo")

        (line,) = run_attacks([Promise("a", "a", repeated(attempt))], 0.0, 0)
        assert (line.violations, line.texts) == (1, ["one"])

    def test_seeds_decide(self):
        def draws(rng):
            while True:
                yield Trial(ratio=rng.random())

        runs = [run_attacks([Promise("a", "a", draws)], 0.0, (1, worker)) for worker in (0, 0, 1)]
        first, same, other = (run[0].worst for run in runs)
        assert first == same != other

    def test_workers_add_up(self):
        runs = [
            [Line("a", "x", 2, 0.5, 0, []), Line("b", "", 1, None, 0, [])],
            [Line("a", "x", 3, 0.75, 1, ["bad"]), Line("a", "y", 1, None, 0, [])],
        ]
        assert merged(runs) == [
            Line("a", "x", 5, 0.75, 1, ["bad"]),
            Line("b", "", 1, None, 0, []),
            Line("a", "y", 1, None, 0, []),
        ]


def test_the_documentation_shows_every_attack():
    record = Path(__file__).parents[2] / "benchmarks" / "results" / "attack.json"
    shown = {line["promise"] for line in json.loads(record.read_text())["lines"]}
    assert shown == {promise.text for promise in PROMISES.values()}


@pytest.mark.parametrize("violation", ["", "a row shows"])
def test_the_command_prints_a_table_and_exits(violation, tmp_path, monkeypatch, capsys):
    lines = [Line("It holds", "", 7, 0.5, int(bool(violation)), [violation] if violation else [])]
    monkeypatch.setattr(__main__, "run_in_processes", lambda *_: lines)
    record = tmp_path / "attack.json"
    status = __main__.main(["--minutes", "1", "--record", str(record)])
    printed = capsys.readouterr().out
    assert status == int(bool(violation))
    assert "It holds" in printed and "7" in printed and "0.500000" in printed
    assert violation in printed
    kept = json.loads(record.read_text())
    assert kept["lines"][0]["trials"] == 7 and kept["numpy"] == np.__version__
