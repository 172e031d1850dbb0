"""Person ids in chunks: of two kinds or missing, they are refused for free, wherever they lie."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.parquet

from skdp_bary import BudgetAccountant, PrivateMeasure
from tests.rows.test_person_ids import CUT
from tests.world import open_rows

from .promises import Promise, Trial, repeated

_WORDS = "groups must hold"
_TYPES = "int64", "int8", "string", "bool", "double"


def bring_ids(rng):
    """Bring ids of two kinds in chunks, or in files of one dataset."""
    return bring_files(rng) if rng.random() < 0.2 else bring_odd_ids(rng)


def bring_files(rng):
    """Write ids of two types into the files of one dataset."""
    kinds = [str(kind) for kind in rng.choice(_TYPES, size=2)]
    ids = [pyarrow.array(rng.integers(0, 3, size=4)).cast(kind) for kind in kinds]
    with tempfile.TemporaryDirectory() as folder:
        for place, values in enumerate(ids):
            table = pyarrow.table({"x": np.zeros(4), "id": values})
            pyarrow.parquet.write_table(table, Path(folder) / f"{place}.parquet")
        try:
            rows = open_rows(pyarrow.dataset.dataset(folder), groups="id")
            n_persons = rows.source.count_persons()
        except ValueError:
            return None
    different = {
        (str(values.type).rstrip("0123456789"), each)
        for values in ids
        for each in values.to_pylist()
    }
    same = n_persons == len(different)
    return Trial(violation="" if same else f"{kinds}: {n_persons} persons have ids {different}")


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
    "Missing or mixed-type person IDs are refused before any charge; others are accepted",
    repeated(bring_ids),
)
