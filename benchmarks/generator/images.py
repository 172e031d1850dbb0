"""Accuracy on real test rows of classifiers that saw generated rows only.

A PrivateGenerator is fitted on the 60,000 training rows of MNIST and Fashion-MNIST, draws 6,000
rows a class, and classifiers trained on them are tested on the 10,000 real test rows: logistic
regression (C = 1, 100 iterations), a perceptron 784-100-10 (6 epochs) and a small convolutional
network (two 5 x 5 convolutions with stride 2 and 16 and 32 channels, 64 units, 2 epochs). delta is
1e-5 and neighbors are "replace_one", as in the paper: Rakotomamonjy and Ralaivola, "Differentially
Private Sliced Wasserstein Distance" (ICML 2021), Table 2, whose numbers are printed beside ours.
The constants of the generator were chosen on 50,000 training rows and tested on the other 10,000;
test rows were never used for that.

``python -m benchmarks.generator.images --data DIR [--sets mnist fashion] [--epsilons 10 1]
[--seeds 3] [--classifiers logreg mlp cnn] [--held-out]``. DIR holds mnist.npz and
fashion_mnist.npz with x_train, y_train, x_test and y_test. Networks need torch;
without it the perceptron is that of scikit-learn, and the convolutional network is left out.
Results that are there already are not computed again. ``--held-out`` trains on 50,000 rows and
tests on the other 10,000, without writing.
"""

import argparse
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from benchmarks.recording import Results
from skdp_bary import PrivateGenerator
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("generation")
FILES = {"mnist": "mnist.npz", "fashion": "fashion_mnist.npz"}
DELTA = 1e-5
ROWS_PER_CLASS = 6_000
PAPER = {  # MLP, logistic regression
    "SWD, no privacy": {"mnist": (87, 82), "fashion": (77, 76)},
    "GS-WGAN": {"mnist": (79, 79), "fashion": (65, 68)},
    "DP-MERF": {"mnist": (76, 75), "fashion": (72, 71)},
    "DP-SWD": {"mnist": (77, 78), "fashion": (67, 66)},
}
GOALS = {  # logistic regression, MLP, CNN
    ("mnist", 10.0): (90.0, 92.0, 95.0),
    ("fashion", 10.0): (82.0, 84.0, 84.0),
    ("mnist", 1.0): (88.5, 88.6, 92.0),
    ("fashion", 1.0): (79.0, 80.0, 81.0),
}


def load(folder, name, held_out):
    """Return training rows, their labels, test rows and theirs."""
    with np.load(Path(folder) / FILES[name]) as data:
        rows = [data[f"x_{part}"].reshape(len(data[f"y_{part}"]), -1) for part in ("train", "test")]
        labels = [data[f"y_{part}"].astype(int) for part in ("train", "test")]
    if not held_out:
        return rows[0] / 255.0, labels[0], rows[1] / 255.0, labels[1]
    order = np.random.default_rng(0).permutation(len(rows[0]))
    train, test = order[:50_000], order[50_000:]
    return rows[0][train] / 255.0, labels[0][train], rows[0][test] / 255.0, labels[0][test]


