"""Faces from one private release: CelebA at 64 x 64.

The setting of Rakotomamonjy and Ralaivola (ICML 2021): images of 64 x 64 x 3, compared in 8192
features along 2000 directions, at (epsilon, delta) = (10, 1e-6). Their features come from a network
that was trained on the private images, without noise; here the encoder is public. The slices of all
images are released once, and the generator of their Table 5 is trained on that release for as long
as one likes.

Needs ``skdp_bary[torch]``, pillow and a folder with ``img_align_celeba/`` and
``list_eval_partition.txt``. Nothing is read but the list of files with ``--dry-run``::

    python -m benchmarks.sliced.recipe_celeba celeba --dry-run
    python -m benchmarks.sliced.recipe_celeba celeba --epochs 100 --device cuda --samples faces.png
    python -m benchmarks.sliced.recipe_celeba celeba --resume --epochs 50 --samples faces.png
"""

import argparse
import math
from pathlib import Path

import numpy as np
import torch

from benchmarks.sliced.image_folders import celeba
from skdp_bary.geometry import Ball
from skdp_bary.papers import ProgressLine, SlicedNetworkGenerator, encode_rows, fixed_image_encoder

PUBLIC_IMAGES = 256  # generated ones, by which the ball of the features is chosen
MARGIN = 1.25


def public_encoder(given):
    """Return the encoder: a TorchScript file of a public network, or fixed random convolutions."""
    if given.encoder is not None:
        return torch.jit.load(given.encoder).eval().requires_grad_(False)
    return fixed_image_encoder(shape_of(given), n_filters=given.filters)


def shape_of(given):
    """Return the shape of an image."""
    return given.side, given.side, 3


def public_ball(encoder, given):
    """Return a ball that holds the features of smooth random images, which are nobody's."""
    rng = torch.Generator().manual_seed(0)
    coarse = torch.rand(PUBLIC_IMAGES, 3, 4, 4, generator=rng)
    images = torch.nn.functional.interpolate(coarse, given.side, mode="bilinear")
    with torch.no_grad():
        features = encoder(images.permute(0, 2, 3, 1).flatten(1))
    radius = MARGIN * float(features.norm(dim=1).max())
    return Ball(np.zeros(features.shape[1]), radius)


def make_generator(encoder, ball, given):
    """Return the unfitted generator."""
    return SlicedNetworkGenerator(
        given.epochs,
        image_shape=shape_of(given),
        encoder=encoder,
        code_size=31,  # and one number for the only class: the 32 of Table 5
        batch_size=given.batch,
        steps_per_epoch=given.steps,
        learning_rate=5e-4,
        callback=ProgressLine(),
        checkpoint=given.checkpoint,
        device=given.device,
        n_projections=given.projections,
        n_quantiles=given.quantiles,
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=ball,
        neighbors="replace_one",
    )


def describe(generator, ball, n_rows):
    """Print what a fit would cost and how much noise it would have."""
    plan = generator.privacy_plan(ball.n_features)
    d, k, m = ball.n_features, generator.n_projections, generator.n_quantiles
    largest = math.sqrt(max(1.0, k / d))
    noise = 2.0 * ball.radius * largest * m / n_rows / plan.mu
    print(f"{n_rows} images, {d} features in a ball of radius {ball.radius:.4g}")
    print(f"{k} directions, {m} quantiles on each, replacing one image")
    print(f"one release: epsilon={plan.epsilon}, delta={plan.delta}, mu={plan.mu:.5g}")
    print(f"noise on a quantile: {noise:.3g}, {noise / ball.radius:.2g} of the radius")
    print(f"memory of the counts: {k * 4097 * 8 / 1e6:.0f} MB; training reads no image")


def write_samples(generator, given):
    """Write a picture of made images."""
    from PIL import Image

    side, across = given.side, 8
    rows, _ = generator.sample(across * across)
    grid = rows.reshape(across, across, side, side, 3).swapaxes(1, 2).reshape(across * side, -1, 3)
    Image.fromarray(np.rint(255 * grid).astype(np.uint8)).save(given.samples)
    print(f"Wrote {given.samples}.")


def main(arguments=None):
    """Release, train, and draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=600, help="of an epoch")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--filters", type=int, default=64, help="of the encoder's first layer")
    parser.add_argument("--projections", type=int, default=2000)
    parser.add_argument("--quantiles", type=int, default=128)
    parser.add_argument("--encoder", type=Path, help="TorchScript file of a public network")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--checkpoint", type=Path, default=Path("celeba_generator.pt"))
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--dry-run", action="store_true", help="print the accounting alone")
    parser.add_argument("--samples", type=Path, help="picture to write")
    given = parser.parse_args(arguments)
    encoder = public_encoder(given)
    if given.resume:
        generator = SlicedNetworkGenerator.load(
            given.checkpoint, encoder=encoder, callback=ProgressLine()
        )
        generator.set_params(checkpoint=given.checkpoint).continue_training(given.epochs)
    else:
        images = celeba(given.folder, given.side)
        ball = public_ball(encoder, given)
        generator = make_generator(encoder, ball, given)
        describe(generator, ball, len(images))
        if given.dry_run:
            return
        generator.fit(images.chunks(lambda rows: encode_rows(encoder, rows)))
    if given.samples is not None:
        write_samples(generator, given)


if __name__ == "__main__":
    main()
