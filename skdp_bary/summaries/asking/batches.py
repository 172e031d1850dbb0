"""Conversations about random batches of the same rows, a new batch for each question."""

from ...exceptions import BudgetError
from ..rows.arrays import ArraySource
from ..rows.opening import Rows
from ..rows.persons import check_floats
from .desk import Desk, required_step


class BatchDesk(Desk):
    """Answers the one step of a plan as often as was paid for, each time on a fresh batch of rows.

    Every batch is drawn anew from all rows, without replacement and of one public size, by the
    source of the noise. A conversation may end before all batches have been used.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Private rows. Their number is public under the relation of the plan.
    plan : BatchedPlan
    noise : NoiseSource
    charge : callable
        As of a Desk: all batches are paid for before the first draw of noise.
    """

    def __init__(self, X, plan, noise, charge):
        super().__init__(None, plan, noise, charge)
        self._X = check_floats(X)
        if len(self._X) != plan.n_persons:
            raise ValueError(
                f"The plan is for {plan.n_persons} rows, and X has {len(self._X)}: sampling gains "
                "what it gains for that number."
            )

    def ask(self, name, query):
        """Return the release of a query about the next batch."""
        self._rows = Rows(ArraySource(self._X, None, None, None, None))
        self._rows.sample_persons(self.plan.rate, self.plan.sampling, self._noise)
        return super().ask(name, query)

    def _n_questions(self):
        return self.plan.n_batches

    def _next_step(self, name):
        if self._n_asked == self.plan.n_batches:
            raise BudgetError(
                f"All {self.plan.n_batches} batches that were paid for have been used."
            )
        return required_step(self.plan.steps[0], name)
