"""The reader of SALICON's fixations, on a file written here."""

import json

import numpy as np

from benchmarks.heatmap.gaze import read_salicon

CONTENT = {
    "images": [
        {"id": 123855, "width": 640, "height": 480},
        {"id": 77, "width": 320, "height": 200},
    ],
    "annotations": [
        {"image_id": 123855, "fixations": [[242, 314], [0, 639]], "worker_id": 128},
        {"image_id": 77, "fixations": [[3, 5]], "worker_id": 128},
        {"image_id": 123855, "fixations": [], "worker_id": 4},
        {"image_id": 123855, "fixations": [[479, 1]], "worker_id": 392},
    ],
}


def test_rows_and_columns_become_points(tmp_path):
    path = tmp_path / "fixations.json"
    path.write_text(json.dumps(CONTENT))
    gaze = read_salicon(path)
    assert sorted(gaze) == [77, 123855]
    found = gaze[123855]
    assert found.X.tolist() == [[314.5, 242.5], [639.5, 0.5], [1.5, 479.5]]
    assert found.people.tolist() == [128, 128, 392] and found.n_people == 2
    assert np.array_equal(found.bounds, ((0, 0), (640, 480)))
