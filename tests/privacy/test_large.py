"""Magnitudes at large scales: every bound of the proof, against high precision."""

import mpmath
import numpy as np
import pytest

from tests.cases import every
from tests.world import _upper_quantile, home

large = home("laplace_magnitudes")

LAWS = {
    "laplace": (large.laplace_magnitudes, 2.0**-62),
    "gaussian": (large.gaussian_magnitudes, 2.0**-60.7),
}


def hostile_keys():
    """Keys at borders and middles of cells of the tables, at powers of two, and at random."""
    rng = np.random.default_rng(0)
    keys = [(1 << 63) - 1, (1 << 63) - 2, 1 << 62, (1 << 62) - 1]
    for length in (62, 61, 50, 36, 34):
        for cell in rng.integers(0, 2048, size=6):
            border = (1 << length) + (int(cell) << (length - 11))
            keys += [border - 1, border, border + (1 << (length - 12)), border + 1]
    with mpmath.workprec(200):
        for half in (1, 2, 3, 701, 1024, 6001, 12286, 12287):
            score = mpmath.mpf(half) / 2048
            key = int(mpmath.floor(mpmath.ldexp(mpmath.erfc(score / mpmath.sqrt(2)) / 2, 64)))
            keys += [key - 1, key, key + 1, key + 5]
    keys += (rng.integers(1 << 62, 1 << 63, size=100, dtype=np.uint64) >> 1).tolist()
    keys += (rng.integers(1 << 62, 1 << 63, size=60, dtype=np.uint64) >> 12).tolist()
    return np.array([key for key in keys if 1 << 36 < key < 1 << 63], dtype=np.int64)


def quantiles(law, keys):
    with mpmath.workprec(220):
        for key in keys.tolist():
            if law == "laplace":
                yield -mpmath.log(mpmath.ldexp(key, -63))
            else:
                yield _upper_quantile(mpmath.ldexp(2 * key + 1, -65))


@pytest.mark.parametrize("law", LAWS)
def test_the_pairs_are_within_the_error_that_is_proved(law, monkeypatch):
    pairs, floors = [], large._floors

    def watched(scale, digits, leading, rest, *others):
        pairs.append((leading, rest))
        return floors(scale, digits, leading, rest, *others)

    monkeypatch.setattr(large, "_floors", watched)
    keys, (magnitudes, bound) = hostile_keys(), LAWS[law]
    _, unsure = magnitudes(keys, 2.0**26)
    with mpmath.workprec(220):
        errors = [
            abs(mpmath.mpf(a) + mpmath.mpf(b) - truth)
            for a, b, truth in zip(
                *(part.tolist() for part in pairs[0]), quantiles(law, keys), strict=True
            )
        ]
    assert len(unsure) < 5
    assert bound / 100 < max(errors) < bound


@every("scale", [2.0**26, 1.0000001 * 2.0**35, np.nextafter(2.0**45, 0), 2.0**52])
@every("law", LAWS)
def test_what_is_decided_is_right_at_both_ends_of_the_interval(law, scale):
    keys = hostile_keys()[::5]
    magnitudes, unsure = LAWS[law][0](keys, scale)
    decided = np.setdiff1d(np.arange(len(keys)), unsure)
    assert len(decided) > (0.9 if scale < 2.0**40 else 0.5) * len(keys)
    digits, shift = (63, 0) if law == "laplace" else (64, 0.5)
    with mpmath.workprec(220):
        for i in decided:
            for key in (int(keys[i]), int(keys[i]) + 1):
                tail = mpmath.ldexp(key, -digits)
                score = -mpmath.log(tail) if law == "laplace" else _upper_quantile(tail)
                assert int(mpmath.floor(mpmath.mpf(scale) * score + shift)) == magnitudes[i]


@every("law", LAWS)
def test_words_near_zero_are_not_decided(law):
    keys = np.array([0, 1, 2, 1000, (1 << 20) - 1])
    with np.errstate(all="raise"):
        assert len(LAWS[law][0](keys, 2.0**30)[1]) == 5


def test_a_float_quantile_that_is_off_is_noticed(monkeypatch):
    """Where scipy is wrong by more than 2**-46 the draw is left to the exact path."""
    keys = hostile_keys()
    monkeypatch.setattr(large, "ndtri", lambda p, old=large.ndtri: old(p) * (1 + 2.0**-43))
    scores = np.array([float(q) for q in quantiles("gaussian", keys)])
    unsure = large.gaussian_magnitudes(keys, 2.0**30)[1]
    assert np.isin(np.flatnonzero(scores > 0.2), unsure).all()


def test_entries_of_the_tables():
    _, coarse, fine, coarse_log2, fine_log2 = large._log_tables()
    tails, fractions, inverse = large._tail_tables()
    with mpmath.workprec(220):
        assert abs(mpmath.mpf(coarse_log2) + fine_log2 - mpmath.log(2)) < mpmath.mpf(2) ** -73
        for i in (0, 1, 777, 2047):
            log = mpmath.log(mpmath.mpf(4097 + 2 * i) / 4096)
            assert abs(mpmath.mpf(coarse[i]) + fine[i] - log) < mpmath.mpf(2) ** -73
            assert coarse[i] * 2**20 == round(coarse[i] * 2**20)
        for j in (0, 1, 999, 4096, 6144):
            x = mpmath.mpf(j) / 1024
            tail = mpmath.ldexp(mpmath.erfc(x / mpmath.sqrt(2)) / 2, 64)
            found = int(tails[j]) % (1 << 64) + mpmath.mpf(fractions[j]) + 0.5
            assert abs(found - tail) < mpmath.mpf(2) ** -30
            unit = mpmath.ldexp(1 / mpmath.npdf(x), -64)
            assert abs(inverse[j] / unit - 1) <= mpmath.mpf(2) ** -52.9
