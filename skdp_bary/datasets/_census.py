"""Files of the U.S. Census Bureau: places of tracts, and how many people live there."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

TRACT_DIGITS = 11  # two of the state, three of the county, six of the tract
# Table B03002, Hispanic or Latino origin by race: disjoint groups, the first three not Hispanic.
RACE_GROUPS = {
    "B03002_003E": "white",
    "B03002_004E": "black",
    "B03002_006E": "asian",
    "B03002_012E": "hispanic",
}
TOTAL = "B03002_001E"
_PARTS = ("state", "county", "tract")


def load_gazetteer_tracts(path: str | os.PathLike) -> Bunch:
    """Load the places of census tracts from a national gazetteer file.

    Parameters
    ----------
    path : str or path-like
        A ``.txt`` file with a line of names, separated by tabs or (from 2025 on) by bars, or a
        ``.zip`` file that holds one.

    Returns
    -------
    tracts : Bunch
        With the attributes

        data : ndarray of shape (n_tracts, 2)
            Longitude and latitude of a point inside each tract.
        geoid : ndarray of str of shape (n_tracts,)
            Codes of the tracts, 11 digits.
        population : ndarray of int of shape (n_tracts,) or None
            Where the file has it, as that of 2010.
    """
    lines = _read_text(path).splitlines()
    if not lines:
        raise ValueError(f"{path} is empty.")
    separator = "|" if "|" in lines[0] else "\t"
    names = [name.strip() for name in lines[0].split(separator)]
    missing = {"GEOID", "INTPTLAT", "INTPTLONG"} - set(names)
    if missing:
        raise ValueError(f"{path} has no columns {sorted(missing)}; it has {names}.")
    places = {name: place for place, name in enumerate(names)}
    table = [_fields(line, separator, names, number, path) for number, line in _numbered(lines)]
    try:
        data = [(float(row[places["INTPTLONG"]]), float(row[places["INTPTLAT"]])) for row in table]
        people = [int(row[places["POP10"]]) for row in table] if "POP10" in places else None
    except ValueError as error:
        raise ValueError(f"{path} must hold numbers for places and people: {error}.") from None
    return Bunch(
        data=np.array(data, dtype=float).reshape(-1, 2),
        geoid=np.array([row[places["GEOID"]].zfill(TRACT_DIGITS) for row in table], dtype=str),
        population=None if people is None else np.array(people, dtype=np.int64),
    )


def load_acs_tracts(path: str | os.PathLike) -> Bunch:
    """Load how many people live in census tracts, from an answer of the Census Bureau's server.

    Parameters
    ----------
    path : str or path-like
        A ``.json`` file: a list of lists, the first of them the names, with variables of table
        B03002 (Hispanic or Latino origin by race) and the columns state, county and tract.

    Returns
    -------
    tracts : Bunch
        With the attributes

        geoid : ndarray of str of shape (n_tracts,)
            Codes of the tracts, 11 digits.
        population : ndarray of int of shape (n_tracts,)
            All people.
        by_group : ndarray of int of shape (n_tracts, 4)
            People who are white, black or Asian and not Hispanic, and Hispanic people. They are
            disjoint, and other people are in none of them.
        group_names : list of str
            "white", "black", "asian", "hispanic".
    """
    try:
        names, *table = json.loads(Path(path).read_text(encoding="utf-8"))
        columns = {name: place for place, name in enumerate(names)}
        code = [columns[part] for part in _PARTS]
        counts = [columns[name] for name in (TOTAL, *RACE_GROUPS)]
        geoid = ["".join(row[place] for place in code) for row in table]
        people = [[int(row[place]) for place in counts] for row in table]
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ValueError(
            f"{path} must hold a list of lists with state, county, tract and the variables "
            f"{', '.join((TOTAL, *RACE_GROUPS))} of the survey ({type(error).__name__}: {error})."
        ) from None
    people = np.array(people, dtype=np.int64).reshape(-1, 1 + len(RACE_GROUPS))
    return Bunch(
        geoid=np.array(geoid, dtype=str),
        population=people[:, 0],
        by_group=people[:, 1:],
        group_names=list(RACE_GROUPS.values()),
    )


def _read_text(path):
    """Text of a file, or of the one text file inside an archive."""
    content = Path(path).read_bytes()
    if Path(path).suffix == ".zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            texts = [name for name in archive.namelist() if name.endswith(".txt")]
            if len(texts) != 1:
                raise ValueError(f"{path} must hold one .txt file, got {archive.namelist()}.")
            content = archive.read(texts[0])
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # as the older files are


def _numbered(lines):
    return ((number, line) for number, line in enumerate(lines[1:], 2) if line.strip())


def _fields(line, separator, names, number, path):
    fields = [field.strip() for field in line.split(separator)]
    if len(fields) != len(names):
        raise ValueError(f"Line {number} of {path} has {len(fields)} fields, not {len(names)}.")
    return fields
