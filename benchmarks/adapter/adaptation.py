"""Domain adaptation to private images, beside the paper's Table 1 and the source model alone.

MNIST to USPS and back with the paper's network (two convolutions, 320 features): rows stretched to
one size, and rows brought one by one to a canonical frame, with the network or without ("canonical
pixels"); a Fashion-MNIST pair, whose target is rotated, shrunk and blurred; and the pairs of
Office-Caltech10 SURF histograms. Accuracy on the private target rows and on unseen rows of the
target; no choice is made by either. Needs torch except for pixels and ``--part office``. Results
are kept line by line, and networks in ``--networks``, so it can be stopped and started again.

``python -m benchmarks.adapter.adaptation --data DIR [--part digits] [--seeds 3]
[--methods self_training]``
"""

import argparse
import hashlib
import json
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.recording import Results
from skdp_bary import PrivateDomainAdapter

RESULTS = Results("adaptation")
SIDE = 28
DELTA = 1e-5
EPSILONS = (10.0, 3.0, 1.0)
N_SOURCE = 10_000
N_MNIST_TARGET = 10_000
IMAGES_SEEN = 192_000  # by the network while it is trained
PIXELS = "canonical pixels"
MAIN = "self_training"
PAPER = {  # accuracy of Rakotomamonjy and Ralaivola (2021), Table 1, epsilon = 10 where private
    "mnist-usps": {"DANN": 93.9, "SWD": 95.5, "DP-DANN": 87.1, "DP-SWD": 94.0},
    "usps-mnist": {"DANN": 86.2, "SWD": 84.8, "DP-DANN": 73.5, "DP-SWD": 83.4},
}


def warp(rows, matrices, shifts):
    """Return images read along affine maps from output to input, about the middle, bilinearly."""
    wide = SIDE + 3
    grid = np.arange(SIDE) - (SIDE - 1) / 2.0
    at = np.stack(np.meshgrid(grid, grid, indexing="ij")).reshape(2, -1)
    places = matrices @ at + (shifts[:, :, None] + (SIDE - 1) / 2.0)
    places = np.clip(places, -1.0, SIDE).astype(np.float32)
    low = np.floor(places)
    part = places - low
    images = rows.reshape(-1, SIDE, SIDE).astype(np.float32)
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2))).ravel()
    first = ((low[:, 0] + 1) * wide + low[:, 1] + 1).astype(np.int64)
    first += np.arange(len(images))[:, None] * wide**2
    upper = padded[first] * (1 - part[:, 1]) + padded[first + 1] * part[:, 1]
    lower = padded[first + wide] * (1 - part[:, 1]) + padded[first + wide + 1] * part[:, 1]
    return (upper * (1 - part[:, 0]) + lower * part[:, 0]).astype(np.float64)


def canonical(rows):
    """Return each image centered, without slant, of one height and one peak, by itself."""
    images = np.maximum(rows, 0.0).reshape(-1, SIDE, SIDE)
    grid = np.arange(SIDE) - (SIDE - 1) / 2.0
    mass = images.sum(axis=(1, 2)) + 1e-12
    y = (images.sum(axis=2) @ grid) / mass
    x = (images.sum(axis=1) @ grid) / mass
    dy, dx = grid[None, :] - y[:, None], grid[None, :] - x[:, None]
    yy = np.einsum("nij,ni->n", images, dy**2) / mass
    xy = np.einsum("nij,ni,nj->n", images, dy, dx) / mass
    size = np.sqrt(np.maximum(yy, 0.1)) / 5.0
    slant = np.clip(xy / np.maximum(yy, 0.1), -1.0, 1.0)
    matrices = np.zeros((len(images), 2, 2))
    matrices[:, 0, 0] = matrices[:, 1, 1] = size
    matrices[:, 1, 0] = size * slant
    out = warp(rows, matrices, np.stack([y, x], axis=1))
    return out / np.maximum(out.max(axis=1, keepdims=True), 1e-6)


