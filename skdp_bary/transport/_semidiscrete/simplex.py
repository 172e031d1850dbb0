"""POT's network simplex: for small problems, and as the last resort."""

import numpy as np

from .._costs import pairwise_cost
from .certificate import certify


def network_simplex(problem):
    """Return the Assignment that POT finds: slow and large, but it needs no good start."""
    from ot import emd

    cloud = problem.cloud
    costs = pairwise_cost(problem.atoms, cloud.points, problem.p).T
    plan, log = emd(
        cloud.weights, problem.target, costs, numItermax=np.iinfo(np.int64).max, log=True
    )
    split = np.flatnonzero(np.count_nonzero(plan, axis=1) > 1)
    shares = plan[split].T / plan[split].sum(axis=1)
    return certify(problem, log["v"], plan.argmax(axis=1), split, shares)
