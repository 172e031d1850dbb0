"""Mixtures of Gaussians: the papers' four corners, and images made of spots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from ..privacy._checks import check_integer, check_real

if TYPE_CHECKING:
    from .._types import RandomState

CORNERS_BOUND = 0.75
_CORNERS = np.array([[0.25, 0.25], [0.25, -0.25], [-0.25, 0.25], [-0.25, -0.25]])
_WIDTHS = (0.02, 0.1)  # of a spot, in sides of an image


def make_corners(
    n_samples: int = 1000,
    *,
    n_features: int = 10,
    scale: float = 0.1,
    random_state: RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate four equal Gaussians at (+-0.25, +-0.25, 0, ..., 0).

    The synthetic experiment of the papers on private barycenters, in ten dimensions. Where only two
    features matter, a projection or a subspace finds out cheaply. Rows are moved to the public box
    ``(-0.75, 0.75)``, which with the default scale changes hardly any.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=10
        Number of features, at least 2.
    scale : float, default=0.1
        Standard deviation of the Gaussians in every direction; the papers do not tell theirs.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows, inside ``(-CORNERS_BOUND, CORNERS_BOUND)``.
    y : ndarray of int of shape (n_samples,)
        Corner of each row, from 0 to 3.

    Examples
    --------
    >>> from skdp_bary.datasets import make_corners
    >>> X, y = make_corners(500, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((500, 10), [0, 1, 2, 3])
    """
    n_samples = check_integer(n_samples, "n_samples", low=1)
    n_features = check_integer(n_features, "n_features", low=2)
    scale = check_real(scale, "scale", low=0.0)
    rng = check_random_state(random_state)
    y = rng.randint(4, size=n_samples)
    X = scale * rng.standard_normal((n_samples, n_features))
    X[:, :2] += _CORNERS[y]
    return X.clip(-CORNERS_BOUND, CORNERS_BOUND), y


def make_gaussian_images(
    n_images: int = 4,
    *,
    n_rows: int = 2000,
    n_spots: int = 1,
    random_state: RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Generate images in the unit square, each a mixture of Gaussian spots.

    Every spot has a mean and a covariance of its own, drawn at random. An image of one spot is the
    usual example for barycenters, whose answer is a Gaussian again; images of several are sparse
    heatmaps, the sparser the fewer spots there are.

    Parameters
    ----------
    n_images : int, default=4
        Number of images.
    n_rows : int, default=2000
        Number of rows of each image.
    n_spots : int, default=1
        Number of spots of each image; each gets the same share of the rows, up to chance.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator.

    Returns
    -------
    X : ndarray of shape (n_images * n_rows, 2)
        Positions, inside the unit square; rows that fall outside are moved to its border.
    y : ndarray of int of shape (n_images * n_rows,)
        Image of each row, from 0 to ``n_images - 1``.

    Examples
    --------
    >>> from skdp_bary.datasets import make_gaussian_images
    >>> X, y = make_gaussian_images(3, n_rows=100, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 2), [0, 1, 2])
    """
    n_images = check_integer(n_images, "n_images", low=1)
    n_rows = check_integer(n_rows, "n_rows", low=1)
    n_spots = check_integer(n_spots, "n_spots", low=1)
    rng = check_random_state(random_state)
    y = np.repeat(np.arange(n_images), n_rows)
    means = rng.uniform(0.2, 0.8, size=(n_images, n_spots, 2))
    angles = rng.uniform(0.0, np.pi, size=(n_images, n_spots))
    widths = rng.uniform(*_WIDTHS, size=(n_images, n_spots, 2))
    spot = rng.randint(n_spots, size=len(y))
    along, across = (rng.standard_normal((len(y), 2)) * widths[y, spot]).T
    angle = angles[y, spot]
    turned = np.column_stack([
        along * np.cos(angle) - across * np.sin(angle),
        along * np.sin(angle) + across * np.cos(angle),
    ])  # fmt: skip
    return (means[y, spot] + turned).clip(0.0, 1.0), y