def altered(rows, draws, strength):
    """Return images turned, scaled, sheared, shifted and of another contrast."""
    u = (2.0 * draws - 1.0) * strength
    angle, common, aspect, shear = 0.15 * u[:, 0], 0.3 * u[:, 1], 0.1 * u[:, 2], 0.15 * u[:, 3]
    tall, wide = np.exp(common + aspect), np.exp(common - aspect)
    cos, sin = np.cos(angle), np.sin(angle)
    matrices = np.empty((len(rows), 2, 2))
    matrices[:, 0, 0], matrices[:, 0, 1] = tall * cos, tall * sin
    matrices[:, 1, 0] = wide * (shear * cos - sin)
    matrices[:, 1, 1] = wide * (cos + shear * sin)
    out = warp(rows, matrices, 1.5 * u[:, 4:6])
    return np.maximum(out, 0.0) ** np.exp(0.3 * u[:, 6:7])


def altered_in_parts(rows, rng, strength):
    """Return images altered by random numbers of their own, a thousand at a time."""
    parts = np.array_split(np.arange(len(rows)), len(rows) // 1000 + 1)
    return np.concatenate([altered(rows[p], rng.random((len(p), 8)), strength) for p in parts])


class Views:
    """Views of one strength."""

    def __init__(self, strength):
        self.strength = strength

    def __call__(self, rows, draws):
        return altered(rows, draws, self.strength)


class Remembered:
    """A row-wise function that is computed once for the same block of rows."""

    def __init__(self, function):
        self.function = function
        self.known = {}

    def __call__(self, *arrays):
        key = hashlib.blake2b(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).digest()
        if key not in self.known:
            self.known[key] = self.function(*arrays).astype(np.float32)
        return self.known[key].astype(np.float64)


def trained_network(rows, labels, strength, seed, path):
    """Return the convolutions of the paper's network, trained on altered public rows.

    Weights are read from `path`, or written there.
    """
    import torch
    from torch import nn

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(seed)
    body = nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    )  # fmt: skip
    top = nn.Sequential(nn.Linear(320, 100), nn.ReLU(), nn.Linear(100, 10))
    network = nn.Sequential(body, top)
    if path.exists():
        network.load_state_dict(torch.load(path))
    else:
        train(network, pool_of(rows, labels, strength, rng), rng)
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(network.state_dict(), path)
    body.eval()

    def features(batch):
        with torch.no_grad():
            images = torch.from_numpy(batch.astype(np.float32)).reshape(-1, 1, SIDE, SIDE)
            return body(images).numpy()

    return features


def pool_of(rows, labels, strength, rng):
    """Return images with four alterations of each, and their labels, for torch."""
    import torch

    images = [rows] + [altered_in_parts(rows, rng, strength) for _ in range(4)]
    images = torch.from_numpy(np.concatenate(images).astype(np.float32))
    return images.reshape(-1, 1, SIDE, SIDE), torch.from_numpy(np.tile(labels, 5))


