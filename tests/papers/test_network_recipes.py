"""The recipes for photographs, end to end on small images that are written here."""

from importlib import import_module

import numpy as np
import pytest

torch = pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

SMALL = ["--side", "16", "--epochs", "1"]

pytestmark = pytest.mark.filterwarnings("ignore::skdp_bary.exceptions.PrivacyWarning")


def recipe(name):
    return import_module(f"benchmarks.sliced.{name}")


def write_images(paths, seed):
    rng = np.random.default_rng(seed)
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (20, 18, 3), dtype=np.uint8)).save(path)


@pytest.fixture
def celeba(tmp_path):
    names = [f"{number:06d}.jpg" for number in range(40)]
    write_images([tmp_path / "img_align_celeba" / name for name in names], 0)
    (tmp_path / "list_eval_partition.txt").write_text("\n".join(f"{n} 0" for n in names))
    return tmp_path


@pytest.fixture
def office31(tmp_path):
    for seed, domain in enumerate(("amazon", "webcam")):
        folder = tmp_path / domain / "images"
        write_images([folder / c / f"{i}.jpg" for c in ("bike", "mug") for i in range(20)], seed)
    return tmp_path


def test_celeba(celeba, tmp_path, capsys):
    state, picture = tmp_path / "state.pt", tmp_path / "faces.png"
    sizes = ["--filters", "4", "--projections", "20", "--quantiles", "4"]
    training = ["--steps", "2", "--batch", "6", "--checkpoint", str(state)]
    arguments = [str(celeba), *SMALL, *sizes, *training, "--epsilon", "10"]
    module = recipe("recipe_celeba")
    module.main([*arguments, "--dry-run"])
    assert "40 images, 32 features" in capsys.readouterr().out
    assert not state.exists()
    module.main(arguments)
    before = torch.load(state, weights_only=True)
    for path in (celeba / "img_align_celeba").iterdir():
        path.unlink()  # going on reads no image
    module.main([*arguments, "--resume", "--samples", str(picture)])
    after = torch.load(state, weights_only=True)
    assert torch.equal(before["release"]["quantiles"], after["release"]["quantiles"])
    assert len(after["training"]["losses"]) == 2
    assert Image.open(picture).size == (128, 128)


@pytest.mark.parametrize("method", ["sketch", "batches"])
def test_adaptation(office31, method, capsys):
    arguments = ["office31", str(office31), *SMALL, "--source-epochs", "1", "--batch", "10"]
    module = recipe("recipe_adaptation")
    module.main([*arguments, "--method", method, "--score"])
    out = capsys.readouterr().out
    assert "40 private images, replacing one" in out
    assert "before adaptation" in out
