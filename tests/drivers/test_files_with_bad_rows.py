"""Files with rows that are no events, read by `run` and `read_events` as by the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = "QUERY q RETURN SUM(b.v) AS s PATTERN SEQ(A a, B b) WHERE b.v > a.v;"
HEADER = "time,type,v"
ROWS = ["1,A,3", "2,B,5", "3,B,7"]
REASONS = [
    "2 cells where there are 3 columns, in row 3 of '{}': 2,B",
    "4 cells where there are 3 columns, in row 2 of '{}': 2,B,4,x",
    "unparseable time",
]


def write(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


@pytest.fixture
def ragged(tmp_path: Path) -> Path:
    """Write events between which stand a long row, a short row and a second header."""
    return write(tmp_path / "events.csv", ROWS[0], "2,B,4,x", "2,B", HEADER, *ROWS[1:])


@pytest.fixture(params=["in process", "on Spark"])
def session(request: pytest.FixtureRequest) -> SparkSession | None:
    """Return None and a session in turn: what `run` takes as `spark`."""
    if request.param == "in process":
        return None
    spark: SparkSession = request.getfixturevalue("spark")
    return spark


def test_rows_with_too_few_or_too_many_cells_are_rejected(
    ragged: Path, session: SparkSession | None
) -> None:
    results = el.Workload.parse(QUERY).run(ragged, rejects=True, spark=session)
    assert [row["s"] for row in results["q"].to_pylist()] == [12]
    rejected = results.rejected
    rows = rejected.to_pylist() if session is None else rejected.toArrow().to_pylist()
    assert sorted(row["reject_reason"] for row in rows) == [
        reason.format(ragged) for reason in REASONS
    ]


def test_only_ragged_rows_are_rejected(tmp_path: Path, session: SparkSession | None) -> None:
    path = write(tmp_path / "events.csv", *ROWS, "3,B")
    results = el.Workload.parse(QUERY).run(path, rejects=True, spark=session)
    assert [row["s"] for row in results["q"].to_pylist()] == [12]
    rejected = results.rejected
    rows = rejected.to_pylist() if session is None else rejected.toArrow().to_pylist()
    (row,) = rows
    reason = f"2 cells where there are 3 columns, in row 4 of '{path}': 3,B"
    assert row == {"time": None, "type": None, "v": None, "reject_reason": reason}


def test_a_second_header_in_one_of_several_files_is_rejected(
    tmp_path: Path, session: SparkSession | None
) -> None:
    write(tmp_path / "a.csv", ROWS[0], HEADER)
    write(tmp_path / "b.csv", *ROWS[1:])
    results = el.Workload.parse(QUERY).run(tmp_path, rejects=True, spark=session)
    assert [row["s"] for row in results["q"].to_pylist()] == [12]


def test_read_events_leaves_out_ragged_rows_on_request(ragged: Path) -> None:
    with pytest.raises(el.InputError, match="row 2: 4 cells where there are 3 columns"):
        el.read_events(ragged)
    reasons: list[str] = []
    table = el.read_events(ragged, reject=reasons.append)
    assert sorted(reasons) == [reason.format(ragged) for reason in REASONS[:2]]
    results = el.Workload.parse(QUERY).run(table, rejects=True)
    assert [row["s"] for row in results["q"].to_pylist()] == [12]


def test_without_rejects_ragged_rows_stop_the_run(ragged: Path) -> None:
    with pytest.raises(el.InputError, match="row 2: 4 cells where there are 3 columns"):
        el.Workload.parse(QUERY).run(ragged)


@pytest.mark.parametrize("command", ["check", "explain"])
def test_check_and_explain_find_the_types_that_a_run_finds(tmp_path: Path, command: str) -> None:
    events = write(tmp_path / "events.csv", ROWS[0], HEADER, *ROWS[1:])
    done = CliRunner().invoke(app, [command, "-q", QUERY, "--events", str(events)])
    assert done.exit_code == 0, done.stderr
    assert "1 event of 4 cannot be used (1 with unparseable time)" in done.stderr