def train(network, pool, rng):
    """Train a network in place, by Adam with a cosine rate."""
    import torch

    images, labels = pool
    steps = IMAGES_SEEN // 128
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(steps):
        chosen = torch.from_numpy(rng.integers(len(images), size=128))
        loss = torch.nn.functional.cross_entropy(network(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()


def digits(data):
    """Return rows and labels of MNIST and USPS, train and test, in one size."""
    mnist, usps = np.load(data / "mnist.npz"), np.load(data / "usps.npz")
    found = {}
    for part in ("train", "test"):
        x, y = mnist[f"x_{part}"], mnist[f"y_{part}"].astype(np.int64)
        found["mnist", part] = x.reshape(len(x), -1) / 255.0, y
        x, y = usps[f"x_{part}"] / 2000.0, usps[f"y_{part}"].astype(np.int64)
        found["usps", part] = stretched(x), y
    return found


def stretched(images):
    """Return 16 x 16 images as rows of 28 x 28 numbers, bilinearly."""
    small = images.shape[1]
    at = np.clip((np.arange(SIDE) + 0.5) * small / SIDE - 0.5, 0.0, small - 1.0)
    low = np.minimum(at.astype(int), small - 2)
    weights = np.zeros((SIDE, small))
    weights[np.arange(SIDE), low] = 1.0 - (at - low)
    weights[np.arange(SIDE), low + 1] = at - low
    return np.einsum("ai,nij,bj->nab", weights, images, weights).reshape(len(images), -1)


def digit_pairs(data):
    """Yield name, rows, row map, strength of views, source, private target and unseen target."""
    found = digits(data)
    for source, target in (("mnist", "usps"), ("usps", "mnist")):
        kinds = (("stretched", None), ("canonical", canonical), (PIXELS, canonical))
        for kind, row_map in kinds:
            strength = 1.0 if row_map is None else 0.4
            parts = found[source, "train"], found[target, "train"], found[target, "test"]
            yield f"{source}-{target}", kind, row_map, strength, *parts


def fashion_pairs(data):
    """Yield the Fashion pair: the target is rotated, shrunk and blurred, by public constants."""
    fashion = np.load(data / "fashion_mnist.npz")
    x = {part: fashion[f"x_{part}"].reshape(-1, SIDE * SIDE) / 255.0 for part in ("train", "test")}
    y = {part: fashion[f"y_{part}"].astype(np.int64) for part in ("train", "test")}
    angle, size = np.deg2rad(20.0), 1.25
    turn = size * np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    kernel = np.array([0.25, 0.5, 0.25])

    def other(rows):
        out = warp(rows, np.tile(turn, (len(rows), 1, 1)), np.zeros((len(rows), 2)))
        images = out.reshape(-1, SIDE, SIDE)
        for axis in (1, 2):
            images = sum(
                k * np.roll(images, s, axis) for k, s in zip(kernel, (-1, 0, 1), strict=True)
            )
        return images.reshape(len(rows), -1)

    source = x["train"][:30_000], y["train"][:30_000]
    target = other(x["train"][30_000:40_000]), y["train"][30_000:40_000]
    unseen = other(x["test"]), y["test"]
    for kind, strength in (("strong views", 1.0), ("mild views", 0.4)):
        yield "fashion", kind, None, strength, source, target, unseen


def run_images(pairs, arguments, done):
    """Fit every seed, pair and setting that is not there yet."""
    pairs = list(pairs)
    for seed in range(arguments.seeds):
        for name, kind, *rest in pairs:
            if arguments.rows and kind not in arguments.rows:
                continue
            wanted = [
                (method, epsilon)
                for method in arguments.methods
                for epsilon in ((0.0,) if method == "none" else arguments.epsilons)
                if _key(name, kind, method, epsilon, seed) not in done
            ]
            if wanted:
                path = arguments.networks / f"{name}_{kind.replace(' ', '_')}_{seed}.pt"
                run_pair(name, kind, *rest, seed, path, wanted, done)


def run_pair(name, kind, row_map, strength, source, target, unseen, seed, path, wanted, done):
    """Train one network on the source, and fit the settings that are wanted."""
    source, target = subset(source, N_SOURCE, seed), subset(target, N_MNIST_TARGET, seed)
    extract = None
    if kind != PIXELS:
        rows = source[0] if row_map is None else row_map(source[0])
        extract = Remembered(trained_network(rows, source[1], strength, seed, path))
    views = Remembered(Views(strength))
    for method, epsilon in wanted:
        adapter = PrivateDomainAdapter(
            extract,
            row_map=row_map,
            views=views,
            method=MAIN if method == "none" else method,
            block_rows=1024,
            epsilon=epsilon or 1.0,
            delta=DELTA,
            neighbors="replace_one",
            random_state=seed,
        )
        place = {"pair": name, "rows": kind, "method": method, "epsilon": epsilon, "seed": seed}
        record(done, place, adapter, source, target, unseen)


def subset(part, size, seed):
    """Return so many rows at random, by a public seed, or all."""
    rows, labels = part
    chosen = np.random.default_rng(seed).permutation(len(rows))[:size]
    return rows[chosen], labels[chosen]


def office_pairs(data):
    """Yield the pairs of Office-Caltech10: square roots of histograms, of unit length."""
    surf = np.load(data / "office_caltech10_surf.npz")
    names = sorted({name.rpartition("_")[0] for name in surf.files})
    rows = {name: np.sqrt(surf[f"{name}_x"].astype(float)) for name in names}
    for name in names:
        rows[name] /= np.maximum(np.linalg.norm(rows[name], axis=1, keepdims=True), 1e-12)
    for source in names:
        for target in names:
            if source != target:
                labels = surf[f"{source}_y"], surf[f"{target}_y"]
                yield f"{source}-{target}", (rows[source], labels[0]), (rows[target], labels[1])


def run_office(data, arguments, done):
    """Fit every pair of Office-Caltech10; there are no views and no unseen rows."""
    for name, source, target in office_pairs(data):
        for seed in range(arguments.seeds):
            for method in arguments.methods:
                for epsilon in (0.0,) if method == "none" else arguments.epsilons:
                    place = {"pair": name, "rows": "office", "method": method}
                    place |= {"epsilon": epsilon, "seed": seed}
                    if _key(*place.values()) in done:
                        continue
                    adapter = PrivateDomainAdapter(
                        method=MAIN if method == "none" else method,
                        epsilon=epsilon or 1.0, delta=DELTA, neighbors="replace_one",
                        random_state=seed,
                    )  # fmt: skip
                    record(done, place, adapter, source, target, target)


def record(done, place, adapter, source, target, unseen):
    """Fit, measure, and write the results so far."""
    start = time.perf_counter()
    adapter.fit(*source, target[0])
    line = dict(place, seconds=round(time.perf_counter() - start, 1))
    line["guard"] = adapter.source_score_
    kept = adapter.source_model_ if place["method"] == "none" else adapter
    for name, model in (("", kept), ("source_", adapter.source_model_)):
        line[f"{name}private"] = float((model.predict(target[0]) == target[1]).mean())
        line[f"{name}unseen"] = float((model.predict(unseen[0]) == unseen[1]).mean())
    done[_key(*place.values())] = line
    RESULTS.write(sorted(done.values(), key=_order))
    print(line, flush=True)


def _key(*place):
    return json.dumps(place)


def _order(line):
    return [str(line[name]) for name in ("rows", "pair", "method", "epsilon", "seed")]


def show(lines):
    """Print means over seeds, beside the source model and the paper."""
    groups = {}
    for line in lines:
        pair = "mean of pairs" if line["rows"] == "office" else line["pair"]
        place = line["rows"], pair, line["method"], line["epsilon"]
        groups.setdefault(place, []).append(line)
    print(f"{'rows':<13} {'pair':<14} {'method':<14} {'eps':>4}  private/unseen   source only")
    for (rows, pair, method, epsilon), some in sorted(groups.items()):
        cells = {
            name: 100.0 * np.array([line[name] for line in some])
            for name in ("private", "unseen", "source_private", "source_unseen")
        }
        mean = {name: values.mean() for name, values in cells.items()}
        paper = ", ".join(f"{k} {v}" for k, v in PAPER.get(pair, {}).items())
        print(
            f"{rows:<13} {pair:<14} {method:<14} {epsilon:>4g}  "
            f"{mean['private']:5.1f}/{mean['unseen']:5.1f} +-{cells['unseen'].std():.1f}   "
            f"{mean['source_private']:5.1f}/{mean['source_unseen']:5.1f}   {paper}"
        )


def main():
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", nargs="+", default=["digits", "fashion", "office"])
    parser.add_argument("--networks", type=Path, default=Path("networks"), help="a folder")
    parser.add_argument("--rows", nargs="+", help="which rows of a part, by name; all by default")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=["none", MAIN])
    parser.add_argument("--epsilons", type=float, nargs="+", default=list(EPSILONS))
    arguments = parser.parse_args()
    if not (arguments.data / "mnist.npz").exists():
        parser.error(f"no data in {arguments.data}")
    warnings.simplefilter("ignore")
    lines = RESULTS.read([])
    names = ("pair", "rows", "method", "epsilon", "seed")
    done = {_key(*(line[name] for name in names)): line for line in lines}
    if "office" in arguments.part:
        run_office(arguments.data, arguments, done)
    if "digits" in arguments.part:
        run_images(digit_pairs(arguments.data), arguments, done)
    if "fashion" in arguments.part:
        run_images(fashion_pairs(arguments.data), arguments, done)
    show(done.values())


if __name__ == "__main__":
    main()
