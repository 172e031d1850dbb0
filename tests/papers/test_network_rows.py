"""Tensors of torch are rows, labels, person ids and weights, as arrays are."""

import numpy as np
import pytest

from tests.world import distinct_labels, open_source

torch = pytest.importorskip("torch")
X = np.random.default_rng(0).random((8, 2))
PLACES = np.arange(8) // 2


def test_tensors_are_read_as_arrays_are():
    beside = {"y": PLACES % 2, "groups": PLACES, "sample_weight": np.full(8, 0.5)}
    one, other = (
        next(
            open_source(
                like(X), classes=[0, 1], **{name: like(values) for name, values in beside.items()}
            ).read(0)
        )
        for like in (np.asarray, torch.from_numpy)
    )
    assert one.X.tobytes() == other.X.tobytes()
    assert (one.codes == other.codes).all() and (one.masses == other.masses).all()
    assert distinct_labels(torch.from_numpy(PLACES)).tolist() == [0, 1, 2, 3]


def test_ids_that_are_floats_are_refused_as_of_arrays():
    with pytest.raises(ValueError, match="groups must hold integers or strings"):
        next(open_source(torch.from_numpy(X), groups=torch.ones(8)).read(0))
