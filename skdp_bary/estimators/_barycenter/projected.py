"""The barycenter by a random projection: coresets in few dimensions, then noisy lifts."""

from dataclasses import replace

import numpy as np

from ...geometry import Ball
from ...geometry._projections import barycenter_dimension, jl_matrix
from ...privacy._checks import check_integer
from ...privacy.noise.sampler import public_generator
from ...summaries.asking.mapped import Mapped
from .methods import search_barycenter, tree_measures
from .perturbation import Guess, PerturbationMethod, widest


class ProjectedMethod(PerturbationMethod):
    """Trees of the rows after a Johnson-Lindenstrauss map, and rounds that lift their barycenter.

    The map is drawn without a look at the rows, so it is public, and so are the pseudo-inverse that
    brings points back and everything computed from released trees: atoms, potentials and cells in
    the few dimensions. What is not free is where the rows of a cell lie in the original space. Each
    round releases it: noisy masses, residual sums and squares, the first one over the cells of the
    projected barycenter, those after it as in PerturbationMethod.

    Points of the trees are not lifted themselves: all of a flat is mapped to one of them.
    """

    def shares(self, estimator, n_features):
        """Return the trees and the rounds."""
        if estimator.init is not None:
            raise ValueError("init is for method='perturbation'; the trees are the start here.")
        target_dimension(estimator, n_features)
        return super().shares(estimator, n_features)

    def query(self, estimator, step_name, facts):
        """Return the query of the projected trees or of a round."""
        if step_name != "tree":
            return super().query(estimator, step_name, facts)
        rng = public_generator(estimator.random_state)
        dimension = target_dimension(estimator, facts.n_features)
        components = jl_matrix(facts.n_features, dimension, rng).T
        image = Ball(components @ np.asarray(facts.domain.center), facts.domain.radius)
        trees = self.trees.query(estimator, step_name, replace(facts, domain=image))
        return Mapped(components, trees)

    def after_trees(self, estimator, facts):
        """Return the barycenter of the projected trees; origins are its shortest preimages."""
        released = facts.released["tree"]
        query = released.query
        weights = estimator.normalized_class_weights(facts.n_classes)
        measures = tree_measures(self.trees.tree_method, query.query.tree, facts)
        result = search_barycenter(estimator, measures, weights)
        back, center = np.linalg.pinv(query.components), np.asarray(facts.domain.center)
        image = query.components @ center
        lifted = [center + (t.projections - image) @ back.T for t in result.transports]
        origins = facts.domain.clip(np.concatenate(lifted))
        origins = origins.reshape(facts.n_classes, estimator.n_atoms, facts.n_features)
        return Guess(
            measures,
            result.support,
            np.stack([transport.potentials for transport in result.transports]),
            origins,
            result.cost,
            widest(origins, facts.domain),
            query.components,
        )


def target_dimension(estimator, n_features):
    """Return the number of dimensions after the map, from public parameters."""
    if estimator.n_components is not None:
        return check_integer(estimator.n_components, "n_components", low=1, high=n_features)
    if estimator.distortion is None:
        raise ValueError("method='projected' needs n_components or distortion, got neither.")
    return min(n_features, barycenter_dimension(estimator.n_atoms, estimator.distortion))
