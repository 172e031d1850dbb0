"""Trials that hold readers of files to their promise: a row is read from its own bytes alone.

``csv_trial`` and ``parquet_trial`` make one hostile file from a generator of random numbers, read
it whole and line by line, and return how many rows the file moved. They are used by the tests here
and can be run for as long as one likes.
"""

import gzip

import numpy as np

from tests.world import CsvFile, ParquetFile

HEADER = b"id,x,note,y"
_CELLS = (
    *(b"1", b"-2.5", b"+3", b".5", b"1e-7", b"0.1", b"1e400", b"12345678901234567890", b"007"),
    *(b"", b" ", b" 4 ", b"\t7", b"1,2", b"0x1p3", b"1_0", b"1 000", b"True", b"abc", b"z" * 90),
    *(b"NA", b"null", b"nan", b"-inf", b"#", b"'", b"\\", b"=1+1", b";", b"\r", b"\0"),
    *(b'"a,b"', b'"5"', b'"a""b"', b'""', b'"', b'5" pipe', b'"a"b', b'a""'),
    *(b"\xc3\xa9", b"\xff", b"\xef\xbb\xbf"),
)


def csv_trial(rng, folder):
    """Return how many of the lines of one random CSV file are read otherwise beside the others.

    The file must be refused exactly if one of its lines is refused alone.
    """
    lines = [_line(rng) for _ in range(rng.integers(1, 15))]
    if rng.random() < 0.7:  # most random lines are refused: keep files that are read
        lines = [line for line in lines if _read(folder, [line]) is not None]
    if rng.random() < 0.3:  # two stray quotes close one another, if a reader lets them
        for place in rng.integers(len(lines) + 1, size=2):
            lines.insert(place, b'p1,0.5,"note,0.25\n')
    chosen = [lines, lines[::2], [lines[i] for i in rng.permutation(len(lines))]]
    return sum(_moved(folder, some, rng) for some in chosen)


def _moved(folder, lines, rng):
    alone = [_read(folder, [line]) for line in lines]
    # longer than the longest line, of two long cells: a line of a block or more is refused
    whole = _read(folder, lines, block_bytes=int(rng.integers(240, 400)), cut=rng.random() < 0.5,
                  packed=rng.random() < 0.3)  # fmt: skip
    if any(row is None for row in alone):
        return 0 if whole is None else len(lines)
    if whole is None or len(whole) != len(lines):
        return len(lines)
    return sum(row != [here] for row, here in zip(alone, whole, strict=True))


def _line(rng):
    cells = [b"p%d" % rng.integers(9), b"%r" % float(rng.normal()), b"note", b"0.25"]
    for _ in range(rng.choice(3, p=[0.5, 0.3, 0.2])):
        cells[rng.integers(len(cells))] = _CELLS[rng.integers(len(_CELLS))]
    if rng.random() < 0.05:
        cells.insert(int(rng.integers(4)), b"9")
    if rng.random() < 0.05:
        del cells[rng.integers(4)]
    line = b",".join(cells)
    if rng.random() < 0.05:
        line = bytes(rng.integers(0, 256, size=rng.integers(12), dtype=np.uint8))
    return line.replace(b"\n", b"") + (b"\r\n" if rng.random() < 0.3 else b"\n")


def _read(folder, lines, block_bytes=400, cut=False, packed=False):
    """Return the rows, bit for bit, or None where the file is refused."""
    content = HEADER + b"\n" + b"".join(lines)
    if cut and lines and lines[-1].strip():
        content = content.removesuffix(b"\n")  # the last line may have no end
    path = folder / ("trial.csv.gz" if packed else "trial.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    return _rows(CsvFile(str(path), block_bytes=block_bytes), ["x", "y"], ["id"])


def parquet_trial(rng, folder):
    """Return how many rows of one random Parquet file are read otherwise beside the others.

    All files have one schema, as rows that are told apart by nothing public have.
    """
    import pyarrow
    import pyarrow.parquet

    id_type, x_type = _PARQUET_TYPES[rng.integers(len(_PARQUET_TYPES))]
    schema = pyarrow.schema([("id", id_type), ("x", x_type), ("y", "float32")])
    values = [
        (_value(id_type, rng), _value(x_type, rng), float(rng.normal()))
        for _ in range(rng.integers(1, 20))
    ]

    def read(rows):
        columns = zip(*rows, strict=True)
        arrays = [pyarrow.array(c, kind) for c, kind in zip(columns, schema.types, strict=True)]
        path = folder / "trial.parquet"
        table = pyarrow.Table.from_arrays(arrays, schema=schema)
        pyarrow.parquet.write_table(table, path, row_group_size=int(rng.integers(1, 9)))
        return _rows(ParquetFile(str(path)), ["x", "y"], ["id"])

    alone, whole = [read([row]) for row in values], read(values)
    if any(row is None for row in alone):
        return 0 if whole is None else len(values)
    return sum(row != [here] for row, here in zip(alone, whole, strict=True))


_PARQUET_TYPES = (
    ("string", "int64"), ("int64", "double"), ("large_string", "int32"), ("uint64", "float"),
)  # fmt: skip


def _value(kind, rng):
    if rng.random() < 0.02:
        return None
    if "string" in kind:
        return rng.choice(["a", "NA", "1", "01", "1.0", " ", "é"])
    whole = int(rng.integers(0, 2**63 if "64" in kind else 2**31))
    if "int" in kind:
        return whole
    return float(rng.choice([whole, rng.normal(), np.inf], p=[0.5, 0.48, 0.02]))


def _rows(file, numbers, texts):
    rows = []
    try:
        for batch in file.batches(numbers, texts):
            words = [column.to_pylist() for column in batch.texts]
            rows += [(row.tobytes(), *word) for row, *word in zip(batch.X, *words, strict=True)]
    except ValueError:
        return None
    return rows
