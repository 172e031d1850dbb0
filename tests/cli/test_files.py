"""What was charged is delivered, what cannot be delivered is not charged, and no half is left."""

import base64
import errno
import io
import json
import os
import resource
import signal
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from skdp_bary import BudgetAccountant
from skdp_bary.cli import main
from tests.privacy.test_ledger_crash import start, stop, wait_until
from tests.world import home

_files = home("PromisedFile")
_outputs = home("heatmap")

pytest.importorskip("pyarrow")

PLACES = ["rows.csv", "--columns", "x", "y", "--bounds", "0", "1"]
ENDINGS = ["csv", "npz", "geojson", "png"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with rows and a budget, as the working directory."""
    rows = np.random.default_rng(0).uniform(size=(500, 3))
    np.savetxt(tmp_path / "rows.csv", rows, delimiter=",", header="x,y,z", comments="")
    monkeypatch.chdir(tmp_path)
    BudgetAccountant.create("budget.db", 5.0)
    return tmp_path


def release(command, *options):
    return main([command, *options, "--n-hint", "500", "--ledger", "budget.db"])


def n_charged():
    return len(BudgetAccountant.open("budget.db").entries)


def left_behind(folder):
    return [path.name for path in Path(folder).iterdir() if "unfinished" in path.name]


def check_content(path):
    """Fail unless a release of this form is whole."""
    ending, content = Path(path).suffix, Path(path).read_bytes()
    if ending == ".geojson":
        assert json.loads(content)["features"]
    elif ending == ".npz":
        assert all(len(array) for array in np.load(io.BytesIO(content)).values())
    elif ending == ".png":
        assert content.startswith(b"\x89PNG") and content.endswith(b"IEND\xaeB`\x82")
    else:
        assert np.isfinite(np.loadtxt(path, delimiter=",", skiprows=1)).all()


@contextmanager
def files_of_at_most(n_bytes):
    """A real limit of the system, met by every file as a full disk would be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


THREE = ["rows.csv", "--columns", "x", "y", "z", "--bounds", "0", "1"]


@pytest.mark.parametrize(
    ("command", "options", "text"),
    [
        ("measure", [*THREE, "--out", "m.geojson"], "needs two columns"),
        ("kmeans", [*THREE, "--out", "m.geojson"], "needs two columns"),
        ("barycenter", [*THREE, "--out", "m.geojson"], "needs two columns"),
        ("kmeans", ["rows.csv", "--columns", "x", "--bounds", "0", "1", "--out", "m.geojson"],
         "needs two columns"),
        ("heatmap", [*THREE, "--out", "m.csv"], "features"),
        ("measure", [*PLACES, "--out", "taken.csv", "--overwrite"], "is a folder"),
        ("measure", [*PLACES, "--out", "rows.csv", "--overwrite"], "would be replaced"),
        ("measure", [*PLACES, "--out", "/proc/self/m.csv"], "cannot be written"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_costs_nothing(folder, capsys, command, options, text):
    (folder / "taken.csv").mkdir()
    assert release(command, *options) == 2
    assert text in capsys.readouterr().err
    assert n_charged() == 0 and not left_behind(folder)


def test_one_charge_gives_several_files(folder, capsys):
    """A second form was a second charge."""
    outs = [word for ending in ENDINGS for word in ("--out", f"m.{ending}")]
    assert release("heatmap", *PLACES, "--resolution", "16", *outs) == 0 and n_charged() == 1
    assert "wrote m.csv and m.npz and m.geojson and m.png; people" in capsys.readouterr().out
    for ending in ENDINGS:
        check_content(f"m.{ending}")
    assert release("heatmap", *PLACES, "--out", "n.csv", "--out", "./n.csv") == 2
    with pytest.raises(SystemExit):
        release("heatmap", *PLACES, "--out", "n.csv", "--out", "n.txt")
    assert "must end in" in capsys.readouterr().err and n_charged() == 1
    Path("s.yaml").write_text("columns:\n  x: {kind: number, low: 0, high: 1}\n")
    outs = ["--delta", "0", "--out", "t.csv", "--out", "t.npz"]
    assert release("table", "rows.csv", "--schema", "s.yaml", *outs) == 0 and n_charged() == 2
    drawn = np.loadtxt("t.csv", delimiter=",", skiprows=1)
    assert np.array_equal(drawn, np.load("t.npz")["x"].astype(float))


@pytest.mark.parametrize("command", ["heatmap", "kmeans"])
def test_a_picture_without_what_draws_it_costs_nothing(folder, capsys, monkeypatch, command):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    assert release(command, *PLACES, "--out", "m.png") == 2
    assert "skdp_bary[plot]" in capsys.readouterr().err and n_charged() == 0


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_costs_nothing(folder, capsys, ending):
    with files_of_at_most(1 << 20):
        assert release("measure", *PLACES, "--out", f"m.{ending}") == 2
    assert "cannot be written" in capsys.readouterr().err
    assert n_charged() == 0 and not left_behind(folder) and not (folder / f"m.{ending}").exists()


class FullDisk:
    """Stands for writing content: full for the first files that are given."""

    def __init__(self, n_full):
        self._left = n_full
        self._write = _files._write

    def __call__(self, file, content):
        self._left -= 1
        if self._left >= 0:
            file.write(content[:100])
            raise OSError(errno.ENOSPC, "No space left on device")
        self._write(file, content)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("command", ["measure", "heatmap"])
def test_a_disk_that_fills_after_the_charge_loses_nothing(
    folder, tmp_path_factory, monkeypatch, capsys, command, ending
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    monkeypatch.setattr(_files, "_write", FullDisk(1))
    assert release(command, *PLACES, "--out", f"m.{ending}") == 4
    (kept,) = elsewhere.iterdir()
    captured = capsys.readouterr()
    assert str(kept) in captured.err and "No space left" in captured.err
    assert "wrote" not in captured.out and n_charged() == 1
    check_content(kept)
    assert not left_behind(folder) and not (folder / f"m.{ending}").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_where_no_disk_has_room_it_is_printed(folder, monkeypatch, capsys, ending):
    monkeypatch.setattr(_files, "_write", FullDisk(2))
    assert release("measure", *PLACES, "--out", f"m.{ending}") == 4
    captured = capsys.readouterr()
    assert "base64 -d" in captured.err
    _, printed = captured.out.split("y from 0 to 1\n")
    printed, _ = printed.split("left of the budget")
    (folder / f"decoded.{ending}").write_bytes(base64.b64decode(printed))
    check_content(folder / f"decoded.{ending}")


def test_a_form_that_fails_gives_arrays(folder, monkeypatch, capsys):
    def fail(axes, columns):
        raise MemoryError("no room for a picture")

    monkeypatch.setattr(_outputs, "_picture", fail)
    assert release("kmeans", *PLACES, "--out", "m.png") == 4
    (kept,) = folder.glob("m.*.npz")
    check_content(kept)
    captured = capsys.readouterr()
    assert kept.name in captured.err and "no room for a picture" in captured.err


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_replaced(folder, monkeypatch, capsys, links):
    write = _files._write

    def other(file, content):
        write(file, content)
        (folder / "m.csv").write_text("of somebody else")

    def no_links(*given):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(_files, "_write", other)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    assert release("measure", *PLACES, "--out", "m.csv") == 4
    assert (folder / "m.csv").read_text() == "of somebody else"
    (kept,) = folder.glob("m.*.csv")
    assert kept.name in capsys.readouterr().err and not left_behind(folder)
    check_content(kept)


def test_a_link_is_followed_and_the_mask_is_heeded(folder):
    (folder / "there").mkdir()
    (folder / "m.csv").symlink_to(folder / "there" / "real.csv")
    before = os.umask(0o027)
    try:
        assert release("measure", *PLACES, "--out", "m.csv") == 0
    finally:
        os.umask(before)
    real = folder / "there" / "real.csv"
    assert (folder / "m.csv").is_symlink() and real.stat().st_mode & 0o777 == 0o640
    check_content(real)


def test_asking_to_stop_waits_for_the_file(folder, monkeypatch):
    write = _files._write

    def interrupted(file, content):
        os.kill(os.getpid(), signal.SIGINT)
        write(file, content)

    monkeypatch.setattr(_files, "_write", interrupted)
    monkeypatch.setattr("sys.tracebacklimit", 1000, raising=False)
    with pytest.raises(KeyboardInterrupt):
        release("measure", *PLACES, "--out", "m.csv")
    check_content("m.csv")
    assert sys.tracebacklimit == 0


def write_slowly(file, content, write=_files._write_all):
    for begin in range(0, len(content), 4096):
        write(file, content[begin : begin + 4096])
        if not content.startswith(bytes(64)):
            time.sleep(0.001)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_killed_write_leaves_no_half(folder, overwrite, monkeypatch):
    """Killed as soon as a file of that name is there or has changed, or while it is written."""
    out = folder / "m.geojson"
    if overwrite:
        out.write_text("before")
    options = [*PLACES, "--resolution", "64", "--n-hint", "500", "--out", out.name, "--overwrite"]
    monkeypatch.setattr(_files, "_write_all", write_slowly)
    process = start(lambda: main(["heatmap", *options]))
    wait_until(lambda: _is_written(folder) or _changed(out, overwrite))
    stop(process)
    if _changed(out, overwrite):
        check_content(out)
    for name in left_behind(folder):
        assert name.startswith("m.") and name.endswith(".geojson.unfinished")


def _changed(path, overwrite):
    return path.exists() and (not overwrite or path.read_bytes() != b"before")


def _is_written(folder):
    for name in left_behind(folder):
        with suppress(FileNotFoundError), (folder / name).open("rb") as draft:
            if draft.read(64).strip(b"\0"):
                return True
    return False


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_answer_that_nobody_can_read_costs_nothing(folder, monkeypatch, capsys):
    np.savetxt("public.csv", np.ones((9, 2)), delimiter=",", header="x,y", comments="")
    # closing the file fails, too, unless it was turned away
    with Path("/dev/full").open("w") as full, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", full)
        assert release("distance", *PLACES, "--reference", "public.csv") == 2
    assert "No space left" in capsys.readouterr().err and n_charged() == 0


def test_an_answer_that_is_paid_for_is_told_as_an_error_at_least(folder, monkeypatch, capsys):
    say = _files.say

    def fails_later(text, stream=None):
        if stream is None and n_charged():
            raise BrokenPipeError
        say(text, stream)

    monkeypatch.setattr(_files, "say", fails_later)
    np.savetxt("public.csv", np.ones((9, 2)), delimiter=",", header="x,y", comments="")
    assert release("distance", *PLACES, "--reference", "public.csv") == 0
    assert "distance=" in capsys.readouterr().err and n_charged() == 1
