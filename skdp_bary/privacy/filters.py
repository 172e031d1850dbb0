"""Privacy filters: whether the next spend, chosen after seeing earlier results, is still covered.

A filter fixes a ceiling before the first spend and admits a spend while the running sum of costs
stays below it. Both filters here stay valid when the mechanisms, their amounts and the moment to
stop depend on earlier results. The argument is the same for both. Write each entry, under either
of two neighboring datasets, as a good case of probability ``1 - delta_i`` and a bad case of
probability ``delta_i``; ``delta_i`` depends on the history alone. The bad cases together have
probability at most the sum of ``delta_i``, which never exceeds its ceiling. Restricted to good
cases the likelihood ratio of a history is a product of ratios, and the factors ``1 - delta_i``
cancel:

``sum``
    Each ratio is at most ``exp(epsilon_i)``, so the product is at most ``exp(epsilon)``
    (Rogers, Roth, Ullman and Vadhan, 2016).
``renyi``
    At one fixed order ``a``, ``ratio**a * exp(-(a - 1) * sum of losses)`` is a supermartingale
    under the other dataset, so the Renyi divergence of the good cases stays below the ceiling of
    losses (Feldman and Zrnic, 2021; Whitehouse, Ramdas, Rogers and Wu, 2023, with bad cases).
    Divergence is turned into (epsilon, delta) by a pointwise bound on ``(p - exp(epsilon) q)+``
    (Canonne, Kamath and Steinke, 2020, Proposition 12), which needs no total mass of one.
    The order is fixed together with the ceiling: a filter that picks the most favorable order
    once the entries are known is not proved.

Parts of the data enter one pair of neighbors at a time. Two neighboring datasets differ in one
person, so entries on parts without that person have ratio one and the sums above run over the
entries on the whole data and on that person's part (or two parts). The ceiling holds for every
person when it holds for the largest sum of each amount separately.
"""

import math
from bisect import bisect_right
from fractions import Fraction

from ..exceptions import (
    DELTA_DIGITS,
    EPSILON_DIGITS,
    check_delta,
    check_option,
    check_real,
    exact,
    float_above,
    float_below,
)
from .entries import COMPOSITIONS, Cost
from .mechanisms import compose_parts, order_epsilon, pure_renyi, renyi_budget, renyi_order

LOSS_UNIT = 10**EPSILON_DIGITS
DELTA_UNIT = 10**DELTA_DIGITS
LARGEST_EPSILON = 1e9  # 10**15 units: within the integers a float and an SQLite column hold
_ALL_UNITS = range(1 << 62)  # of epsilon: more than any ceiling has


def exposure(sums, part, relation):
    """Return the most that one person has spent, among the people a charge on the part touches."""
    others = [cost for name, cost in sums.items() if name not in ("", part)]
    losses, deltas = [cost.loss for cost in others], [cost.delta for cost in others]
    beside = Cost(_beside(losses, part, relation), _beside(deltas, part, relation))
    return sum((sums.get(name, Cost()) for name in {"", part}), beside)


def _beside(others, part, relation):
    if not part:
        return int(compose_parts(others, relation))
    # What the other parts add for a person of `part` once this part costs as much as any other.
    top = max(others, default=0)
    return int(compose_parts([top, *others], relation) - top)


class SumFilter:
    """Epsilons add up, deltas add up."""

    composition = "sum"
    order = None

    def __init__(self, epsilon, delta):
        self.epsilon, self.delta = epsilon, delta
        self.ceiling = Cost(
            math.floor(exact(epsilon) * LOSS_UNIT), math.floor(exact(delta) * DELTA_UNIT)
        )

    def price_plan(self, plan):
        """Cost of a plan, as it promises."""
        return self.price(plan.epsilon, plan.delta)

    def price(self, epsilon, delta):
        """Return the cost of any (epsilon, delta) private release, rounded up to whole units.

        Plans promise whole units, see :func:`~skdp_bary.exceptions.as_charged`.
        """
        return Cost(math.ceil(exact(epsilon) * LOSS_UNIT), math.ceil(exact(delta) * DELTA_UNIT))

    def total(self, spent):
        """Return `spent` as (epsilon, delta), rounded up."""
        epsilon, delta = Fraction(spent.loss, LOSS_UNIT), Fraction(spent.delta, DELTA_UNIT)
        return float_above(epsilon, exact), float_above(delta, exact)

    def room(self, left):
        """Return the largest (epsilon, delta) whose price is at most `left`."""
        return _float_down(left.loss, LOSS_UNIT), _float_down(left.delta, DELTA_UNIT)

    def describe(self, cost):
        """Return what (epsilon, delta) do not tell about `cost`, in words: here nothing."""
        return ""


