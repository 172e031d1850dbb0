"""Public datasets from the network, known by their checksums."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
import warnings
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import numpy as np
from sklearn.datasets import fetch_openml, get_data_home
from sklearn.utils import Bunch

from ..exceptions import check_option, import_optional
from ..geometry.domains import Box
from .files import load_gazetteer_tracts, load_snap_checkins

# Files from the network, kept in scikit-learn's data folder and recognized by their checksums.

_FOLDER = "skdp_bary"
_TIMEOUT = 60.0  # seconds without an answer


@dataclass(frozen=True)
class Downloads:
    """How files are fetched: where they are kept, and what is done when they are missing.

    Attributes
    ----------
    data_home : str, path-like or None
        scikit-learn's data folder; None takes its default.
    download_if_missing : bool
    n_retries : int
    delay : float
        Seconds between two tries.
    """

    data_home: object = None
    download_if_missing: bool = True
    n_retries: int = 3
    delay: float = 1.0

    def get(self, url, name, checksum=None):
        """Return the path of a file, downloaded when it is not there yet.

        The SHA-256 of the first download is recorded next to the file, in a file whose name ends in
        ``.sha256``; a file that no longer agrees with it, or with the `checksum` given, is
        rejected.

        Parameters
        ----------
        url : str
        name : str
            Name in the data folder.
        checksum : str or None
            SHA-256 that the file must have.
        """
        path = Path(get_data_home(self.data_home)) / _FOLDER / name
        record = path.with_name(f"{path.name}.sha256")
        if not path.exists():
            if not self.download_if_missing:
                raise OSError(
                    f"{path} is not there: pass download_if_missing=True, or put it there."
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, part = tempfile.mkstemp(prefix=f"{path.name}.part_", dir=path.parent)
            os.close(descriptor)
            try:
                self._copy(url, part, path)
                if checksum is not None and (found := sha256(part)) != checksum:
                    raise OSError(
                        f"{url} must have the SHA-256 {checksum}, got {found}. Try again; if it "
                        "stays, the publisher changed the file, and it is not used."
                    )
                os.replace(part, path)
            finally:
                Path(part).unlink(missing_ok=True)
            record.write_text(f"{sha256(path)}  {path.name}\n")
            return path
        found = sha256(path)
        known = record.read_text().split()[0] if record.exists() else None
        if found != (checksum or known or found):
            raise OSError(
                f"{path} has the SHA-256 {found}, not {checksum or known}: it is not the file that "
                "was asked for, or it has changed. Delete it to download it again."
            )
        return path

    def _copy(self, url, part, path):
        for left in reversed(range(self.n_retries + 1)):
            try:
                with urlopen(url, timeout=_TIMEOUT) as answer, open(part, "wb") as file:
                    shutil.copyfileobj(answer, file)
                    if getattr(answer, "length", None):  # bytes announced and not sent
                        raise ConnectionError(f"{answer.length} bytes are missing")
                return
            except (URLError, HTTPException, TimeoutError, ConnectionError) as error:
                if left == 0 or isinstance(error, HTTPError):
                    raise OSError(
                        f"{url} could not be downloaded ({error}). Without a network, get the "
                        f"file elsewhere and put it at {path}."
                    ) from None
                time.sleep(self.delay)


def sha256(path):
    """Return the SHA-256 of a file in hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Where people live in the United States, by census tract, downloaded.

CONTIGUOUS_US = Box([-125.0, 24.0], [-66.0, 50.0])
_GAZETTEER = "https://www2.census.gov/geo/docs/maps-data/data/gazetteer/"
# The 48 contiguous states and the District of Columbia, by number.
_STATES = tuple(f"{n:02d}" for n in range(1, 57) if n not in (2, 3, 7, 14, 15, 43, 52))


