"""Releases on random batches: drawn anew, without replacement, as many as were paid for."""

import numpy as np
import pytest

from skdp_bary.exceptions import BudgetError
from tests.world import BatchDesk, ClassSizes, batched_plan, home, noise_generator

_desk, _tape = home("Desk"), home("Tape")

N, B = 30, 7


def plan(n_batches):
    pytest.importorskip("dp_accounting")
    numbers = {"n_batches": n_batches, "batch_size": B, "n_persons": N}
    return batched_plan("replace_one", 1.0, 1e-5, {"batch": 1.0}, **numbers)


def desk(rows, n_batches, charge=lambda: None):
    return BatchDesk(rows, plan(n_batches), noise_generator(0), charge)


@pytest.fixture
def seen(monkeypatch):
    """The rows of every batch, as the counting code is given them."""
    batches, collect = [], _desk.collect

    def watch(query, rows):
        chunks = [chunk for part in range(rows.source.n_parts) for chunk in rows.source.read(part)]
        batches.append(np.concatenate([chunk.X[:, 0] for chunk in chunks]).astype(int))
        return collect(query, rows)

    monkeypatch.setattr(_desk, "collect", watch)
    return batches


def test_batches_are_fresh_and_without_replacement(seen):
    rows = np.arange(N, dtype=float)[:, None]
    batches = desk(rows, 400)
    for _ in range(400):
        batches.ask("batch", ClassSizes())
    assert {len(batch) for batch in seen} == {B}
    assert all(len(set(batch.tolist())) == B for batch in seen)
    assert len({tuple(sorted(batch)) for batch in seen}) > 390
    shares = np.bincount(np.concatenate(seen), minlength=N) / 400
    np.testing.assert_allclose(shares, B / N, atol=4.0 * np.sqrt(B / N * (1 - B / N) / 400))


def test_all_batches_are_paid_for_before_the_first_and_no_more_are_drawn():
    charges = []
    batches = desk(np.zeros((N, 1)), 2, lambda: charges.append(1))
    for _ in range(2):
        batches.ask("batch", ClassSizes())
        assert charges == [1]
    with pytest.raises(BudgetError, match="All 2 batches"):
        batches.ask("batch", ClassSizes())


def test_a_recording_of_answers_ends_with_the_last_batch():
    tape = _tape.Tape(answers_only=True)
    with _tape.use_tape(tape), pytest.raises(_tape.AllAnswered):
        batches = desk(np.zeros((N, 1)), 3)
        for _ in range(4):
            batches.ask("batch", ClassSizes())
    assert len(tape.records) == 3


def test_rows_are_checked_before_anything_is_asked():
    with pytest.raises(ValueError, match="X must have the 30 rows of the plan, got 31"):
        desk(np.zeros((N + 1, 1)), 2)
    rows = np.zeros((N, 1))
    rows[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        desk(rows, 2)
