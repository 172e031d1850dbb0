"""The network generator: what it learns, and that one release is all it ever takes."""

import io
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from skdp_bary import BudgetAccountant, DPSlicedWasserstein  # noqa: E402
from skdp_bary.geometry import Ball  # noqa: E402
from skdp_bary.papers import ProgressLine, SlicedNetworkGenerator  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")

SMALL = {"steps_per_epoch": 5, "batch_size": 16, "code_size": 2, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=4000)
    return 0.05 * rng.normal(size=(4000, 2)) + np.where(y, 0.5, -0.5)[:, None], y


def generator(n_epochs=2, **parameters):
    settings = {"classes": [0, 1], "bounds": (-1, 1), "n_min": 1500, "n_projections": 10}
    return SlicedNetworkGenerator(n_epochs, **(settings | SMALL | parameters))


def same_network(first, second):
    ours, theirs = first.network_.state_dict(), second.network_.state_dict()
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_made_rows_are_like_private_ones(rows):
    made = generator(20, epsilon=5.0, steps_per_epoch=20, learning_rate=5e-3).fit(*rows)
    for label, center in ((0, -0.5), (1, 0.5)):
        X, y = made.sample(500, label, random_state=1)
        assert set(y) == {label}
        np.testing.assert_allclose(X.mean(axis=0), center, atol=0.06)
        np.testing.assert_allclose(X.std(axis=0), 0.05, atol=0.05)
    assert made.losses_[-1] < made.losses_[0]


def test_the_release_is_that_of_the_sliced_estimator_and_training_goes_on(rows):
    made = generator().fit(*rows)
    plain = DPSlicedWasserstein(10, classes=[0, 1], bounds=(-1, 1), n_min=1500, random_state=0)
    plain.fit(*rows)
    np.testing.assert_array_equal(made.quantiles_, plain.quantiles_)
    assert made.privacy_ == plain.privacy_
    first = generator(4).fit(*rows)
    second = generator(1).fit(*rows).continue_training(3)
    assert same_network(first, second) and first.losses_ == second.losses_


def test_equal_seeds_make_equal_networks(rows):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = generator().fit(*rows)
    torch.manual_seed(6)
    second = generator().fit(*rows)
    assert same_network(first, second)
    assert not same_network(first, generator(random_state=1).fit(*rows))
    torch.manual_seed(5)
    assert torch.equal(before, torch.get_rng_state())


def test_a_loaded_generator_goes_on_as_the_saved_one(rows, tmp_path):
    budget = BudgetAccountant(1.0, 1e-6)
    made = generator(2, accountant=budget).fit(*rows)
    made.privacy_ = replace(made.privacy_, one_of_several=True)  # as a search leaves it
    made.save(tmp_path / "state")
    loaded = SlicedNetworkGenerator.load(tmp_path / "state")
    assert loaded.privacy_ == made.privacy_ and loaded.domain_ == made.domain_
    np.testing.assert_array_equal(loaded.directions_, made.directions_)
    ours, theirs = (g.sample(30, random_state=3) for g in (made, loaded))
    np.testing.assert_array_equal(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])
    assert loaded.cost(rows[0], label=0) == made.cost(rows[0], label=0)
    assert same_network(loaded.continue_training(2), made.continue_training(2))
    assert len(budget.entries) == 1  # whatever is drawn and trained later


@pytest.mark.parametrize(
    "parameters",
    [
        {"bounds": Ball([0.0, 0.0], 1.5), "directions": np.eye(2), "n_projections": None},
        {"classes": None, "n_min": None, "neighbors": "replace_one"},
        {"class_prior": [0.25, 0.75], "n_min": [900, 1200], "image_shape": (1, 2, 1)},
    ],
)
def test_every_setting_is_saved(rows, tmp_path, parameters):
    if "image_shape" in parameters:
        parameters = parameters | {"network": table_network}
    made = generator(1, **parameters).fit(*rows)
    made.save(tmp_path / "state")
    loaded = SlicedNetworkGenerator.load(tmp_path / "state", network=parameters.get("network"))
    np.testing.assert_array_equal(loaded.directions_, made.directions_)
    np.testing.assert_array_equal(
        loaded.sample(20, random_state=0)[0], made.sample(20, random_state=0)[0]
    )


