"""Options that say how far times can be trusted."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from elsinore.cli.app import app
from elsinore.runtime.outputs import write_table

QUERY = "QUERY q RETURN b.v, CONFIDENCE() AS p PATTERN SEQ(A a, B b) CONFIDENCE >= 0.7;"
EVENTS = pa.table({"first": [0, 1, 2], "last": [2, 3, 4], "type": ["A", "B", "B"], "v": [1, 2, 3]})
INTERVAL = ("--time-interval", "first, last")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_table(EVENTS, "events.parquet", "parquet")
    Path("w.cep").write_text(QUERY)
    return tmp_path


def call(command: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, (command, "w.cep", *arguments))


def run(*arguments: str) -> list[dict[str, float]]:
    where = ("--events", "events.parquet", "--engine", "local", "--format", "json")
    done = call("run", *where, *arguments)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_matches_have_the_confidence_of_their_intervals(folder: Path) -> None:
    # of nine worlds each, six have a before the first b, and eight a before the second
    (row,) = run(*INTERVAL)
    assert row == {"b.v": 3, "p": pytest.approx(8 / 9)}


def test_times_that_are_coarse_are_weighted_as_told(folder: Path) -> None:
    coarse = ("--time", "last", "--time-granularity", "3 seconds")
    assert [row["p"] for row in run(*coarse, "--time-distribution", "1,0,0")] == [1.0, 1.0]


def test_weights_are_read_event_by_event(folder: Path) -> None:
    laws = pa.array(["1,0,0", "0,0,1", "0.5,0,0.5"])
    write_table(EVENTS.append_column("law", laws), "weighted.parquet", "parquet")
    where = ("--events", "weighted.parquet", "--engine", "local", "--format", "json")
    done = call("run", *where, *INTERVAL, "--time-distribution", "law")
    assert [json.loads(line)["p"] for line in done.stdout.splitlines()] == [1.0, 1.0]
    done = call("run", *where, *INTERVAL, "--time-distribution", "lax")
    assert done.exit_code != 0
    assert "Did you mean 'law'?" in " ".join(done.stderr.split())


def test_check_and_explain_take_the_interval_too(folder: Path) -> None:
    checked = call("check", "--events", "events.parquet", *INTERVAL)
    assert (checked.exit_code, checked.stdout, checked.stderr) == (0, "q: OK\n", "")
    explained = call("explain", "--events", "events.parquet", *INTERVAL)
    assert (explained.exit_code, explained.stderr) == (0, "")
    assert "confidence" in explained.stdout


@pytest.mark.parametrize("command", ["check", "explain"])
def test_an_interval_has_no_effect_without_events(folder: Path, command: str) -> None:
    done = call(command, *INTERVAL)
    assert done.exit_code == 0
    assert "--time-interval has no effect without --events" in done.stderr


@pytest.mark.parametrize("command", ["run", "check", "explain"])
@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (("--time-interval", "first"), "--time-interval first,last"),
        (
            (*INTERVAL, "--time-distribution", "0.5,half"),
            "numbers with commas between, not '0.5,half'",
        ),
        (("--time", "last", "--time-granularity", "1", "--time-granularity", "2"), "type by type"),
    ],
)
def test_options_that_cannot_be_read_are_refused(
    folder: Path, command: str, options: tuple[str, ...], remedy: str
) -> None:
    done = call(command, "--events", "events.parquet", *options)
    assert done.exit_code == 2
    assert remedy in " ".join(done.stderr.split())
