"""The contract of every source: rows in a container are the rows of the array, and so are persons.

Plain, labeled, weighted, of persons, and all of that at once: the same integers, however often
they are read. What a source refuses stands in the file that is named after it.
"""

import pytest

from skdp_bary.base import CellTree, ClippedSum
from skdp_bary.geometry import Box
from tests.rows.containers import CLASSES, NAMES, ONCE, PARTS, X, beside, containers
from tests.world import DistanceHistogram, LevelCounts, home, integers, open_rows, same

CONTAINERS = sorted({kind for kind, *_ in containers(None)})


def opened(X, part, **beside):
    bounds = (0.1, 0.9) if part == ("y", "groups") else None  # shares are of the rows inside
    classes = (lambda y: CLASSES) if "y" in part else None
    return open_rows(X, find_classes=classes, mass_bounds=bounds, **beside)


def questions(units, n_classes):
    tree = CellTree(Box([0.0] * 3, [1.0] * 3), 7)
    return (
        LevelCounts(tree, n_classes, units),
        LevelCounts(tree, n_classes, max(units >> 6, 1)),  # coarser ones show where shares begin
        ClippedSum(1.5, 3, units),
        DistanceHistogram((0.25,) * 3, (0.25, 0.5, 1.0, 2.0), units),
    )


def answers(rows, part):
    """Return the answers to all questions; to one of them where rows are read once."""
    asked = questions(rows.person_units, 1 + ("y" in part))
    return [integers(query, rows) for query in (asked if rows.rereadable else asked[:1])]


@pytest.fixture
def small_parts(monkeypatch):
    """Dask runs here, and persons in chunks are brought together a few rows at a time."""
    monkeypatch.setattr(home("Spill"), "_LEAST_ROWS", 7)
    dask = pytest.importorskip("dask")
    with dask.config.set({"scheduler": "synchronous", "dataframe.shuffle.method": "tasks"}):
        yield


@pytest.mark.parametrize("kind", CONTAINERS)
def test_rows_in_every_container_are_those_of_the_array(kind, tmp_path, small_parts):
    wrong, n_seen = [], 0
    for part in PARTS[::2] + PARTS[-1:] if kind == "dask" else PARTS:
        memory = opened(X, part, **beside(part))
        expected = answers(memory, part)
        for _, name, make in (each for each in containers(tmp_path) if each[0] == kind):
            given, more = make(part)
            rows = opened(given, part, **more)
            assert rows.rereadable or name in ONCE
            for _ in range(1 + rows.rereadable):
                found = answers(rows, part)
                wrong += [(name, part)] * (not all(map(same, found, expected)))
            if rows.rereadable:
                sources = rows.source, memory.source
                facts = [(s.count_persons(), s.persons_have_one_class) for s in sources]
                wrong += [(name, part, *facts)] * (facts[0] != facts[1])
            else:
                with pytest.raises(ValueError, match="read once only|empty after one pass"):
                    answers(rows, part)
            assert kind in ("array", "columns", "chunks") or rows.names in (NAMES, None)
            rows.close()
            n_seen += 1
    assert not wrong and n_seen >= len(PARTS)
