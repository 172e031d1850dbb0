"""Releases written to files, by the ending of the name."""

import json
from pathlib import Path

import numpy as np

from .._optional import import_optional
from ..plotting import HeatmapDisplay


def write_points(estimator, columns, path):
    """Write weighted points: a table, an archive, GeoJSON or a picture."""
    _WRITERS[_ending(path)](*_points_of(estimator), columns, path)


def write_heatmap(estimator, columns, path):
    """Write a heatmap: the middles of its cells, its array, GeoJSON or a picture."""
    ending = _ending(path)
    if ending == ".geojson":
        Path(path).write_text(json.dumps(estimator.to_geojson()))
    elif ending == ".png":
        display = HeatmapDisplay.from_estimator(estimator, ax=_axes())
        display.axes_[0].set(xlabel=columns[0], ylabel=columns[1])
        display.figure_.savefig(path, dpi=150, bbox_inches="tight")
    elif ending == ".npz":
        cells = estimator.cells_
        np.savez_compressed(
            path, heatmap=estimator.heatmap_, low=cells.low, high=cells.high, mass=cells.mass
        )
    else:
        measure = estimator.to_measure()
        _write_csv(measure.support, measure.weights, "weight", columns, path)


def check_output(path, overwrite):
    """Raise unless a release can be written to `path`, where none may be replaced unasked."""
    _ending(path)
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise ValueError(f"--out {path}: there is no folder {folder}.")
    if not overwrite and Path(path).exists():
        raise ValueError(
            f"--out {path}: the file exists, and may be a release that was paid for. Name another, "
            "or give --overwrite."
        )


def _points_of(estimator):
    """Return points, their weights, and what these are: persons, or shares that add up to one."""
    if hasattr(estimator, "cluster_centers_"):
        return estimator.cluster_centers_, estimator.cluster_weights_, "persons"
    measure = estimator.to_measure()
    return measure.support, measure.weights, "weight"


def _write_csv(points, weights, name, columns, path):
    table = np.column_stack([points, weights])
    header = ",".join([*columns, name])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.10g")


def _write_npz(points, weights, name, columns, path):
    np.savez_compressed(path, points=points, columns=np.array(columns), **{name: weights})


def _write_geojson(points, weights, name, columns, path):
    if points.shape[1] != 2:
        raise ValueError(f"GeoJSON needs two columns (longitude, latitude), got {list(columns)}.")
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": point},
            "properties": {name: weight},
        }
        for point, weight in zip(points.tolist(), weights.tolist(), strict=True)
    ]
    Path(path).write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def _write_png(points, weights, name, columns, path):
    axes = _axes()
    x, y = points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
    axes.scatter(x, y, s=300.0 * weights / weights.max(), alpha=0.6, edgecolors="none")
    axes.set_xlabel(columns[0])
    axes.set_ylabel(columns[1] if len(columns) > 1 else "")
    axes.set_title(f"release; areas show {name}")
    axes.figure.savefig(path, dpi=150, bbox_inches="tight")


def _axes():
    figure = import_optional("matplotlib.figure", "plot", "skdp-bary --out picture.png")
    return figure.Figure(figsize=(6, 6)).subplots()


_WRITERS = {
    ".csv": _write_csv,
    ".geojson": _write_geojson,
    ".npz": _write_npz,
    ".png": _write_png,
}


def _ending(path):
    ending = Path(path).suffix
    if ending not in _WRITERS:
        raise ValueError(f"--out must end in one of {', '.join(_WRITERS)}, got {path!r}.")
    return ending
