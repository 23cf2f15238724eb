"""No data is ever destroyed: bytes of inputs and results before and after, in both engines."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from elsinore.cli.app import app
from elsinore.runtime.outputs import write_table

QUERY = "QUERY {} RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 seconds;"
EVENTS = pa.table({"time": [1, 2, 3, None, 13], "type": list("ABBAB")})


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest) -> str:
    """Return the name of an engine, its session started."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return str(request.param)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder: events as a file and as a folder, and a workload."""
    monkeypatch.chdir(tmp_path)
    write_table(EVENTS, "trips.csv", "csv")
    write_table(EVENTS, "days/monday.parquet", "parquet")
    Path("w.cep").write_text(QUERY.format("trips"))
    Path("m.cep").write_text(QUERY.format("monday"))
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def run(engine: str, *arguments: str, workload: str = "w.cep", events: str = "trips.csv") -> Result:
    command = ["run", workload, "--events", events, "--engine", engine]
    return CliRunner().invoke(app, [*command, *arguments])


def test_a_file_named_by_out_is_the_result_and_keeps_what_exists(folder: Path, engine: str) -> None:
    done = run(engine, "--out", "out/one.csv", "--rejects", "bad.csv")
    assert done.exit_code == 0
    assert "1 row written to out/one.csv" in done.stdout
    written = Path("out/one.csv").read_text().splitlines()
    assert (len(written), written[0]) == (2, '"window_start","window_end","count(*)"')
    before = contents(folder)
    for refused in (
        ["--out", "out/one.csv"],
        ["--out", "trips.csv"],
        ["--out", "trips.csv", "--overwrite"],
        ["--out", "days/monday.csv", "--format", "parquet"],
        ["--out", "out/one.tsv"],
        ["--out", "out/one.csv.gz"],
    ):
        assert run(engine, *refused, "--rejects", "bad2.csv").exit_code == 2
    assert contents(folder) == before
    Path("out/mine.csv").mkdir()
    Path("out/mine.csv/note").write_text("mine")
    assert run(engine, "--out", "out/mine.csv", "--overwrite").exit_code == 2
    assert Path("out/mine.csv/note").read_text() == "mine"
    options = ["--parts", "--rejects", "bad3.csv"]
    assert run(engine, "--out", "out/parts.jsonl", *options).exit_code == 0
    assert [path.suffix for path in Path("out/parts.jsonl").glob("part-*")] == [".json"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--out", ".", "--format", "csv"],
        ["--out", "days/..", "--format", "csv"],
        ["--rejects", "trips.csv"],
        ["--rejects", "link.csv"],
        ["--rejects", "twin.csv"],
        ["--out", "results", "--format", "csv"],  # results/trips.csv leads to the events
    ],
)
def test_the_file_of_events_is_never_written(
    folder: Path, engine: str, arguments: list[str]
) -> None:
    Path("link.csv").symlink_to("trips.csv")
    os.link("trips.csv", "twin.csv")
    Path("results").mkdir()
    Path("results/trips.csv").symlink_to(folder / "trips.csv")
    before = contents(folder)
    for overwrite in ([], ["--overwrite"]):
        done = run(engine, *arguments, *overwrite)
        assert done.exit_code == 2
        assert "which this run reads" in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["--out", "days"],
        ["--out", "days/results"],
        ["--rejects", "days/bad.parquet"],
        ["--rejects", "days/monday.parquet"],
        ["--out", "."],  # writes ./days.parquet, a link to the folder
    ],
)
def test_the_folder_of_events_is_never_written(
    folder: Path, engine: str, arguments: list[str]
) -> None:
    Path("w.cep").write_text(QUERY.format("days"))
    Path("days.parquet").symlink_to("days")
    before = contents(folder)
    done = run(engine, *arguments, "--overwrite", events="days")
    assert done.exit_code == 2
    assert "which this run reads" in done.stderr
    assert contents(folder) == before


def test_what_exists_is_replaced_only_where_asked(folder: Path, engine: str) -> None:
    arguments = ["--out", "out", "--rejects", "bad.csv", "--format", "csv"]
    Path("out").mkdir()
    for place in ("out/trips.csv", "bad.csv"):
        Path(place).write_text("precious")
        before = contents(folder)
        done = run(engine, *arguments)
        assert done.exit_code == 2
        assert f"'{place}' exists already. Add --overwrite to replace it" in done.stderr
        assert contents(folder) == before
        Path(place).unlink()
    Path("out/trips.csv").write_text("precious")
    done = run(engine, *arguments, "--overwrite")
    assert done.exit_code == 0, done.stderr
    written = contents(folder)
    assert b"precious" not in written.values()
    assert [name for name in written if name.endswith((".part", ".old"))] == []
    assert written["trips.csv"] == before["trips.csv"]


def test_a_run_that_fails_leaves_what_there_was(folder: Path, engine: str) -> None:
    Path("out").mkdir()
    Path("out/trips.csv").write_text("precious")
    before = contents(folder)
    done = run(engine, "--out", "out", "--format", "csv", "--overwrite")  # a time is null
    assert done.exit_code == 1
    assert contents(folder) == before


def test_generated_events_and_pictures_replace_nothing_unasked(folder: Path) -> None:
    call = CliRunner().invoke
    before = contents(folder)
    done = call(app, ["generate", "abc", "--events", "5", "--out", "trips.csv"])
    assert (done.exit_code, "--overwrite" in done.stderr) == (2, True)
    Path("bursts.csv").write_text("precious")
    done = call(app, ["report", "w.cep", "--events", "trips.csv", "--out", "."])
    assert (done.exit_code, "--overwrite" in done.stderr) == (2, True)
    done = call(app, ["report", "w.cep", "--events", "bursts.csv", "--out", ".", "--overwrite"])
    assert (done.exit_code, "which this run reads" in done.stderr) == (2, True)
    done = call(app, ["demo", "--out", "days/monday.parquet"])
    assert done.exit_code == 2
    assert contents(folder) == before | {"bursts.csv": b"precious"}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("", "the name is empty"),
        ("-", "Without --out, results are printed"),
        ("~/q.csv", "not expanded by the shell"),
        ("s3://bucket/q.csv", "is a URL"),
    ],
)
def test_what_names_no_place_is_refused_and_nothing_is_made(
    folder: Path, place: str, said: str
) -> None:
    before = contents(folder)
    for option in ("--out", "--rejects"):
        refused = run("local", option, place)
        assert refused.exit_code == 2
        assert said in " ".join(refused.output.split())
    assert contents(folder) == before
    assert sorted(path.name for path in folder.iterdir()) == ["days", "m.cep", "trips.csv", "w.cep"]


@pytest.mark.parametrize("events", ["days/monday.parquet", "trips.csv"])
def test_events_in_place_of_queries_are_told_as_such(events: str) -> None:
    refused = run("local", workload=events)
    assert refused.exit_code == 2
    assert f"'{events}' has no queries." in refused.output
    assert "--events" in refused.output


def test_queries_in_a_file_named_as_events_are_have_their_mistakes_told(folder: Path) -> None:
    (folder / "q.json").write_text("RETURN COUNT(*) PATERN A")
    assert "Did you mean 'PATTERN'?" in run("local", workload="q.json").output
