"""Parquet files: values are read by the type of their column."""

import numpy as np
import pytest

from tests.queries.reader_trials import parquet_trial
from tests.world import ParquetFile

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def read(tmp_path, ids, x, kinds=(None, None)):
    path = str(tmp_path / "rows.parquet")
    columns = [pyarrow.array(c, k) for c, k in zip((ids, x), kinds, strict=True)]
    parquet.write_table(pyarrow.table(columns, names=["id", "x"]), path)
    batches = list(ParquetFile(path).batches(["x"], ["id"]))
    ids = [text for batch in batches for text in batch.texts[0].to_pylist()]
    return ids, np.concatenate([batch.X[:, 0] for batch in batches]).tolist()


def test_types_come_from_the_file(tmp_path):
    coded = pyarrow.array(["b", "a"]).dictionary_encode()
    assert read(tmp_path, coded, [1, 2]) == (["b", "a"], [1.0, 2.0])
    assert read(tmp_path, [7, 2**62 + 1], [True, False]) == (["7", str(2**62 + 1)], [1.0, 0.0])
    assert read(tmp_path, ["NA", "null"], [0.1, 0.2], (None, "float32")) == (
        ["NA", "null"], np.array([0.1, 0.2], dtype=np.float32).tolist())  # fmt: skip
    large = read(tmp_path, ["a", "b"], [2**62 + 1, 1])[1]
    assert large == [float(2**62), 1.0]


@pytest.mark.parametrize(
    ("ids", "x", "text"),
    [
        (["a", None], [1, 2], "column 'id' of .* has missing values"),
        ([1, None], [1, 2], "column 'id' of .* has missing values"),
        ([1.5, 2.5], [1, 2], "'id' of .* is of type double"),
        ([True, False], [1, 2], "'id' of .* is of type bool"),  # "true" or "True" in text
        (["a", "b"], [1, None], "column 'x' of .* has missing values"),
        (["a", "b"], [1.0, np.nan], "column 'x' of .* has missing values"),
        (["a", "b"], ["1", "2"], "column 'x' of .* must hold numbers"),
        (["a", "b"], np.array(["2020", "2021"], "datetime64[D]"), "must hold numbers"),
        (["a", "b"], [[1], [2]], "must hold numbers"),
    ],
)
def test_what_is_refused(tmp_path, ids, x, text):
    with pytest.raises(ValueError, match=text):
        read(tmp_path, ids, x)


def test_a_damaged_file_is_refused_in_words(tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 and nothing more")
    with pytest.raises(ValueError, match="not a Parquet file, or is damaged"):
        ParquetFile(str(tmp_path / "rows.parquet"))
    with pytest.raises(FileNotFoundError):
        ParquetFile(str(tmp_path / "nowhere.parquet"))


@pytest.mark.parametrize("seed", range(4))
def test_no_row_moves_another(tmp_path, seed):
    rng = np.random.default_rng(seed)
    assert sum(parquet_trial(rng, tmp_path) for _ in range(3)) == 0
