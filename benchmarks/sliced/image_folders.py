"""Folders of images as CelebA, VisDA and Office-31 publish them, read when they are needed."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

_CHUNK_ROWS = 512
_OFFICE_ENDINGS = (".jpg", ".jpeg", ".png")


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Files of images, and how each becomes a row; no image is held in memory.

    An image is cut to the largest centered square and resized. Its row has the values in [0, 1] in
    the order (row, column, color) and is a function of the file alone.
    """

    paths: list
    labels: np.ndarray | None
    side: int

    def __len__(self):
        return len(self.paths)

    def chunks(self, encode):
        """Return a function that yields the encoded images chunk by chunk, as ``fit`` takes it."""

        def read():
            for first in range(0, len(self), _CHUNK_ROWS):
                paths = self.paths[first : first + _CHUNK_ROWS]
                yield encode(np.array([self._row(path) for path in paths]))

        return read

    def _row(self, path):
        with Image.open(path) as image:
            width, height = image.size
            left, top = max(0, width - height) / 2, max(0, height - width) / 2
            image = image.convert("RGB").resize(
                (self.side, self.side),
                Image.Resampling.BILINEAR,
                box=(left, top, width - left, height - top),
            )
            return np.asarray(image, dtype=np.float64).ravel() / 255.0


def celeba(folder, side):
    """Find the images of CelebA's training part, without labels.

    Z. Liu, P. Luo, X. Wang, X. Tang. Deep learning face attributes in the wild. ICCV 2015.
    """
    parts = (line.split() for line in _lines(folder / "list_eval_partition.txt"))
    paths = [folder / "img_align_celeba" / name for name, part in parts if part == "0"]
    return ImageFiles(paths, None, side)


def visda(folder, domain, side):
    """Find the images of one domain of VisDA 2017: "train" is synthetic, "validation" is real.

    X. Peng, B. Usman, N. Kaushik, J. Hoffman, D. Wang, K. Saenko. VisDA: the visual domain
    adaptation challenge. 2017.
    """
    entries = [line.rsplit(maxsplit=1) for line in _lines(folder / domain / "image_list.txt")]
    labels = np.array([int(label) for _, label in entries])
    return ImageFiles([folder / domain / name for name, _ in entries], labels, side)


def office31(folder, domain, side):
    """Find the images of one domain of Office-31: "amazon", "dslr" or "webcam".

    K. Saenko, B. Kulis, M. Fritz, T. Darrell. Adapting visual category models to new domains. ECCV
    2010.
    """
    found = sorted((folder / domain / "images").glob("*/*"))
    paths = [path for path in found if path.suffix.lower() in _OFFICE_ENDINGS]
    return ImageFiles(paths, np.array([path.parent.name for path in paths]), side)


def _lines(path):
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
