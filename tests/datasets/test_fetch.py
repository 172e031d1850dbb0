"""Downloads: kept, checked, refused with a clear message; the network is a server of this test."""

import gzip
import threading
import warnings
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.utils import Bunch

from skdp_bary.datasets import fetch_census_tracts, fetch_digits_images, fetch_snap_checkins
from skdp_bary.geometry import Box
from tests.cases import every
from tests.world import Downloads, home, sha256

_fetch_census = home("fetch_census_tracts")
_fetch_digits = home("fetch_digits_images")
_fetch_snap = home("fetch_snap_checkins")

CHECKINS = [
    "0\t2010-01-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847",
    "0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315",
    "17\t2010-01-31T23:59:59Z\t40.6438845363\t-73.7828063965\t316637",
    "17\t2010-01-01T00:00:00Z\t53.3648119\t-2.2723465833\t145064",
]


class _Site:
    """A folder, the address it is served at, and what was asked for."""

    def __init__(self, folder):
        self.folder, self.asked = folder, []
        site = self

        class Handler(SimpleHTTPRequestHandler):
            def do_GET(self):
                if self.path != "/short.txt":
                    return super().do_GET()
                self.send_response(200)
                self.send_header("Content-Length", "100")
                self.end_headers()
                self.wfile.write(b"0123456789")

            def log_request(self, code="-", size="-"):
                site.asked.append(self.path)

            def log_message(self, format, *arguments):
                """Be quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def write(self, name, content):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    served = _Site(tmp_path_factory.mktemp("site"))
    yield served
    served.server.shutdown()
    served.server.server_close()


@pytest.fixture
def snap(site, monkeypatch):
    name = "loc-gowalla_totalCheckins.txt.gz"
    site.write(name, gzip.compress(("\n".join(CHECKINS) + "\n").encode(), mtime=0))
    monkeypatch.setattr(_fetch_snap, "_ADDRESS", site.address)
    site.asked.clear()
    return site


def test_a_file_is_downloaded_once_and_recorded(snap, tmp_path):
    first = fetch_snap_checkins("gowalla", data_home=tmp_path)
    assert first.filename.parent == tmp_path / "skdp_bary"
    record = first.filename.with_name(first.filename.name + ".sha256").read_text()
    assert record.split() == [sha256(first.filename), first.filename.name]
    second = fetch_snap_checkins("gowalla", data_home=tmp_path, download_if_missing=False)
    np.testing.assert_array_equal(first.data, second.data)
    assert len(snap.asked) == 1
    assert sorted(p.name for p in first.filename.parent.iterdir()) == [
        first.filename.name,
        first.filename.name + ".sha256",
    ]


def test_the_subset_of_the_paper(snap, tmp_path):
    checkins = fetch_snap_checkins("gowalla", data_home=tmp_path)
    assert checkins.groups.tolist() == [0, 17]  # in January, and not in England
    assert checkins.bounds == Box([-135.0, 0.0], [-60.0, 50.0])
    data, groups = fetch_snap_checkins("gowalla", subset="all", data_home=tmp_path, return_X_y=True)
    assert data.shape == (4, 2) and groups.tolist() == [0, 0, 17, 17]


def test_a_file_that_changed_is_refused(snap, tmp_path):
    path = fetch_snap_checkins("gowalla", data_home=tmp_path).filename
    path.write_bytes(gzip.compress(b"other"))
    with pytest.raises(OSError, match="has changed. Delete it"):
        fetch_snap_checkins("gowalla", data_home=tmp_path)


def test_a_checksum_can_be_pinned(snap, tmp_path):
    with pytest.raises(OSError, match="SHA-256"):
        fetch_snap_checkins("gowalla", data_home=tmp_path, checksum="0" * 64)
    assert list((tmp_path / "skdp_bary").iterdir()) == []
    good = sha256(snap.folder / "loc-gowalla_totalCheckins.txt.gz")
    path = fetch_snap_checkins("gowalla", data_home=tmp_path, checksum=good).filename
    with pytest.raises(OSError, match="not the file that was asked for"):
        fetch_snap_checkins("gowalla", data_home=tmp_path, checksum="0" * 64)
    assert path.exists()


def test_offline_the_message_says_where_the_file_would_go(tmp_path, monkeypatch):
    monkeypatch.setattr(_fetch_snap, "_ADDRESS", "http://127.0.0.1:9/")  # nobody listens
    with pytest.raises(OSError, match="Without a network") as caught:
        fetch_snap_checkins("brightkite", data_home=tmp_path, n_retries=1, delay=0.0)
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(OSError, match="pass download_if_missing"):
        fetch_snap_checkins("brightkite", data_home=tmp_path, download_if_missing=False)
    assert not any((tmp_path / "skdp_bary").iterdir())


def test_half_a_file_is_not_taken_for_one(site, tmp_path):
    site.asked.clear()
    with pytest.raises(OSError, match="90 bytes are missing"):
        Downloads(tmp_path, True, 2, 0.0).get(site.address + "short.txt", "short.txt")
    assert site.asked == ["/short.txt"] * 3
    assert list((tmp_path / "skdp_bary").iterdir()) == []


@every("wrong", [{"name": "foursquare"}, {"subset": "half"}])
def test_unknown_names_are_refused(wrong):
    with pytest.raises(ValueError, match="|".join(wrong)):
        fetch_snap_checkins(**wrong)


GAZETTEER = {
    "01001020100": (32.48, -86.49, 1912),
    "48453001100": (30.27, -97.74, 4210),
    "02013000100": (57.0, -162.0, 987),  # Alaska
    "48453001200": (30.28, -97.75, 0),
}


@pytest.fixture
def census(site, monkeypatch):
    """A gazetteer of two states and of Alaska."""
    lines = ["\t".join(["USPS", "GEOID", "POP10", "INTPTLAT", "INTPTLONG"])]
    for geoid, (lat, lon, people) in GAZETTEER.items():
        lines.append("\t".join(map(str, ["XX", geoid, people, lat, lon])))
    with zipfile.ZipFile(site.folder / "Gaz_tracts_national.zip", "w") as file:
        file.writestr("Gaz_tracts_national.txt", "\n".join(lines))
    monkeypatch.setattr(_fetch_census, "_GAZETTEER", site.address)
    site.asked.clear()
    return site


def test_the_census_of_2010_is_one_file_without_alaska(census, tmp_path):
    tracts = fetch_census_tracts(data_home=tmp_path)
    assert tracts.geoid.tolist() == ["01001020100", "48453001100", "48453001200"]
    assert tracts.population.tolist() == [1912, 4210, 0]
    assert tracts.data[0].tolist() == [-86.49, 32.48]
    assert len(census.asked) == 1


def test_tracts_as_frames(census, tmp_path):
    pytest.importorskip("pandas")
    data, population = fetch_census_tracts(data_home=tmp_path, as_frame=True, return_X_y=True)
    assert data.index.equals(population.index) and data.index.name == "geoid"


@pytest.fixture
def openml(monkeypatch):
    """What scikit-learn would download, and how it was asked."""
    rng = np.random.default_rng(0)
    asked = []

    def fetch_openml(**arguments):
        asked.append(arguments)
        usps = arguments["data_id"] == 41082
        pixels = rng.integers(256, size=(10, 256 if usps else 784))
        data = pixels / 127.5 - 1.0 if usps else pixels
        target = np.array([str(i + usps) for i in range(10)], dtype=object)
        return Bunch(data=data, target=target)

    monkeypatch.setattr(_fetch_digits, "fetch_openml", fetch_openml)
    return asked


@pytest.mark.parametrize(("name", "shape"), [("mnist", (28, 28)), ("usps", (16, 16)),
                                             ("fashion", (28, 28))])  # fmt: skip
def test_images_come_in_public_bounds(openml, tmp_path, name, shape):
    with pytest.raises(OSError, match=f"{name} is not in .* Pass download_if_missing=True"):
        fetch_digits_images(name, data_home=tmp_path, download_if_missing=False)
    images = fetch_digits_images(name, data_home=tmp_path)
    assert images.image_shape == shape and images.data.shape == (10, shape[0] * shape[1])
    assert images.bounds == (0.0, 1.0)
    assert images.data.min() == 0.0 and 0.99 < images.data.max() <= 1.0
    assert images.target.tolist() == list(range(10))
    assert openml[0]["data_home"] == tmp_path
    data, target = fetch_digits_images(name, return_X_y=True)
    assert len(data) == len(target) == 10


def test_images_with_other_pixels_are_refused(openml, monkeypatch):
    for high, shape, words in ((9.0, (28, 28), "must lie in"), (255.0, (8, 8), "64 pixels")):
        other = _fetch_digits._Images(554, 0.0, high, 0, shape)
        monkeypatch.setitem(_fetch_digits._SETS, "mnist", other)
        with pytest.raises(ValueError, match=words):
            fetch_digits_images("mnist")
    with pytest.raises(ValueError, match="name"):
        fetch_digits_images("cifar")


def test_images_offline_say_where_the_files_would_go(monkeypatch, tmp_path):
    def refuse(**asked):
        warnings.warn(
            "A network error occurred while downloading data/554. Retrying...", stacklevel=1
        )
        raise URLError("no network")

    monkeypatch.setattr(_fetch_digits, "fetch_openml", refuse)
    with (
        warnings.catch_warnings(record=True) as said,
        pytest.raises(OSError, match="Without a network") as caught,
    ):
        warnings.simplefilter("always")
        fetch_digits_images("mnist", data_home=tmp_path)
    assert not said
    assert str(tmp_path / "openml") in str(caught.value) and caught.type is OSError