def logreg(X, y, seed):
    """Return a fitted logistic regression."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=1.0, max_iter=100).fit(X, y)


def mlp(X, y, seed):
    """Return a fitted perceptron."""
    try:
        from torch import nn
    except ImportError:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return MLPClassifier((100,), max_iter=6, batch_size=128, random_state=seed).fit(X, y)

    def layers():
        return nn.Sequential(nn.Linear(X.shape[1], 100), nn.ReLU(), nn.Linear(100, 10))

    return Network(layers, 6, seed).fit(X, y)


def cnn(X, y, seed):
    """Return a fitted convolutional network."""
    from torch import nn

    def layers():
        return nn.Sequential(
            nn.Unflatten(1, (1, 28, 28)),
            nn.Conv2d(1, 16, 5, 2, 2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 5, 2, 2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 7 * 7, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    return Network(layers, 2, seed).fit(X, y)


CLASSIFIERS = {"logreg": logreg, "mlp": mlp, "cnn": cnn}


class Network:
    """A torch network with the methods of a classifier."""

    def __init__(self, layers, n_epochs, seed):
        self.layers = layers
        self.n_epochs = n_epochs
        self.seed = seed

    def fit(self, X, y):
        """Train with Adam, batches of 128."""
        import torch

        torch.manual_seed(self.seed)
        self.network = self.layers()
        rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
        adam = torch.optim.Adam(self.network.parameters(), lr=1e-3)
        for _ in range(self.n_epochs):
            for batch in torch.randperm(len(rows)).split(128):
                adam.zero_grad()
                outputs = self.network(rows[batch])
                torch.nn.functional.cross_entropy(outputs, labels[batch]).backward()
                adam.step()
        return self

    def score(self, X, y):
        """Return the accuracy."""
        import torch

        with torch.no_grad():
            scores = self.network(torch.tensor(X, dtype=torch.float32))
        return float((scores.argmax(dim=1).numpy() == y).mean())


def generate(X, y, epsilon, seed):
    """Return generated rows and labels, and how long fit and sampling took."""
    generator = PrivateGenerator(
        image_shape=(28, 28),
        epsilon=epsilon,
        delta=DELTA,
        bounds=(0, 1),
        neighbors="replace_one",
        random_state=seed,
    )
    begin = time.perf_counter()
    generator.fit(X, y)
    fitted = time.perf_counter()
    parts = [generator.sample(ROWS_PER_CLASS, y=c, random_state=seed) for c in generator.classes_]
    drawn = time.perf_counter()
    times = {"fit_seconds": fitted - begin, "sample_seconds": drawn - fitted}
    rows, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, labels, times | {"n_components": generator.n_components_}


def measure(data, epsilon, seed, classifiers):
    """Return the accuracies, in percent, of classifiers; epsilon None: real rows."""
    X, y, X_test, y_test = data
    facts = {}
    if epsilon is not None:
        X, y, facts = generate(X, y, epsilon, seed)
    for name in classifiers:
        facts[name] = 100.0 * CLASSIFIERS[name](X, y, seed).score(X_test, y_test)
    return facts


def report(results, sets, epsilons):
    """Print means and standard deviations beside the paper's numbers."""
    print(f"{'LogReg / MLP / CNN, %':28s}", *(f"{name:>34s}" for name in sets))
    for epsilon in (*epsilons, None):
        label = "real rows" if epsilon is None else f"PrivateGenerator, eps {epsilon:g}"
        print(f"{label:28s}", *(f"{cell(results, name, epsilon):>34s}" for name in sets))
    for method, numbers in PAPER.items():
        cells = (f"{numbers[name][1]} / {numbers[name][0]} / -" for name in sets)
        print(f"{method + ' (paper)':28s}", *(f"{text:>34s}" for text in cells))
    for (name, epsilon), goal in GOALS.items():
        missed = [
            f"{classifier} {np.mean(found):.1f} < {least}"
            for classifier, least in zip(CLASSIFIERS, goal, strict=True)
            if (found := accuracies(results, name, epsilon, classifier)) and np.mean(found) < least
        ]
        if missed:
            print(f"short of the goal, {name} at eps {epsilon:g}:", *missed)


def accuracies(results, name, epsilon, classifier):
    """Return what was measured with all seeds."""
    rows = (row for row in results if (row["set"], row["epsilon"]) == (name, epsilon))
    return [row[classifier] for row in rows if classifier in row]


def cell(results, name, epsilon):
    """Return one cell of the table."""
    found = (accuracies(results, name, epsilon, classifier) for classifier in CLASSIFIERS)
    return " / ".join(f"{np.mean(each):.1f}+-{np.std(each):.1f}" if each else "-" for each in found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with the images")
    parser.add_argument("--sets", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[10.0, 1.0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--classifiers", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    parser.add_argument("--real", action="store_true", help="real training rows too")
    parser.add_argument("--held-out", action="store_true", help="tune on training rows only")
    options = parser.parse_args()
    missing = [FILES[n] for n in options.sets if not (Path(options.data) / FILES[n]).exists()]
    if missing:
        raise SystemExit(f"{', '.join(missing)} not found in {options.data}; nothing was run.")
    warnings.simplefilter("ignore", PrivacyWarning)
    results = [] if options.held_out else RESULTS.read([])
    data = {name: load(options.data, name, options.held_out) for name in options.sets}
    runs = product(range(options.seeds), options.sets, options.epsilons)  # stopped early: balanced
    for seed, name, epsilon in runs:
        run_cell(results, name, data[name], epsilon, seed, options)
    for name in options.sets if options.real else ():
        run_cell(results, name, data[name], None, 0, options)
    report(results, options.sets, options.epsilons)


def run_cell(results, name, data, epsilon, seed, options):
    """Measure what is missing of one cell, and keep it."""
    key = {"set": name, "epsilon": epsilon, "seed": seed}
    row = next((row for row in results if {k: row[k] for k in key} == key), None)
    wanted = [c for c in options.classifiers if row is None or c not in row]
    if not wanted:
        return
    if row is None:
        row = key
        results.append(row)
    row |= measure(data, epsilon, seed, wanted)
    print(row, flush=True)
    if not options.held_out:
        RESULTS.write(results)


if __name__ == "__main__":
    main()
