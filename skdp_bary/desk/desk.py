"""The desk: questions answered in the order of the plan, charged once before the first draw."""

import math
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial

from ..exceptions import PlanError
from ..privacy.mechanisms import ADD_REMOVE
from ..privacy.noise import MAX_SCALE, NoiseSource, noise_generator
from ..privacy.plans import divided_anew
from .counting import Sketch, collect, keep_freed_memory, one_blas_thread
from .query import Release
from .tape import AllAnswered, active_tape

_SUM_ROOM = 1 << 62  # of sums: what is left is for noise
_WIDTH = 24  # of the bar
_REHEARSAL_ROOM = 16.0  # what is asked of rows may be more sensitive than of nobody


@dataclass(frozen=True)
class PaidSteps:
    """Steps that a larger plan has charged: those of one trial of a search, or of one batch.

    Attributes
    ----------
    relation : str
    steps : tuple of Step
    """

    relation: str
    steps: tuple


class Progress:
    """Progress of a fit on the standard error: none, a bar, or a line per step.

    Parameters
    ----------
    who : str
        Object to fit.
    verbose : {0, 1, 2}
        0 prints nothing, 1 a bar that is drawn anew in its line, 2 a line per step.
    """

    def __init__(self, who="", verbose=0):
        self._who = who
        self._verbose = verbose
        self._drawn = ""  # the text of a line that has no end yet

    def step(self, number, total, step):
        """Show the next step of a plan; numbers begin at 0."""
        if self._verbose == 1:
            self._draw(number / total, f"{number + 1}/{total} {step.name}")
        elif self._verbose:
            self._line(f"step {number + 1} of {total}, {step.name}: {step.mechanism}")

    def finish(self):
        """Show that everything is released, and only post-processing is left."""
        if self._verbose == 1:
            self._draw(1.0, "post-processing")
        elif self._verbose:
            self._line("post-processing")

    def end(self):
        """Leave the line."""
        if self._drawn:
            _write("\n")
            self._drawn = ""

    def _draw(self, share, text):
        full = round(_WIDTH * share)
        bar = f"{self._who} [{'#' * full}{'.' * (_WIDTH - full)}] {text}"
        _write(f"\r{bar:<{len(self._drawn)}}")
        self._drawn = bar

    def _line(self, text):
        self.end()
        self._drawn = f"{self._who}: {text}"
        _write(self._drawn)


