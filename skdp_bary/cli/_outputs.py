"""Forms that a release can have, by the ending of the name."""

import csv
import io
import json
from pathlib import Path

import numpy as np

from .._optional import import_optional
from ._text import cell, shown

_MOST_CELLS = 1 << 25  # some gigabytes as text
_PICTURE = "skdp-bary --out picture.png"
_ENDINGS = (".csv", ".geojson", ".npz", ".png")


def check_form(path, columns, endings=_ENDINGS):
    """Raise unless a release about `columns` can have the form that the name `path` asks for."""
    ending = Path(path).suffix
    if ending not in endings:
        raise ValueError(f"--out must end in {' or '.join(endings)}, got {path!r}.")
    if ending == ".geojson" and len(columns) != 2:
        raise ValueError(
            f"--out {path}: GeoJSON needs two columns (longitude, latitude), got {list(columns)}."
        )
    if ending == ".parquet":
        import_optional("pyarrow.parquet", "cli", "skdp-bary --out rows.parquet")
    if ending == ".png":
        import_optional("matplotlib.backends.backend_agg", "plot", _PICTURE)


def check_rows(rows, columns):
    """Raise unless so many rows can be held while they are written."""
    most = _MOST_CELLS // len(columns)
    if not 1 <= rows <= most:
        raise ValueError(
            f"--rows must be in [1, {most}] for {len(columns)} columns, got {rows}: all rows are "
            "held in memory while they are written."
        )


def points(estimator, columns, ending):
    """Return weighted points as the content of a file."""
    return _POINTS[ending](*_points_of(estimator), columns)


def synthetic(drawn, columns, label, ending):
    """Return drawn rows and labels as the content of a file; `label` None leaves labels out."""
    X, labels = drawn
    if ending == ".npz":
        return arrays(rows=X, labels=labels.astype(str), columns=np.array(columns))
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    name = [] if label is None else [label]
    table.writerow(map(cell, [*columns, *name]))
    for row, of_row in zip(X.tolist(), labels, strict=True):
        table.writerow([*(f"{x:.10g}" for x in row), *([cell(str(of_row))] if name else [])])
    return text.getvalue().encode()


def heatmap(estimator, columns, ending):
    """Return a heatmap as the content of a file: in CSV the middles of its cells."""
    if ending == ".geojson":
        return json.dumps(estimator.to_geojson()).encode()
    if ending == ".png":
        return _heatmap_png(estimator, columns)
    if ending == ".npz":
        cells = estimator.cells_
        return arrays(heatmap=estimator.heatmap_, low=cells.low, high=cells.high, mass=cells.mass)
    measure = estimator.to_measure()
    return _csv(measure.support, measure.weights, "weight", columns)


def _points_of(estimator):
    """Return points, their weights, and what these are: persons, or shares that add up to one."""
    if hasattr(estimator, "cluster_centers_"):
        return estimator.cluster_centers_, estimator.cluster_weights_, "persons"
    measure = estimator.to_measure()
    return measure.support, measure.weights, "weight"


def _csv(points, weights, name, columns):
    content = io.BytesIO()
    names = io.StringIO()
    csv.writer(names, lineterminator="\n").writerow(map(cell, (*columns, name)))
    content.write(names.getvalue().encode())
    np.savetxt(content, np.column_stack([points, weights]), delimiter=",", fmt="%.10g")
    return content.getvalue()


def _points_npz(points, weights, name, columns):
    return arrays(points=points, columns=np.array(columns), **{name: weights})


def arrays(**named):
    """Return arrays as the content of a file."""
    content = io.BytesIO()
    np.savez_compressed(content, **named)
    return content.getvalue()


def _geojson(points, weights, name, columns):
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": point},
            "properties": {name: weight},
        }
        for point, weight in zip(points.tolist(), weights.tolist(), strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


def _png(points, weights, name, columns):
    axes = _axes()
    x, y = points[:, 0], points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
    largest = max(weights.max(), np.finfo(float).tiny)
    axes.scatter(x, y, s=300.0 * weights / largest, alpha=0.6, edgecolors="none")
    _name_axes(axes, columns)
    axes.set_title(f"release; areas show {name}")
    return _save(axes.figure)


def _heatmap_png(estimator, columns):
    from ..plotting import HeatmapDisplay

    display = HeatmapDisplay.from_estimator(estimator, ax=_axes())
    _name_axes(display.axes_[0], columns)
    return _save(display.figure_)


def _name_axes(axes, columns):
    """Write names as they are: a dollar in one is no formula."""
    axes.set_xlabel(shown(columns[0]), parse_math=False)
    axes.set_ylabel(shown(columns[1]) if len(columns) > 1 else "", parse_math=False)


def _axes():
    figure = import_optional("matplotlib.figure", "plot", _PICTURE)
    return figure.Figure(figsize=(6, 6)).subplots()


def _save(figure):
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=150, bbox_inches="tight")
    return content.getvalue()


_POINTS = {".csv": _csv, ".geojson": _geojson, ".npz": _points_npz, ".png": _png}
