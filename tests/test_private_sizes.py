"""Under "add_remove" nothing public follows from the number of rows: neither a fact, nor a word."""

import warnings
from contextlib import suppress

import pytest
from sklearn.base import clone

from skdp_bary.papers import MaxCoverKMeans
from tests.estimators import PRIVATE
from tests.test_contracts import named
from tests.world import (
    ADD_REMOVE,
    AllAnswered,
    BasePrivateEstimator,
    Tape,
    differing_paths,
    make_arguments,
    settings,
    use_tape,
)

FEW, MANY = 12, 3000


def private_sizes(estimator):
    """Settings in which the number of persons is private, and not hinted at."""
    found = [each for each in settings(estimator) if each.neighbors == ADD_REMOVE]
    return [clone(each).set_params(n_hint=None, random_state=0) for each in found]


def test_most_estimators_have_such_settings():
    assert sum(bool(private_sizes(estimator)) for estimator in PRIVATE) > 40


def watched(estimator, arguments, monkeypatch, script=(), answers_only=False):
    """Fit on a tape; return it with what was known before the first answer, and what was said."""
    known, public_facts = [], BasePrivateEstimator._public_facts

    def noting(self, plan, rows):
        facts = public_facts(self, plan, rows)
        for kept in ("center", "radius"):  # computed once, and kept by a domain that fits share
            getattr(facts.domain, kept, None)
        known.append(facts)
        return facts

    tape = Tape(script, answers_only=answers_only)
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as said:
        patch.setattr(BasePrivateEstimator, "_public_facts", noting)
        warnings.simplefilter("always")
        with use_tape(tape), suppress(AllAnswered):
            estimator.fit(**arguments)
    return tape.records, known, [str(warning.message) for warning in said]


@pytest.mark.parametrize("kind", ["rows", "persons", "weights"])
@pytest.mark.parametrize("estimator", named(PRIVATE))
def test_facts_questions_and_words_do_not_depend_on_the_number_of_rows(
    estimator, kind, monkeypatch
):
    if kind == "persons" and isinstance(estimator, MaxCoverKMeans):
        pytest.skip("a person has one row there")
    for candidate in private_sizes(estimator):
        few, many = (make_arguments(candidate, n, kind=kind, seed=n) for n in (FEW, MANY))
        short = kind != "rows"
        first = watched(clone(candidate), few, monkeypatch, answers_only=short)
        second = watched(clone(candidate), many, monkeypatch, first[0], answers_only=short)
        assert first[1] and not differing_paths(first[1], second[1])
        asked, again = ([r.query for r in records] for records, *_ in (first, second))
        assert not differing_paths(asked, again)
        drawn, redrawn = ([r.released for r in records] for records, *_ in (first, second))
        assert not differing_paths(drawn, redrawn)
        assert first[2] == second[2]
