"""Exact noise: the laws, the error bounds behind the float path, the tails and the seeds."""

import math
import os
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import chisquare

from tests.cases import every
from tests.distributions import gaussian_pmf, laplace_pmf
from tests.world import MAX_SCALE, NoiseSource, home, noise_generator, public_generator

_noise = home("NoiseSource")

SCALES = [0.7, 5.3, 40.0]
LAWS = ["discrete_laplace", "rounded_gaussian"]
DRAWS = 1_000_000


PMFS = {"discrete_laplace": laplace_pmf, "rounded_gaussian": gaussian_pmf}


def p_value(draws, pmf, scale):
    """Chi-square test of integer draws, tails pooled so that 20 are expected in every bin."""
    reach = 0
    while pmf(np.array([reach + 1]), scale)[0] * draws.size > 20:
        reach += 1
    inner = np.arange(-reach, reach + 1)
    expected = pmf(inner, scale) * draws.size
    seen = np.bincount(np.clip(draws, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    tail = (draws.size - expected.sum()) / 2
    law = np.r_[tail, expected, tail]
    return chisquare(seen, law * (np.sum(seen) / law.sum())).pvalue


def stub(*words):
    """A source whose words are given."""
    left = list(words)

    def take(count):
        taken, left[:count] = left[:count], []
        return np.array(taken, dtype=np.uint64)

    return NoiseSource(take)


def philox(seed, **options):
    return NoiseSource(np.random.Philox(seed).random_raw, **options)


# Laws


@every("scale", SCALES)
@every("law", LAWS)
def test_draws_follow_the_exact_law_and_no_other_scale(law, scale):
    draws = getattr(noise_generator(11), law)(scale, DRAWS)
    assert draws.dtype == np.int64
    assert p_value(draws, PMFS[law], scale) > 1e-3
    for wrong in (0.7, 0.98, 1.02, 1.3):
        assert p_value(draws, PMFS[law], wrong * scale) < 1e-6


@every("law", LAWS)
def test_draws_from_the_operating_system_follow_the_law(law):
    draws = getattr(noise_generator(), law)(5.3, 200_000)
    assert p_value(draws, PMFS[law], 5.3) > 1e-7  # not seeded: fails once in ten million runs


@every("law", LAWS)
@every("scale", [5e-324, 1e-300, 1e-3, 1 / 64])
def test_tiny_scales_draw_zeros(law, scale):
    assert not getattr(noise_generator(5), law)(scale, 20_000).any()


# The float path


def float_errors(name):
    """Largest relative error of a float function on the arguments the samplers give it."""
    rng = np.random.default_rng(0)
    tails = np.r_[
        2.0 ** (-1.0 - 65.0 * rng.random(1500)),
        0.5 - 2.0 ** (-2.0 - 50.0 * rng.random(500)),
        [0.5 - 2.0**-54, 2.0**-65, 1.5 * 2.0**-64],
    ]
    arguments = {
        "ndtri": tails,
        "log": np.r_[tails, 1.0 - 2.0 ** (-1.0 - 52.0 * rng.random(1000))],
        "exp": np.r_[-700.0 * rng.random(3000), -(2.0 ** (-60.0 * rng.random(1000)))],
    }[name]
    values = {"ndtri": ndtri, "log": np.log, "exp": np.exp}[name](arguments)
    worst = mpmath.mpf(0)
    with mpmath.workprec(200):
        for x, y in zip(arguments.tolist(), values.tolist(), strict=True):
            truth = {
                "ndtri": lambda p: -_noise._upper_quantile(mpmath.mpf(p)),
                "log": mpmath.log,
                "exp": mpmath.exp,
            }[name](mpmath.mpf(x))
            worst = max(worst, abs(y / truth - 1))
    return float(worst)


@every("name", ["ndtri", "log", "exp"])
def test_error_of_the_installed_float_functions_is_far_below_the_allowance(name):
    assert 0.0 < float_errors(name) < 2.0**-49.5 < _noise._FUNCTION_ERROR / 32


def test_the_quantile_in_high_precision_inverts_the_tail():
    with mpmath.workprec(300):
        for tail in (Fraction(1, 2), Fraction(1, 3), Fraction(1, 2**66), Fraction(7, 2**190)):
            p = mpmath.mpf(tail.numerator) / tail.denominator
            score = _noise._upper_quantile(p)
            back = mpmath.erfc(score / mpmath.sqrt(2)) / 2
            assert abs(back / p - 1) < mpmath.mpf(2) ** -285


def true_magnitude(law, scale, key, digits):
    """Magnitude of a draw whose tail starts with these bits, or None when more are needed."""
    with mpmath.workprec(digits + 200):
        ends = []
        for tail in (mpmath.ldexp(key + 1, -digits), mpmath.ldexp(key, -digits)):
            if law == "discrete_laplace":
                value = -mpmath.mpf(scale) * mpmath.log(tail)
            else:
                value = mpmath.mpf(scale) * _noise._upper_quantile(tail) + mpmath.mpf(0.5)
            ends.append(int(mpmath.floor(value)))
    return ends[0] if ends[0] == ends[1] else None


def boundary_key(law, scale, magnitude):
    """Key of 63 bits nearest to where the magnitude steps from one integer to the next."""
    with mpmath.workprec(200):
        if law == "discrete_laplace":
            return int(mpmath.floor(mpmath.ldexp(mpmath.exp(-magnitude / mpmath.mpf(scale)), 63)))
        score = (magnitude - mpmath.mpf(0.5)) / mpmath.mpf(scale)
        return int(mpmath.floor(mpmath.ldexp(mpmath.erfc(score / mpmath.sqrt(2)) / 2, 64)))


@every("law", LAWS)
@every("scale", [0.3, 5.3, 2.0**16, 2.0**26, 2.0**31 + 0.1, 1.37 * 2.0**36, 2.0**45, MAX_SCALE])
def test_draws_next_to_a_boundary_are_those_of_infinite_precision(law, scale):
    """The keys on which a float interval that is too narrow would go wrong."""
    digits = {"discrete_laplace": 63, "rounded_gaussian": 64}[law]
    more = 0x9E3779B97F4A7C15
    for step in (1.0, 2.0, 7.0, 20.0):
        magnitude = math.ceil(step * scale / 2)
        middle = boundary_key(law, scale, magnitude)
        for key in (middle + offset for offset in (-70_000, -900, -2, -1, 0, 1, 2, 900, 70_000)):
            if not 0 < key < 1 << 63:
                continue
            truth = true_magnitude(law, scale, key, digits)
            if truth is None:
                truth = true_magnitude(law, scale, (key << 64) | more, digits + 64)
            drawn = getattr(stub(key << 1, more, more), law)(scale, ())
            assert drawn == truth


@every("law", LAWS)
@every("scale", [0.7, 40.0, 2.0**30, 0.1 * 2.0**40, 0.7 * 2.0**46])
def test_random_draws_are_those_of_infinite_precision(law, scale):
    rng = np.random.default_rng(1)
    digits = {"discrete_laplace": 63, "rounded_gaussian": 64}[law]
    for bits in rng.integers(1, 64, size=60):
        key = int(rng.integers(1 << 62, dtype=np.int64) >> (62 - min(int(bits), 62))) or 1
        truth = true_magnitude(law, scale, key, digits)
        if truth is not None:
            assert getattr(stub(key << 1, 0, 0), law)(scale, ()) == truth
            drawn = getattr(stub((key << 1) | 1, *([0, 0] if truth else [key << 1])), law)(
                scale, ()
            )
            assert drawn == -truth or truth == 0


@every("law", LAWS)
@every("key", [0, 1])
def test_the_far_tail_takes_further_words(law, key):
    digits = {"discrete_laplace": 63, "rounded_gaussian": 64}[law]
    for more in (1, 5, 0x9E3779B97F4A7C15, (1 << 64) - 1):
        for scale in (0.7, 40.0, 1e5):
            wide = (key << 64) | more
            truth = true_magnitude(law, scale, wide, digits + 64)
            if truth is not None:
                assert getattr(stub(key << 1, more, 7, 7), law)(scale, ()) == truth


def test_the_far_tail_is_not_truncated():
    first = abs(int(stub(0, 0, 0, 1, 7, 7).discrete_laplace(1.0, ())))
    assert first == math.floor((63 + 3 * 64) * math.log(2)) or first == math.floor(
        (63 + 3 * 64 - 1) * math.log(2)
    )


@every("law", LAWS)
def test_more_doubt_about_the_floats_changes_no_value(law):
    usual = getattr(philox(2), law)(30.0, 300)
    forced = getattr(philox(2, function_error=10.0), law)(30.0, 300)
    assert (usual == forced).all()
    wider = getattr(philox(2, function_error=1e-4), law)(30.0, 20_000)
    assert (getattr(philox(2), law)(30.0, 20_000) == wider).all()
    for scale in (1.2 * 2.0**30, 2.0**44, MAX_SCALE):
        usual = getattr(philox(2), law)(scale, 100)
        assert (getattr(philox(2, function_error=1e12), law)(scale, 100) == usual).all()


@every("law", LAWS)
def test_largest_scale(law):
    draws = getattr(philox(6), law)(MAX_SCALE, 50)
    assert np.abs(draws).max() < 64 * MAX_SCALE
    assert 0.2 * MAX_SCALE < np.abs(draws).mean() < 3 * MAX_SCALE
    with pytest.raises(ValueError, match="The scale of noise must be"):
        getattr(philox(6), law)(math.nextafter(MAX_SCALE, math.inf), 1)
    # even twenty words of zeros in a row stay far from the end of 64-bit integers
    words = [0] * 20 + [1] * 8
    assert 0 < getattr(stub(*words), law)(MAX_SCALE, ()) < 1 << 62


@every("scale", [0.0, -1.0, math.nan, math.inf])
@every("law", LAWS)
def test_scales_are_checked(law, scale):
    with pytest.raises(ValueError, match="The scale of noise must be"):
        getattr(noise_generator(0), law)(scale, 3)


# Where the bits come from


def test_numpy_seeds_do_not_reach_noise_from_the_operating_system():
    draws = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002
        draws.append(noise_generator().discrete_laplace(1e6, 20))
    assert (draws[0] != draws[1]).any()
    assert not noise_generator().seeded


@pytest.mark.unseeded("20 integers of scale 1e6 are equal to 20 others with probability 1e-120")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_draws_other_noise():
    source = noise_generator()
    source.discrete_laplace(1e6, 10)  # the generator has a state by now
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, source.discrete_laplace(1e6, 20).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(reader, 160), dtype=np.int64)
    os.close(reader)
    os.close(writer)
    assert theirs.size == 20
    assert (theirs != source.discrete_laplace(1e6, 20)).any()


def test_seeds_repeat_and_are_marked():
    first, again, other = (noise_generator(s).rounded_gaussian(1e6, 50) for s in (7, 7, 8))
    assert (first == again).all()
    assert (first != other).any()
    assert noise_generator(7).seeded
    states = [np.random.RandomState(3) for _ in range(2)]
    assert (
        noise_generator(states[0]).discrete_laplace(1e6, 9)
        == noise_generator(states[1]).discrete_laplace(1e6, 9)
    ).all()


def test_public_and_noise_randomness_of_one_seed_are_separate():
    sequences = [np.random.SeedSequence(5, spawn_key=(key,)) for key in (0, 1)]
    words = noise_generator(5).words(1000)
    public = public_generator(5).bit_generator.random_raw(1000)
    assert (words == np.random.Philox(sequences[1]).random_raw(1000)).all()
    assert (public == np.random.PCG64(sequences[0]).random_raw(1000)).all()
    assert not np.intersect1d(words, public).size
    before = noise_generator(5).discrete_laplace(10.0, 100)
    public_generator(5).random(1000)
    assert (noise_generator(5).discrete_laplace(10.0, 100) == before).all()


@every("state", [-1, 1.0, True, "1", np.random.default_rng(0)])
@every("make", [noise_generator, public_generator])
def test_other_seeds_are_refused(make, state):
    with pytest.raises(ValueError, match="random_state must be None, a non-negative integer"):
        make(state)


# Choice and uniform integers


def choice_law(utilities, rate):
    weights = np.exp(rate * (np.asarray(utilities) - np.max(utilities)))
    return weights / weights.sum()


@every("rate", [0.0, 0.05, 0.7])
def test_choices_follow_the_exact_law(rate):
    utilities = np.array([0, -3, 2, 5, 5, -1])
    source = philox(9)
    seen = np.bincount([source.choose(utilities, rate) for _ in range(20_000)], minlength=6)
    assert chisquare(seen, 20_000 * choice_law(utilities, rate)).pvalue > 1e-3
    assert chisquare(seen, 20_000 * choice_law(utilities, 1.3 * rate + 0.02)).pvalue < 1e-6


def test_choice_in_high_precision_is_that_of_floats_and_decides_boundaries():
    utilities = np.random.default_rng(0).integers(-40, 40, size=300)
    for rate in (0.0, 0.1, 30.0):
        usual, forced = philox(3), philox(3, function_error=10.0)
        for _ in range(10):
            assert usual.choose(utilities, rate) == forced.choose(utilities, rate)
    utilities, rate = np.array([3, 1, 0, 2]), 0.37
    with mpmath.workprec(300):
        weights = [mpmath.exp(mpmath.mpf(rate) * int(u - 3)) for u in utilities]
        for index in range(3):
            share = mpmath.fsum(weights[: index + 1]) / mpmath.fsum(weights)
            word = int(mpmath.floor(mpmath.ldexp(share, 64)))
            rest = int(mpmath.floor(mpmath.ldexp(mpmath.ldexp(share, 64) - word, 64)))
            assert stub(word - 1, 0).choose(utilities, rate) == index
            assert stub(word + 1, 0).choose(utilities, rate) == index + 1
            assert stub(word, rest - 1, 0).choose(utilities, rate) == index
            assert stub(word, rest + 1, 0).choose(utilities, rate) == index + 1


def test_choice_reaches_both_ends_and_far_utilities():
    top = (1 << 64) - 1
    assert stub(0, 0, 0).choose(np.array([1, 1]), 1.0) == 0
    assert stub(top, top, top).choose(np.array([1, 1]), 1.0) == 1
    far = np.array([-(1 << 62), 1 << 62, 0])
    assert philox(0).choose(far, 1e300) == 1
    assert philox(0).choose(far.astype(object).astype(np.int64), 0.0) in (0, 1, 2)
    with np.errstate(all="raise"):
        assert noise_generator(0).choose(np.array([0, 5000]), 1.0) == 1


@every(
    "utilities, rate, message",
    [
        ([0.5, 1.0], 1.0, "1-d array of integers"),
        ([], 1.0, "1-d array of integers"),
        ([[1, 2]], 1.0, "1-d array of integers"),
        (np.array([1 << 63], dtype=np.uint64), 1.0, "within"),
        (np.array([-(1 << 63), 5]), 1.0, "within"),
        ([1, 2], -1.0, "rate"),
        ([1, 2], math.nan, "rate"),
        ([1, 2], math.inf, "rate"),
    ],
)
def test_choice_checks_its_numbers(utilities, rate, message):
    with pytest.raises(ValueError, match=message):
        noise_generator(0).choose(utilities, rate)


def test_uniform_integers_and_copies_of_alternatives():
    source = philox(1)
    seen = np.bincount([source.uniform_integer(7) for _ in range(14_000)], minlength=7)
    assert chisquare(seen).pvalue > 1e-3
    assert {source.uniform_integer(1) for _ in range(5)} == {0}
    assert source.uniform_integer(1 << 63) < 1 << 63
    # 2**64 = 1 mod 3: the last word has no partner and is drawn again
    assert stub((1 << 64) - 1, 5).uniform_integer(3) == 2
    assert stub((1 << 64) - 2).uniform_integer(3) == ((1 << 64) - 2) % 3
    utilities, copies, rate = np.array([0, 3, 1]), np.array([4, 1, 2]), 0.4
    source = philox(11)
    seen = np.bincount([source.choose(utilities, rate, copies) for _ in range(20_000)])
    law = np.bincount(np.repeat(range(3), copies), choice_law(np.repeat(utilities, copies), rate))
    assert chisquare(seen, 20_000 * law).pvalue > 1e-3
    forced, usual = philox(3, function_error=10.0), philox(3)
    many = np.array([1 << 60, 5, 1])
    for _ in range(10):
        index = usual.choose(utilities * 30, rate, many)
        assert index == forced.choose(utilities * 30, rate, many)
    for wrong in ([1, 1], [1, 0, 1], [1.0, 1.0, 1.0]):
        with pytest.raises(ValueError, match="copies"):
            source.choose(utilities, rate, wrong)
    for bound in (0, -1, (1 << 63) + 1):
        with pytest.raises(ValueError, match="bound must be an integer"):
            source.uniform_integer(bound)
