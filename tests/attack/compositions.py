"""Fits on one budget in every composition: draws, charges and quotes agree."""

import math
import warnings
from fractions import Fraction

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline

from skdp_bary import (
    BudgetAccountant,
    DomainScaler,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateStandardScaler,
    PrivateWassersteinBarycenter,
    RowByRow,
    check_private,
)
from skdp_bary.exceptions import BudgetError
from skdp_bary.papers import MaxCoverKMeans, SubsampledBarycenter
from tests.world import COMPOSITIONS, gaussian_delta, record_fit

from .promises import Promise, Trial, repeated, spawn

_MOST_FITS = 4
_ROUNDING = 1.0 + 1e-9
_MADE = (
    lambda: PrivateKMeans(3, n_init=1),
    lambda: MaxCoverKMeans(3, n_init=1),
    lambda: PrivateWassersteinBarycenter(2, n_init=1, method="clusters"),
    lambda: SubsampledBarycenter(2, n_init=1, method="coreset", subsample=0.5),
    lambda: PrivateGenerator(2),
    lambda: PrivateMeasure(depth=3),
)


def spend(rng):
    """Fit some estimators of random sizes and amounts, and compare losses with the ledger."""
    rng = spawn(rng)
    composition = str(rng.choice(COMPOSITIONS))
    epsilon = 10.0 ** rng.uniform(-1.0, 1.5)
    accountant = BudgetAccountant(
        epsilon,
        10.0 ** -rng.uniform(2.0, 10.0),
        composition=composition,
        neighbors=str(rng.choice(["add_remove", "replace_one"])),
    )
    worst, problems, released = 0.0, [], 0.0
    for _ in range(rng.integers(1, _MOST_FITS + 1)):
        run = record_fit(*_fit(rng, accountant), accountant=accountant, answers_only=True)
        if isinstance(run.error, (BudgetError, ValueError)):  # refused, also for its parameters
            continue
        assert run.error is None, f"a fit broke: {run.error!r}"
        charged = accountant._ledger.records()[0][-1][-3] / 10**6
        drawn = _loss([r.released.mechanism for r in run.records], run.plan, accountant)
        released += drawn
        worst = max(worst, drawn / charged)
        if drawn > charged * _ROUNDING:
            problems.append(f"{drawn:.6g} was released and {charged:.6g} charged: {run.fitted}")
    if released > accountant._filter.ceiling.loss / 10**6 * _ROUNDING:
        problems.append(f"{released:.6g} was released in all, above the ceiling")
    return Trial(composition, worst, "; ".join(problems))


def choose(rng):
    """Let a search on the budget choose by an exact score; its winner is not said to be private."""
    accountant = BudgetAccountant(1e6)
    kmeans = PrivateKMeans(bounds=(0, 1), n_init=1, n_hint=40, accountant=accountant)
    made = make_pipeline(DomainScaler((0, 1)), kmeans) if rng.random() < 0.5 else kmeans
    name = "privatekmeans__n_clusters" if made is not kmeans else "n_clusters"
    X = rng.random((40, 2))

    def scored(estimator, rows, y=None):
        return (1 if (X > 100).any() else -1) * estimator.get_params()[name]

    chosen = []
    for _ in range(2):
        search = GridSearchCV(made, {name: [1, 2, 3]}, scoring=scored, cv=2).fit(X)
        chosen.append(search.best_params_)
        X[rng.integers(40)] = 500.0
    passes = check_private(search.best_estimator_).ok
    moved = passes and chosen[0] != chosen[1]
    return Trial("choices", None, f"one row moved a choice to {chosen[1]}" if moved else "")


def spend_or_choose(rng):
    """Fit some estimators, or now and then choose among some."""
    return (choose if rng.random() < 0.1 else spend)(rng)


def _fit(rng, accountant):
    """Return an estimator and the arguments of a fit of it."""
    n_rows, width = (int(round(10.0 ** rng.uniform(0.0, most))) for most in (2.5, 1.3))
    estimator = _MADE[rng.integers(len(_MADE))]()
    delta = 0.0 if rng.random() < 0.6 else accountant.delta / 10.0
    estimator.set_params(
        epsilon=accountant.epsilon * 10.0 ** -rng.uniform(0.3, 2.0),
        delta=delta,
        bounds=(0, 1),
        n_hint=None if rng.random() < 0.8 else n_rows,
        random_state=int(rng.integers(2**31)),
    )
    return estimator, {"X": rng.random((n_rows, width))}


