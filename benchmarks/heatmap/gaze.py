"""The experiment of Ghazi et al. (2023) on gaze, for whoever has a SALICON file.

The file is ``fixations_train2014.json`` or ``fixations_val2014.json`` of salicon.net. 38 images are
drawn; in each of 2 trials an image, 50 of its viewers are drawn, and every method is compared with
the heatmap of all their looks. Without a file, generated gaze at one picture takes its place.
Printed and kept are the means of the four metrics and half the length of their 95 % intervals.

``python -m benchmarks.heatmap.gaze [--fixations FILE]``
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np

from benchmarks.heatmap.cities import EPSILONS, City, one_run, show, summarize
from benchmarks.recording import Results
from skdp_bary.datasets import GAZE_BOUNDS, make_gaze
from skdp_bary.exceptions import PrivacyWarning

RESULTS = Results("heatmap_gaze")
N_VIEWERS = 50


def pictures(path, n_images, seed):
    """Return gaze at some images, each as the check-ins of a city are."""
    if path is None:
        _, X, people = make_gaze(200, random_state=seed)
        return [City(X, people, GAZE_BOUNDS)]
    gaze = read_salicon(path)
    found = []
    for image in np.random.default_rng(seed).permutation(sorted(gaze)).tolist():
        picture = gaze[image]
        if picture.n_people >= N_VIEWERS:
            found.append(picture)
        if len(found) == n_images:
            break
    return found


def read_salicon(path):
    """Return the gaze at every image that was looked at, by its id: SALICON's ``[row, column]``s.

    M. Jiang, S. Huang, J. Duan, Q. Zhao. SALICON: Saliency in context. CVPR 2015.
    """
    content, looks = json.loads(Path(path).read_text(encoding="utf-8")), {}
    for look in content["annotations"]:
        points = np.array(look["fixations"], dtype=float).reshape(-1, 2)[:, ::-1] + 0.5
        people = np.full(len(points), look["worker_id"])
        looks.setdefault(look["image_id"], []).append((points, people))
    sizes = {i["id"]: (i["width"], i["height"]) for i in content["images"]}
    return {
        image: City(*map(np.concatenate, zip(*parts, strict=True)), ((0.0, 0.0), sizes[image]))
        for image, parts in looks.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixations", type=Path, default=None)
    parser.add_argument("--images", type=int, default=38)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--resolution", type=int, default=256)
    parser.add_argument("--blur", type=float, default=1 / 32, help="in sides of the image")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PrivacyWarning)
    images = pictures(arguments.fixations, arguments.images, seed=0)
    if not images:
        raise SystemExit(f"No image has {N_VIEWERS} viewers.")
    source = f"{len(images)} images" if arguments.fixations else "generated gaze at one picture"
    print(source)
    results = []
    for epsilon in EPSILONS:
        runs = [
            one_run(image, N_VIEWERS, epsilon, arguments.resolution, arguments.blur, trial)
            for image in images
            for trial in range(arguments.trials)
        ]
        summary = summarize(runs)
        show("epsilon", epsilon, len(runs), summary)
        results.append({"data": source, "epsilon": epsilon, "runs": len(runs), "metrics": summary})
    RESULTS.write(results)


if __name__ == "__main__":
    main()
