"""The attacks: a few trials of each find nothing, and each sees a planted bug."""

import contextlib
import json
import os
import time
from dataclasses import replace
from itertools import islice
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler

from benchmarks.measure.published import PublishedMeasure
from skdp_bary import BudgetAccountant, PrivateMeasure
from skdp_bary.base import Count, Sensitivity
from skdp_bary.papers import ShuffleAnalyzer
from tests.attack import (
    __main__,
    bit_flips,
    black_box,
    commands,
    compositions,
    containers,
    damage,
    enumeration,
    ids,
    killings,
    ledger_files,
    odd_rows,
    odd_types,
    parameters,
    parts,
    policies,
    public_steps,
    quiet,
    races,
    readers,
    receipts,
    streams,
)
from tests.attack.neighbors import Neighbors
from tests.attack.promises import Promise, Trial, repeated
from tests.attack.runner import Line, merged, run_attacks
from tests.attack.sensitivity import Search, searches
from tests.attack.suite import PROMISES
from tests.inspection.test_replay import HalfStated, asking
from tests.model_selection import row_independence
from tests.privacy import test_ledger_crash, test_ledger_flips
from tests.queries.reader_trials import csv_trial
from tests.world import CellCounts, CsvFile, DiscreteLaplace, RoundedGaussian, home, hostile_pairs

_values = home("array_of")
_base = home("Facts")
_memory = home("MemoryLedger")
_sqlite, _entry, _policy = home("SqliteLedger"), home("Entry"), home("SpendingPolicy")
chunks = home("LabelsInChunks")
origins = home("Origin")
persons = home("same_kind")
_row_by_row = home("_restored")

SMALL = PublishedMeasure(bounds=(0, 1), depth=2, n_hint=60)
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


def _forget(book, moment):
    """Turn to a later period as if nothing had been spent before it."""
    later = book._period is not None and book._number(moment) > book._period
    book._period = book._number(moment)
    if later:
        book._sums, book._allowed = {}, _policy.Cost(2 * book._limit.loss, 2 * book._limit.delta)


