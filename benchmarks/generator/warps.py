"""What public warps add to drawn digits, beside more draws and warped real rows.

Classifiers of ``images.py`` are trained on 6,000 draws a class of MNIST or Fashion-MNIST, on three
times as many, on the 6,000 with two warped draws beside each, and on the real training rows without
and with two warped copies; and tested on the real test rows. Needs torch.

``python -m benchmarks.generator.warps --data DIR [--set mnist] [--epsilons 1 10] [--seeds 1]
[--classifiers mlp cnn]``. Results that are there already are not computed again.
"""

import argparse
import warnings
from itertools import product

import numpy as np

from benchmarks.generator.images import CLASSIFIERS, DELTA, FILES, load
from benchmarks.recording import Results
from skdp_bary import PrivateGenerator
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("generation_warps")
KEYS = ("set", "rows", "epsilon", "seed", "classifier")
SHAPE = (28, 28)
TURN, SHEAR, SCALE, SHIFT = np.deg2rad(12.0), 0.15, 0.12, 0.05  # at most: shift in sides
PART = 1000  # images warped at once
N_DRAWN = 60_000
KINDS = ("draws", "more draws", "draws and warped draws")


def warped(rows, rng):
    """Return images, each turned, sheared, scaled and shifted at random about the middle."""
    found = np.empty_like(rows)
    for start in range(0, len(rows), PART):
        images = rows[start : start + PART].reshape(-1, *SHAPE)
        angle, shear, tall, wide, *shifts = rng.uniform(-1.0, 1.0, size=(6, len(images)))
        cos, sin = np.cos(TURN * angle), np.sin(TURN * angle)
        turns = np.stack([np.stack([cos, -sin], 1), np.stack([sin, cos], 1)], 1)
        shapes = np.zeros((len(images), 2, 2))
        shapes[:, 0, 0], shapes[:, 1, 1] = np.exp(SCALE * np.stack([tall, wide]))
        shapes[:, 1, 0] = SHEAR * shear
        moved = read_along(images, turns @ shapes, SHIFT * np.stack(shifts, 1) * np.array(SHAPE))
        found[start : start + PART] = moved.reshape(len(images), -1)
    return found


def read_along(images, matrices, shifts):
    """Return images read at affine images of their pixels, bilinearly; beyond the border is 0."""
    sides = np.array(SHAPE)[:, None]
    at = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij")).reshape(2, -1)
    places = matrices @ (at - (sides - 1.0) / 2.0) + (sides - 1.0) / 2.0 + shifts[:, :, None]
    places = np.clip(places, -1.0, sides)
    low = np.floor(places).astype(np.int64)
    parts, padded = places - low, np.pad(images, ((0, 0), (1, 2), (1, 2)))
    rows, (down, right) = np.arange(len(images))[:, None], low.transpose(1, 0, 2) + 1
    upper, lower = (
        padded[rows, y, right] * (1.0 - parts[:, 1]) + padded[rows, y, right + 1] * parts[:, 1]
        for y in (down, down + 1)
    )
    return upper * (1.0 - parts[:, 0]) + lower * parts[:, 0]


def drawn(model, kind, seed):
    """Return rows of one kind, and their labels."""
    n_parts, rng = 1 if kind == "draws" else 3, np.random.default_rng(seed)
    draws = [model.sample(N_DRAWN, random_state=100 * seed + i) for i in range(n_parts)]
    if kind == "draws and warped draws":
        draws[1:] = [(warped(X, rng), y) for X, y in draws[1:]]
    return tuple(np.concatenate(part) for part in zip(*draws, strict=True))


def real(X, y, kind, seed):
    """Return real training rows, warped copies beside them or not, and their labels."""
    if kind == "real rows":
        return X, y
    rng = np.random.default_rng(seed)
    return np.concatenate([X, warped(X, rng), warped(X, rng)]), np.tile(y, 3)


def rows_of(data, model, kind, seed):
    """Return training rows and labels of one kind."""
    return real(*data[:2], kind, seed) if model is None else drawn(model, kind, seed)


def fitted(data, epsilon, seed):
    """Return a generator of images."""
    model = PrivateGenerator(
        image_shape=SHAPE, epsilon=epsilon, delta=DELTA, bounds=(0, 1),
        neighbors="replace_one", random_state=seed,
    )  # fmt: skip
    return model.fit(*data[:2])


def main():
    """Measure what is not yet there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--set", choices=FILES, default="mnist")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 10.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--classifiers", nargs="+", default=["mlp", "cnn"])
    given = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    data = load(given.data, given.set, False)
    known = {tuple(row[key] for key in KEYS) for row in RESULTS.read([])}
    for seed, epsilon in product(range(given.seeds), [*given.epsilons, 0.0]):
        model = fitted(data, epsilon, seed) if epsilon else None
        kinds = KINDS if epsilon else ("real rows", "real and warped rows")
        for classifier, kind in product(given.classifiers, kinds):
            place = given.set, kind, epsilon, seed, classifier
            if place in known:
                continue
            learned = CLASSIFIERS[classifier](*rows_of(data, model, kind, seed), seed)
            found = dict(zip(KEYS, place, strict=True))
            found["accuracy"] = round(100.0 * learned.score(*data[2:]), 2)
            RESULTS.merge([found], KEYS)
            print(found, flush=True)


if __name__ == "__main__":
    main()
