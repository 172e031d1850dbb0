"""What a pyramid of counts asks, and what it makes of the answers."""

import dataclasses
import math

import numpy as np
import pytest

from skdp_bary import PrivateMeasure
from skdp_bary.base import Chunk, Facts
from skdp_bary.geometry import Ball, Box
from tests.cases import every
from tests.world import (
    DiscreteLaplace,
    Measurement,
    Pyramid,
    RoundedGaussian,
    Sketch,
    Step,
    full_tree,
    home,
    noise_generator,
    pyramid_shares,
    release_of,
)

pyramid_module = home("Pyramid")
PYRAMID = home("TreeTuning").PYRAMID
with_rest_kept = pyramid_module.with_rest_kept

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def facts_of(n=500, d=2, epsilon=1.0, relation="add_remove", gaussian=False, n_classes=1):
    kind = RoundedGaussian if gaussian else DiscreteLaplace
    power = 0.5 if gaussian else 1.0
    mechanisms = {step: kind(epsilon * share**power) for step, share in pyramid_shares().items()}
    return Facts(
        relation=relation,
        n_features=d,
        classes=np.arange(n_classes),
        units=1,
        total_public=relation == "replace_one",
        mass_public=relation != "add_remove",
        domain=Box([0.0] * d, [1.0] * d),
        size=n,
        mechanisms=mechanisms,
    )


def hold(pyramid, X, codes=None, script=()):
    """Hold the conversation of a pyramid; return its questions, its result and what was released.

    What is in the script is released, whatever the rows.
    """
    noise, asked, told = noise_generator(0), [], []
    questions, released = pyramid.questions(), None
    while True:
        try:
            name, query = questions.send(released)
        except StopIteration as done:
            return asked, done.value, told
        asked.append(query)
        step = Step(name, pyramid.facts.mechanisms[name])
        sketch = Sketch(query).update(Chunk(X, codes, None))
        released = release_of(sketch, step, pyramid.facts.relation, noise)
        released = script[len(told)] if len(told) < len(script) else released
        told.append(released)


def rows(n=500, d=2, seed=0):
    return np.clip(np.random.default_rng(seed).normal(0.3, 0.1, (n, d)), 0, 1)


@every("known, kept", [(5.0, 0.6), (3.5, 0.001)])
def test_mass_spread_over_cells_stays_if_their_sum_is_known(known, kept):
    """Sixteen cells: 1000 people in one; of the counts of the others, the sum alone is clear."""
    tree, codes, rate = full_tree((4, 4)), np.arange(16), 0.5
    spread = known * math.sqrt(15 * 2.0) / rate
    counts = np.where(codes == 5, 1000.0, spread / 15)
    leaves = np.where(codes == 5, 1000.0 - 0.001 * spread, 0.001 * spread / 15)
    masses = [leaves.sum(keepdims=True), leaves.reshape(4, 4).sum(axis=1), leaves]
    found = with_rest_kept(tree, masses, [Measurement(np.full(16, 2), codes, counts, rate)])
    rest = np.delete(found[2], 5)
    np.testing.assert_allclose(rest, kept * spread / 15)
    np.testing.assert_allclose(found[1], found[2].reshape(4, 4).sum(axis=1))
    assert (found[0], found[2].sum()) == pytest.approx((1000.0, 1000.0))


def test_what_was_paid_for_is_delivered_whatever_the_noise(monkeypatch):
    def refuse(*arguments, **parameters):
        raise FloatingPointError

    monkeypatch.setattr(pyramid_module, "infer_masses", refuse)
    _, ((cells, _),), _ = hold(Pyramid(facts_of(), depth=6), rows())
    assert (cells.mass > 0).all()
    assert cells.mass.sum() == pytest.approx(500, abs=60)


@pytest.mark.parametrize("domain", [(0.0, 1.0), Ball([0.3, 0.3], 0.4)], ids=repr)
def test_where_no_mass_is_left_the_public_prior_is_released(monkeypatch, domain):
    monkeypatch.setattr(
        Pyramid,
        "posterior",
        lambda pyramid, tree, kept, priors: ([np.zeros(size) for size in tree.sizes], priors),
    )
    model = PrivateMeasure(bounds=domain, depth=4, n_hint=60, method="pyramid").fit(rows(20))
    assert model.weights_.sum() == pytest.approx(1.0)
    middle = [0.5, 0.5] if domain == (0.0, 1.0) else [0.3, 0.3]
    np.testing.assert_allclose(model.weights_ @ model.support_, middle, atol=1e-3)


CORNER, MIDDLE = 0, 12  # of 64 cells of a square: outside of its disc, inside


@every("inside, outside", [(3.0, 5.0), (0.0, 5.0)])
def test_mass_outside_of_a_disc_goes_to_the_cells_inside(inside, outside):
    """Where none has any, they get the public prior: this was 0 / 0."""
    disc = dataclasses.replace(facts_of(), domain=Ball([0.5, 0.5], 0.5))
    pyramid, tree = Pyramid(disc, depth=6), full_tree((4, 4, 4))
    leaves = np.zeros(64)
    leaves[[CORNER, MIDDLE]] = outside, inside
    cells = pyramid._cells(tree, [*(np.zeros(size) for size in tree.sizes[:-1]), leaves])
    if inside:
        assert (cells.level.tolist(), cells.mass.tolist()) == ([6], [8.0])
    else:
        prior = pyramid.tree.share(6)
        np.testing.assert_allclose(cells.mass, prior[cells.index])
        assert cells.mass.sum() == pytest.approx(1.0)
