"""Rows of one partition divided into pieces in which every person is whole."""

import numpy as np

from .persons import encode_persons

_MIXER = np.uint64(0x9E3779B97F4A7C15)  # odd, near 2**64 over the golden ratio
_BLOCK = 1 << 16  # ids at a time
_MOST = 1 << 16


def divided(ids, n_rows, n_pieces):
    """Yield the places of the rows of each piece; equal ids are in one.

    Which piece a person is in changes no integer that is counted, only what is in memory at once.

    Parameters
    ----------
    ids : array-like of shape (n_rows,)
    n_rows : int
    n_pieces : int
    """
    if not (isinstance(getattr(ids, "dtype", None), np.dtype) and ids.dtype.kind in "biu"):
        ids = encode_persons(ids, n_rows)
    values, n_pieces = np.asarray(ids).reshape(-1), min(n_pieces, _MOST)
    piece = np.empty(n_rows, dtype=np.uint16)
    for start in range(0, n_rows, _BLOCK):
        words = values[start : start + _BLOCK].astype(np.uint64) * _MIXER
        piece[start : start + _BLOCK] = (words >> np.uint64(32)) % np.uint64(n_pieces)
    for place in range(n_pieces):
        rows = np.flatnonzero(piece == place)
        if rows.size:
            yield rows
