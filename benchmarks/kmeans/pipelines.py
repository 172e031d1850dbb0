"""Labels of a private pipeline beside those of StandardScaler, PCA and KMeans on the same rows.

Adjusted Rand index with the labels of the pipeline without privacy, mean and least of the fits;
beside it that of two seeds without privacy, and that of KMeans without privacy behind the private
steps, which says how much of the loss is theirs. The budget is epsilon = 1 in all; bounds are three
times as wide as the rows. Numbers of the scaler were chosen on the sets "tuned" only; the sets of
files need ``--data FOLDER``.

``python -m benchmarks.kmeans.pipelines [--data FOLDER] [--show]`` computes and keeps.
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.recording import Results
from skdp_bary import BudgetAccountant, PrivateKMeans, PrivatePCA, PrivateStandardScaler
from skdp_bary.geometry import Ball, Box

RESULTS = Results("kmeans_pipelines")
FITS, WIDER, CLIP = 8, 3.0, 5.0
SHARES = {
    False: (0.25, 0.0),
    True: (0.25, 0.15),
}  # of epsilon: the scaler, PCA; the rest is k-means
GENERATED = {  # rows, features, clusters, spread, seed
    "blobs6": (3000, 6, 4, 1.5, 1),
    "blobs10": (10_000, 10, 5, 3.0, 2),
    "blobs4 aside": (3000, 4, 5, 1.0, 11),
    "blobs8 aside": (5000, 8, 3, 2.0, 12),
}
FILES = {  # file, most rows, clusters
    "diamonds": ("diamonds.csv.gz", 5000, 4),
    "adult": ("adult.csv.gz", 10_000, 4),
    "health": ("health_insurance.csv.gz", 10_000, 3),
    "zip codes aside": ("us_zcta_2013_race.csv.gz", 10_000, 4),
    "check-ins aside": ("brightkite_last_checkin.csv.gz", 10_000, 5),
}


def sets(data):
    """Yield (name, rows, number of clusters)."""
    for name, (n_rows, n_features, k, spread, seed) in GENERATED.items():
        rows, _ = make_blobs(n_rows, n_features, centers=k, cluster_std=spread, random_state=seed)
        scales = np.exp(np.random.default_rng(seed).normal(0.0, 2.0, n_features))
        yield name, rows * scales, k
        if name == "blobs6":
            yield "log-normal", np.exp(rows[:, :3] / 8.0), 3
    for name, (file, most, k) in FILES.items() if data else ():
        frame = pd.read_csv(data / file).select_dtypes("number").dropna()
        frame = frame.drop(columns=["user", "in_us", "zcta"], errors="ignore")
        yield name, frame.sample(min(most, len(frame)), random_state=0).to_numpy(float), k


def measure(rows, k, with_pca):
    """Return the three indices of one set."""
    n_axes = min(3, rows.shape[1] - 1)
    public = [StandardScaler(), *([PCA(n_axes)] if with_pca else [])]
    labels, again = (
        make_pipeline(*public, KMeans(k, n_init=10, random_state=seed)).fit_predict(rows)
        for seed in (0, 1)
    )
    middle, half = (rows.max(0) + rows.min(0)) / 2, (rows.max(0) - rows.min(0)) / 2
    bounds = Box(middle - WIDER * half, middle + WIDER * half)
    found = {"private": [], "private steps": []}
    for seed in range(FITS):
        budget = BudgetAccountant(1.0, 1e-6)
        of_scaler, of_pca = SHARES[with_pca]
        steps = [PrivateStandardScaler(of_scaler, bounds=bounds, clip=CLIP, accountant=budget)]
        behind = (-CLIP, CLIP)
        if with_pca:
            radius = CLIP * math.sqrt(n_axes)
            steps.append(
                PrivatePCA(n_axes, epsilon=of_pca, bounds=behind, clip=radius, accountant=budget)
            )
            behind = Ball([0.0] * n_axes, radius)
        rest = 1.0 - of_scaler - of_pca
        last = PrivateKMeans(k, epsilon=rest, bounds=behind, accountant=budget)
        pipeline = make_pipeline(*steps, last).fit(rows)
        found["private"].append(adjusted_rand_score(labels, pipeline.predict(rows)))
        exact = KMeans(k, n_init=10, random_state=seed).fit(pipeline[:-1].transform(rows))
        found["private steps"].append(adjusted_rand_score(labels, exact.labels_))
    return {"two seeds": adjusted_rand_score(labels, again)} | found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, rows, k in () if options.show else sets(options.data):
        for with_pca in (False, True):
            row = {"set": name, "rows": len(rows), "features": rows.shape[1], "k": k}
            row |= {"pca": with_pca} | measure(rows, k, with_pca)
            RESULTS.merge([row], ("set", "pca"))
            print(line(row), flush=True)
    if options.show:
        print(*map(line, RESULTS.read([])), sep="\n")


def line(row):
    """Return a row as text."""
    private, steps = np.array(row["private"]), np.array(row["private steps"])
    return (
        f"{row['set']:16s} {row['rows']:6d} x {row['features']:2d}  k={row['k']}  "
        f"{'PCA' if row['pca'] else '   '}  two seeds {row['two seeds']:.2f}  private "
        f"{private.mean():.2f} (least {private.min():.2f})  KMeans behind the private steps "
        f"{steps.mean():.2f}"
    )


if __name__ == "__main__":
    main()
