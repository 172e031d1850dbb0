"""Draw the pictures of the first page: a card per estimator, two charts.

``python doc/figures/draw_home.py [NAME ...]``; noise is fresh, so no two runs draw the same.
Cards have no background and no text but gray; what has axes is drawn for light and for dark pages.
"""

import argparse
import csv

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from evidence import DOC, read
from sklearn.datasets import load_digits

from skdp_bary import (
    DPSlicedWasserstein,
    PrivateDomainAdapter,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateTable,
    PrivateTwoSampleTest,
    PrivateWassersteinBarycenter,
)
from skdp_bary.datasets import CITY_BOUNDS, make_city_checkins
from skdp_bary.schema import Boolean, Category, Integer, Number, Schema

BLUE, ORANGE, GREEN, GRAY = "#4c8bdc", "#ef8536", "#3aa675", "#8a919c"
INK = {"light": "#222832", "dark": "#ced6dd"}


def save(figure, name, **settings):
    """Write a picture without background, and forget it."""
    figure.savefig(DOC / "images" / name, transparent=True, **settings)
    plt.close(figure)


def card(name):
    """Return bare axes of the size of a card, and what saves them."""
    figure, axes = plt.subplots(figsize=(4.2, 2.6))
    axes.set_position([0.02, 0.02, 0.96, 0.96])
    axes.set_axis_off()
    return axes, lambda: save(figure, f"card_{name}.png", dpi=110)


def draw_heatmap():
    """A map of where people go."""
    X, people = make_city_checkins(n_people=20_000, random_state=0)
    city = PrivateEMDHeatmap(epsilon=1.0, bounds=CITY_BOUNDS).fit(X, groups=people)
    axes, done = card("heatmap")
    image = city.render(64)
    axes.imshow(np.sqrt(image), cmap="magma", origin="lower", aspect="auto")
    done()


def draw_measure():
    """Weighted points that stand for everybody."""
    X, people = make_city_checkins(n_people=20_000, random_state=0)
    measure = PrivateMeasure(epsilon=1.0, bounds=CITY_BOUNDS).fit(X, groups=people)
    axes, done = card("measure")
    axes.scatter(*measure.support_.T, s=4 + 9000 * measure.weights_, color=BLUE, alpha=0.55, lw=0)
    done()


def draw_kmeans():
    """Centers of clusters that nobody can be read from."""
    rng = np.random.default_rng(1)
    towns = np.array([[0.15, 0.3], [0.35, 0.75], [0.55, 0.25], [0.72, 0.68], [0.9, 0.35]])
    X = towns[rng.integers(5, size=4000)] + 0.055 * rng.standard_normal((4000, 2))
    kmeans = PrivateKMeans(5, epsilon=0.5, bounds=(0, 1)).fit(X)
    axes, done = card("kmeans")
    colors = np.array([BLUE, ORANGE, GREEN, "#b07aa1", "#c9a227"])
    some = X[:1500]
    axes.scatter(*some.T, s=5, color=colors[kmeans.predict(some)], alpha=0.45, lw=0)
    axes.plot(*kmeans.cluster_centers_.T, "X", color=INK["light"], mec="white", ms=13)
    done()


def draw_barycenter():
    """What is in the middle of several groups."""
    rng = np.random.default_rng(2)
    turn = np.linspace(0, 2 * np.pi, 4000, endpoint=False)
    rings = [
        np.stack([x + rx * np.cos(turn), 0.5 + ry * np.sin(turn)], axis=1)
        for x, rx, ry in ((0.25, 0.2, 0.4), (0.5, 0.3, 0.12), (0.75, 0.2, 0.4))
    ]
    X = np.concatenate(rings) + 0.015 * rng.standard_normal((12_000, 2))
    y = np.repeat(["a", "b", "c"], 4000)
    middle = PrivateWassersteinBarycenter(24, classes=["a", "b", "c"], epsilon=2.0, bounds=(0, 1))
    middle.fit(X, y)
    axes, done = card("barycenter")
    for label, color in zip("abc", (BLUE, ORANGE, GREEN), strict=True):
        axes.scatter(*X[y == label][::8].T, s=4, color=color, alpha=0.5, lw=0)
    axes.plot(*middle.support_.T, "o", color=INK["light"], mec="white", ms=8)
    done()


def draw_sliced():
    """Distances seen from many directions."""
    rng = np.random.default_rng(3)
    mixture = np.array([[-1.0, 0.4], [0.8, -0.5]])
    X = mixture[rng.integers(2, size=20_000)] + 0.35 * rng.standard_normal((20_000, 2))
    sketch = DPSlicedWasserstein(epsilon=1.0, bounds=(-2, 2), n_min=15_000).fit(X)
    axes, done = card("sliced")
    levels = np.linspace(0, 1, sketch.quantiles_.shape[-1])
    lines = np.asarray(sketch.quantiles_).reshape(-1, levels.size)[:14]
    for line, shade in zip(lines, np.linspace(0.15, 1.0, len(lines)), strict=True):
        axes.plot(levels, line, color=BLUE, alpha=shade, lw=2)
    done()


def draw_two_samples():
    """A released statistic beside what chance makes."""
    rng = np.random.default_rng(4)
    X = np.clip(rng.normal(7.0, 1.0, size=(4000, 2)), 3, 11)
    y = np.repeat(["east", "west"], 2000)
    X[y == "west", 0] -= 0.3
    test = PrivateTwoSampleTest(["east", "west"], epsilon=0.5, bounds=(3, 11)).fit(X, y)
    axes, done = card("two_samples")
    axes.hist(test.result_.null, bins=36, color=GRAY, alpha=0.7)
    axes.axvline(test.statistic_, color=ORANGE, lw=4)
    done()