class RenyiFilter:
    """Renyi losses at one order add up; half of delta is for entries, half for the conversion."""

    composition = "renyi"

    def __init__(self, epsilon, delta, order=None):
        if not delta > 0.0:
            raise ValueError(
                f"delta must be in (0, 1) with composition='renyi', got {delta!r}. A Renyi bound "
                "is not a pure one: use composition='sum' for a ceiling with delta=0."
            )
        self.epsilon, self.delta = epsilon, delta
        if order is None:
            self.order, budget = renyi_order(epsilon, delta / 2.0)
        else:
            self.order, budget = order, renyi_budget(order, epsilon, delta / 2.0)
        self.ceiling = Cost(
            math.floor(Fraction(budget) * LOSS_UNIT), math.floor(exact(delta) / 2 * DELTA_UNIT)
        )

    def price_plan(self, plan):
        """Return the cost of a plan: the Renyi loss of its mechanisms, and no delta.

        Where that is infinite, as races are at large orders, the plan costs what it promises.
        """
        loss = plan.renyi(self.order)
        if loss == math.inf:
            return self.price(plan.epsilon, plan.delta)
        return Cost(_loss_units(loss), 0)

    def price(self, epsilon, delta):
        """Return the cost of any (epsilon, delta) private release.

        Outside a bad case of probability `delta` it is a pure `epsilon` release (Kairouz, Oh and
        Viswanath, 2015).
        """
        loss = _loss_units(pure_renyi(epsilon, self.order)) if epsilon else 0
        return Cost(loss, math.ceil(exact(delta) * DELTA_UNIT))

    def total(self, spent):
        """Return `spent` as (epsilon, delta), rounded up; at most the ceiling."""
        plain = Fraction(spent.delta, DELTA_UNIT)
        if spent.loss == 0:
            return 0.0, float_above(plain, exact)
        loss = float_above(Fraction(spent.loss, LOSS_UNIT), exact)
        epsilon = max(order_epsilon(loss, self.order, self.delta / 2.0), 0.0)
        delta = float_above(exact(self.delta) / 2 + plain, exact)
        return min(epsilon, self.epsilon), min(delta, self.delta)

    def room(self, left):
        """Return the largest (epsilon, delta) whose price is at most `left`."""
        above = bisect_right(
            _ALL_UNITS, left.loss, key=lambda n: self.price(_float_down(n, LOSS_UNIT), 0.0).loss
        )
        return _float_down(above - 1, LOSS_UNIT), _float_down(left.delta, DELTA_UNIT)

    def describe(self, cost):
        """Return what (epsilon, delta) do not tell about `cost`, in words."""
        return f"a Renyi loss of {cost.loss / LOSS_UNIT:g} at order {self.order:g}"


def make_filter(composition, epsilon, delta, order=None):
    """Return the filter named `composition` with a checked ceiling.

    The `order` is that of an earlier ceiling, which a raised one keeps: what was spent is known at
    that order only. None takes what suits the ceiling.
    """
    check_option(composition, "composition", COMPOSITIONS)
    epsilon = check_real(epsilon, "epsilon", low=1.0 / LOSS_UNIT, high=LARGEST_EPSILON)
    delta = check_delta(delta)
    if composition == "sum":
        return SumFilter(epsilon, delta)
    return RenyiFilter(epsilon, delta, order)


def _loss_units(loss):
    """Return a Renyi loss in units: at least one, also where its float came out as zero."""
    return max(1, math.ceil(Fraction(loss) * LOSS_UNIT))


def _float_down(units, unit):
    return float_below(Fraction(units, unit), digits=18)
