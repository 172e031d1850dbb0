"""Folders of images in the formats of CelebA, VisDA and Office-31, read when they are needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from .._optional import import_optional
from ..privacy._checks import check_integer, check_option

_CHUNK_ROWS = 512
_CELEBA_SPLITS = {"train": "0", "validation": "1", "test": "2"}
_OFFICE_DOMAINS = ("amazon", "dslr", "webcam")
_VISDA_DOMAINS = ("train", "validation", "test")
_OFFICE_ENDINGS = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Files of images, and how each becomes a row; no image is held in memory.

    An image is cut to the largest centered square-like part of the wanted proportions, resized, and
    given as values in [0, 1] in the order (height, width, channel). A row is a function of its file
    alone.

    Parameters
    ----------
    paths : tuple of Path
    labels : ndarray of shape (n_images,) or None
    image_shape : (height, width) or (height, width, 3)
        Two numbers give gray images.

    Attributes
    ----------
    n_features : int
        Length of a row.
    """

    paths: tuple
    labels: np.ndarray | None
    image_shape: tuple

    def __len__(self):
        return len(self.paths)

    @cached_property
    def n_features(self) -> int:
        """Length of a row."""
        return int(np.prod(self.image_shape))

    def rows(self, places: Iterable[int]) -> np.ndarray:
        """Return the images at some places as rows.

        Parameters
        ----------
        places : iterable of int

        Returns
        -------
        X : ndarray of shape (n_places, n_features)
        """
        found = [self._row(self.paths[place]) for place in places]
        return np.array(found).reshape(len(found), self.n_features)

    def chunks(
        self,
        encode: Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        with_labels: bool = False,
        chunk_rows: int = _CHUNK_ROWS,
    ) -> Callable[[], Iterator]:
        """Return a function that reads the images chunk by chunk, as ``fit`` takes it.

        Parameters
        ----------
        encode : callable or None, default=None
            Takes rows and returns features; what it makes of a row must not depend on other rows.
        with_labels : bool, default=False
            Whether a chunk is ``(X, y)`` instead of ``X``.
        chunk_rows : int, default=512
            Images in memory at once.

        Returns
        -------
        chunks : callable
            Returns a new iterator every time it is called.
        """
        chunk_rows = check_integer(chunk_rows, "chunk_rows", low=1)
        if with_labels and self.labels is None:
            raise ValueError("with_labels must be False for images without labels.")

        def read():
            for first in range(0, len(self), chunk_rows):
                places = range(first, min(first + chunk_rows, len(self)))
                X = self.rows(places) if encode is None else encode(self.rows(places))
                yield (X, self.labels[first : places.stop]) if with_labels else X

        return read

    def _row(self, path):
        pillow = import_optional("PIL.Image", "images", "Reading images")
        height, width = self.image_shape[:2]
        with pillow.open(path) as image:
            image = image.convert("RGB" if len(self.image_shape) == 3 else "L")
            box = _middle(*image.size, width / height)
            image = image.resize((width, height), pillow.Resampling.BILINEAR, box=box)
            return np.asarray(image, dtype=np.float64).ravel() / 255.0


def load_celeba_images(
    path: str | os.PathLike,
    *,
    split: Literal["train", "validation", "test"] = "train",
    attribute: str | None = None,
    image_shape: tuple[int, int] | tuple[int, int, int] = (64, 64, 3),
) -> ImageFiles:
    """Find the images of CelebA in their folder.

    Parameters
    ----------
    path : str or path-like
        Folder with ``img_align_celeba/``, ``list_eval_partition.txt`` and, for `attribute`,
        ``list_attr_celeba.txt``.
    split : {"train", "validation", "test"}, default="train"
    attribute : str or None, default=None
        Attribute whose values, -1 and 1, are the labels.
    image_shape : (height, width) or (height, width, 3), default=(64, 64, 3)

    Returns
    -------
    images : ImageFiles

    References
    ----------
    Z. Liu, P. Luo, X. Wang, X. Tang. Deep learning face attributes in the wild. ICCV 2015.

    Examples
    --------
    >>> from skdp_bary.datasets import load_celeba_images
    >>> images = load_celeba_images("celeba")  # doctest: +SKIP
    """
    path = Path(path)
    code = _CELEBA_SPLITS[check_option(split, "split", _CELEBA_SPLITS)]
    lines = _lines(path / "list_eval_partition.txt")
    names = [name for name, part in (line.split() for line in lines) if part == code]
    labels = None
    if attribute is not None:
        table = _lines(path / "list_attr_celeba.txt")[1:]  # the first line is a number
        columns = table[0].split()
        check_option(attribute, "attribute", columns)
        values = {name: marks for name, *marks in (line.split() for line in table[1:])}
        place = columns.index(attribute)
        labels = np.array([int(values[name][place]) for name in names])
    return _files([path / "img_align_celeba" / name for name in names], labels, image_shape)


