"""Adapting to private photographs: VisDA and Office-31.

The settings of Rakotomamonjy and Ralaivola (ICML 2021): labeled public images of one domain,
private images without labels of another one, 2048 features of a public network, and fully connected
layers on them. ``--method sketch`` releases the slices of the private images once; ``--method
batches`` is Algorithm 2 of the paper with the gradient through public images only, all steps paid
for before the first.

Needs ``skdp_bary[torch]``, pillow, ``accounting`` for batches, and the folders of the data sets.
The paper takes a ResNet-50 trained on ImageNet: give a TorchScript file of one with ``--encoder``.
Without it fixed random convolutions stand in, which show that everything runs and adapt little::

    python -m benchmarks.sliced.recipe_adaptation visda FOLDER --dry-run
    python -m benchmarks.sliced.recipe_adaptation visda FOLDER --encoder resnet50.pt
    python -m benchmarks.sliced.recipe_adaptation office31 FOLDER --method batches

``--score`` compares with the labels of the private images. Accuracy on private rows is not
protected: it is for the owner's eyes, and for data that are public in truth.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.sliced.image_folders import office31, visda
from skdp_bary.papers import ProgressLine, SlicedNetworkAdapter, encode_rows, fixed_image_encoder


@dataclass(frozen=True)
class Setting:
    """What the paper's appendix says of a data set."""

    load: object
    source: str
    target: str
    latent_sizes: tuple
    n_projections: int
    batch_size: int
    delta: float


SETTINGS = {
    "visda": Setting(visda, "train", "validation", (100, 100), 1000, 128, 1e-6),
    "office31": Setting(office31, "amazon", "webcam", (100, 50), 100, 32, 1e-3),
}


def make_adapter(setting, given, n_private):
    """Return the unfitted adapter; an epoch of batches sees about as many rows as there are."""
    return SlicedNetworkAdapter(
        given.method,
        latent_sizes=setting.latent_sizes,
        n_source_epochs=given.source_epochs,
        n_epochs=given.epochs,
        steps_per_epoch=max(1, n_private // given.batch),
        batch_size=given.batch,
        callback=ProgressLine(),
        n_projections=setting.n_projections,
        epsilon=given.epsilon,
        delta=given.delta,
        neighbors="replace_one",
    )


def describe(adapter, n_features, n_private):
    """Print what a fit would cost."""
    plan = adapter.privacy_plan(n_features, n_private)
    print(f"{n_private} private images, replacing one; epsilon={plan.epsilon}, delta={plan.delta}")
    if adapter.method == "sketch":
        print(f"one release with mu={plan.mu:.5g}, any number of epochs")
        return
    print(
        f"{plan.n_batches} batches of {plan.batch_size}, all paid for before the first: "
        f"noise of {1.0 / plan.mu:.4g} times the sensitivity on each"
    )


def score(adapter, target, features):
    """Print the accuracy before and after, which is not protected."""
    found = [adapter.predict_source(features), adapter.predict(features)]
    before, after = (float(np.mean(labels == target.labels)) for labels in found)
    print(f"accuracy on private images: {before:.3f} before adaptation, {after:.3f} after")


def main(arguments=None):
    """Train on public images, release, adapt."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("set", choices=SETTINGS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--source")
    parser.add_argument("--target")
    parser.add_argument("--method", choices=("sketch", "batches"), default="sketch")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--delta", type=float)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--source-epochs", type=int, default=10)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--encoder", type=Path, help="TorchScript file of a public network")
    parser.add_argument("--dry-run", action="store_true", help="print the accounting alone")
    parser.add_argument("--score", action="store_true", help="compare with private labels")
    given = parser.parse_args(arguments)
    setting = SETTINGS[given.set]
    given.delta = setting.delta if given.delta is None else given.delta
    given.batch = setting.batch_size if given.batch is None else given.batch
    source, target = (
        setting.load(given.folder, name, given.side)
        for name in (given.source or setting.source, given.target or setting.target)
    )
    if given.encoder is None:
        shape = given.side, given.side, 3
        encoder = fixed_image_encoder(shape, n_filters=16)  # 2048 features of 64 x 64
    else:
        encoder = torch.jit.load(given.encoder).eval()
    n_features = encode_rows(encoder, np.zeros((1, 3 * given.side**2))).shape[1]
    adapter = make_adapter(setting, given, len(target))
    describe(adapter, n_features, len(target))
    if given.dry_run:
        return
    private = target.chunks(lambda rows: encode_rows(encoder, rows))
    if given.method == "batches" or given.score:
        features = np.concatenate(list(private()))
        private = features if given.method == "batches" else private
    public = np.concatenate(list(source.chunks(lambda rows: encode_rows(encoder, rows))()))
    adapter.fit(public, source.labels, private)
    if given.score:
        score(adapter, target, features)


if __name__ == "__main__":
    main()