class TestPlantedBugs:
    def test_journals_are_not_tried(self, rng, monkeypatch):
        monkeypatch.setattr(_sqlite.SqliteLedger, "_check_journal", lambda self, side: None)
        assert "refused file was changed" in found(repeated(ledger_files.exchange)(rng), 12)

    def test_copies_may_be_spent_from(self, rng, monkeypatch):
        monkeypatch.setattr(_sqlite.SqliteLedger, "_know_each_other", lambda self, mark, db: True)
        assert found(repeated(ledger_files.rename)(rng), 60)

    def test_repeated_charges_are_the_same(self, rng, monkeypatch):
        monkeypatch.setattr(_entry.secrets, "token_hex", lambda n: "00")
        assert "verifies" in found(receipts.put_back(rng), 20)

    def test_a_policy_forgets_what_was_spent(self, rng, monkeypatch):
        monkeypatch.setattr(_policy.Book, "turn_to", _forget)
        assert found(policies.PROMISE.attack(rng), 20)

    def test_one_object_alone_is_compared(self, rng, monkeypatch):
        monkeypatch.setattr(origins.Origin, "_shared_memory", lambda self, other: iter(()))
        assert "two releases for the price of one" in found(parts.PROMISE.attack(rng), 100)

    def test_bytes_of_two_layouts_are_not_compared(self, rng, monkeypatch):
        monkeypatch.setattr(origins, "_share_bytes", lambda one, other: False)
        attack = repeated(parts.give_views_to_two_parts)(rng)
        assert "two releases for the price of one" in found(attack, 100)

    def test_ids_of_two_kinds_are_counted(self, rng, monkeypatch):
        for module in (persons, chunks):
            monkeypatch.setattr(module, "same_kind", lambda found: None)
        assert "are counted" in found(ids.PROMISE.attack(rng), 100)

    def test_an_error_has_the_words_of_numpy(self, rng, monkeypatch):
        monkeypatch.setattr(_values, "array_of", lambda values, name: np.asarray(values))
        assert "inhomogeneous part" in found(quiet.PROMISE.attack(rng), 200)

    def test_a_step_keeps_its_stream(self, rng, monkeypatch):
        monkeypatch.setattr(_row_by_row, "_restored", lambda step: lambda: step)
        assert "rows moved" in found(streams.PROMISE.attack(rng), 500)

    def test_functions_that_hand_on_memory_or_keep_rows(self, rng, monkeypatch):
        monkeypatch.setattr(home("FUNCTIONS"), "_is_known_call", lambda function, arguments: True)
        steps = row_independence.steps_that_meet_rows()
        hostile = [(step, True) for step in filter(streams._called_public, steps)]
        monkeypatch.setattr(streams, "_steps", lambda: hostile)
        assert "rows moved" in found(streams.PROMISE.attack(rng), 500)

    def test_half_a_sensitivity(self, rng):
        assert "stated is" in found(searches(rng, [asking(HalfStated)]), 60)

    def test_a_bug_in_one_corner_is_found_by_climbing(self, rng, monkeypatch):
        """Hostile pairs alone do not see it: what a row adds is larger around one odd place."""
        count = CellCounts.count

        def more_around_a_place(query, state, chunk):
            count(query, state, chunk)
            distance = np.abs(chunk.X - [0.37, 0.61]).max(axis=1)
            state[0][0, 0] += np.floor(3 * np.exp(-3 * distance)).astype(int).sum() - len(chunk.X)

        monkeypatch.setattr(CellCounts, "count", more_around_a_place)
        search = Search(SMALL.set_params(random_state=0, neighbors="add_remove"), "rows", rng)
        trials = (trial for _ in range(200) for trial in search.next())
        assert found(trials, 200)

    def test_rows_that_depend_on_their_chunk(self, rng, monkeypatch):
        count = CellCounts.count

        def more_in_long_chunks(query, state, chunk):
            count(query, state, chunk)
            state[0][0, 0] += len(chunk.X) > 30

        monkeypatch.setattr(CellCounts, "count", more_in_long_chunks)
        attack = repeated(lambda rng: containers.lay_out_otherwise(rng, [SMALL]))
        assert "tree" in found(attack(rng), 30)

    def test_a_fit_that_charges_before_it_checks(self, rng):
        class ChargesFirst(PrivateMeasure):
            def fit(self, X, y=None, *, groups=None, sample_weight=None):
                self.accountant.spend(self.epsilon)
                return super().fit(X, y, groups=groups, sample_weight=sample_weight)

        attack = repeated(lambda rng: odd_rows.fit_odd_rows(rng, [ChargesFirst()]))
        assert found(attack(rng), 30)

    def test_a_sensitivity_of_one_unit_less(self, rng, monkeypatch):
        def none(query, relation):
            return Sensitivity(((0,),), ((0,),))

        monkeypatch.setattr(Count, "sensitivity", none)
        assert "stated" in found(enumeration.enumerate_neighbors(rng), 2000)

    def test_a_step_that_looks_at_all_rows(self, rng, monkeypatch):
        centered = StandardScaler(with_std=False)
        columns = ColumnTransformer([("centered", centered, [0, 1])])
        monkeypatch.setattr(row_independence, "numeric_steps", lambda: [centered])
        monkeypatch.setattr(row_independence, "table_steps", lambda: [columns])
        assert "rows moved" in found(public_steps.PROMISE.attack(rng), 30)

    def test_lines_that_are_read_by_their_neighbors(self, rng, monkeypatch):
        batches = CsvFile.batches

        def moved_by_others(file, numbers, texts):
            for batch in batches(file, numbers, texts):
                yield replace(batch, X=batch.X + (len(batch.X) > 2))

        monkeypatch.setattr(CsvFile, "batches", moved_by_others)
        attack = repeated(lambda rng: readers.read_odd_file(rng, [csv_trial]))
        assert "rows were moved" in found(attack(rng), 30)

    def test_numbers_of_numpy_are_kept_as_they_are(self, rng, monkeypatch):
        monkeypatch.setattr(home("PlainParameters"), "plain", lambda value: value)
        monkeypatch.setattr(home("PowerOfTwo"), "is_number", lambda value: isinstance(value, Real))
        monkeypatch.setattr(
            home("PowerOfTwo"), "is_integer", lambda value: isinstance(value, Integral)
        )
        assert found(odd_types.PROMISE.attack(rng), 200)

    def test_releases_without_a_checksum(self, rng, monkeypatch):
        monkeypatch.setattr(home("VersionedPickle"), "_refuse_damaged", lambda *_: None)
        assert "made another release" in found(damage.PROMISE.attack(rng), 30)

    def test_messages_of_other_cells(self, rng, monkeypatch):
        monkeypatch.setattr(ShuffleAnalyzer, "_require_whole_shares", lambda *_: None)
        assert found(repeated(damage.damage_messages)(rng), 30)

    def test_rows_that_cannot_be_written(self, rng, monkeypatch):
        monkeypatch.setattr(home("check_rows"), "_MOST_CELLS", 1 << 80)
        attack = repeated(lambda rng: commands.try_command(rng, "generate", "--rows"))
        assert "1 charges" in found(attack(rng), 200)

    def test_parameters_without_rules(self, rng, monkeypatch):
        monkeypatch.setattr(_base, "check_parameters", lambda estimator: None)
        assert found(parameters.PROMISE.attack(rng), 100)

    def test_a_ledger_without_a_lock(self, rng, monkeypatch):
        admit = BudgetAccountant._admit

        def slow(*arguments):
            admit(*arguments)
            time.sleep(0.01)

        monkeypatch.setattr(BudgetAccountant, "_admit", slow)
        monkeypatch.setattr(_memory, "LOCK", contextlib.nullcontext())
        # two spends at once break the chain, too: either is found, whichever comes first
        assert found(races.PROMISE.attack(rng), 30)

    def test_plans_divided_anew_by_epsilons_alone(self, rng, monkeypatch):
        monkeypatch.setattr(BudgetAccountant, "covers", lambda budget, charged, plan: True)
        assert "charged" in found(compositions.PROMISE.attack(rng), 100)

    def test_a_release_before_its_charge(self, rng, monkeypatch):
        def release_and_charge(path, released, kill):
            accountant = BudgetAccountant(1000.0, ledger=path)
            for number in range(1000):
                os.write(released, f"{kill}-{number}\n".encode())
                time.sleep(0.005)
                accountant.charge(test_ledger_crash.PLAN, f"{kill}-{number}")

        monkeypatch.setattr(test_ledger_crash, "charge_and_release", release_and_charge)
        assert "without its charge" in found(killings.PROMISE.attack(rng), 30)

    def test_a_ledger_that_is_not_checked(self, rng, monkeypatch):
        monkeypatch.setattr(_sqlite, "take_in", test_ledger_flips.trusting)
        monkeypatch.setattr(_sqlite.SqliteLedger, "_check_file", lambda self, db: None)
        assert "gave budget" in found(bit_flips.flips(rng), 400)

    def test_a_tenth_of_the_noise(self, rng, monkeypatch):
        class Narrow:
            def draw(self, scale, shape, noise):
                return super().draw(scale / 10, shape, noise)

        monkeypatch.setattr(_base, "DiscreteLaplace", type("L", (Narrow, DiscreteLaplace), {}))
        monkeypatch.setattr(_base, "RoundedGaussian", type("G", (Narrow, RoundedGaussian), {}))
        monkeypatch.setattr(black_box, "_FEWEST", 1)
        monkeypatch.setattr(black_box, "_MOST", 400)
        monkeypatch.setattr(black_box, "_EPSILONS", (1.0,))
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