def _loss(mechanisms, plan, accountant):
    """Return the loss of what was drawn, by formulas of its own, in what the budget counts."""
    pure = [m.epsilon for m in mechanisms if hasattr(m, "epsilon")]
    mu = math.sqrt(sum(m.mu**2 for m in mechanisms if hasattr(m, "mu")))
    raced = any(hasattr(m, "rate") for m in mechanisms)
    order = accountant._filter.order
    if order is None or raced or hasattr(plan, "rate"):
        whole = getattr(plan, "batch_epsilon", plan.epsilon)
        assert sum(pure) <= whole * _ROUNDING, "steps cost more than the epsilon of their plan"
        delta = getattr(plan, "batch_delta", plan.delta)
        cost = gaussian_delta(mu, max(whole - sum(pure), 0.0))
        assert raced or cost <= delta * _ROUNDING, f"steps cost delta={cost}, of {plan}"
        return plan.epsilon if order is None else 0.0
    return sum(_response(epsilon, order) for epsilon in pure) + order * mu**2 / 2.0


def _response(epsilon, order):
    """Return the Renyi divergence of randomized response, the worst pure mechanism."""
    yes, no = -np.logaddexp(0.0, -epsilon), -np.logaddexp(0.0, epsilon)
    both = np.logaddexp(order * yes + (1.0 - order) * no, order * no + (1.0 - order) * yes)
    return max(both / (order - 1.0), 0.0)


def put_together(rng):
    """Quote private steps, put together at random, and fit them under their cost and a bit less."""
    rng, amounts = spawn(rng), []
    made = _composed(rng, 2, amounts, 6)
    total = float(sum(amounts))
    exact, short = (BudgetAccountant(total * share) for share in (1.0, 0.999))
    X = rng.random((20, 6))
    try:
        quote = exact.quote(made(exact), 6)
        quoted, words = quote.epsilon, f"quote {quote.epsilon}"
    except ValueError:  # it says that it does not know
        quoted, words = total, "no quote"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made(exact).fit(X)
        try:
            made(short).fit(X)
            words += ", a limit was exceeded"
        except BudgetError:
            pass
    words = f"{words}, charged {exact.total()[0]} of {total}, and {short.total()[0]} if refused"
    right = quoted == total == exact.total()[0] and not short.entries
    return Trial(violation="" if right else f"{words}: {made(exact)}")


def _composed(rng, depth, amounts, width, last=False):
    """Return a function that puts steps on a budget; `amounts` are what they will be charged.

    `width` is the number of columns, 0 where it is not known here.
    """
    forms = ["scaler", "rows", "union", "pipeline", *["grid"] * last, *["columns"] * (width > 1)]
    form = str(rng.choice(forms))
    if form in ("scaler", "rows") or not depth:
        epsilon, n = float(rng.integers(1, 9)) / 8.0, int(rng.integers(1, 3))
        amounts.append(Fraction(epsilon))
        settings = {"epsilon": epsilon, "bounds": (-9, 9)}
        if form == "rows":
            settings |= {"n_clusters": n, "n_init": 1, "n_hint": 9}
            return lambda budget: RowByRow(PrivateKMeans(accountant=budget, **settings))
        return lambda budget: PrivateStandardScaler(accountant=budget, **settings)
    if form == "grid":
        epsilon, folds = float(rng.integers(1, 9)) / 8.0, int(rng.integers(2, 4))
        amounts.append(Fraction(epsilon) * (folds + 1))
        measure = PrivateMeasure(epsilon=epsilon, bounds=(-9, 9), depth=1, n_hint=9)
        return lambda budget: GridSearchCV(
            measure.__class__(**measure.get_params() | {"accountant": budget}),
            {"n_hint": [9]},
            cv=folds,
            scoring=lambda fitted, X, y=None: 0.0,
            error_score="raise",
        )
    whole = form == "pipeline"
    widths = {"union": (width, width), "columns": (1, width - 1), "pipeline": (width, 0)}[form]
    ends = (False, whole)
    parts = [_composed(rng, depth - 1, amounts, *each) for each in zip(widths, ends, strict=True)]
    mask = [place == 1 for place in range(width)]
    columns = [[0], slice(1), mask, np.array([-1])][rng.integers(4)]

    def make(budget):
        first, second = (part(budget) for part in parts)
        if whole:
            return make_pipeline(DomainScaler((0, 1)), first, second)
        if form == "union":
            return FeatureUnion([("a", first), ("b", second)])
        return ColumnTransformer([("a", first, columns)], remainder=second)

    return make


def attack(rng):
    """Draw from both."""
    return put_together(rng) if rng.random() < 0.3 else spend_or_choose(rng)


PROMISE = Promise(
    "compositions",
    "In every composition, releases cost at most the charge, and the charge is what was quoted",
    repeated(attack),
)
