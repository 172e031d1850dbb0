"""Releases about random batches of the same rows, a new batch for each."""

from ...exceptions import BudgetError
from ..rows.arrays import ArraySource
from ..rows.opening import Rows
from ..rows.persons import check_floats
from .desk import Desk, PaidSteps


class BatchReleases:
    """Answers the queries of a plan that was charged, each on a fresh batch of rows.

    Rows stay in here. Every batch is drawn anew from all of them, without replacement and of one
    public size, by the source of the noise; what comes out are releases, as many as were paid for.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        Private rows. Their number is public under the relation of the plan.
    plan : BatchedPlan
    noise : NoiseSource
    """

    def __init__(self, X, plan, noise):
        self._X = check_floats(X)
        if len(self._X) != plan.n_persons:
            raise ValueError(
                f"The plan is for {plan.n_persons} rows, and X has {len(self._X)}: sampling gains "
                "what it gains for that number."
            )
        self._plan = plan
        self._noise = noise
        self._n_asked = 0

    def ask(self, query):
        """Return the release of a query about the next batch."""
        if self._n_asked == self._plan.n_batches:
            raise BudgetError(
                f"All {self._plan.n_batches} batches that were paid for have been used."
            )
        self._n_asked += 1
        rows = Rows(ArraySource(self._X, None, None, None, None))
        rows.sample_persons(self._plan.rate, self._plan.sampling, self._noise)
        paid = PaidSteps(self._plan.relation, self._plan.steps)
        return Desk(rows, paid, self._noise, charge=None).ask(paid.steps[0].name, query)
