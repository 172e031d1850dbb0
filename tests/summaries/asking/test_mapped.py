import numpy as np

from skdp_bary.summaries.asking.mapped import Mapped
from skdp_bary.summaries.asking.query import Sketch
from skdp_bary.summaries.clusters.cell_sums import CellSums
from skdp_bary.summaries.rows.persons import Chunk


def test_the_query_is_asked_about_the_images_of_the_rows():
    rng = np.random.default_rng(0)
    components = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    atoms = rng.standard_normal((3, 2))
    query = CellSums(atoms, np.zeros((1, 3)), atoms, 1.0)
    X = rng.standard_normal((50, 3))
    codes = np.zeros(50, dtype=np.int64)
    mapped = Sketch(Mapped(components, query)).update(Chunk(X, codes, None)).exact_blocks()
    plain = Sketch(query).update(Chunk(X @ components.T, codes, None)).exact_blocks()
    np.testing.assert_array_equal(mapped[0], plain[0])
    np.testing.assert_allclose(mapped[1], plain[1], atol=2)
    assert Mapped(components, query).sensitivity("add_remove") == query.sensitivity("add_remove")
