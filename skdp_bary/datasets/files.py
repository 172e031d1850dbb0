"""Readers of public files: census tracts, check-ins, fixations."""

from __future__ import annotations

import gzip
import os
import warnings
import zipfile
from datetime import datetime
from itertools import islice

import numpy as np
from sklearn.utils import Bunch

from ..geometry.bounds import Bounds, check_domain

# Places of census tracts, and how many people live there.


def load_gazetteer_tracts(path: str | os.PathLike) -> Bunch:
    """Load the places and people of census tracts from the national gazetteer of 2010.

    Parameters
    ----------
    path : str or path-like
        A ``.zip`` file with one ``.txt`` file, which has a line of names, separated by tabs.

    Returns
    -------
    tracts : Bunch
        With the attributes

        data : ndarray of shape (n_tracts, 2)
            Longitude and latitude of a point inside each tract.
        geoid : ndarray of str of shape (n_tracts,)
            Codes of the tracts: two digits of the state, three of the county, six of the tract.
        population : ndarray of int of shape (n_tracts,)
    """
    with zipfile.ZipFile(path) as archive:
        texts = [name for name in archive.namelist() if name.endswith(".txt")]
        if len(texts) != 1:
            raise ValueError(f"{path} must hold one .txt file, got {archive.namelist()}.")
        lines = archive.read(texts[0]).decode("latin-1").splitlines() or [""]
    names = [name.strip() for name in lines[0].split("\t")]
    missing = {"GEOID", "INTPTLAT", "INTPTLONG", "POP10"} - set(names)
    if missing:
        raise ValueError(f"{path} has no columns {sorted(missing)}; it has {names}.")
    places = {name: place for place, name in enumerate(names)}
    table = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != len(names):
            raise ValueError(f"Line {number} of {path} has {len(fields)} fields, not {len(names)}.")
        table.append(fields)
    try:
        data = [(float(row[places["INTPTLONG"]]), float(row[places["INTPTLAT"]])) for row in table]
        people = [int(row[places["POP10"]]) for row in table]
    except ValueError as error:
        raise ValueError(f"{path} must hold numbers for places and people: {error}.") from None
    return Bunch(
        data=np.array(data, dtype=float).reshape(-1, 2),
        geoid=np.array([row[places["GEOID"]] for row in table], dtype=str),
        population=np.array(people, dtype=np.int64),
    )


# Check-in files of the Stanford network analysis project.

_BLOCK = 1 << 16  # lines parsed together


def load_snap_checkins(
    path: str | os.PathLike,
    *,
    bounds: Bounds | None = None,
    start: str | datetime | np.datetime64 | None = None,
    stop: str | datetime | np.datetime64 | None = None,
) -> Bunch:
    """Load check-ins from a file of the format of SNAP's loc-Gowalla and loc-Brightkite.

    A line holds user, time, latitude, longitude and place, separated by tabs. The file is read as
    a stream, so what is left out takes no memory. Lines without a position are left out, and so are
    those at latitude 0 and longitude 0, by which Brightkite marks a missing one.

    Parameters
    ----------
    path : str or path-like
        The file, as text or, where its name ends in ``.gz``, compressed.
    bounds : (low, high), mapping, Box, Ball or Mask, default=None
        Keep the check-ins inside: longitude first, then latitude; a mapping names them. A warning
        says when none of the file is.
    start, stop : str, datetime or datetime64, default=None
        Keep check-ins from `start` on and before `stop`, both UTC.

    Returns
    -------
    checkins : Bunch
        With the attributes

        data : ndarray of shape (n_checkins, 2)
            Longitude and latitude.
        groups : ndarray of int of shape (n_checkins,)
            Users; give it to ``fit`` as ``groups``.
        times : ndarray of datetime64[s] of shape (n_checkins,)
            When, in UTC.

    References
    ----------
    E. Cho, S. A. Myers, J. Leskovec. Friendship and mobility: user movement in location-based
    social networks. KDD 2011.

    Examples
    --------
    >>> from skdp_bary.datasets.files import load_snap_checkins
    >>> checkins = load_snap_checkins(
    ...     "loc-gowalla_totalCheckins.txt.gz", start="2010-01-01", stop="2010-02-01"
    ... )  # doctest: +SKIP
    """
    domain = None if bounds is None else check_domain(bounds, 2, ["longitude", "latitude"])
    start, stop = _check_time(start, "start"), _check_time(stop, "stop")
    users, times, places = [], [], []
    found, number = domain is None, 1
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        while lines := list(islice(file, _BLOCK)):
            user, time, place = _parse(lines, number, path)
            number += len(lines)
            keep = place.any(axis=1)
            if start is not None:
                keep &= time >= start
            if stop is not None:
                keep &= time < stop
            if domain is not None:
                inside = domain.contains(place)
                found |= bool(inside.any())
                keep &= inside
            users.append(user[keep])
            times.append(time[keep])
            places.append(place[keep])
    if not users:
        raise ValueError(f"{path} holds no check-ins. Delete it, so that it is downloaded again.")
    if not found:
        warnings.warn(
            f"No check-in of {path} lies inside bounds: longitude comes first, then latitude.",
            stacklevel=2,
        )
    return Bunch(
        data=np.concatenate(places), groups=np.concatenate(users), times=np.concatenate(times)
    )


def _parse(lines, number, path):
    """Return users, times and positions of the lines that have a position."""
    users, times, places = [], [], []
    for offset, line in enumerate(lines):
        fields = line.split("\t")
        if len(fields) == 5 and not fields[2].strip():
            continue
        try:
            user, time, latitude, longitude, _ = fields
            users.append(int(user))
            places.append((float(longitude), float(latitude)))
            times.append(np.datetime64(time.removesuffix("Z"), "s"))
        except ValueError:
            raise ValueError(
                f"Line {number + offset} of {path} must hold user, time, latitude, longitude and "
                f"place, separated by tabs, got {line.rstrip()!r}."
            ) from None
    return (
        np.array(users, dtype=np.int64),
        np.array(times, dtype="datetime64[s]"),
        np.array(places, dtype=float).reshape(-1, 2),
    )


def _check_time(value, name):
    if value is None:
        return None
    try:
        return np.datetime64(value, "s")
    except ValueError:
        raise ValueError(f"{name} must be a time such as '2010-01-31', got {value!r}.") from None
