"""Folders of images, written here in the public formats and read back."""

import numpy as np
import pytest

from skdp_bary import DPSlicedWasserstein
from skdp_bary.datasets import (
    ImageFiles,
    load_celeba_images,
    load_office31_images,
    load_visda_images,
)

Image = pytest.importorskip("PIL.Image")


def write_image(path, gray, size=(12, 16)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (gray, gray // 2, 0)).save(path)


@pytest.fixture
def celeba(tmp_path):
    names = [f"{number:06d}.jpg" for number in range(1, 7)]
    for number, name in enumerate(names):
        write_image(tmp_path / "img_align_celeba" / name, 40 * number)
    parts = [f"{name} {number // 2}" for number, name in enumerate(names)]
    (tmp_path / "list_eval_partition.txt").write_text("\n".join(parts) + "\n")
    marks = [f"{name}  {1 if n % 2 else -1} -1" for n, name in enumerate(names)]
    table = ["6", "Smiling Young", *marks]
    (tmp_path / "list_attr_celeba.txt").write_text("\n".join(table) + "\n")
    return tmp_path


def test_celeba(celeba):
    images = load_celeba_images(celeba, split="validation", image_shape=(8, 8, 3))
    assert len(images) == 2 and images.labels is None and images.n_features == 192
    rows = images.rows(range(2))
    np.testing.assert_allclose(rows[:, 0], [80 / 255, 120 / 255], atol=0.02)
    np.testing.assert_allclose(rows[:, 2], 0.0, atol=0.02)
    smiling = load_celeba_images(celeba, attribute="Smiling")
    assert smiling.labels.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="attribute"):
        load_celeba_images(celeba, attribute="Tall")
    with pytest.raises(ValueError, match="split"):
        load_celeba_images(celeba, split="all")


def test_visda(tmp_path):
    lines = []
    for number, name in enumerate(["aeroplane/a b.jpg", "truck/c.jpg", "truck/d.jpg"]):
        write_image(tmp_path / "train" / name, 60 * number)
        lines.append(f"{name} {0 if number == 0 else 11}")
    (tmp_path / "train" / "image_list.txt").write_text("\n".join(lines) + "\n")
    images = load_visda_images(tmp_path, image_shape=(4, 4))
    assert images.labels.tolist() == [0, 11, 11]
    rows = images.rows([2, 0])
    assert rows.shape == (2, 16) and rows[0, 0] > rows[1, 0]


def test_office31(tmp_path):
    for number, name in enumerate(["mug", "bike"]):
        for frame in range(2):
            write_image(tmp_path / "dslr" / "images" / name / f"frame_{frame}.jpg", 90 * number)
    (tmp_path / "dslr" / "images" / "mug" / "Thumbs.db").write_text("no image")
    images = load_office31_images(tmp_path, "dslr", image_shape=(4, 4, 3))
    assert images.labels.tolist() == ["bike", "bike", "mug", "mug"]
    with pytest.raises(ValueError, match="holds no images"):
        load_office31_images(tmp_path, "webcam")


def test_chunks_are_read_again_and_encoded(celeba):
    images = load_celeba_images(celeba, attribute="Young", image_shape=(4, 4))
    chunks = images.chunks(chunk_rows=1)
    assert [len(chunk) for chunk in chunks()] == [len(chunk) for chunk in chunks()] == [1, 1]
    encoded = images.chunks(lambda rows: rows[:, :2], with_labels=True)
    ((X, y),) = encoded()
    assert X.shape == (2, 2) and y.tolist() == [-1, -1]
    with pytest.raises(ValueError, match="with_labels"):
        load_celeba_images(celeba).chunks(with_labels=True)


@pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")
def test_images_are_fitted_without_being_held(celeba):
    images = load_celeba_images(celeba, image_shape=(4, 4))
    settings = {"bounds": (0, 1), "n_min": 2, "n_projections": 4, "random_state": 0}
    streamed = DPSlicedWasserstein(**settings).fit(images.chunks(chunk_rows=1))
    whole = DPSlicedWasserstein(**settings).fit(images.rows(range(2)))
    np.testing.assert_array_equal(streamed.quantiles_, whole.quantiles_)


def test_images_are_cut_in_the_middle(tmp_path):
    pixels = np.zeros((6, 12, 3), dtype=np.uint8)
    pixels[:, 3:9] = 255
    Image.fromarray(pixels).save(tmp_path / "wide.png")
    row = ImageFiles((tmp_path / "wide.png",), None, (6, 6)).rows([0])
    np.testing.assert_array_equal(row, 1.0)


@pytest.mark.parametrize("image_shape", [(8,), (8, 8, 4), (0, 8)])
def test_shapes_of_other_kinds_are_refused(celeba, image_shape):
    with pytest.raises(ValueError, match="image_shape"):
        load_celeba_images(celeba, image_shape=image_shape)