def load_visda_images(
    path: str | os.PathLike,
    domain: Literal["train", "validation", "test"] = "train",
    *,
    image_shape: tuple[int, int] | tuple[int, int, int] = (64, 64, 3),
) -> ImageFiles:
    """Find the images of one domain of VisDA 2017 in their folder.

    Parameters
    ----------
    path : str or path-like
        Folder with ``train/image_list.txt`` and ``validation/image_list.txt``, whose lines hold the
        path of an image in the folder of its domain and the number of its class.
    domain : {"train", "validation", "test"}, default="train"
        Synthetic images, real images, and real frames of videos.
    image_shape : (height, width) or (height, width, 3), default=(64, 64, 3)

    Returns
    -------
    images : ImageFiles

    References
    ----------
    X. Peng, B. Usman, N. Kaushik, J. Hoffman, D. Wang, K. Saenko. VisDA: the visual domain
    adaptation challenge. 2017.

    Examples
    --------
    >>> from skdp_bary.datasets import load_visda_images
    >>> images = load_visda_images("visda", "validation")  # doctest: +SKIP
    """
    folder = Path(path) / check_option(domain, "domain", _VISDA_DOMAINS)
    entries = [line.rsplit(maxsplit=1) for line in _lines(folder / "image_list.txt")]
    labels = np.array([int(label) for _, label in entries])
    return _files([folder / name for name, _ in entries], labels, image_shape)


def load_office31_images(
    path: str | os.PathLike,
    domain: Literal["amazon", "dslr", "webcam"] = "amazon",
    *,
    image_shape: tuple[int, int] | tuple[int, int, int] = (64, 64, 3),
) -> ImageFiles:
    """Find the images of one domain of Office-31 in their folder.

    Parameters
    ----------
    path : str or path-like
        Folder with ``amazon/images/``, ``dslr/images/`` and ``webcam/images/``, where every class
        is a folder of images.
    domain : {"amazon", "dslr", "webcam"}, default="amazon"
    image_shape : (height, width) or (height, width, 3), default=(64, 64, 3)

    Returns
    -------
    images : ImageFiles
        Labels are the names of the folders.

    References
    ----------
    K. Saenko, B. Kulis, M. Fritz, T. Darrell. Adapting visual category models to new domains. ECCV
    2010.

    Examples
    --------
    >>> from skdp_bary.datasets import load_office31_images
    >>> images = load_office31_images("office31", "webcam")  # doctest: +SKIP
    """
    folder = Path(path) / check_option(domain, "domain", _OFFICE_DOMAINS) / "images"
    paths = sorted(p for p in folder.glob("*/*") if p.suffix.lower() in _OFFICE_ENDINGS)
    return _files(paths, np.array([p.parent.name for p in paths]), image_shape)


def _lines(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _files(paths, labels, image_shape):
    shape = tuple(check_integer(side, "image_shape", low=1) for side in image_shape)
    if len(shape) != 2 and shape[2:] != (3,):
        raise ValueError(
            f"image_shape must be (height, width) or (height, width, 3), got {image_shape!r}."
        )
    if not paths:
        raise ValueError("path holds no images of this format.")
    return ImageFiles(tuple(paths), labels, shape)


def _middle(width, height, ratio):
    """Return the largest centered box of a ratio of width to height."""
    box_width, box_height = min(width, height * ratio), min(height, width / ratio)
    left, top = (width - box_width) / 2, (height - box_height) / 2
    return left, top, left + box_width, top + box_height
