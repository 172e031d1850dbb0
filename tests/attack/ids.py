"""Person ids in chunks: of two kinds or missing, they are refused for free, wherever they lie."""

import numpy as np

from skdp_bary import BudgetAccountant, PrivateMeasure
from tests.rows.test_person_ids import CUT

from .promises import Promise, Trial, repeated

_WORDS = "groups must hold"


def bring_odd_ids(rng):
    """Cut ids in two, of which some may be odd, and bring them in some container."""
    ids = _ids(rng)
    cut = int(rng.integers(1, len(ids)))
    kinds = list(CUT) if ids == sorted(ids, key=str) else [kind for kind in CUT if kind != "sorted"]
    kind = str(rng.choice(kinds))
    budget = BudgetAccountant(1.0)
    measure = PrivateMeasure(bounds=(0, 1), depth=2, n_hint=9, method="haar", accountant=budget)
    try:
        measure.fit(**CUT[kind](ids[:cut], ids[cut:]))
        refused = ""
    except (ValueError, TypeError) as error:
        refused = str(error)
    odd = any(each is None for each in ids) or len({type(each) for each in ids}) > 1
    if odd and not refused:
        return Trial(violation=f"{kind}: the ids {ids} are counted")
    if not odd and refused:
        return Trial(violation=f"{kind}: the ids {ids} are refused: {refused}")
    if refused and (budget.entries or _WORDS not in refused):
        return Trial(violation=f"{kind}: {refused}, {len(budget.entries)} charges")
    return None


def _ids(rng):
    """Return some ids in ascending order, which an odd one among them may break."""
    n = int(rng.integers(2, 12))
    ids = np.sort(rng.integers(0, 5, size=n)).tolist()
    ids = ids if rng.random() < 0.5 else [f"p{each}" for each in ids]
    if rng.random() < 0.6:
        place = int(rng.integers(n))
        ids[place] = None if rng.random() < 0.3 else 7 if isinstance(ids[place], str) else "7"
    return ids


PROMISE = Promise(
    "ids",
    "Person ids that are missing or of two kinds are refused before a charge, others are not",
    repeated(bring_odd_ids),
)
