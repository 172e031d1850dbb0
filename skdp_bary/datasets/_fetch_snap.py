"""Gowalla and Brightkite, downloaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

from .._optional import import_optional
from ..geometry import Box
from ..privacy._checks import check_option
from ._download import Downloads
from ._snap import load_snap_checkins

_PAPER_AREA = Box([-135.0, 0.0], [-60.0, 50.0])


@dataclass(frozen=True)
class _Site:
    file: str
    start: str
    stop: str


_ADDRESS = "https://snap.stanford.edu/data/"
_SITES = {
    "gowalla": _Site("loc-gowalla_totalCheckins.txt.gz", "2010-01-01", "2010-02-01"),
    "brightkite": _Site("loc-brightkite_totalCheckins.txt.gz", "2008-11-01", "2009-01-01"),
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
    checksum : str or None, default=None
        SHA-256 that the file must have. None accepts what the first download brings and records
        its SHA-256 beside it, so that a file that changes later is refused.
    return_X_y : bool, default=False
        Whether to return ``(data, groups)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether `data` and `groups` are pandas objects.
    n_retries : int, default=3
        How often to try again after a failure.
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
            Where the file is.
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
    site = _SITES[name]
    downloads = Downloads(data_home, download_if_missing, n_retries, delay)
    path = downloads.get(_ADDRESS + site.file, site.file, checksum)
    bounds = _PAPER_AREA if subset == "paper" else None
    times = {"start": site.start, "stop": site.stop} if subset == "paper" else {}
    checkins = load_snap_checkins(path, bounds=bounds, **times)
    checkins.feature_names = ["longitude", "latitude"]
    checkins.bounds = bounds
    checkins.filename = path
    if as_frame:
        pandas = import_optional("pandas", "cli", "fetch_snap_checkins(as_frame=True)")
        checkins.data = pandas.DataFrame(checkins.data, columns=checkins.feature_names)
        checkins.groups = pandas.Series(checkins.groups, name="user")
    return (checkins.data, checkins.groups) if return_X_y else checkins
