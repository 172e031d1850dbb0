"""Where people live in the United States, by census tract, downloaded."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlencode

import numpy as np
from sklearn.utils import Bunch

from .._optional import import_optional
from ..geometry import Box
from ..privacy._checks import check_integer
from ._census import RACE_GROUPS, TOTAL, load_acs_tracts, load_gazetteer_tracts
from ._download import Downloads

CONTIGUOUS_US = Box([-125.0, 24.0], [-66.0, 50.0])
_GAZETTEER = "https://www2.census.gov/geo/docs/maps-data/data/gazetteer/"
_SURVEY = "https://api.census.gov/data/"
_YEARS = (2012, 2024)
# The 48 contiguous states and the District of Columbia, by number.
_STATES = tuple(f"{n:02d}" for n in range(1, 57) if n not in (2, 3, 7, 14, 15, 43, 52))


def fetch_census_tracts(
    year: int = 2010,
    *,
    data_home: str | os.PathLike | None = None,
    download_if_missing: bool = True,
    checksums: dict | None = None,
    api_key: str | None = None,
    return_X_y: bool = False,
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
) -> Any:
    """Load where people live in the contiguous United States, downloading it if necessary.

    Places are the points inside the census tracts that the gazetteer of the Census Bureau lists.
    For 2010 the gazetteer has the people that the census counted, and one file is downloaded. For
    other years the people are those of the American Community Survey of the five years up to then,
    in four groups; a file is downloaded for every state. Published experiments with private
    barycenters of the population take 2015.

    The addresses are those that the Census Bureau documents. It may ask for a key, which it gives
    away for free.

    Parameters
    ----------
    year : int, default=2010
        2010 for the census, 2012 to 2024 for the survey.
    data_home : str or path-like, default=None
        Folder for downloads, as in ``sklearn.datasets``.
    download_if_missing : bool, default=True
        Whether to download what is not there; if False an OSError is raised.
    checksums : dict or None, default=None
        SHA-256 by file name that files must have. Other files are accepted as the first download
        brings them; their SHA-256 are recorded beside them, so that a file that changes later is
        refused.
    api_key : str or None, default=None
        Key for the server of the survey; it is sent, and kept nowhere.
    return_X_y : bool, default=False
        Whether to return ``(data, population)`` instead of a Bunch.
    as_frame : bool, default=False
        Whether `data` is a pandas DataFrame and `population` a Series.
    n_retries : int, default=3
        How often to try again after a failure.
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
        by_group : ndarray of int of shape (n_tracts, 4) or None
            People who are white, black or Asian and not Hispanic, and Hispanic people. They are
            disjoint, and other people are in none of them. None for 2010.
        group_names : list of str
            Names of the groups; empty for 2010.
        geoid : ndarray of str of shape (n_tracts,)
            Codes of the tracts.
        feature_names : list of str
            "longitude", "latitude".
        bounds : Box
            Public bounds of the contiguous United States.
    (data, population) : tuple, if ``return_X_y`` is True

    Notes
    -----
    A tract is not a person. For rows of persons, draw tracts with probabilities proportional to
    ``population``, or repeat the rows of ``data``.

    Examples
    --------
    >>> from skdp_bary.datasets import fetch_census_tracts
    >>> tracts = fetch_census_tracts()  # doctest: +SKIP
    """
    if year != 2010:
        check_integer(year, "year other than 2010", low=_YEARS[0], high=_YEARS[1])
    downloads = Downloads(data_home, download_if_missing, n_retries, delay)
    checksums = {} if checksums is None else checksums
    places = _places(year, downloads, checksums)
    people = places if year == 2010 else _survey(year, downloads, checksums, api_key)
    tracts = _joined(places, people)
    if as_frame:
        pandas = import_optional("pandas", "cli", "fetch_census_tracts(as_frame=True)")
        index = pandas.Index(tracts.geoid, name="geoid")
        tracts.data = pandas.DataFrame(tracts.data, index, columns=tracts.feature_names)
        tracts.population = pandas.Series(tracts.population, index, name="population")
    return (tracts.data, tracts.population) if return_X_y else tracts


def _places(year, downloads, checksums):
    name = "Gaz_tracts_national.zip"
    folder = ""
    if year != 2010:
        folder, name = f"{year}_Gazetteer/", f"{year}_{name}"
    path = downloads.get(_GAZETTEER + folder + name, name, checksums.get(name))
    tracts = load_gazetteer_tracts(path)
    kept = np.isin(np.char.ljust(tracts.geoid, 2).astype("U2"), _STATES)
    people = None if tracts.population is None else tracts.population[kept]
    return Bunch(data=tracts.data[kept], geoid=tracts.geoid[kept], population=people)


def _survey(year, downloads, checksums, api_key):
    """People of all states, a file for each."""
    parts = []
    for state in _STATES:
        asked = {"get": ",".join((TOTAL, *RACE_GROUPS)), "for": "tract:*", "in": f"state:{state}"}
        address = f"{_SURVEY}{year}/acs/acs5"
        shown = f"{address}?{urlencode(asked)}"
        url = shown if api_key is None else f"{shown}&{urlencode({'key': api_key})}"
        name = f"acs5_{year}_B03002_{state}.json"
        parts.append(load_acs_tracts(downloads.get(url, name, checksums.get(name), shown)))
    return Bunch(
        geoid=np.concatenate([part.geoid for part in parts]),
        population=np.concatenate([part.population for part in parts]),
        by_group=np.concatenate([part.by_group for part in parts]),
        group_names=parts[0].group_names,
    )


def _joined(places, people):
    """Places and people of the tracts that have both, in the order of their codes."""
    geoid, here, there = np.intersect1d(places.geoid, people.geoid, return_indices=True)
    if not len(geoid):
        raise ValueError("No tract has both a place and people: the files do not belong together.")
    by_group = people.get("by_group")
    return Bunch(
        data=places.data[here],
        population=people.population[there],
        by_group=None if by_group is None else by_group[there],
        group_names=people.get("group_names", []),
        geoid=geoid,
        feature_names=["longitude", "latitude"],
        bounds=CONTIGUOUS_US,
    )