def table_network(n_inputs, n_outputs):
    return torch.nn.Sequential(torch.nn.Linear(n_inputs, n_outputs), torch.nn.Sigmoid())


def test_checkpoints_that_are_there_and_other_files_are_refused(rows, tmp_path):
    """Starting over would draw a second release; nothing is read or charged."""
    budget = BudgetAccountant(10.0, 1e-4)
    made = generator(1, accountant=budget, checkpoint=tmp_path / "state").fit(*rows)
    with pytest.raises(ValueError, match="load continues it"):
        made.fit(*rows)
    assert len(budget.entries) == 1
    torch.save({"weights": torch.zeros(3)}, tmp_path / "other")
    with pytest.raises(ValueError, match="written by save"):
        SlicedNetworkGenerator.load(tmp_path / "other")


def test_interrupts_keep_what_was_paid_for(rows, tmp_path):
    def interrupt(event):
        if event.epoch == 2:
            raise KeyboardInterrupt

    with pytest.warns(RuntimeWarning, match="interrupted after 2 of 5 epochs"):
        stopped = generator(5, callback=interrupt, checkpoint=tmp_path / "state").fit(*rows)
    assert len(stopped.losses_) == 2
    whole = generator(5).fit(*rows)
    resumed = SlicedNetworkGenerator.load(tmp_path / "state").continue_training(3)
    assert same_network(resumed, whole)
    np.testing.assert_array_equal(resumed.quantiles_, whole.quantiles_)
    assert same_network(stopped.set_params(callback=None).continue_training(3), whole)


def test_callbacks_see_every_epoch_and_they_and_patience_can_stop(rows):
    events = []

    def watch(event):
        events.append(event)
        return event.epoch == 3

    made = generator(10, callback=watch).fit(*rows)
    assert [event.epoch for event in events] == [1, 2, 3]
    assert [event.loss for event in events] == made.losses_
    stream = io.StringIO()
    generator(2, callback=ProgressLine(stream)).fit(*rows)
    assert stream.getvalue().count("\r") == 2 and stream.getvalue().endswith("s\n")
    made = generator(50, patience=2, learning_rate=1e-9).fit(*rows)
    best = int(np.argmin(made.losses_))
    assert len(made.losses_) == best + 3 < 50


def test_classes_are_drawn_by_released_sizes_or_by_a_public_prior(rows):
    X, y = rows
    made = generator(1, n_min=[400, 1200]).fit(X, y)
    share = made.sample(2000, random_state=0)[1].mean()
    assert share == pytest.approx(0.75, abs=0.04)
    made = generator(1, class_prior=[0.9, 0.1]).fit(X, y)
    assert made.sample(2000, random_state=0)[1].mean() == pytest.approx(0.1, abs=0.03)


def test_rows_are_compared_behind_an_encoder(rows):
    encoder = torch.nn.Linear(2, 3)
    features = encoder(torch.tensor(rows[0], dtype=torch.float32)).detach().numpy()
    made = generator(
        1, encoder=encoder, image_shape=(1, 2), network=table_network, bounds=(-2, 2)
    ).fit(features, rows[1])
    X, _ = made.sample(5)
    assert X.shape == (5, 2) and X.min() >= 0.0 and X.max() <= 1.0


@pytest.mark.parametrize("image_shape", [(8, 8), (8, 8, 3), (16, 16, 3)])
def test_images_get_convolutions(image_shape):
    X = np.random.default_rng(0).random((80, int(np.prod(image_shape))))
    made = SlicedNetworkGenerator(
        1, image_shape=image_shape, bounds=(0, 1), n_min=60, n_projections=10, **SMALL
    ).fit(X)
    assert any(isinstance(m, torch.nn.modules.conv._ConvNd) for m in made.network_.modules())
    assert made.sample(3)[0].shape == (3, X.shape[1])


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"image_shape": (3, 3)}, "image_shape must have 2 values"),
        ({"steps_per_epoch": 0}, "steps_per_epoch"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"class_prior": [1.0]}, "class_prior must be 2"),
        ({"delta": 0.0}, "delta must be above zero"),
    ],
)
def test_bad_parameters_are_refused_before_the_charge(rows, parameters, message):
    budget = BudgetAccountant(10.0, 1e-4)
    with pytest.raises(ValueError, match=message):
        generator(accountant=budget, **parameters).fit(*rows)
    assert not budget.entries