def fetch_census_tracts(
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    checksum: str | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load where people live in the contiguous United States, downloading it if necessary.

    Places are the points inside the census tracts that the gazetteer of the Census Bureau lists,
    with the people that the census of 2010 counted.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder for downloads, as in ``sklearn.datasets``.
    download_if_missing : bool, default=True
        Whether to download what is not there; if False an OSError is raised.
    checksum : str, default=None
        SHA-256 that the file must have. None accepts what the first download brings and records
        its SHA-256 next to it, so that a file that changes later is rejected.
    return_X_y : bool, default=False
        Whether to return ``(data, population)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether `data` is a pandas DataFrame and `population` a Series.
    n_retries : int, default=3
        Number of retries after a failure.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    tracts : Bunch
        With the attributes

        data : ndarray of shape (n_tracts, 2)
            Longitude and latitude.
        population : ndarray of int of shape (n_tracts,)
            People who live in each tract.
        geoid : ndarray of str of shape (n_tracts,)
            Codes of the tracts, in order.
        feature_names : list of str
            "longitude", "latitude".
        bounds : Box
            Public bounds of the contiguous United States.
    (data, population) : tuple, if ``return_X_y`` is True

    Notes
    -----
    A tract is not a person. For rows of people, draw tracts with probabilities proportional to
    ``population``, or repeat the rows of ``data``.

    Examples
    --------
    >>> from skdp_bary.datasets import fetch_census_tracts
    >>> tracts = fetch_census_tracts()  # doctest: +SKIP
    """
    name = "Gaz_tracts_national.zip"
    downloads = Downloads(data_home, download_if_missing, n_retries, delay)
    tracts = load_gazetteer_tracts(downloads.get(_GAZETTEER + name, name, checksum))
    geoid, order = np.unique(tracts.geoid, return_index=True)
    order = order[np.isin(geoid.astype("U2"), _STATES)]
    data, population, geoid = tracts.data[order], tracts.population[order], tracts.geoid[order]
    names = ["longitude", "latitude"]
    if as_frame:
        pandas = import_optional("pandas", "cli", "fetch_census_tracts(as_frame=True)")
        index = pandas.Index(geoid, name="geoid")
        data = pandas.DataFrame(data, index, columns=names)
        population = pandas.Series(population, index, name="population")
    if return_X_y:
        return data, population
    place = {"geoid": geoid, "feature_names": names, "bounds": CONTIGUOUS_US}
    return Bunch(data=data, population=population, **place)


# Gowalla and Brightkite, downloaded.

_PAPER_AREA = Box([-135.0, 0.0], [-60.0, 50.0])


_ADDRESS = "https://snap.stanford.edu/data/"
_SITES = {  # file, and the times of the paper
    "gowalla": ("loc-gowalla_totalCheckins.txt.gz", "2010-01-01", "2010-02-01"),
    "brightkite": ("loc-brightkite_totalCheckins.txt.gz", "2008-11-01", "2009-01-01"),
}


def fetch_snap_checkins(
    name: Literal["gowalla", "brightkite"] = "gowalla",
    *,
    subset: Literal["paper", "all"] = "paper",
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    checksum: str | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load check-ins of Gowalla or Brightkite, downloading them if necessary.

    The files come from the Stanford network analysis project and are some ten to a hundred
    megabytes.

    Parameters
    ----------
    name : {"gowalla", "brightkite"}, default="gowalla"
        Which network.
    subset : {"paper", "all"}, default="paper"
        "paper" keeps what the experiments on private heatmaps of Ghazi et al. (2023) take: the
        continental US, in January 2010 for Gowalla and in November and December 2008 for
        Brightkite. They count 196,071 check-ins of 10,196 users and 304,608 of 10,177, to compare
        with; their text leaves open where the area ends, here it is -135 to -60 and 0 to 50. "all"
        keeps every check-in with a place.
    data_home : str or path-like, default=None
        Folder for downloads, as in ``sklearn.datasets``.
    download_if_missing : bool, default=True
        Whether to download what is not there; if False an OSError is raised.
    checksum : str, default=None
        SHA-256 that the file must have. None accepts what the first download brings and records
        its SHA-256 next to it, so that a file that changes later is rejected.
    return_X_y : bool, default=False
        Whether to return ``(data, groups)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether `data` and `groups` are pandas objects.
    n_retries : int, default=3
        Number of retries after a failure.
    delay : float, default=1.0
        Seconds between two tries.

    Returns
    -------
    checkins : Bunch
        As of :func:`load_snap_checkins`, and

        feature_names : list of str
            "longitude", "latitude".
        bounds : Box or None
            Public bounds of the subset: give them to an estimator.
        filename : Path
            Path of the file.
    (data, groups) : tuple, if ``return_X_y`` is True

    References
    ----------
    B. Ghazi, J. He, K. Kohlhoff, R. Kumar, P. Manurangsi, V. Navalpakkam, N. Valliappan.
    Differentially private heatmaps. AAAI 2023.

    Examples
    --------
    >>> from skdp_bary.datasets import fetch_snap_checkins
    >>> checkins = fetch_snap_checkins("brightkite")  # doctest: +SKIP
    """
    check_option(name, "name", _SITES)
    check_option(subset, "subset", ("paper", "all"))
    file, start, stop = _SITES[name]
    downloads = Downloads(data_home, download_if_missing, n_retries, delay)
    path = downloads.get(_ADDRESS + file, file, checksum)
    bounds = None
    if subset == "paper":
        bounds = _PAPER_AREA
        checkins = load_snap_checkins(path, bounds=bounds, start=start, stop=stop)
    else:
        checkins = load_snap_checkins(path)
    checkins.feature_names = ["longitude", "latitude"]
    checkins.bounds = bounds
    checkins.filename = path
    if as_frame:
        pandas = import_optional("pandas", "cli", "fetch_snap_checkins(as_frame=True)")
        checkins.data = pandas.DataFrame(checkins.data, columns=checkins.feature_names)
        checkins.groups = pandas.Series(checkins.groups, name="user")
    return (checkins.data, checkins.groups) if return_X_y else checkins


# Images of digits and of clothes, downloaded from OpenML by scikit-learn.


@dataclass(frozen=True)
class _Images:
    """A dataset of OpenML: its number, what its pixels and labels mean, and the image shape."""

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
    [0, 1] by the range that the dataset has by definition, not by the values that occur: the
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
        Number of retries after a failure.
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
        raise OSError(f"{name} is not in {kept}. Pass download_if_missing=True.")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A network error occurred", UserWarning)
            found = fetch_openml(
                data_id=meaning.data_id,
                data_home=data_home,
                as_frame=as_frame,
                n_retries=n_retries if download_if_missing else 0,
                delay=delay,
                parser="auto",
            )
    except (URLError, TimeoutError, ConnectionError) as error:
        raise OSError(
            f"{name} could not be downloaded from OpenML ({error}). Without a network, call this "
            f"function elsewhere and copy the folder openml of that data home to {kept}."
        ) from None
    # the range of a pixel is that of the dataset's definition, so it tells nothing about the rows
    values = np.asarray(found.data, dtype=np.float64)
    n_pixels = meaning.shape[0] * meaning.shape[1]
    if values.shape[1] != n_pixels:
        raise ValueError(f"OpenML's {name} must have {n_pixels} pixels, got {values.shape[1]}.")
    if not ((values >= meaning.low) & (values <= meaning.high)).all():
        raise ValueError(f"Pixels of OpenML's {name} must lie in [{meaning.low}, {meaning.high}].")
    data = (found.data - meaning.low) / (meaning.high - meaning.low)
    target = found.target.astype(np.int64) - meaning.first_label
    if target.min() < 0 or target.max() > 9:
        raise ValueError(f"OpenML's {name} must have ten labels from {meaning.first_label} on.")
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, image_shape=meaning.shape, bounds=(0.0, 1.0))
