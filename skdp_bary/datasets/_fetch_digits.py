"""Images of digits and of clothes, downloaded from OpenML by scikit-learn."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError

import numpy as np
from sklearn.datasets import fetch_openml, get_data_home
from sklearn.utils import Bunch

from ..privacy._checks import check_option


@dataclass(frozen=True)
class _Images:
    """A data set of OpenML: its number, what its pixels and labels mean, and the image shape."""

    data_id: int
    low: float
    high: float
    first_label: int
    shape: tuple


_SETS = {
    "mnist": _Images(554, 0.0, 255.0, 0, (28, 28)),
    "fashion": _Images(40996, 0.0, 255.0, 0, (28, 28)),
    "usps": _Images(41082, -1.0, 1.0, 1, (16, 16)),
}


def fetch_digits_images(
    name: Literal["mnist", "usps", "fashion"] = "mnist",
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load MNIST, USPS or Fashion-MNIST, downloading them from OpenML if necessary.

    ``sklearn.datasets.fetch_openml`` downloads, checks and keeps the files. Pixels are brought to
    [0, 1] by the range that the data set has by definition, not by the values that occur: the
    public bounds of the images are ``(0, 1)``.

    Parameters
    ----------
    name : {"mnist", "usps", "fashion"}, default="mnist"
        70,000 digits of 28 by 28 pixels, 9,298 of 16 by 16, or 70,000 pieces of clothing of 28 by
        28.
    data_home : str or path-like, default=None
        Folder for downloads, as in ``sklearn.datasets``.
    download_if_missing : bool, default=True
        Whether to download what is not there; if False an OSError is raised.
    return_X_y : bool, default=False
        Whether to return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether `data` and `target` are pandas objects.
    n_retries : int, default=3
        How often to try again after a failure.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    images : Bunch
        With the attributes

        data : ndarray of shape (n_images, n_pixels)
            Pixels in [0, 1], row by row; 0 is the background.
        target : ndarray of int of shape (n_images,)
            Labels, 0 to 9.
        image_shape : tuple of int
            Height and width of an image.
        bounds : tuple
            ``(0.0, 1.0)``, the public bounds of a pixel.
    (data, target) : tuple, if ``return_X_y`` is True

    Examples
    --------
    >>> from skdp_bary.datasets import fetch_digits_images
    >>> images = fetch_digits_images("usps")  # doctest: +SKIP
    """
    check_option(name, "name", _SETS)
    meaning = _SETS[name]
    kept = Path(get_data_home(data_home)) / "openml"
    if not download_if_missing and not any(kept.rglob(f"data/{meaning.data_id}.gz")):
        raise OSError(f"{name} is not in {kept} and download_if_missing is False.")
    asked = {
        "data_id": meaning.data_id,
        "data_home": data_home,
        "as_frame": as_frame,
        "n_retries": n_retries if download_if_missing else 0,
        "delay": delay,
        "parser": "auto",
    }
    found = _fetched(name, kept, asked)
    data = _scaled(found.data, meaning, name)
    target = found.target.astype(np.int64) - meaning.first_label
    if target.min() < 0 or target.max() > 9:
        raise ValueError(f"OpenML's {name} must have ten labels from {meaning.first_label} on.")
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, image_shape=meaning.shape, bounds=(0.0, 1.0))


def _fetched(name, kept, asked):
    """Return what scikit-learn fetches; without a network, say what to do about it."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A network error occurred", UserWarning)
            return fetch_openml(**asked)
    except (URLError, TimeoutError, ConnectionError) as error:
        raise OSError(
            f"{name} could not be downloaded from OpenML ({error}). Without a network, call this "
            f"function elsewhere and copy the folder openml of that data home to {kept}."
        ) from None


def _scaled(data, meaning, name):
    """Return pixels in [0, 1], or raise where they are not what the data set is known for."""
    values = np.asarray(data, dtype=np.float64)
    n_pixels = meaning.shape[0] * meaning.shape[1]
    if values.shape[1] != n_pixels:
        raise ValueError(f"OpenML's {name} must have {n_pixels} pixels, got {values.shape[1]}.")
    if not ((values >= meaning.low) & (values <= meaning.high)).all():
        raise ValueError(f"Pixels of OpenML's {name} must lie in [{meaning.low}, {meaning.high}].")
    return (data - meaning.low) / (meaning.high - meaning.low)
