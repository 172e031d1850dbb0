"""Polya noise: exact law, and the discrete Laplace law of what people add together."""

from fractions import Fraction

import numpy as np
from scipy.stats import chisquare, nbinom

from tests.cases import every
from tests.world import NoiseSource, PolyaSampler, noise_generator, polya_sampler


@every("r, rate", [(Fraction(1, 3), Fraction(1, 2)), (Fraction(1, 50), Fraction(1, 9))])
def test_law(r, rate):
    values = polya_sampler(r, rate).draw(200_000, noise_generator(0))
    law = nbinom(float(r), -np.expm1(-float(rate)))
    edges = np.arange(1 + int(law.ppf(0.995)))
    observed = np.r_[np.bincount(values)[: len(edges)], (values >= len(edges)).sum()]
    wrong = nbinom(1.3 * float(r), -np.expm1(-float(rate)))
    p, p_wrong = (
        chisquare(observed, len(values) * np.r_[one.pmf(edges), one.sf(edges[-1])]).pvalue
        for one in (law, wrong)
    )
    assert p > 1e-3 and p_wrong < 1e-6


@every("n_people", [3, 50])
def test_differences_add_up_to_discrete_laplace(n_people):
    """The characteristic function of one person's difference, to the power n."""
    rate = Fraction(1, 4)
    a = np.exp(-0.25)
    t = np.linspace(-np.pi, np.pi, 41)
    one = np.abs((1 - a) / (1 - a * np.exp(1j * t))) ** (2 / n_people)
    laplace = (1 - a) ** 2 / (1 - 2 * a * np.cos(t) + a**2)
    assert np.allclose(one**n_people, laplace, rtol=1e-12)
    sampler, noise = PolyaSampler(Fraction(1, n_people), rate), noise_generator(1)
    shape = (n_people, 100_000)
    sums = (sampler.draw(shape, noise) - sampler.draw(shape, noise)).sum(axis=0)
    edges = np.arange(-20, 21)
    expected = np.r_[(1 - a) / (1 + a) * a ** np.abs(edges)]
    observed = np.array([(sums == e).sum() for e in edges])
    rest = 1 - expected.sum()
    p = chisquare(np.r_[observed, len(sums) - observed.sum()], len(sums) * np.r_[expected, rest])
    assert p.pvalue > 1e-3


def test_words_that_do_not_decide_are_decided_with_more_bits():
    sampler = PolyaSampler(Fraction(1, 5), Fraction(1, 2))
    boundary = int(sampler._table[3])
    for more, expected in ((0, 3), (2**64 - 1, 4)):
        words = iter([boundary, more, more, more])
        source = NoiseSource(
            lambda count, w=words: np.array([next(w) for _ in range(count)], dtype=np.uint64)
        )
        assert sampler.draw(1, source).tolist() == [expected]
    assert sampler.locate([2**64 - 1] * 3) > len(sampler._table)
