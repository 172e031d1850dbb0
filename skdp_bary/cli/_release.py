"""What the commands do that release something about a table."""

from functools import partial

import numpy as np

from ..estimators import (
    DPSlicedWasserstein,
    PrivateDriftSketch,
    PrivateEMDHeatmap,
    PrivateGenerator,
    PrivateKMeans,
    PrivateMeasure,
    PrivateWassersteinBarycenter,
)
from ..geometry._bounds import in_words
from ._bounds import read_bounds
from ._offer import offer, open_budget, persons_in_words
from ._outputs import check_form, check_rows, heatmap, points, synthetic
from ._sketches import sketch_content
from ._tables import Table
from ._text import say


def run(given):
    """Make the release that a command names, or say what it would cost; return the status."""
    given.build, given.write, given.said = _RELEASES[given.release]
    table = Table(given.table, given.columns, getattr(given, "label", None), given.groups)
    bounds = read_bounds(given.bounds, table.columns, named=given.columns is not None)
    if bounds is None and given.release == "heatmap":
        raise ValueError("--bounds must be given for a map, as in --bounds lon=139:140 lat=35:36.")
    given.columns = table.columns
    estimator = given.build(given, table.columns).set_params(
        epsilon=given.epsilon,
        delta=given.delta,
        bounds=bounds,
        n_hint=given.n_hint,
        accountant=open_budget(given),
    )
    say(persons_in_words(table.columns, given.groups))
    say(f"bounds: {in_words(bounds, table.columns)}")
    check = partial(_check_form, given)
    return offer(estimator, len(table.columns), partial(_fit, table, given), given, check)


def _check_form(given, path):
    forms = {"generate": (".csv", ".npz"), "sketch": (".npz",)}.get(given.release)
    check_form(path, given.columns, *(() if forms is None else (forms,)))


def _fit(table, given, estimator, unit):
    if given.groups is None:
        estimator.fit(table.chunks, unit=unit)
    else:
        X, y, groups = table.whole()
        estimator.fit(X, y, groups=groups, unit=unit)


def _written(estimator, given):
    return f"wrote {given.out}"


def _written_map(estimator, given):
    persons, error = estimator.count_persons(return_std=True)
    return (
        f"wrote {given.out}; persons on the map, counted with noise: {max(persons, 0.0):,.0f} "
        f"(standard error {error:,.0f})"
    )


def _distance_of(estimator, given):
    """Return which distance it is, its value and its standard error."""
    if estimator.method == "scalar":
        how = "released as one number"
        distance, error = estimator.distance(return_std=True)
    else:
        _, n_directions, n_quantiles = estimator.quantiles_.shape
        how = f"from a sketch: {n_quantiles} quantiles on {n_directions} directions were released"
        distance, error = estimator.distance(given.public_rows, return_std=True)
    return (
        f"sliced Wasserstein distance of order 2, {how}\n"
        f"distance={distance:.6g}, standard error={error:.2g}"
    )


def _measure(given, columns):
    return PrivateMeasure()


def _barycenter(given, columns):
    return PrivateWassersteinBarycenter(given.atoms, classes=given.classes)


def _heatmap(given, columns):
    return PrivateEMDHeatmap(resolution=given.resolution)


def _kmeans(given, columns):
    return PrivateKMeans(given.clusters)


def _distance(given, columns):
    """With delta=0 release the one number, else slices that give it.

    The public table is read here, so that a wrong one is found before anything is charged.
    """
    given.public_rows = np.concatenate(list(Table(given.reference, columns).chunks()))
    if given.delta > 0:
        return DPSlicedWasserstein()
    return DPSlicedWasserstein(method="scalar", reference=given.public_rows)


def _generate(given, columns):
    check_rows(given.rows, columns)
    return PrivateGenerator(classes=given.classes)


def _sketch(given, columns):
    if given.bounds is None:
        raise ValueError("--bounds are needed: sketches can be compared that have the same.")
    return PrivateDriftSketch()


def _points(estimator, given, ending):
    return points(estimator, given.columns, ending)


def _map(estimator, given, ending):
    return heatmap(estimator, given.columns, ending)


def _rows(estimator, given, ending):
    return synthetic(estimator.sample(given.rows), given.columns, given.label, ending)


def _moments(estimator, given, ending):
    return sketch_content(estimator, given.columns)


_RELEASES = {  # estimator, content of a file, words
    "measure": (_measure, _points, _written),
    "barycenter": (_barycenter, _points, _written),
    "heatmap": (_heatmap, _map, _written_map),
    "kmeans": (_kmeans, _points, _written),
    "generate": (_generate, _rows, _written),
    "sketch": (_sketch, _moments, _written),
    "distance": (_distance, None, _distance_of),
}
