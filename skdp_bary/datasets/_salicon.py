"""Fixation files of the SALICON data set."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import numpy as np
from scipy.io import loadmat
from sklearn.utils import Bunch

_CHARACTERS = 1 << 20  # read at once
_BETWEEN = re.compile(r"[\s,]*")


def load_salicon_fixations(path: str | os.PathLike, *, images: list | None = None) -> Bunch:
    """Load where people looked at images, from a file of one of SALICON's two formats.

    The first release has one JSON file for all images: ``fixations_train2014.json``, with
    ``[row, column]`` pairs for each image and worker. It is read as a stream; images that are not
    wanted take no memory. The later release has a MATLAB file for each image, with one-based
    ``[column, row]`` pairs for each viewer.

    Parameters
    ----------
    path : str or path-like
        A ``.json``, ``.json.gz`` or ``.mat`` file.
    images : list of int or None, default=None
        Ids of the images that are wanted, of a JSON file; None for all.

    Returns
    -------
    fixations : Bunch
        With the attributes

        data : ndarray of shape (n_fixations, 2)
            Middles of the pixels, in pixels to the right of and below the upper left corner of the
            image. The public bounds of an image are ``((0, 0), (width, height))``.
        groups : ndarray of int of shape (n_fixations,)
            Who looked; give it to ``fit`` as ``groups``.
        images : ndarray of int of shape (n_fixations,)
            What at: ids of images.
        sizes : dict
            Width and height of each image, by its id.

    References
    ----------
    M. Jiang, S. Huang, J. Duan, Q. Zhao. SALICON: Saliency in context. CVPR 2015.

    Examples
    --------
    >>> from skdp_bary.datasets import load_salicon_fixations
    >>> gaze = load_salicon_fixations(
    ...     "fixations_val2014.json", images=[100083])  # doctest: +SKIP
    """
    if Path(path).suffix == ".mat":
        if images is not None:
            raise ValueError("images chooses from a JSON file; a MATLAB file holds one image.")
        return _load_matlab(path)
    wanted = None if images is None else set(images)
    sizes = {
        image["id"]: (image["width"], image["height"])
        for image in _stream_items(path, "images")
        if wanted is None or image["id"] in wanted
    }
    if wanted is not None and wanted - sizes.keys():
        raise ValueError(f"{path} has no images {sorted(wanted - sizes.keys())}.")
    looks = []
    for look in _stream_items(path, "annotations"):
        if look["image_id"] in sizes:
            pairs = np.array(look["fixations"], dtype=float).reshape(-1, 2)
            looks.append((pairs[:, ::-1] + 0.5, look["worker_id"], look["image_id"]))
    return _as_bunch(looks, sizes, path)


def _load_matlab(path):
    content = loadmat(path)
    if not {"gaze", "resolution"} <= content.keys() or "fixations" not in (
        content["gaze"].dtype.names or ()
    ):
        raise ValueError(f"{path} must hold gaze with fixations, and the resolution of the image.")
    height, width = content["resolution"].ravel().tolist()
    looks = [
        (np.asarray(gaze["fixations"], dtype=float).reshape(-1, 2) - 0.5, viewer, 0)
        for viewer, gaze in enumerate(content["gaze"].ravel())
    ]
    return _as_bunch(looks, {0: (width, height)}, path)


def _as_bunch(looks, sizes, path):
    if not looks:
        raise ValueError(f"{path} holds no fixations.")
    points, people, images = zip(*looks, strict=True)
    lengths = [len(p) for p in points]
    return Bunch(
        data=np.concatenate(points),
        groups=np.repeat(np.array(people, dtype=np.int64), lengths),
        images=np.repeat(np.array(images, dtype=np.int64), lengths),
        sizes=sizes,
    )


def _stream_items(path, name):
    """Yield the items of the array `name` of a JSON file, one in memory at a time."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        text = _skip_to(file, f'"{name}"', path)
        text, place = _skip_to(file, "[", path, text), 0
        decoder = json.JSONDecoder()
        while True:
            place = _BETWEEN.match(text, place).end()
            if text.startswith("]", place):
                return
            try:
                item, place = decoder.raw_decode(text, place)
            except json.JSONDecodeError:
                more = file.read(max(_CHARACTERS, len(text) - place))
                if not more:
                    raise ValueError(f"{path} ends inside the array {name!r}.") from None
                text, place = text[place:] + more, 0
                continue
            yield item


def _skip_to(file, mark, path, text=""):
    """Return what has been read after the first `mark`."""
    while mark not in text:
        more = file.read(_CHARACTERS)
        if not more:
            raise ValueError(f"{path} must be a JSON file with images and annotations of SALICON.")
        text = text[-len(mark) :] + more
    return text.split(mark, 1)[1]
