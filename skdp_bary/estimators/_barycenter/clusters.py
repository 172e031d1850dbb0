"""The barycenter of private k-means centers: what few rows in many features bear with any noise."""

from dataclasses import replace

import numpy as np

from ...summaries.asking.by_class import side_by_side
from ...transport import DiscreteMeasure
from .._clusters.high import HighMethod
from .._clusters.methods import KMeansSetting, is_gaussian
from .methods import BarycenterMethod, barycenter_of, n_public_classes
from .tuning import TUNED


class ClustersMethod(BarycenterMethod):
    """Private k-means of every class at once, then the exact barycenter of the weighted centers.

    Centers go to the mean of their class where noise is too much for more, so the barycenter does
    too. A person is in one class, so the clusterings cost together what one of them costs.
    """

    def __init__(self):
        self._kmeans = HighMethod()

    def shares(self, setting):
        """Return the steps of a clustering."""
        return self._kmeans.shares(_clustering(setting))

    def settled_shares(self, setting, facts):
        """Return the steps of a clustering, by the size."""
        return self._kmeans.settled_shares(_clustering(setting), _of_a_class(facts))

    def questions(self, setting, facts):
        """Hold the conversations of all clusterings; return the barycenter of what they say."""
        own, clustering = _of_a_class(facts), _clustering(setting)
        talks = [self._kmeans.questions(clustering, own) for _ in range(facts.n_classes)]
        found = yield from side_by_side(talks, not is_gaussian(facts))
        return barycenter_of(setting, [_measure(clusters) for clusters in found])


def _of_a_class(facts):
    size = None if facts.size is None else facts.size / facts.n_classes
    return replace(facts, n_classes=1, classes=None, size=size, mass_public=facts.total_public)


def _clustering(setting):
    n_hint = setting.n_hint
    return KMeansSetting(
        n_features=setting.n_features,
        n_clusters=setting.n_atoms,
        init="auto",
        n_init=TUNED.single_starts,
        max_iter="auto",
        n_hint=None if n_hint is None else n_hint / n_public_classes(setting),
        epsilon=setting.epsilon,
        delta=setting.delta,
        random_state=setting.random_state,
    )


def _measure(clusters):
    """Return the centers with their masses; without any mass they are alike."""
    masses = clusters.weights if clusters.weights.any() else np.ones(len(clusters.weights))
    return DiscreteMeasure(clusters.centers[masses > 0], masses[masses > 0])
