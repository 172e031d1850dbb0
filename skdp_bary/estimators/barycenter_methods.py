"""Ways to release enough about k distributions to compute their barycenter."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np

from ..geometry.cells import CellTree
from ..geometry.domains import Box
from ..privacy.mechanisms import gaussian_mu
from ..privacy.noise import public_generator
from ..queries.classes import side_by_side
from ..queries.clusters import ClippedMeans, digits_of
from ..queries.frames import Frame
from ..queries.maps import Mapped
from ..transport.barycenter import free_support_barycenter
from ..transport.measures import DiscreteMeasure
from ..transport.tree_fits import prune
from .clustering import is_gaussian
from .clustering_high import HighMethod, mean_about, rows_reach, shortened
from .facts import number_of_classes
from .noisy_means import pyramid_tuning
from .noisy_trees import Pyramid, cell_support, is_box, pyramid_shares, suits_pyramid
from .notices import cheapest, parts_in_words, projections, proposed_delta, rounded_up

# Ways to release enough about k distributions to compute their barycenter.

_PURE_SIGNAL = 500.0  # persons times epsilon below which a quote speaks of noise
_DEEPEST = 20  # halvings of a tree: time


@dataclass(frozen=True, eq=False)
class BarycenterSetting:
    """Public parameters that a method may use, and the number of features.

    See :class:`~skdp_bary.PrivateWassersteinBarycenter` for what they mean. The class weights are
    those of all classes, summing to 1; None before the classes are known.
    """

    n_features: int
    n_atoms: int
    p: int
    classes: object
    class_weights: np.ndarray | None
    n_init: int | None
    n_components: int | None
    epsilon: float
    delta: float
    bounds: object
    n_hint: int | None
    random_state: object

    def search(self, measures, init=None, most_starts=None):
        """Return the BarycenterResult of released measures, from no more than so many starts."""
        n_init = self.n_init or (TUNED.single_starts if len(measures) == 1 else TUNED.starts)
        n_init = n_init if most_starts is None else min(n_init, most_starts)
        how = {"measure_weights": self.class_weights, "p": self.p, "init": init, "n_init": n_init}
        rng = public_generator(self.random_state)
        return free_support_barycenter(measures, self.n_atoms, **how, random_state=rng)


@dataclass(frozen=True, eq=False)
class PrivateBarycenter:
    """What a method makes of its releases.

    Attributes
    ----------
    measures : list of DiscreteMeasure
        The private measure of each class.
    support : ndarray of shape (n_atoms, n_features)
    potentials : ndarray of shape (n_classes, n_atoms)
    cost : float
        Mean transport cost from the private measures to the atoms.
    """

    measures: list
    support: np.ndarray
    potentials: np.ndarray
    cost: float


class BarycenterMethod:
    """What is released for a barycenter, and how the barycenter is made of it.

    ``shares(setting)`` returns the steps, in order, and the share of the budget of each.
    ``questions(setting, facts)`` asks about the rows, and returns the PrivateBarycenter. A method
    reads public parameters and earlier releases, never a row.
    """

    def settled_shares(self, setting, facts):
        """Return other steps and shares at the same total, by the size of the data, or None."""
        return None


class CoresetMethod(BarycenterMethod):
    """A tree of cells for every class, released together, then the exact barycenter.

    A person is in one class, so the trees cost together what one of them costs; under
    "replace_any" a person may move from one tree to another, and the sensitivity says so.

    Parameters
    ----------
    tree_method : HaarMethod or BlockCountsMethod
    pure : BlockCountsMethod, default=None
        What is released instead with Laplace noise, for which fewer levels are better.
    """

    def __init__(self, tree_method, pure=None):
        self.tree_method = tree_method
        self.pure = tree_method if pure is None else pure

    def shares(self, setting):
        """Return a single step."""
        return {"tree": 1.0}

    def questions(self, setting, facts):
        """Ask for the trees, and compute the barycenter of the measures that they give."""
        gaussian = facts.mechanisms["tree"].is_gaussian
        tree_method = self.tree_method if gaussian else self.pure
        measures, _ = yield from ask_trees(tree_method, facts, facts.domain, setting.n_atoms)
        return barycenter_of(setting, measures)


class PyramidMethod(BarycenterMethod):
    """An adaptive pyramid of counts for every class, then the exact barycenter.

    Its cells are small where people are, so that few people an atom show a thin shape. A box is
    cut first to where a noisy mean and distances from it say that nearly all rows are.
    """

    def shares(self, setting):
        """Return the steps of a pyramid."""
        steps = pyramid_shares(_pyramid_tuning(setting.n_features))
        if not is_box(setting.bounds):
            return steps
        place, left = TUNED.place_share, 1.0 - TUNED.place_share - TUNED.place_share
        return {"place": place, "reach": place} | {n: left * share for n, share in steps.items()}

    def questions(self, setting, facts):
        """Ask for the pyramids, and compute the barycenter of the measures that they give."""
        if "place" in facts.mechanisms:  # for a mean of all rows, and for distances from it
            domain, origin = facts.domain, np.zeros(facts.n_features)
            frame = Frame(domain, domain.center, digits_of(facts.units).rows)
            asked = frame, facts, "place", ClippedMeans, origin, domain.radius, TUNED.place_parts
            first = yield from mean_about(*asked)
            place = frame.center + shortened(domain, first.mean, first.noise)
            reach = yield from rows_reach(frame, facts, place - frame.center)
            low, high = (
                np.maximum(domain.low, place - reach),
                np.minimum(domain.high, place + reach),
            )
            facts = replace(facts, domain=Box(low, high))
        if setting.n_init is None:  # what more starts find is within the noise
            setting = replace(setting, n_init=TUNED.starts)
        pyramid = Pyramid(facts, None, _pyramid_tuning(setting.n_features))
        tree, found = pyramid.tree, (yield from pyramid.questions())
        measures = [DiscreteMeasure(cell_support(tree, cells), cells.mass) for cells, _ in found]
        return barycenter_of(setting, measures)


def barycenter_of(setting, measures):
    """Return the PrivateBarycenter that a search on released measures finds."""
    result = setting.search(measures)
    return PrivateBarycenter(measures, result.support, potentials_of(result), result.cost)


def _pyramid_tuning(n_features):
    return replace(pyramid_tuning(n_features), most_cells=TUNED.most_cells)


def best_method(setting):
    """Return the name of the method that public facts speak for.

    Trees give the shape of a distribution where cells are many for its dimension, and pyramids of a
    box give it where bounds are wide or shapes thin for the people there are. From a few features
    on, and a few more with pure noise and few people, sums over released cells say more, which
    needs means (p = 2): with Gaussian noise moments in a few released axes say most, unless
    `n_hint`, or else the size once it is known, says that noise drowns them. Clusters go to the
    mean of all rows by themselves where there is no more to be seen.
    """
    width, bounds = setting.n_features, setting.bounds
    if width > 1 and suits_pyramid(bounds, width):
        return "pyramid"
    # cells of a given box show most in more features too, where noise is pure and rows few
    few = setting.n_hint is None or signal_level(setting) < TUNED.few_persons
    pure = setting.delta == 0 and few and 1 < width <= TUNED.pure_pyramid
    if pure and bounds is not None and is_box(bounds):
        return "pyramid"
    if setting.p != 2 or width < TUNED.many_features:
        return "coreset"
    drowned = setting.n_hint is not None and signal_level(setting) < 1.0
    return "subspace" if setting.delta > 0 and not drowned else "clusters"


def of_known_size(setting, facts):
    """Return the setting with the size of the data as its hint, unless there is one."""
    if setting.n_hint is not None or facts.size is None:
        return setting
    return replace(setting, n_hint=facts.size, classes=range(facts.n_classes))


def signal_level(setting):
    """Return people a class, by the public hint, over those whose moments are not drowned."""
    persons = setting.n_hint / number_of_classes(setting.classes)
    epsilon, delta = setting.epsilon, setting.delta
    if delta > 0:
        least = TUNED.gaussian_signal * math.sqrt(setting.n_features)
        return persons * gaussian_mu(epsilon, delta) / least
    return persons * epsilon / _PURE_SIGNAL


def advise(setting):
    """Return what public facts say about the noise of a barycenter, and whether it drowns it."""
    if setting.n_features < TUNED.many_features:
        each = setting.n_hint / number_of_classes(setting.classes)
        return parts_in_words(setting, each, setting.n_features)
    level, width = signal_level(setting), setting.n_features
    text = f"n_hint is {level:.2g} times the people that {width} features need at this noise"
    if level >= 1.0:
        return f"{text}.", False
    more = rounded_up(setting.n_hint / level)
    remedy = cheapest(_remedies(setting), lambda reached: reached >= 1.0, more)
    worst = "the barycenter can be mostly noise, and no better than one private mean"
    return f"{text}: {worst}. {remedy}", True


def _remedies(setting):
    """Yield what could be changed, from the cheapest on, and the signal that it reaches."""
    if setting.delta == 0:
        delta = proposed_delta(setting.delta)
        yield f"delta={delta:g}", signal_level(replace(setting, delta=delta))
    for width, words in projections(setting.n_features):
        yield words, signal_level(replace(setting, n_features=width))


def ask_trees(tree_method, facts, domain, n_atoms, components=None):
    """Ask for a tree of every class, in one step, and return the measures and the release.

    Parameters
    ----------
    tree_method : HaarMethod or BlockCountsMethod
    facts : Facts
    domain : Box, Ball or Mask
        What the trees divide: the domain of the rows, or of their images.
    n_atoms : int
    components : ndarray of shape (n_components, n_features), default=None
        Public linear map to the images.
    """
    # cells small next to those of the atoms, and not emptied by noise, by public facts
    mechanism = facts.mechanisms["tree"]
    gaussian = mechanism.is_gaussian
    rate = TUNED.gaussian_rate * mechanism.mu if gaussian else mechanism.epsilon
    signal = math.log2(max(rate * facts.size / facts.n_classes, 2.0))
    depth = tree_method.depth(signal, math.log2(n_atoms) + 8.0)
    tree = CellTree(domain, int(np.clip(round(depth), 2, _DEEPEST)))
    query = tree_method.query(tree, facts.n_classes, facts.units, facts.total_public)
    released = yield "tree", query if components is None else Mapped(components, query)
    noise_sd = [sd / facts.units for sd in released.noise_sd]
    least = [TUNED.prune * sd for sd in tree_method.split_noise(tree, noise_sd)]
    measures = []
    for code in range(facts.n_classes):
        blocks = [block[code] / facts.units for block in released.values]
        levels = tree_method.masses(tree, blocks, noise_sd)
        if levels[0][0] < 1.0:  # a class lost in noise becomes the prior
            levels = [tree.share(level) for level in range(tree.depth + 1)]
        cells = prune(tree, levels, least)
        measures.append(DiscreteMeasure(cell_support(tree, cells), cells.mass))
    return measures, released


def potentials_of(result):
    """Return the potentials of every measure of a BarycenterResult, one line each."""
    return np.stack([transport.potentials for transport in result.transports])


def projections_of(result):
    """Return the mean of every measure of a BarycenterResult in every cell."""
    return np.stack([transport.projections for transport in result.transports])


def cost_within(result, weights):
    """Return the mean squared distance of the points from the mean of their cell."""
    return sum(
        weight * (t.cost - float(t.masses @ ((t.projections - result.support) ** 2).sum(axis=1)))
        for weight, t in zip(weights, result.transports, strict=True)
    )


# The barycenter of private k-means centers: what few rows in many features bear with any noise.


class ClustersMethod(BarycenterMethod):
    """Private k-means of every class at once, then the exact barycenter of the weighted centers.

    Centers go to the mean of their class where noise is too much for more, so the barycenter does
    too. A person is in one class, so the clusterings cost together what one of them costs.
    """

    def __init__(self):
        self._kmeans = HighMethod()

    def shares(self, setting):
        """Return the steps of a clustering."""
        return self._kmeans.shares(_clustering(setting), setting.n_features)

    def settled_shares(self, setting, facts):
        """Return the steps of a clustering, by the size."""
        return self._kmeans.settled_shares(_clustering(setting), _of_a_class(facts))

    def questions(self, setting, facts):
        """Hold the conversations of all clusterings; return the barycenter of what they say."""
        own, clustering = _of_a_class(facts), _clustering(setting)
        talks = [self._kmeans.questions(clustering, own) for _ in range(facts.n_classes)]
        found, measures = (yield from side_by_side(talks, not is_gaussian(facts))), []
        for clusters in found:  # without any mass centers are alike
            masses = clusters.weights if clusters.weights.any() else np.ones(len(clusters.weights))
            measures.append(DiscreteMeasure(clusters.centers[masses > 0], masses[masses > 0]))
        return barycenter_of(setting, measures)


def _of_a_class(facts):
    size = None if facts.size is None else facts.size / facts.n_classes
    own = {name: each for name, each in facts.mechanisms.items() if name != "count"}  # of no class
    facts = replace(facts, classes=None, size=size, mechanisms=own)
    return replace(facts, mass_public=facts.total_public)


def _clustering(setting):
    """Return the parameters of the private k-means of one class."""
    n_hint = setting.n_hint
    return SimpleNamespace(
        n_clusters=setting.n_atoms,
        max_iter="auto",
        n_init=TUNED.single_starts,
        n_hint=None if n_hint is None else n_hint / number_of_classes(setting.classes),
        epsilon=setting.epsilon,
        delta=setting.delta,
        random_state=setting.random_state,
    )


# The tuned numbers of private barycenters, and what each of them trades.


@dataclass(frozen=True)
class BarycenterTuning:
    """Chosen on generated mixtures of four Gaussians, and for "subspace" on Fashion-MNIST and USPS.

    The same mixtures are behind ``benchmarks/barycenter/perturbation.py`` and ``methods.py``;
    ``mnist.py`` next to them shows the choices on other digits. None of them changes what is
    guaranteed: they divide the budget, and say where rows are clipped and how long is searched.
    """

    # "auto"
    many_features: int = 4  # from which sums say more than trees, where there is no box
    # least persons times mu, for each root of a feature, for moments, by few_rows.py
    gaussian_signal: float = 30.0
    pure_pyramid: int = 6  # features to which, in a box, cells show more of few persons than sums
    few_persons: float = 10.0  # ... fewer than so many times that signal

    # trees
    prune: float = 0.5  # of a noise standard deviation: smaller cells are not split, for less noise
    gaussian_rate: float = 6.0  # epsilon of Laplace noise that allows the same depth, over mu

    # pyramids
    # of the budget, for a mean and for distances from it each: wide bounds against thin shapes
    place_share: float = 0.06
    place_parts: tuple = (0.3, 1.0)  # precision of the mean's mass and sum, for each other
    most_cells: int = 2**11  # detail against time, by thin_shapes.py

    # every search
    single_starts: int = 10  # of one distribution, where searches end in several places: cost, time
    starts: int = 2  # of several, which hardly differ, and among models

    # "subspace"
    mean_share: float = 0.04  # of mu**2: the origin of all that follows
    reach_share: float = 0.01  # the clipping radius of the scatter
    axes_share: float = 0.24  # more and truer axes
    models_share: float = 0.13  # the first models
    round_share: float = 0.07  # of each round: models that follow the rows against the lift
    lift_share: float = 0.44  # atoms off the subspace
    rounds: int = 2  # truer models against noisier ones
    round_noise: tuple = (1.5, 1.0, 3.0)  # of masses, sums and squares of a round, for each other
    mass_noise: float = 8.0  # of masses over that of sums, in units of one person's reach
    covered: float = 0.9  # of the rows are within the clipping radius of the scatter
    most_axes: int = 12  # detail against noise
    detected: float = 1.5  # times the edge of the noise, from which an axis counts
    model_reach: float = 1.5  # clipping radius in the subspace over the root mean square there,
    residual_reach: float = 1.3  # ... also of residuals; and of those with all features
    least_radius: float = 0.05  # of any of them over the clipping radius of the scatter
    least_variance: float = 0.02  # of a model along an axis, over the mean one
    least_class: float = 0.25  # of the mean class or cell; lighter ones are taken as if they had it
    model_points: int = 2000  # drawn for every model, at least: precision against time
    drawn_per_atom: int = 50  # ... and for each atom
    least_mass: float = 0.2  # of the mean cell; lighter cells move as if they had it
    hardly: float = 1e-3  # of the mean cell, that no cell is thought to be lighter than
    least_kept: float = 0.01  # of a model's mass in a cell, that a correction leaves there
    scale_range: tuple = (0.05, 2.0)  # of the width of a cell's part of a model in a correction


TUNED = BarycenterTuning()
