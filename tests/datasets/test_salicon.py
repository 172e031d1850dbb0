"""Fixation files in the two formats of SALICON, written here."""

import gzip
import json

import numpy as np
import pytest
from scipy.io import savemat

from skdp_bary.datasets import load_salicon_fixations
from tests.world import home

_salicon = home("load_salicon_fixations")

CONTENT = {
    "info": {"description": "a list [ of things", "version": "1.0"},
    "images": [
        {"id": 123855, "width": 640, "height": 480, "file_name": "COCO_train2014_000000123855.jpg"},
        {"id": 77, "width": 320, "height": 200, "file_name": "COCO_train2014_000000000077.jpg"},
    ],
    "licenses": [],
    "type": "fixations",
    "annotations": [
        {"image_id": 123855, "fixations": [[242, 314], [0, 639]], "worker_id": 128, "id": 1},
        {"image_id": 77, "fixations": [[3, 5]], "worker_id": 128, "id": 2},
        {"image_id": 123855, "fixations": [], "worker_id": 4, "id": 3},
        {"image_id": 123855, "fixations": [[479, 1]], "worker_id": 392, "id": 4},
    ],
}


@pytest.fixture(params=["json", "json.gz"])
def path(request, tmp_path):
    path = tmp_path / f"fixations_train2014.{request.param}"
    data = json.dumps(CONTENT).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_rows_and_columns_become_points(path, at_once, monkeypatch):
    monkeypatch.setattr(_salicon, "_CHARACTERS", at_once)
    gaze = load_salicon_fixations(path)
    assert gaze.data.tolist() == [[314.5, 242.5], [639.5, 0.5], [5.5, 3.5], [1.5, 479.5]]
    assert gaze.groups.tolist() == [128, 128, 128, 392]
    assert gaze.images.tolist() == [123855, 123855, 77, 123855]
    assert gaze.sizes == {123855: (640, 480), 77: (320, 200)}
    assert (gaze.data < [gaze.sizes[i] for i in gaze.images]).all()


def test_chosen_images(path):
    gaze = load_salicon_fixations(path, images=[77])
    assert gaze.data.tolist() == [[5.5, 3.5]] and gaze.sizes == {77: (320, 200)}
    with pytest.raises(ValueError, match=r"has no images \[5\]"):
        load_salicon_fixations(path, images=[5, 77])


def test_matlab_files_count_from_one(tmp_path):
    path = tmp_path / "COCO_train2014_000000000077.mat"
    gaze = np.zeros((3, 1), dtype=[("location", "O"), ("timestamp", "O"), ("fixations", "O")])
    gaze["fixations"] = [
        [np.array([[1, 1], [640, 480]], dtype=np.uint16)],
        [np.zeros((0, 2))],
        [np.array([[3, 7]], dtype=np.uint16)],
    ]
    savemat(path, {"image": path.stem, "resolution": [[480, 640]], "gaze": gaze})
    found = load_salicon_fixations(path)
    assert found.data.tolist() == [[0.5, 0.5], [639.5, 479.5], [2.5, 6.5]]
    assert found.groups.tolist() == [0, 0, 2]
    assert list(found.sizes.values()) == [(640, 480)]
    with pytest.raises(ValueError, match="holds one image"):
        load_salicon_fixations(path, images=[77])


def test_other_files_are_refused(tmp_path):
    for name, text in (("a.json", '{"annotations": []}'), ("b.json", '{"images": [{"id"')):
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match="must be a JSON file|ends inside the array"):
            load_salicon_fixations(tmp_path / name)
    (tmp_path / "c.json").write_text('{"images": [], "annotations": []}')
    with pytest.raises(ValueError, match="holds no fixations"):
        load_salicon_fixations(tmp_path / "c.json")
    savemat(tmp_path / "d.mat", {"gaze": np.zeros(3)})
    with pytest.raises(ValueError, match="must hold gaze"):
        load_salicon_fixations(tmp_path / "d.mat")
