"""CSV files: a row is read from its own line alone, and what cannot be is refused in words."""

import gzip
import re

import numpy as np
import pytest

from tests.queries.reader_trials import csv_trial
from tests.world import CsvFile

pytest.importorskip("pyarrow")

GOOD = b"id,x,y\nann,1,2\nbob,3,4\n"


def rows_of(content, tmp_path, name="rows.csv", block_bytes=1 << 16):
    path = tmp_path / name
    path.write_bytes(content)
    batches = list(CsvFile(str(path), block_bytes=block_bytes).batches(["x", "y"], ["id"]))
    ids = [text for batch in batches for text in batch.texts[0].to_pylist()]
    return ids, np.concatenate([np.empty((0, 2)), *(batch.X for batch in batches)]).tolist()


READ = (["ann", "bob"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD[:-1],
        GOOD.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + GOOD,
        GOOD.replace(b"ann", b'"ann"').replace(b"1,", b'"1",'),
        b'"id",x,"y"\n' + GOOD[7:],
        GOOD.replace(b"1", b" 1.0 ").replace(b"4", b"+4e0\t"),
        b"x,id,unused,y\n1,ann,\xff,2\n3,bob,\"a,\"\"b\",4\n",
    ],
    ids=["plain", "no_end", "crlf", "mark", "quoted", "quoted_names", "blanks", "unused"],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_read(tmp_path, content, packed):
    if packed:
        half = len(content) // 2  # files of several members are files, too
        content = gzip.compress(content[:half]) + gzip.compress(content[half:])
    assert rows_of(content, tmp_path, "rows.csv.gz" if packed else "rows.csv") == READ


@pytest.mark.parametrize(
    "word",
    ["NA", "null", "None", "nan", "NULL", "n/a", "#N/A", "0012", "1e3", " ", "True", "=1", "é"],
)
def test_ids_are_text_as_written(tmp_path, word):
    ids, _ = rows_of(GOOD + f"{word},5,6\n".encode(), tmp_path)
    assert ids == ["ann", "bob", word]


REFUSED = {
    "more": (b"cy,5,6,7\n", "more or fewer cells"),
    "fewer": (b"cy,5\n", "more or fewer cells"),
    "empty_line": (b"\n", "an empty line"),
    "blank_line": (b"  \n", "more or fewer cells"),
    "open_quote": (b'"cy,5,6\n', "a quote that is not closed"),
    "open_quote_at_end": (b'cy,5,6"\n', "a quote"),
    "quote_within": (b'5" pipe 6",5,6\n', "a quote"),
    "text_after_quote": (b'"cy"z"",5,6\n', "a quote"),
    "quote_over_lines": (b'"c\ny",5,6\n', "a quote"),
    "lone_return": (b"cy\r,5,6\n", "carriage return"),
    "nul": (b"c\0y,5,6\n", "NUL"),
    "mark_within": (b"\xef\xbb\xbfcy,5,6\n", "byte order mark"),
    "latin1": (b"Ren\xe9,5,6\n", "column .id. not encoded in UTF-8"),
    "no_number": (b"cy,5,six\n", "column 'y' of .* must hold numbers"),
    "missing": (b"cy,,6\n", "column 'x' of .* has missing values"),
    "quoted_missing": (b'cy,"",6\n', "column 'x' of .* has missing values"),
    "nan": (b"cy,5,nan\n", "column 'y' of .* has missing values"),
    "infinity": (b"cy,5,-inf\n", "column 'y' of .* has missing values"),
    "too_large": (b"cy,5,1e999\n", "column 'y' of .* has missing values"),
    "hexadecimal": (b"cy,5,0x10\n", "must hold numbers"),
    "thousands": (b"cy,5,1_000\n", "must hold numbers"),
    "long_line": (b"c" * (1 << 16) + b",5,6\n", "a line of 65,536 or more bytes"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("block_bytes", [1 << 16, 1 << 17])
def test_what_is_refused_quotes_no_value_and_counts_no_line(tmp_path, case, block_bytes):
    line, text = REFUSED[case]
    if case == "long_line" and block_bytes > 1 << 16:
        line, text = line * 2, "a line of 131,072 or more bytes"
        line = line.replace(b",5,6\n", b"", 1)
    for place in (0, 1, 2):
        lines = GOOD.splitlines(keepends=True)
        lines.insert(1 + place, line)
        with pytest.raises(ValueError, match=text) as caught:
            rows_of(b"".join(lines), tmp_path, block_bytes=block_bytes)
        message = str(caught.value).replace(str(tmp_path), "").replace("rows.csv", "")
        assert not any(value in message for value in ("cy", "six", "ann", "pipe", "5,6"))
        assert caught.value.__context__ is None
        said = re.sub("UTF-8|LATIN1|1234.5", "", message).replace(f"{block_bytes:,}", "")
        assert not re.search(r"[0-9]", said)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-9], lambda b: GOOD, lambda b: b[:20] + b"\7" * 9 + b[29:]]
)
def test_a_damaged_archive_is_refused_in_words(tmp_path, damage):
    packed = gzip.compress(GOOD)
    with pytest.raises(ValueError, match="not compressed by gzip, or is damaged or cut short"):
        rows_of(damage(packed), tmp_path, "rows.csv.gz")


@pytest.mark.parametrize("seed", range(6))
def test_no_line_moves_another(tmp_path, seed):
    rng = np.random.default_rng(seed)
    assert sum(csv_trial(rng, tmp_path) for _ in range(5)) == 0