def endless(trial, seconds=0.0):
    def attack(rng):
        while True:
            time.sleep(seconds)
            yield trial

    return attack


def breaks(rng):
    raise RuntimeError("no attack")
    yield


class TestRunner:
    def test_time_is_shared(self):
        slow, quick = (endless(Trial(), seconds) for seconds in (0.02, 0.001))
        promises = [Promise("slow", "slow", slow), Promise("quick", "quick", quick)]
        slow, quick = run_attacks(promises, 0.5 / 60, 0)
        assert 5 < slow.trials < 20 and quick.trials > 4 * slow.trials

    def test_shares_of_time(self):
        attack = endless(Trial(), 0.005)
        promises = [Promise("a", "a", attack), Promise("b", "b", attack, shares=3.0)]
        single, triple = run_attacks(promises, 0.5 / 60, 0)
        assert 2 * single.trials < triple.trials < 4 * single.trials

    def test_every_attack_has_one_trial_and_may_end(self):
        promises = [Promise(f"{i}", f"{i}", lambda rng: iter([Trial()])) for i in range(3)]
        assert [line.trials for line in run_attacks(promises, 0.0, 0)] == [1, 1, 1]

    def test_a_trial_may_take_several_turns(self):
        def slow(rng):
            while True:
                yield None
                time.sleep(0.01)
                yield None
                yield Trial()

        promises = [Promise("slow", "slow", slow), Promise("quick", "quick", endless(Trial()))]
        slow, quick = run_attacks(promises, 0.0, 0)
        assert (slow.trials, quick.trials) == (1, 1)

    def test_an_attack_that_breaks_is_a_violation_and_given_up(self):
        (line,) = run_attacks([Promise("broken", "broken", breaks)], 1.0, 0)
        assert line.violations == 3 and "RuntimeError: no attack" in line.texts[0]

    def test_failed_assertions_are_violations(self):
        def attempt(rng):
            raise AssertionError("one\ntwo")

        (line,) = run_attacks([Promise("a", "a", repeated(attempt))], 0.0, 0)
        assert (line.violations, line.texts) == (1, ["one"])

    def test_endless_attempts_are_given_up_and_not_counted(self):
        def attempt(rng):
            while rng.random() < 0.9:
                time.sleep(0.05)

        attack = repeated(attempt, seconds=0.1)
        (line,) = run_attacks([Promise("a", "a", attack)], 0.0, 0)
        assert (line.trials, line.violations) == (1, 0)

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
