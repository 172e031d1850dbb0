"""Looking closely where a coarse look found masses: in two rounds, or in one at a public level."""

import math
from dataclasses import dataclass

import numpy as np

from ...summaries.trees.partition import Partition
from ...transport._tree.refining import refine
from .fit import covering_tree, fit_posterior
from .methods import HeatmapMethod, measure
from .tuning import TUNED


@dataclass(frozen=True)
class AdaptiveMethod(HeatmapMethod):
    """A coarse look with a third of the budget, then cells where it showed mass with the rest."""

    def shares(self, setting):
        """Return a third for the coarse look, two thirds for the fine one."""
        return {"coarse": 1.0, "fine": TUNED.fine_share}

    def questions(self, setting, facts):
        """Ask for a full level, then for cells refined where it shows mass."""
        level = Partition.complete(setting.depth, self.first_level(setting))
        coarse = yield from measure(setting, facts, "coarse", level)
        rate = facts.mechanisms["fine"].epsilon / setting.reach
        fine = yield from measure(setting, facts, "fine", self.fine_cells(setting, coarse, rate))
        return coarse + fine

    def fine_cells(self, setting, coarse, rate):
        """Return cells as fine as the masses of a coarse look, for noise of a rate."""
        fit = fit_posterior(coarse, whole=setting.whole)
        tree = refine(
            covering_tree(coarse),
            fit.posterior.mean,
            TUNED.threshold / rate,
            (4,) * setting.finest,
        )
        levels, codes, _ = tree.leaves([np.zeros(n) for n in tree.sizes])
        return Partition(setting.depth, levels, codes)

    def first_level(self, setting):
        """Return the level of the first look, from public numbers alone."""
        level = TUNED.coarse
        if setting.size is not None:
            known = setting.size * setting.epsilon / setting.reach
            level += int(known > TUNED.large) - int(known < TUNED.small)
        return min(level, setting.finest)


@dataclass(frozen=True)
class OneShotMethod(HeatmapMethod):
    """Two full levels at once, of which the finer has about two cells a person and epsilon."""

    needs_size = True

    def shares(self, setting):
        """Return the one step."""
        return {"levels": 1.0}

    def questions(self, setting, facts):
        """Ask for two levels, two apart."""
        fine = self.fine_level(setting)
        # not level 0: where a person is replaced, noise on the total would protect nothing
        levels = sorted({max(fine - TUNED.apart, 1), fine})
        whole = [Partition.complete(setting.depth, level) for level in levels]
        return (yield from measure(setting, facts, "levels", *whole))

    def fine_level(self, setting):
        """Return the level of the finer partition, from the public size."""
        known = setting.size * setting.epsilon / setting.reach
        level = math.log(max(TUNED.cells_a_person * known, 1.0), 4)
        return int(min(max(round(level), 2), setting.finest, TUNED.finest_level))
