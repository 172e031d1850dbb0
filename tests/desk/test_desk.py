"""The desk: every step of a plan is asked once, in its turn, and paid for before the first draw."""

import copy
import pickle

import numpy as np
import pytest

from skdp_bary.base import Count
from skdp_bary.exceptions import BudgetError, PlanError
from tests import world
from tests.cases import every
from tests.world import home

_desk = home("Desk")
Rows = home("open_source").Rows

X = np.random.default_rng(0).random((30, 2))
PLAN = world.Plan(
    "add_remove",
    1.0,
    0.0,
    (world.Step("one", world.DiscreteLaplace(0.5)), world.Step("two", world.DiscreteLaplace(0.5))),
)


class Till:
    """Counts what is charged, and refuses when told to."""

    def __init__(self, refuse=False):
        self.charges, self._refuse = 0, refuse

    def __call__(self):
        if self._refuse:
            raise BudgetError("refused")
        self.charges += 1


class Silent:
    """Noise that must not be drawn."""

    seeded = True

    def discrete_laplace(self, scale, shape):
        raise AssertionError("drawn")


def desk(plan=PLAN, till=None, noise=None, covers=None):
    noise = world.noise_generator(0) if noise is None else noise
    till = Till() if till is None else till
    return world.Desk(Rows(world.open_source(X)), plan, noise, till, covers=covers)


def ask(*names):
    """A conversation that counts persons, and returns the answers."""
    answers = []
    for name in names:
        released = yield name, Count()
        answers.append((released.name, int(released.values[0][0])))
    return answers


def test_a_conversation_gets_releases_in_turn_and_none_costs_nothing():
    till = Till()
    here = desk(till=till)
    answers = here.answer(ask("one", "two"))
    here.close()
    assert [name for name, _ in answers] == ["one", "two"]
    assert all(abs(count - 30) < 60 for _, count in answers)
    assert till.charges == 1
    till = Till()
    assert desk(till=till).answer(ask()) == []
    assert till.charges == 0


@every(
    "names, found",
    [
        (("two",), "next step of the plan is 'one', but the question is for 'two'"),
        (("other",), "next step of the plan is 'one', but the question is for 'other'"),
        (("one", "one"), "next step of the plan is 'two', but the question is for 'one'"),
        (("one", "two", "two"), r"'two' was not charged: all steps \['one', 'two'\]"),
        (("one", "two", "three"), "'three' was not charged"),
    ],
)
def test_a_question_out_of_turn_is_an_error_of_the_author(names, found):
    with pytest.raises(PlanError, match=found):
        desk().answer(ask(*names))


def test_refusals_at_the_start_charge_and_draw_nothing():
    till = Till()
    with pytest.raises(PlanError):
        desk(till=till, noise=Silent()).answer(ask("two"))
    assert till.charges == 0
    with pytest.raises(BudgetError):
        desk(till=Till(refuse=True), noise=Silent()).answer(ask("one", "two"))


def test_steps_never_asked_and_second_charges_are_errors_of_the_author():
    here = desk()
    here.answer(ask("one"))
    with pytest.raises(PlanError, match=r"\['two'\] of the plan were charged, but never queried"):
        here.close()
    till = Till()
    here = desk(till=till)
    here.pay()
    here.answer(ask("one", "two"))
    assert till.charges == 1
    with pytest.raises(PlanError, match="has been charged"):
        here.pay()
    assert till.charges == 1


def test_what_is_no_conversation_is_refused_and_its_errors_come_out():
    def without_name():
        yield Count()

    for wrong in (None, [("one", Count())]):
        with pytest.raises(PlanError, match="must be a generator of questions"):
            desk().answer(wrong)
    with pytest.raises(PlanError, match="must be a pair, a name and a query, got Count"):
        desk().answer(without_name())

    def talk():
        yield "one", Count()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        desk().answer(talk())


def test_noise_that_cannot_be_drawn_is_refused_before_the_charge():
    tiny = world.Plan("add_remove", 1e-16, 0.0, (world.Step("one", world.DiscreteLaplace(1e-16)),))
    till = Till()
    with pytest.raises(ValueError, match="epsilon is too small for step 'one'"):
        desk(tiny, till, Silent()).answer(ask("one"))
    with pytest.raises(ValueError, match="epsilon is too small for step 'one'"):
        desk(tiny, till, Silent()).check("one", Count())
    assert till.charges == 0
    desk().check("two", Count())
    with pytest.raises(PlanError, match="No step of the plan is named 'three'"):
        desk().check("three", Count())


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_leaves_the_step_used_and_the_charge_made(error, monkeypatch):
    def broken(*_):
        raise error

    till, ended = Till(), []

    def talk():
        try:
            yield from ask("one", "two")
        finally:
            ended.append(True)

    here = desk(till=till)
    monkeypatch.setattr(_desk, "release", broken)
    with pytest.raises(error) as caught:
        here.answer(talk())
    monkeypatch.undo()
    assert till.charges == 1
    assert ended == [True], f"the conversation is open while {caught} is handled"
    with pytest.raises(PlanError, match="next step of the plan is 'two'"):
        here.ask("one", Count())


def test_later_steps_can_be_divided_anew_where_it_is_known_what_was_charged():
    steps = tuple(world.Step(name, world.RoundedGaussian(0.1)) for name in ("one", "two", "three"))
    plan, till = world.Plan("add_remove", 1.0, 1e-5, steps), Till()
    here = desk(plan, till, covers=lambda charged, plan: True)
    here.answer(ask("one"))
    here.divide_anew({"rest": 1.0})
    here.answer(ask("rest"))
    here.close()
    assert [step.name for step in here.plan.steps] == ["one", "rest"]
    assert here.plan.steps[1].mechanism.mu == pytest.approx(0.1 * 2**0.5)
    assert till.charges == 1
    with pytest.raises(PlanError, match="Without a charge"):
        desk().divide_anew({"rest": 1.0})


def test_a_desk_does_not_travel():
    for travel in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="holds private rows"):
            travel(desk())


@every("kind", [np.float64, np.int32, np.uint64, object])
def test_answers_that_are_no_64_bit_integers_are_refused(kind):
    """The fraction of a float answer comes through the noise as it is."""

    class Other(Count):
        def blocks(self, state):
            return (state[0].astype(kind),)

    with pytest.raises(TypeError, match="must return arrays of int64"):
        world.Rehearsal(PLAN).answer(asked for asked in [("one", Other())])
    with pytest.raises(TypeError, match="must return arrays of int64"):
        world.answer(Other(), np.zeros((3, 1)))
