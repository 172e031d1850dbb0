"""Amplification against the exact output laws of small mechanisms on random batches."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr

from skdp_bary.exceptions import RelationError
from tests import world
from tests.cases import every
from tests.distributions import hockey_stick

POISSON = ("poisson", "add_remove")
WITHOUT = ("without_replacement", "replace_one")
OUTPUTS = np.arange(-60, 70)
EPSILONS = (0.0, 0.05, 0.3, 1.0, 2.0)
ORDERS = (1.0, 1.3, 2.0, 3.5, 8.0)


def geometric_law(center, epsilon):
    ratio = math.exp(-epsilon)
    return (1 - ratio) / (1 + ratio) * ratio ** np.abs(OUTPUTS - center)


def gaussian_law(center, mu):
    edges = np.arange(-15, 18.005, 0.01) - mu * center
    left, right = edges[:-1], edges[1:]
    return np.where(left > 0, ndtr(-left) - ndtr(-right), ndtr(right) - ndtr(left))


def without_replacement_law(values, size, law):
    batches = list(itertools.combinations(values, size))
    return sum(law(sum(batch)) for batch in batches) / len(batches)


def poisson_law(values, rate, law):
    total = 0.0
    for chosen in itertools.product((0, 1), repeat=len(values)):
        weight = math.prod(rate if c else 1 - rate for c in chosen)
        total = total + weight * law(sum(v for v, c in zip(values, chosen, strict=True) if c))
    return total


def renyi(p, q, order):
    loss = np.log(p) - np.log(q)
    if order == 1.0:
        return float((p * loss).sum())
    return float(np.logaddexp.reduce(np.log(p) + (order - 1) * loss) / (order - 1))


def pure_profile(epsilon0):
    return lambda epsilon: max(-math.expm1(epsilon - epsilon0), 0.0) / (1 + math.exp(-epsilon0))


def gaussian_profile(mu):
    return lambda epsilon: world.gaussian_delta(mu, epsilon)


def neighbors(relation):
    """Pairs of small data sets with values 0 or 1 (add/remove) or replaced by one unit."""
    for rest in itertools.combinations_with_replacement((0, 1), 4):
        yield ((*rest, 1), (*rest, 0) if relation == "replace_one" else rest)


CASES = {
    "poisson pure": (POISSON, geometric_law, pure_profile, world.poisson_pure_renyi),
    "poisson gaussian": (POISSON, gaussian_law, gaussian_profile, world.poisson_gaussian_renyi),
    "without pure": (WITHOUT, geometric_law, pure_profile, world.without_replacement_pure_renyi),
    "without gaussian": (
        WITHOUT,
        gaussian_law,
        gaussian_profile,
        world.without_replacement_gaussian_renyi,
    ),
}


@every("amount", [0.5, 1.5])
@every("case", CASES)
def test_exact_laws_of_small_batches_stay_below_the_bounds(case, amount):
    (sampling, relation), law, make_profile, curve = CASES[case]
    profile, rate = make_profile(amount), 0.4
    closest = 0.0
    for pair in neighbors(relation):
        if sampling == "poisson":
            laws = [poisson_law(rows, rate, lambda c: law(c, amount)) for rows in pair]
        else:
            laws = [without_replacement_law(rows, 2, lambda c: law(c, amount)) for rows in pair]
        for p, q in (laws, laws[::-1]):
            for epsilon in EPSILONS:
                bound = world.amplified_delta(profile, epsilon, rate, sampling, relation)
                exact = hockey_stick(p, q, epsilon)
                assert exact <= bound + 1e-12
                closest = max(closest, exact / bound if bound > 1e-9 else 0.0)
            for order in ORDERS:
                assert renyi(p, q, order) <= curve(amount, rate, order, relation) + 1e-12
    assert closest > 0.95


CALLS = [
    lambda sampling, relation: world.check_sampling(sampling, relation),
    lambda sampling, relation: world.amplify(1.0, 0.0, 0.1, sampling, relation),
    lambda sampling, relation: world.amplified_delta(
        pure_profile(1.0), 0.1, 0.1, sampling, relation
    ),
]


@every("call", CALLS)
@every(
    "sampling, relation",
    [
        ("poisson", "replace_one"),
        ("poisson", "replace_any"),
        ("without_replacement", "add_remove"),
        ("without_replacement", "replace_any"),
    ],
)
def test_other_relations_are_refused(call, sampling, relation):
    with pytest.raises(RelationError, match=f"{sampling}.*got relation='{relation}'"):
        call(sampling, relation)


@every(
    "curve, relation",
    [
        (world.poisson_gaussian_renyi, "replace_one"),
        (world.poisson_pure_renyi, "replace_one"),
        (world.without_replacement_gaussian_renyi, "add_remove"),
        (world.without_replacement_pure_renyi, "add_remove"),
    ],
)
def test_curves_refuse_other_relations_even_where_nothing_is_spent(curve, relation):
    for amount, rate in [(1.0, 0.1), (0.0, 0.1), (1.0, 1.0)]:
        with pytest.raises(RelationError):
            curve(amount, rate, 2.0, relation)


def test_names_and_rates_outside_are_refused():
    with pytest.raises(ValueError, match="sampling must be one of"):
        world.check_sampling("shuffle", "add_remove")
    with pytest.raises(ValueError, match="relation must be one of"):
        world.check_sampling("poisson", "swap")
    for rate in (0.0, -0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="rate"):
            world.amplify(1.0, 0.0, rate, *POISSON)


@every("rule", [POISSON, WITHOUT])
def test_amplify_is_the_theorem_rounded_up(rule):
    rng = np.random.default_rng(0)
    for _ in range(300):
        epsilon, rate = 10.0 ** rng.uniform(-9, 3.3), 10.0 ** rng.uniform(-9, 0)
        amplified, delta = world.amplify(epsilon, 1e-6, rate, *rule)
        with mpmath.workdps(60):
            truth = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(epsilon))
        assert truth <= amplified <= truth * (1 + 1e-11)
        assert 1e-6 * rate <= delta <= 1e-6 * rate * (1 + 1e-11)
    assert world.amplify(2.0, 0.1, 1.0, *rule)[0] == 2.0
    assert world.amplify(0.0, 0.0, 0.3, *rule) == (0.0, 0.0)


@every("epsilon", [0.0, 1e-9, 0.5, 3.0, 40.0, 600.0])
@every("rate", [1e-12, 1e-3, 0.5, 1.0])
def test_amplified_delta_reads_the_profile_at_the_right_point(epsilon, rate):
    seen = []
    value = world.amplified_delta(lambda e: seen.append(e) or 0.25, epsilon, rate, *WITHOUT)
    with mpmath.workdps(400):
        truth = mpmath.log1p(mpmath.expm1(mpmath.mpf(epsilon)) / mpmath.mpf(rate))
    assert truth * (1 - 1e-11) <= seen[0] <= truth
    assert value == pytest.approx(rate * 0.25, rel=1e-11)


def test_poisson_gaussian_curve_by_exact_binomial_sum():
    rng = np.random.default_rng(0)
    for _ in range(60):
        mu, rate = 10.0 ** rng.uniform(-4, 0.7), 10.0 ** rng.uniform(-5, -0.01)
        order = int(rng.integers(2, 120))
        with mpmath.workdps(60):
            q, m = mpmath.mpf(rate), mpmath.mpf(mu)
            truth = mpmath.log(
                mpmath.fsum(
                    mpmath.binomial(order, k)
                    * (1 - q) ** (order - k)
                    * q**k
                    * mpmath.exp(k * (k - 1) * m * m / 2)
                    for k in range(order + 1)
                )
            ) / (order - 1)
            value = world.poisson_gaussian_renyi(mu, rate, order, "add_remove")
            assert min(truth, world.gaussian_renyi(mu, order)) <= value <= truth * (1 + 1e-10)


def test_poisson_gaussian_curve_at_the_largest_orders():
    """Logarithms of binomials lose digits there; the value must stay above the exact one."""
    for mu, rate, order in [(1.5e-5, 0.078, 9517), (4.5e-4, 0.17, 8778), (0.02, 1e-4, 7777)]:
        with mpmath.workdps(40):
            q, m, total, term = mpmath.mpf(rate), mpmath.mpf(mu), mpmath.mpf(0), mpmath.mpf(1)
            for k in range(1, order + 1):
                term *= mpmath.mpf(order - k + 1) / k * q / (1 - q)
                total += term * mpmath.expm1(k * (k - 1) * m * m / 2)
            truth = mpmath.log1p(total * (1 - q) ** order) / (order - 1)
        value = world.poisson_gaussian_renyi(mu, rate, order, "add_remove")
        assert truth <= value <= truth * (1 + 1e-8)


def mirrored_gaussian(mu, rate, order):
    """Integrate the moment of the dominating pair as it is defined, upper and lower law apart."""
    mu, q, a = mpmath.mpf(mu), mpmath.mpf(rate), mpmath.mpf(order)

    def ratio(x):
        return 1 - q + q * mpmath.exp(mu * x - mu * mu / 2)

    def excess(x):  # atoms at +loss and -loss, minus the two masses they take from loss zero
        u = ratio(x)
        return mpmath.npdf(x) * (u**a + u ** (1 - a) - u - 1)

    last = a * mu + mpmath.sqrt(2 * (a * mpmath.log(1 / q) + 60))
    points = mpmath.linspace(mu / 2, last, 13)
    return mpmath.log1p(mpmath.quad(excess, points)) / (a - 1)


@every(
    "mu, rate, order",
    [(0.05, 0.2, 1.01), (1.8, 2e-4, 1.25), (0.4, 0.05, 6.0), (2.5, 0.01, 9.0), (1.0, 0.6, 30.0)],
)
def test_without_replacement_gaussian_curve_by_quadrature(mu, rate, order):
    with mpmath.workdps(30):
        truth = mirrored_gaussian(mu, rate, order)
    value = world.without_replacement_gaussian_renyi(mu, rate, order, "replace_one")
    assert truth <= value <= truth * (1 + 1e-8)


@every("epsilon", [0.1, 3.0, 20.0, 60.0])
@every("order", [1.5, 2.0, 5.0])
def test_poisson_curve_of_the_whole_data_is_the_mechanism(epsilon, order):
    for rate in (1.0, math.nextafter(1.0, 0.0)):
        whole = world.poisson_pure_renyi(epsilon, rate, order, "add_remove")
        assert whole == pytest.approx(world.pure_renyi(epsilon, order), rel=1e-9)
    assert world.poisson_gaussian_renyi(epsilon, 1.0, order, "add_remove") == world.gaussian_renyi(
        epsilon, order
    )


def test_pure_curves_by_exact_sums():
    rng = np.random.default_rng(1)
    for _ in range(300):
        epsilon, rate = 10.0 ** rng.uniform(-3, 1.5), 10.0 ** rng.uniform(-4, 0)
        order = 1 + 10.0 ** rng.uniform(-1, 2)
        with mpmath.workdps(60):
            e, q, a = map(mpmath.mpf, (epsilon, rate, order))
            old = [1 / (1 + mpmath.exp(e)), 1 / (1 + mpmath.exp(-e))]
            mixed = [(1 - q) * x + q * y for x, y in zip(old, old[::-1], strict=True)]
            both = [
                mpmath.log(sum(x**a * y ** (1 - a) for x, y in zip(p, r, strict=True))) / (a - 1)
                for p, r in ((mixed, old), (old, mixed))
            ]
            value = world.poisson_pure_renyi(epsilon, rate, order, "add_remove")
            assert max(both) <= value
            assert (
                value <= max(both) * (1 + 1e-4)
                or value == world.amplify(epsilon, 0, rate, *POISSON)[0]
            )
            ratio = 1 + q * mpmath.expm1(e)
            upper = [old[0] * ratio, old[0], 1 - old[0] - old[0] * ratio]
            lower = [old[0], old[0] * ratio, upper[2]]
            moment = sum(x**a * y ** (1 - a) for x, y in zip(upper, lower, strict=True) if x > 0)
            truth = mpmath.log(moment) / (a - 1)
            value = world.without_replacement_pure_renyi(epsilon, rate, order, "replace_one")
            assert truth <= value <= truth * (1 + 1e-9)


@every("case", CASES)
@every("rate", [1e-4, 0.3])
def test_sampled_curves_increase_with_the_order_up_to_the_mechanism(case, rate):
    (_, relation), law, _, curve = CASES[case]
    plain = world.pure_renyi if law is geometric_law else world.gaussian_renyi
    orders = [1.0, 1.2, 2.0, 2.5, 3.0, 17.3, 200.0, 1e5, 1e12, math.inf]
    values = [curve(0.8, rate, order, relation) for order in orders]
    assert all(low <= high * (1 + 1e-8) for low, high in zip(values, values[1:], strict=False))
    assert all(v <= plain(0.8, o) * (1 + 1e-9) for v, o in zip(values, orders, strict=True))
    assert values[2] < 3 * rate**2 * 2.0
    assert curve(0.0, rate, 3.0, relation) == 0.0