def draw_table():
    """Rows of a table that nobody filled in."""
    rng = np.random.default_rng(5)
    jobs = ["office", "trade", "care", "none"]
    work = rng.choice(4, size=8000, p=[0.4, 0.2, 0.25, 0.15])
    age = np.clip(45 + 15 * rng.standard_normal(8000), 18, 90).astype(int)
    income = np.array([60, 45, 35, 15])[work] * np.exp(0.3 * rng.standard_normal(8000))
    rows = {"age": age, "job": np.array(jobs, object)[work], "income": np.minimum(income, 199)}
    rows["owner"] = rng.random(8000) < income / 100
    kinds = {"age": Integer(18, 99), "job": Category(jobs, outside="refuse")}
    kinds |= {"income": Number(0, 200), "owner": Boolean()}
    table = PrivateTable(Schema(kinds), epsilon=1.0, n_components=80).fit(pd.DataFrame(rows))
    drawn = table.sample(5)
    axes, done = card("table")
    text = [[f"{a}", j, f"{i:.0f}", "yes" if o else "no"] for a, j, i, o in drawn.to_numpy()]
    cells = axes.table(text, colLabels=[*rows], loc="center", cellLoc="left", edges="horizontal")
    cells.auto_set_font_size(False)
    cells.set_fontsize(15)
    cells.scale(1, 2.05)
    for (row, _), cell in cells.get_celld().items():
        cell.set_edgecolor(GRAY)
        cell.set_text_props(color=BLUE if row == 0 else GRAY)
    done()


def draw_generator():
    """Digits that nobody wrote."""
    images, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(6)
    who = rng.integers(len(images), size=40_000)
    generator = PrivateGenerator(
        epsilon=2.0, delta=1e-6, bounds=(0, 1), image_shape=(8, 8), classes=range(10)
    )
    generator.fit(images[who] / 16.0, labels[who])
    drawn, numerals = generator.sample(600, random_state=0)
    axes, done = card("generator")
    first = [drawn[numerals == n][row].reshape(8, 8) for row in range(3) for n in range(5)]
    wall = np.block([[np.pad(first[5 * r + c], 1) for c in range(5)] for r in range(3)])
    axes.imshow(wall, cmap="magma", aspect="auto", vmin=0, vmax=1)
    done()


def draw_adapter():
    """Public labels, moved to where the private rows are."""
    rng = np.random.default_rng(7)
    y = rng.integers(2, size=1500)
    X = rng.normal(scale=0.6, size=(1500, 2)) + 2.2 * y[:, None] * np.array([1.0, 0.2])
    hidden = rng.integers(2, size=6000)
    rows = rng.normal(scale=0.6, size=(6000, 2)) + 2.2 * hidden[:, None] * np.array([1.0, 0.2])
    rows += np.array([1.6, 1.8])
    adapter = PrivateDomainAdapter(epsilon=3.0, n_hint=6000).fit(X, y, rows)
    axes, done = card("adapter")
    axes.scatter(*X[:700].T, s=9, color=GRAY, alpha=0.35 + 0.3 * y[:700], lw=0)
    colors = np.array([BLUE, ORANGE])[adapter.predict(rows[:900])]
    axes.scatter(*rows[:900].T, s=9, color=colors, lw=0)
    done()


def on_both(name, draw):
    """Save what a function draws, with the ink of light and of dark pages."""
    for mode, ink in INK.items():
        parts = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
        settings = dict.fromkeys(parts, ink) | {"axes.facecolor": "none", "font.size": 11}
        with matplotlib.rc_context(settings):
            save(draw(), f"{name}_{mode}.png", dpi=110)


def draw_maps():
    """How far released maps are from the true ones, by epsilon."""
    rows = read("heatmap_cities_epsilon")
    epsilons = [row["epsilon"] for row in rows]

    def draw():
        figure, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
        for name, label, color in (
            ("laplace", "noise on every cell", GRAY),
            ("paper", "Ghazi et al., 2023", ORANGE),
            ("adaptive", "PrivateEMDHeatmap", BLUE),
        ):
            mean, half = np.array([row["metrics"][name]["emd"] for row in rows]).T
            axes.errorbar(epsilons, mean, half, color=color, label=label, marker="o", lw=2)
        axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="earth mover's distance")
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.legend(frameon=False)
        return figure

    on_both("home_maps", draw)


def draw_clusters():
    """What clusterings cost beside KMeans on the rows themselves."""
    with (DOC / "tables" / "kmeans_peers.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["declared epsilon"] == "1"]
    names = [f"{row['rows']}, k = {row['k']}" for row in rows]

    def draw():
        figure, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
        places = np.arange(len(rows))
        for column, label, color in (
            ("diffprivlib", "diffprivlib", ORANGE),
            ("Laplace", "PrivateKMeans", BLUE),
        ):
            values = [float(row[column]) for row in rows]
            axes.plot(values, places, "o", color=color, label=label, ms=9)
        axes.axvline(1, color=GRAY, ls=":", label="KMeans, not private")
        axes.set(xscale="log", xlabel="cost / cost of KMeans, at epsilon = 1")
        axes.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
        axes.minorticks_off()
        axes.set_yticks(places, names)
        axes.invert_yaxis()
        axes.legend(frameon=False)
        return figure

    on_both("home_clusters", draw)


PICTURES = {name[5:]: draw for name, draw in list(globals().items()) if name.startswith("draw_")}


def main():
    """Draw the pictures that are named, or all."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("names", nargs="*", choices=[*PICTURES, []], default=[])
    for name in parser.parse_args().names or PICTURES:
        PICTURES[name]()


if __name__ == "__main__":
    main()
