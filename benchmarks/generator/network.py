"""Accuracy on real test images of classifiers trained on images of a private generator network.

The comparison of Rakotomamonjy and Ralaivola (ICML 2021, Table 2), with their network, 1000
directions and (epsilon, delta) = (10, 1e-5): one release of the training rows of every class
(replacing one row within a class), then as many epochs as wanted. "10000" is hardly any noise: what
the network learns from slices at all. Classifiers are trained on 60,000 made images, 6,000 a class,
and tested once on the 10,000 real test images. ``--holdout`` takes 50,000 and the other 10,000
training images instead, by which the constants were chosen.

Every cell is kept as soon as it is done, and a second run computes only what is missing. Needs
torch and ``--data FOLDER`` with ``mnist.npz`` and ``fashion_mnist.npz``.
``python -m benchmarks.generator.network --data FOLDER [--sets mnist] [--epsilons 10 1 10000]
[--seeds 1] [--epochs 12] [--holdout] [--show]``
"""

import argparse
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.recording import Results

RESULTS = Results("generation_network")
SETS = {"mnist": "mnist.npz", "fashion": "fashion_mnist.npz"}
EPSILONS = (10.0, 10000.0, 1.0)
DELTA = 1e-5
N_DIRECTIONS = 1000
MADE_OF_A_CLASS = 6000
STEPS_OF_AN_EPOCH = 100
FIRST_RATE, LAST_RATE = 2e-3, 5e-4  # of Adam; the second for the last third of the epochs
PAPER = {  # Table 2: MLP, LogReg
    ("mnist", "SWD, no privacy"): (87, 82),
    ("mnist", "DP-SWD-c, eps 10"): (77, 78),
    ("fashion", "SWD, no privacy"): (77, 76),
    ("fashion", "DP-SWD-c, eps 10"): (67, 66),
}


def rows_of(data, name, holdout):
    """Return training rows and labels, and those the classifiers are tested on."""
    with np.load(data / SETS[name]) as arrays:
        X, y = (arrays[f"{part}_train"] for part in "xy")
        X_test, y_test = (arrays[f"{part}_test"] for part in "xy")
    if holdout:
        X, X_test, y, y_test = X[:50000], X[50000:], y[:50000], y[50000:]
    flat = (images.reshape(len(images), -1) / 255.0 for images in (X, X_test))
    return *flat, y, y_test


def make_rows(X, y, epsilon, seed, n_epochs):
    """Return made images and labels, and seconds for the release and for training."""
    from skdp_bary.papers import ProgressLine, SlicedNetworkGenerator

    generator = SlicedNetworkGenerator(
        0,
        image_shape=(28, 28),
        n_projections=N_DIRECTIONS,
        batch_size=32,
        steps_per_epoch=STEPS_OF_AN_EPOCH,
        learning_rate=FIRST_RATE,
        callback=ProgressLine(),
        classes=range(10),
        bounds=(0, 1),
        neighbors="replace_one",
        epsilon=epsilon,
        delta=DELTA,
        random_state=seed,
    )
    started = time.perf_counter()
    generator.fit(X, y)
    released = time.perf_counter()
    last = n_epochs // 3
    generator.continue_training(n_epochs - last)
    generator.set_params(learning_rate=LAST_RATE).continue_training(last)
    trained = time.perf_counter()
    made = [generator.sample(MADE_OF_A_CLASS, c, random_state=seed)[0] for c in range(10)]
    labels = np.repeat(np.arange(10), MADE_OF_A_CLASS)
    return np.concatenate(made), labels, released - started, trained - released


def accuracy_of_regression(X, y, X_test, y_test):
    """Return the accuracy of logistic regression, in percent."""
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return 100.0 * LogisticRegression(max_iter=100).fit(X, y).score(X_test, y_test)


def accuracy_of_perceptron(X, y, X_test, y_test, seed):
    """Return the accuracy of a network with 100 hidden units after six epochs, in percent."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10))
    optimizer = torch.optim.Adam(network.parameters())
    X, X_test = (torch.tensor(rows, dtype=torch.float32) for rows in (X, X_test))
    y = torch.tensor(y, dtype=torch.int64)
    for _ in range(6):
        for batch in torch.randperm(len(X)).split(128):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(X[batch]), y[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        found = network(X_test).argmax(1).numpy()
    return 100.0 * float((found == y_test).mean())


def run_cell(data, name, epsilon, seed, n_epochs, holdout):
    """Return one line of the results."""
    X, X_test, y, y_test = rows_of(data, name, holdout)
    made, labels, release_seconds, train_seconds = make_rows(X, y, epsilon, seed, n_epochs)
    return {
        "set": name,
        "epsilon": epsilon,
        "delta": DELTA,
        "seed": seed,
        "epochs": n_epochs,
        "holdout": holdout,
        "logreg": accuracy_of_regression(made, labels, X_test, y_test),
        "mlp": accuracy_of_perceptron(made, labels, X_test, y_test, seed),
        "release_seconds": round(release_seconds, 1),
        "train_seconds": round(train_seconds, 1),
    }


def key_of(line):
    """Return what tells a cell from others."""
    return tuple(line[k] for k in ("set", "epsilon", "seed", "epochs", "holdout"))


def show(lines):
    """Print the accuracies beside those of the paper."""
    for line in lines:
        accuracies = f"LogReg {line['logreg']:.1f}  MLP {line['mlp']:.1f}"
        where = "held-out" if line["holdout"] else "test"
        print(
            f"{line['set']:14} epsilon {line['epsilon']:<8} seed {line['seed']} {where}: "
            f"{accuracies}  ({line['epochs']} epochs)"
        )
    for (name, method), (mlp, logreg) in PAPER.items():
        print(f"{name:14} paper, {method:18}: LogReg {logreg}    MLP {mlp}")


def main():
    """Run what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--holdout", action="store_true")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    lines = RESULTS.read([])
    if given.show or given.data is None or find_spec("torch") is None:
        if not given.show:
            print("Nothing was run: this needs torch and --data FOLDER, see the docstring.")
        show(lines)
        return
    warnings.simplefilter("ignore", UserWarning)  # seeds, so that results can be repeated
    done = {key_of(line) for line in lines}
    for seed in range(given.seeds):
        for epsilon in given.epsilons:
            for name in given.sets:
                if (name, epsilon, seed, given.epochs, given.holdout) in done:
                    continue
                line = run_cell(given.data, name, epsilon, seed, given.epochs, given.holdout)
                lines.append(line)
                RESULTS.write(lines)
                show([line])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
