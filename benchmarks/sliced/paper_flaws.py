"""What goes wrong in private training with the published sliced Wasserstein loss, in numbers.

The loss is that of Rakotomamonjy and Ralaivola, "Differentially Private Sliced Wasserstein
Distance" (ICML 2021), with the steps of its Algorithm 2 and of its published code. Each part below
is a short computation on generated rows, and the documentation quotes its result:

scaling    sensitivity of a batch that is divided by twice its own largest norm; it is meant to be 1
gradient   share of a published gradient outside the span of the private rows, by noise
steps      epsilon of the steps that are accounted for and of those that are taken
bounds     how often the bounds of the squared sensitivity are exceeded
reuse      delta of two releases along one frame, the second about a row chosen after seeing it
public     distance between two samples of one law when public rows get noise too

``python -m benchmarks.sliced.paper_flaws``; needs dp_accounting; needs no data.
"""

import json

import numpy as np

from benchmarks.recording import Results
from skdp_bary.geometry.linear_maps import tight_frame
from skdp_bary.papers import bernstein_bound, clt_bound
from skdp_bary.papers.sliced_noise import projection_epsilon
from skdp_bary.papers.sliced_privacy import projection_law
from skdp_bary.privacy.mechanisms import gaussian_delta

RESULTS = Results("sliced_paper_flaws")


def scaling(batch):
    """Return how far one replaced row moves a batch that is divided by twice its largest norm."""
    rows = np.eye(1, 5).repeat(batch, axis=0)
    neighbor = rows.copy()
    neighbor[0] *= 1e9

    def scaled(X):
        return X / (2 * np.linalg.norm(X, axis=1).max())

    return float(np.linalg.norm(scaled(rows) - scaled(neighbor)))


def gradient_outside_span(noise, rng, batch=5, n_inputs=40, n_features=8, n_projections=20):
    """Return the share of the gradient of a linear map that is not in the span of private rows."""
    X = rng.standard_normal((batch, n_inputs))
    weights = rng.standard_normal((n_inputs, n_features))
    U = tight_frame(n_features, n_projections, rng)
    released = X @ weights @ U + noise * rng.standard_normal((batch, n_projections))
    targets = np.sort(rng.standard_normal((batch, n_projections)), axis=0)
    ranks = released.argsort(axis=0).argsort(axis=0)
    residuals = released - np.take_along_axis(targets, ranks, axis=0)
    gradient = X.T @ (residuals @ U.T)  # of the mean squared difference, up to a factor
    basis = np.linalg.qr(X.T)[0]
    outside = gradient - basis @ (basis.T @ gradient)
    return float(np.linalg.norm(outside) / np.linalg.norm(gradient))


def steps(sigma=1.02):
    """Return epsilon for MNIST to USPS: one pass of the private rows an epoch, and the code's."""
    law = projection_law(784, 200, "iid", "average")
    counts = {"accounted": 59 * 100, "taken": 469 * 89}
    rate = 128 / 7438
    return {
        name: projection_epsilon(law, sigma, 1e-5, sampling_rate=rate, n_steps=count)
        for name, count in counts.items()
    }


def bounds(failure=5e-6):
    """Return the published bounds at one probability, the law's own, and what they exclude."""
    law = projection_law(784, 200, "iid", "average")
    clt = clt_bound(784, 200, failure)
    return {
        "failure": failure,
        "bernstein": bernstein_bound(784, 200, failure),
        "clt": clt,
        "chernoff": law.quantile(failure),
        "clt_is_exceeded_with": float(law.survival(np.array([clt]))[0]),
    }


def reuse(n_features=50, n_projections=5, sigma=1.0, epsilon=1.0):
    """Return the delta that averaging over the frame claims, and the one that happens.

    A row in the span of the frame is projected at full length.
    """
    law = projection_law(n_features, n_projections, "tight", "average")
    values, weights = law.atoms(400)

    def delta(lengths):
        mus = np.sqrt(lengths) / sigma
        return float(sum(w * gaussian_delta(m, epsilon) for w, m in zip(weights, mus, strict=True)))

    return {"claimed": delta(2 * values), "happens": delta(values + 1.0)}


def distance(first, second):
    """Return the mean squared difference of sorted columns."""
    return float(np.mean((np.sort(first, axis=0) - np.sort(second, axis=0)) ** 2))


def public_noise(noise=1.0, n_rows=500, n_features=10, n_projections=50, n_repeats=20):
    """Return root mean squares of the smoothed squared distance between samples of one law.

    The truth is zero. ``exact`` puts the known law of smoothed public rows in place of noise that
    is drawn, by drawing it 200 times and averaging the sorted columns.
    """
    rng = np.random.default_rng(0)
    found = {"both": [], "exact": []}
    for _ in range(n_repeats):
        U = tight_frame(n_features, n_projections, rng)
        X, Y = (0.1 * rng.standard_normal((n_rows, n_features)) @ U for _ in range(2))
        released = X + noise * rng.standard_normal(X.shape)
        found["both"].append(distance(released, Y + noise * rng.standard_normal(Y.shape)))
        smooth = np.mean(
            [np.sort(Y + noise * rng.standard_normal(Y.shape), axis=0) for _ in range(200)], axis=0
        )
        found["exact"].append(distance(released, smooth))
    return {name: float(np.sqrt(np.mean(np.square(values)))) for name, values in found.items()}


def main():
    rng = np.random.default_rng(0)
    result = {
        "scaling": {str(batch): scaling(batch) for batch in (128, 256)},
        "gradient": {str(s): gradient_outside_span(s, rng) for s in (1.0, 1e6)},
        "steps": steps(),
        "bounds": bounds(),
        "reuse": reuse(),
        "public": public_noise(),
    }
    print(json.dumps(result, indent=1))
    RESULTS.write(result)


if __name__ == "__main__":
    main()
