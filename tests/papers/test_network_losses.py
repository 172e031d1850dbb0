"""The loss against a release: the estimator's own distance, right gradients, no way to a row."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from skdp_bary import DPSlicedWasserstein  # noqa: E402
from skdp_bary.papers import SlicedQuantileLoss  # noqa: E402
from tests.world import block_matrix, block_means  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


@pytest.fixture(scope="module")
def released():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    X = 0.1 * rng.normal(size=(3000, 3)) + 0.3 * y[:, None]
    return DPSlicedWasserstein(
        12, n_quantiles=7, classes=[0, 1], bounds=(-1, 1), n_min=1000, random_state=0
    ).fit(X, y)


@pytest.fixture
def points():
    rng = np.random.default_rng(1)
    return np.clip(0.3 * rng.normal(size=(53, 3)), -0.99, 0.99)


@pytest.mark.parametrize("label", [0, 1])
def test_loss_is_the_cost_of_the_estimator(released, points, label):
    loss = SlicedQuantileLoss(released)
    codes = torch.full((len(points),), label)
    found = float(loss(torch.tensor(points, dtype=torch.float32), codes))
    # private and public rows are rounded to levels there, which are 2**-11 of the radius apart
    assert found == pytest.approx(released.cost(points, label=label), abs=2e-4)


def test_one_sketch_is_enough_and_some_directions_estimate_all(released, points):
    both, one = SlicedQuantileLoss(released), SlicedQuantileLoss(released.sketch(1))
    rows = torch.tensor(points, dtype=torch.float32)
    assert float(one(rows)) == float(both(rows, torch.ones(len(rows), dtype=torch.int64)))
    loss = SlicedQuantileLoss(released.sketch(0)).double()
    rows = torch.tensor(points)
    halves = [loss(rows, directions=torch.arange(6)), loss(rows, directions=torch.arange(6, 12))]
    assert float(sum(halves) / 2) == pytest.approx(float(loss(rows)))


@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_that_of_finite_differences(released, points, weighted):
    loss = SlicedQuantileLoss(released).double()
    rows = torch.tensor(points, requires_grad=True)
    codes = torch.arange(len(points)) % 2
    weights = torch.linspace(0.5, 2.0, len(points)).double() if weighted else None
    assert torch.autograd.gradcheck(lambda z: loss(z, codes, weights), rows, eps=1e-7, atol=1e-6)


@pytest.mark.parametrize("n_points, n_blocks", [(7, 7), (20, 5), (13, 5), (3, 8), (1, 4)])
def test_block_means_are_exact(n_points, n_blocks):
    projections = np.random.default_rng(0).normal(size=(n_points, 4))
    expected = (block_matrix(n_points, n_blocks) @ np.sort(projections, axis=0)).T
    found = block_means(torch.tensor(projections), n_blocks)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_weights_are_repetitions():
    projections = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).double()
    times = torch.tensor([1, 3, 2, 1, 4, 1])
    repeated = block_means(projections.repeat_interleave(times, dim=0), 5)
    np.testing.assert_allclose(block_means(projections, 5, times), repeated, atol=1e-12)


def test_the_private_side_is_constant(released, points):
    """Buffers alone, without gradients and cut off from the arrays of the release."""
    loss = SlicedQuantileLoss(released)
    assert list(loss.parameters()) == []
    assert set(dict(loss.named_buffers())) == {"directions", "quantiles", "noise_variance"}
    rows = torch.tensor(points, dtype=torch.float32, requires_grad=True)
    loss(rows, torch.zeros(len(rows), dtype=torch.int64)).backward()
    for buffer in loss.buffers():
        assert not buffer.requires_grad and buffer.grad is None and buffer.grad_fn is None
    before = released.quantiles_.copy()
    loss.quantiles += 1.0
    np.testing.assert_array_equal(released.quantiles_, before)


def test_only_releases_are_accepted_and_labels_needed(released, points):
    with pytest.raises(ValueError, match="labels are needed"):
        SlicedQuantileLoss(released)(torch.tensor(points, dtype=torch.float32))
    with pytest.raises(TypeError, match="fitted DPSlicedWasserstein"):
        SlicedQuantileLoss(points)
