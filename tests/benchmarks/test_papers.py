"""The command that draws a paper's figures: pictures, tables, moved numbers, missing files."""

import json

import pytest

from benchmarks import papers


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """Return a function that runs the tiny setting of the k-means paper in a folder."""
    monkeypatch.setitem(papers.quality.SIZES, "blobs2", (10,))
    monkeypatch.setattr(papers.cover, "METHODS", ("grid", "max_cover"))
    monkeypatch.setitem(papers.quality.STARTS, "blobs2", 1)

    def run(*options):
        record = tmp_path / "record.json"
        arguments = ["--quick", "--out", str(tmp_path), "--results", str(record), *options]
        papers.main(["kmeans", *arguments])
        return record

    return run


def test_a_planted_number_that_moved_is_named(quick, tmp_path, capsys):
    record = quick("--record")
    assert (tmp_path / "quick.png").stat().st_size > 5_000
    assert (tmp_path / "quick_table.png").stat().st_size > 1_000
    table = (tmp_path / "quick_table.csv").read_text()
    assert table.startswith(",at,grid,max_cover\n") and "nan" not in table
    assert "2 numbers compared, 0 moved" in capsys.readouterr().out
    rows = json.loads(record.read_text())
    next(row for row in rows if row["series"] == "grid")["mean"] *= 1.5
    record.write_text(json.dumps(rows))
    with pytest.raises(SystemExit, match=r"^Moved:\nblobs2, k = 10, 1.0, grid: recorded [^\n]*$"):
        quick()


def test_a_run_without_recorded_numbers_fails(quick, monkeypatch):
    number = ("a", 1.0, "b"), papers.Number(1.0)
    monkeypatch.setitem(papers.TINY, "kmeans", lambda options: [number])
    with pytest.raises(SystemExit, match="no number is recorded"):
        quick()


def test_missing_files_are_named_with_their_place(tmp_path, capsys):
    with pytest.raises(SystemExit, match="no experiment has its data"):
        papers.main(["barycenter", "--only", "us", "--data", str(tmp_path)])
    told = capsys.readouterr().out
    for file in papers.PAPERS["barycenter"]["us"].files:
        assert f"- {file}: {papers.WHERE[file]}\n" in told


def test_every_experiment_has_recorded_numbers_and_places_of_its_files():
    for experiments in papers.PAPERS.values():
        for name, experiment in experiments.items():
            recorded = experiment.recorded()
            assert len(recorded) >= 2, name
            assert set(experiment.files) <= set(papers.WHERE)
    kept = {row["paper"] for row in papers.QUICK.read([])}
    assert kept == set(papers.PAPERS)
