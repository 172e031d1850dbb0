"""What two runs of a race must not show: the audit of picks by what they chose from.

A race is private when a neighbor changes what any point covers by at most one person's mass, on
the points that cover that person alone, and no longer once one of them was picked.
"""

import numpy as np


def compare_picks(before, after, picks, units, one_sided):
    """Return the largest change of what a point covers, and what contradicts the guarantee.

    Parameters
    ----------
    before, after : sequence of Offer
        What every pick chose from, on the two data sets.
    picks : sequence of int
        What was picked, the same on both.
    units : int
        Largest mass of one person.
    one_sided : bool
        Whether the neighbor has one row more or less; otherwise one row replaces another.
    """
    if not len(before) == len(after) == len(picks):
        counts = f"{len(before)} picks on one data set, {len(after)} on the other"
        return units, [f"there were {counts}, and {len(picks)} are released"]
    violations = []
    if any(a.n_places != b.n_places for a, b in zip(before, after, strict=True)):
        violations.append("the number of points to choose from depends on the rows")
    changes = [_changes(a, b) for a, b in zip(before, after, strict=True)]
    moved = max((int(np.abs(change).max(initial=0)) for _, change in changes), default=0)
    if moved > units:
        violations.append(f"a point covers {moved} more or less, one person has {units}")
    signs = sorted({int(s) for _, change in changes for s in np.sign(change)})
    if one_sided and len(signs) > 1:
        violations.append("one row more makes some points cover more and others less")
    if any(_outlasts_its_pick(changes, picks, sign) for sign in signs):
        violations.append("a person is still counted after a pick that covers it")
    return moved, violations


def _outlasts_its_pick(changes, picks, sign):
    """Whether a change of one sign is still there after a point that shows it was picked."""
    covered = False
    for (places, change), pick in zip(changes, picks, strict=True):
        shown = places[np.sign(change) == sign]
        if covered and shown.size:
            return True
        covered = covered or pick in shown
    return False


def _changes(old, new):
    """Return the points whose mass differs, in order, and by how much."""
    places = np.union1d(old.places, new.places)
    change = np.zeros(len(places), dtype=np.int64)
    change[np.searchsorted(places, new.places)] += new.masses
    change[np.searchsorted(places, old.places)] -= old.masses
    return places[change != 0], change[change != 0]
