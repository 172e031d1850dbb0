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
from skdp_bary.estimators.generator import check_warps, warped
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("generation_warps")
KEYS = ("set", "rows", "epsilon", "seed", "classifier")
SHAPE = (28, 28)
WARPS = {"turn": 12.0, "shear": 0.15, "scale": 0.12, "shift": 0.05}
N_DRAWN = 60_000
KINDS = ("draws", "more draws", "draws and warped draws")


def drawn(model, kind, seed):
    """Return rows of one kind, and their labels."""
    settings = {"draws": [None], "more draws": [None] * 3}.get(kind, [None, WARPS, WARPS])
    parts = [
        model.sample(N_DRAWN, random_state=100 * seed + i, warps=warps)
        for i, warps in enumerate(settings)
    ]
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def real(X, y, kind, seed):
    """Return real training rows, warped copies beside them or not, and their labels."""
    if kind == "real rows":
        return X, y
    rng, reach = np.random.default_rng(seed), check_warps(WARPS, SHAPE)
    return np.concatenate([X, *(warped(X, SHAPE, reach, rng) for _ in range(2))]), np.tile(y, 3)


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
