"""Check-in files in the format of SNAP, written here line by line."""

import gzip
import warnings

import numpy as np
import pytest

from skdp_bary.geometry import Box
from tests.world import home, load_snap_checkins

_snap = home("load_snap_checkins")

LINES = [
    "0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847",
    "0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315",
    "17\t2010-01-31T23:59:59Z\t40.6438845363\t-73.7828063965\t316637",
    "17\t2010-02-01T00:00:00Z\t53.3648119\t-2.2723465833\t145064",
    "5\t2008-12-03T21:09:14Z\t0.0\t0.0\t00000000000000000000000000000000",
    "58\t2008-11-30T06:30:00Z\t39.633321\t-105.317215\tee8b88dea22411",
    "32\t\t\t\t",
]


@pytest.fixture(params=["text", "gzip"])
def path(request, tmp_path):
    text = "\n".join(LINES) + "\n"
    if request.param == "text":
        path = tmp_path / "loc-gowalla_totalCheckins.txt"
        path.write_text(text)
    else:
        path = tmp_path / "loc-brightkite_totalCheckins.txt.gz"
        path.write_bytes(gzip.compress(text.encode()))
    return path


def test_longitude_comes_first_and_missing_places_are_left_out(path):
    checkins = load_snap_checkins(path)
    assert checkins.groups.tolist() == [0, 0, 17, 17, 58]
    assert checkins.data[0].tolist() == [-97.7951395833, 30.2359091167]
    assert checkins.times[0] == np.datetime64("2010-10-19T23:55:27")
    assert checkins.data.shape == (5, 2)


def test_january_in_the_country(path):
    checkins = load_snap_checkins(
        str(path), bounds=Box([-125, 24], [-66, 50]), start="2010-01-01", stop="2010-02-01"
    )
    assert checkins.groups.tolist() == [17]
    assert checkins.data.tolist() == [[-73.7828063965, 40.6438845363]]


def test_bounds_that_hold_nothing_are_told(path):
    """Latitude before longitude is the likely reason; an empty month is none."""
    swapped = ((24, -125), (50, -66))
    with pytest.warns(UserWarning, match="longitude comes first") as caught:
        checkins = load_snap_checkins(path, bounds=swapped, start="2010-01-01")
    told = [each for each in caught if each.category is UserWarning]  # others are of open files
    assert checkins.data.shape == (0, 2) and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_snap_checkins(path, bounds=Box([-125, 24], [-66, 50]), start="2020-01-01")
        load_snap_checkins(path, start="2020-01-01")


@pytest.mark.parametrize(
    "line",
    ["1 2 3", "x\t2010-01-01T00:00:00Z\t1\t2\t3", "1\t2010-99-01T00:00:00Z\t1\t2\t3", "1\t2"],
)
def test_other_lines_are_named_by_number(tmp_path, line, monkeypatch):
    monkeypatch.setattr(_snap, "_BLOCK", 2)
    path = tmp_path / "checkins.txt"
    path.write_text("\n".join([*LINES, line]))
    with pytest.raises(ValueError, match=f"Line {len(LINES) + 1} of"):
        load_snap_checkins(path)


def test_bad_arguments_and_empty_files(path, tmp_path):
    with pytest.raises(ValueError, match="start must be a time"):
        load_snap_checkins(path, start="January")
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ValueError, match="holds no check-ins"):
        load_snap_checkins(tmp_path / "empty.txt")
