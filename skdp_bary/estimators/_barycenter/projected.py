"""The barycenter by a random projection: coresets in few dimensions, then noisy lifts."""

import numpy as np

from ...geometry import Ball
from ...geometry._projections import barycenter_dimension, jl_matrix
from ...privacy._checks import check_integer
from .methods import ask_trees, potentials_of, projections_of
from .perturbation import TREES, Guess, PerturbationMethod, class_sizes, widest


class ProjectedMethod(PerturbationMethod):
    """Trees of the rows after a Johnson-Lindenstrauss map, and rounds that lift their barycenter.

    The map is drawn without a look at the rows, so it is public, and so are the pseudo-inverse that
    brings points back and everything computed from released trees: atoms, potentials and cells in
    the few dimensions. What is not free is where the rows of a cell lie in the original space. Each
    round releases it: noisy masses, residual sums and squares, the first one over the cells of the
    projected barycenter, those after it as in PerturbationMethod.

    Points of the trees are not lifted themselves: all of a flat is mapped to one of them.
    """

    def shares(self, setting):
        """Return the trees and the rounds."""
        if setting.init is not None:
            raise ValueError("init is for method='perturbation'; the trees are the start here.")
        target_dimension(setting)
        return super().shares(setting)

    def start(self, setting, facts):
        """Ask for trees of images, and return their barycenter with its shortest preimages."""
        n_features, center = setting.n_features, np.asarray(facts.domain.center)
        components = jl_matrix(n_features, target_dimension(setting), setting.generator()).T
        ball = Ball(components @ center, facts.domain.radius)
        measures, released = yield from ask_trees(TREES, facts, ball, setting.n_atoms, components)
        result = setting.search(measures)
        back = np.linalg.pinv(components)
        lifted = center + (projections_of(result) - ball.center) @ back.T
        origins = facts.domain.clip(lifted.reshape(-1, n_features)).reshape(lifted.shape)
        return Guess(
            measures,
            result.support,
            potentials_of(result),
            origins,
            result.cost,
            widest(origins, facts.domain),
            class_sizes(released),
            components,
        )


def target_dimension(setting):
    """Return the number of dimensions after the map, from public parameters."""
    if setting.n_components is not None:
        return check_integer(setting.n_components, "n_components", low=1, high=setting.n_features)
    if setting.distortion is None:
        raise ValueError("method='projected' needs n_components or distortion, got neither.")
    return min(setting.n_features, barycenter_dimension(setting.n_atoms, setting.distortion))