def _write(text):
    """Write what may be lost: a fit does not fail where no one can read."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # there is none, or it is closed
        pass


SILENT = Progress()


class Desk:
    """Answers the questions of one plan about one set of rows: the only thing that holds both.

    A question is a pair, the name of the next step of the plan and a query. What comes back is a
    release. The desk pays before the first draw, and answers each step once.

    Parameters
    ----------
    rows : Rows
    plan : Plan or PaidSteps
    noise : NoiseSource
    charge : callable or None
        ``charge()`` spends the privacy cost of the plan, or raises and nothing is drawn. What is
        charged is fixed before the first question. None: the steps are paid for.
    progress : Progress
        Told about every station.
    covers : callable or None
        ``covers(charged, plan)`` says whether what one plan is charged pays for another, in
        whatever the budget counts. None: no plan is divided anew.

    Attributes
    ----------
    plan : Plan
        What is released, as far as it is known.
    """

    def __init__(self, rows, plan, noise, charge, progress=SILENT, covers=None):
        self.plan = self._charged_plan = plan
        self._rows = rows
        self._noise = noise
        self._charge = charge
        self._covers = covers
        self._is_paid = charge is None
        self._n_asked = 0
        self._is_paying = False
        self._progress = progress
        self._tape = active_tape()

    def answer(self, questions):
        """Run a conversation to its end, and return what it returns.

        An interrupt while a question is answered is raised in the conversation, which may keep what
        it has by then.

        Parameters
        ----------
        questions : generator
            Yields pairs (name, query), and is sent their releases.
        """
        if not isinstance(questions, Generator):
            raise PlanError(
                f"A conversation must be a generator of questions, got {questions!r}. Write each "
                "as `released = yield name, query`."
            )
        keep_freed_memory()
        tell, told = questions.send, None
        with one_blas_thread(), closing(questions):
            while True:
                try:
                    question = tell(told)
                except StopIteration as done:
                    return done.value
                if not (isinstance(question, tuple) and len(question) == 2):
                    kind = type(question).__name__
                    raise PlanError(
                        f"A question must be a pair, a name and a query, got {kind}. Write "
                        "`released = yield name, query`."
                    )
                try:
                    tell, told = questions.send, self.ask(*question)
                except KeyboardInterrupt as stop:
                    tell, told = questions.throw, stop

    def ask(self, name, query):
        """Return the release of the next step of the plan.

        Parameters
        ----------
        name : str
        query : Query
        """
        step, relation = self._next_step(name), self.plan.relation
        # how far one person moves the answer, and the noise of that: before anything is read
        sensitivity, scales = require_noise(query, step, relation)
        self._progress.step(self._n_asked, self._n_questions(), step)
        sketch = collect(query, self._rows)
        if not self._is_paid:
            self.pay()
        self._n_asked += 1  # an interrupt from here on leaves the step used
        tape = self._tape
        released = release(sketch, step, relation, self._noise, sensitivity, scales, tape)
        whole_fit = self._charge is not None  # and not a part of it that a larger plan pays for
        all_asked = self._n_asked == self._n_questions()
        if tape is not None and tape.answers_only and whole_fit and all_asked:
            raise AllAnswered(self.plan)
        return released

    def check(self, name, query):
        """Raise where the noise of a step, not only the next one, is too large to be drawn.

        For questions that follow from public facts alone: to be asked before anything is charged.

        Parameters
        ----------
        name : str
        query : Query
        """
        for step in self.plan.steps:
            if step.name == name:
                return require_noise(query, step, self.plan.relation)
        raise PlanError(f"No step of the plan is named {name!r}, the steps are {self._names()}.")

    def pay(self):
        """Spend the privacy cost of the plan, once; `ask` does it where no one has."""
        if self._is_paid:
            raise PlanError("This plan has been charged, with all of its steps at once.")
        self._is_paying = True  # until it is known: an interrupt may come in between
        self._charge()
        self._is_paid = True

    def divide_anew(self, shares):
        """Let the steps that are left share otherwise what was charged, see ``divided_anew``.

        Parameters
        ----------
        shares : dict
            Names of the steps, in order, and their shares.
        """
        if self._covers is None:
            raise PlanError("Without a charge, no plan can be divided again.")
        covers = partial(self._covers, self._charged_plan)
        self.plan = divided_anew(self.plan, self._n_asked, shares, covers)

    def close(self):
        """Raise where a step was paid for and never asked."""
        left = [step.name for step in self.plan.steps[self._n_asked :]]
        if left:
            raise PlanError(f"The steps {left} of the plan were charged, but never queried.")
        self._progress.finish()

    @contextmanager
    def watched(self):
        """Say next to an interrupt from the keyboard what has been charged."""
        try:
            yield
        except KeyboardInterrupt as stop:
            price = f"epsilon={self.plan.epsilon}, delta={self.plan.delta}"
            charged = "Interrupted before the charge: nothing was charged."
            if self._is_paid:
                charged = (
                    f"Interrupted after {self._n_asked} of {len(self.plan.steps)} steps: {price} "
                    "was charged, and stays charged. The estimator was not fitted."
                )
            elif self._is_paying:
                charged = f"Interrupted during the charge of {price}: see the accountant's entries."
            stop.add_note(charged)
            raise
        finally:
            self._progress.end()

    def __getstate__(self):
        raise TypeError(
            "A desk holds private rows: it is neither copied nor pickled. Copy the estimator "
            "instead, with clone(estimator)."
        )

    def _n_questions(self):
        return len(self.plan.steps)

    def _next_step(self, name):
        if self._n_asked == len(self.plan.steps):
            raise PlanError(
                f"The step {name!r} was not charged: all steps {self._names()} of the plan have "
                "been queried."
            )
        return required_step(self.plan.steps[self._n_asked], name)

    def _names(self):
        return [step.name for step in self.plan.steps]


def ends_with_answers():
    """Whether fits end with their last release: an audit compares answers alone."""
    tape = active_tape()
    return tape is not None and tape.answers_only


class RehearsalNoise(NoiseSource):
    """Noise of answers about no one, which audits do not count among the draws of a fit."""


class Rehearsal(Desk):
    """A desk without rows and without a budget, whose answers are public noise about no one.

    What public facts forbid, above all noise too large to be drawn in a later step, shows here
    before anything is charged. Nothing of it is kept.

    Parameters
    ----------
    plan : Plan
    covers : callable or None
        As of a Desk.
    """

    def __init__(self, plan, covers=None):
        noise = RehearsalNoise(noise_generator(0).words, seeded=True)
        super().__init__(None, plan, noise, None, covers=covers)

    def ask(self, name, query):
        """Return a release of the next step, about no rows."""
        step, relation = self._next_step(name), self.plan.relation
        sensitivity, scales = require_noise(query, step, relation, _REHEARSAL_ROOM)
        self._n_asked += 1
        return release(Sketch(query), step, relation, self._noise, sensitivity, scales)


# Releases: the one place where the exact answers of fits meet noise.


def require_noise(query, step, relation, room=1.0):
    """Return the sensitivity of a query, and the noise scales of the step that pays for it.

    Raise where the noise would be too large to draw: nothing is charged or read then. `room` is by
    how much the noise of another query of the step may be larger. Picks have no scales.
    """
    weights, sensitivity = query.weights(), query.sensitivity(relation)
    scales = step.mechanism.scales(sensitivity, weights)
    largest = max(scales, default=0.0)
    if largest * room > MAX_SCALE:
        raise ValueError(
            f"epsilon is too small for step {step.name!r}: its noise has scale {largest:.3g}, and "
            f"at most {MAX_SCALE / room:.3g} can be drawn. Pass a larger one, such as epsilon=1.0."
        )
    return sensitivity, scales


def release(sketch, step, relation, noise, sensitivity, scales, tape=None):
    """Add the noise of `step` to the answer of `sketch` and return the release.

    The number, shape and order of draws follow from the query alone. A tape, which only audits
    hold, hands back recorded values instead, and sees the exact answer; of picks it sees what
    every one of them chose from, along those that were recorded.
    """
    query, mechanism = sketch.query, step.mechanism
    values = None if tape is None else tape.recall(step.name)
    if query.picks:
        exact, picks = [], None if values is None else values[0]
        values = (sketch.picked(mechanism, noise, picks, None if tape is None else exact.append),)
    else:
        exact = sketch.exact_blocks()
        if values is None:
            values = tuple(
                block + mechanism.draw(scale, block.shape, noise) if scale > 0 else block
                for block, scale in zip(exact, scales, strict=True)
            )
    for block in values:
        block.setflags(write=False)
    released = Release(step.name, tuple(values), scales, mechanism, relation, noise.seeded, query)
    if tape is not None:
        tape.record(released, query, tuple(exact), sensitivity)
    _refuse_wrapped(released, sensitivity)
    return released


def _refuse_wrapped(released, sensitivity):
    """Raise where so much mass was released that sums next to it may have wrapped around.

    By released numbers alone: anyone who sees the release could tell.
    """
    query = released.query
    if query.mass_block is None:
        return
    places = query.mass_block if isinstance(query.mass_block, tuple) else (query.mass_block,)
    mass = sum(int(released.values[place].sum(dtype=object)) for place in places)
    if released.relation != ADD_REMOVE:
        sensitivity = query.sensitivity(ADD_REMOVE)
    reach = math.isqrt(max(map(max, sensitivity.l2_squared)))  # of one person in one entry
    if mass * reach >= _SUM_ROOM * query.units:
        persons = mass // query.units
        raise ValueError(
            f"n_hint is far too small: step {released.name!r} counts about {persons:.3g} people, "
            "and sums over so many may exceed 64-bit integers. Its budget is spent. Pass "
            f"n_hint={persons:.2g} the next time, or divide the data into public parts."
        )


def required_step(step, name):
    """Return the next step of a plan, where a question is for it."""
    if step.name != name:
        raise PlanError(
            f"The next step of the plan is {step.name!r}, but the question is for {name!r}."
        )
    return step
