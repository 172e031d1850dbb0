"""Nearest centers of all rows, found once where the next question compares with the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..moments.frames import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..asking.query import Query
    from ..rows.persons import Chunk

_BLOCK = tuple[np.ndarray, np.ndarray, np.ndarray, "np.ndarray | None"]


@dataclass(frozen=True, eq=False)
class _Labels:
    """Which center of a frame is nearest to each row, and at which squared distance."""

    frame: Frame
    centers: np.ndarray
    label: np.ndarray
    square: np.ndarray

    def answers(self, query):
        """Whether they are what a query would find."""
        return self.frame is query.frame and np.array_equal(self.centers, query.integer_centers)


def labelled_blocks(query: Query, chunk: Chunk, keep: bool = False) -> Iterator[_BLOCK]:
    """Yield integer rows, their nearest centers, squared distances from them, and masses or None.

    Parameters
    ----------
    query : Query
        With centers in a frame, and ``nearest``.
    chunk : Chunk
    keep : bool, default=False
        Whether what is found stays until the next question: up to 12 bytes a row, where integer
        rows of many features stay too.
    """
    known = chunk.memo.pop(_Labels, None)
    if known is not None and not known.answers(query):
        known = None
    keep = keep and query.frame.kept and query.frame.is_wide
    found, end = [], 0
    for rows, squares, masses in query.frame.measured_blocks(chunk, query.digits.block):
        start, end = end, end + len(rows)
        if known is None:
            label, square = query.nearest(rows, squares)
        else:
            label, square = known.label[start:end].astype(np.int64), known.square[start:end]
        if keep:
            found.append((label.astype(np.int32), square))
        yield rows, label, square, masses
    if found:
        kept = (np.concatenate(each) for each in zip(*found, strict=True))
        chunk.memo[_Labels] = _Labels(query.frame, query.integer_centers, *kept)
