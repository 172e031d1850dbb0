"""Encoders in front of a release: what a row becomes depends on that row alone."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from skdp_bary.papers import encode_rows, fixed_image_encoder  # noqa: E402
from tests.world import RowForward, encoded_chunks  # noqa: E402


@pytest.fixture
def normalized():
    network = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6))
    with torch.no_grad():
        network(torch.randn(50, 4, generator=torch.Generator().manual_seed(0)))
    return network  # in training mode, where batch normalization looks at all rows


def test_rows_are_encoded_by_themselves(normalized):
    X = np.random.default_rng(0).normal(size=(20, 4))
    encoded = encode_rows(normalized, X)
    others = np.vstack([X[3:7], 100.0 * X[8:]])
    np.testing.assert_array_equal(encode_rows(normalized, others)[:4], encoded[3:7])
    assert normalized.training


def test_chunks_and_threads_make_no_difference():
    encoder = fixed_image_encoder((32, 32), n_filters=4)
    X = np.random.default_rng(0).random((5, 1024))
    whole = encode_rows(encoder, X)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        parts = np.concatenate(list(encoded_chunks(encoder, lambda: iter([X[:2], X[2:]]))()))
        np.testing.assert_array_equal(parts, whole)
        assert torch.get_num_threads() == threads


def test_later_training_does_not_change_what_was_frozen(normalized):
    forward = RowForward(normalized)
    row = np.ones((1, 4))
    before = forward(row)
    with torch.no_grad():
        normalized[0].weight += 1.0
    np.testing.assert_array_equal(forward(row), before)


def test_numbers_stay_finite():
    network = torch.nn.Linear(1, 1)
    with torch.no_grad():
        network.weight.fill_(float("inf"))
    assert encode_rows(network, [[1.0], [0.0]]).tolist() == [[0.0], [0.0]]
    identity = torch.nn.Identity()
    largest = float(np.finfo(np.float32).max)
    assert encode_rows(identity, [[1e300, -1e39, 1.0]]).tolist() == [[largest, -largest, 1.0]]


def test_rows_that_a_network_fails_on_become_zero():
    """An error would be an answer about one row, and may quote it."""

    class Picky(torch.nn.Module):
        def forward(self, rows):
            if (rows > 2.0).any():
                raise ValueError(f"cannot read {rows}")
            return rows if (rows >= 0.0).all() else rows[:, :0]

    rows = [[1.0, 0.5], [3.0, 0.5], [-1.0, 0.5]]
    assert encode_rows(Picky(), rows).tolist() == [[1.0, 0.5], [0.0, 0.0], [0.0, 0.0]]


class Dropping(torch.nn.Module):
    """Drops coordinates in evaluation mode too."""

    def forward(self, rows):
        return torch.nn.functional.dropout(rows, 0.5, training=True)


class Counting(torch.nn.Module):
    """Counts rows in a buffer, and shows it only later."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, rows):
        self.seen += len(rows)
        return rows + (self.seen > 100)


@pytest.mark.parametrize("network", [Dropping(), Counting()])
def test_networks_that_draw_or_count_are_refused(network):
    with pytest.raises(ValueError, match="must be a function of one row"):
        encode_rows(network, np.ones((2, 50)))


def test_a_network_is_given_one_row_at_a_time_and_none_with_masked_entries():
    X = np.ma.array(np.ones((2, 3)), mask=np.eye(2, 3))
    for call in (encode_rows, lambda network, X: list(encoded_chunks(network, X)())):
        with pytest.raises(ValueError, match="masked entries"):
            call(torch.nn.Identity(), X)
    X = np.arange(12.0).reshape(6, 2)
    np.testing.assert_array_equal(encode_rows(TimesRows(), X), X)


def test_fixed_encoders_follow_from_their_seed():
    rows = torch.rand(2, 32 * 32 * 3, generator=torch.Generator().manual_seed(0))
    first, same, other = (
        fixed_image_encoder((32, 32, 3), n_filters=4, seed=seed)(rows) for seed in (0, 0, 1)
    )
    assert first.shape == (2, 128)
    assert torch.equal(first, same) and not torch.equal(first, other)
    assert not any(p.requires_grad for p in fixed_image_encoder((32, 32), n_filters=4).parameters())


class TimesRows(torch.nn.Module):
    """Shows how many rows it was given."""

    def forward(self, rows):
        return rows * len(rows)
