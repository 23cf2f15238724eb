"""`run` and `demo` on Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import elsinore as el
from elsinore.cli.app import app
from elsinore.cli.demo import JAVA_VARIABLES, TYPE, demo_text, for_short_job, run_demo
from elsinore.datasets import flights
from elsinore.runtime.files import read_events
from elsinore.runtime.outputs import write_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("spark")

QUERY = "QUERY q RETURN key, COUNT(*) AS n PATTERN SEQ(A a, B b+) GROUP BY key WITHIN 10 seconds;"
TIMES = [1, 2, 3, 12, 13]
ROWS = [
    {"key": "x", "window_start": 0, "window_end": 10, "n": 3.0},
    {"key": "y", "window_start": 10, "window_end": 20, "n": 1.0},
]
SAMPLE = 4_000  # flights: four days


def call(folder: Path, *arguments: str, times: list[int | None] = TIMES) -> Result:
    events = {"time": times, "type": list("ABBAB"), "key": list("xxxyy")}
    write_table(pa.table(events), folder / "events.parquet", "parquet")
    (folder / "w.cep").write_text(QUERY)
    command = ["run", str(folder / "w.cep"), "--events", str(folder / "events.parquet")]
    return CliRunner().invoke(app, [*command, *arguments])


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_every_format_is_written_as_a_folder(tmp_path: Path, form: str) -> None:
    done = call(tmp_path, "--out", str(tmp_path / "out"), "--format", form)
    assert done.exit_code == 0, done.stderr
    assert read_events(tmp_path / "out" / f"q.{form}").to_pylist() == ROWS


def test_results_are_printed_as_tables(tmp_path: Path) -> None:
    done = call(tmp_path)
    assert done.exit_code == 0, done.stderr
    assert "2 rows" in done.stdout


def test_statistics_of_the_workers_are_printed(tmp_path: Path) -> None:
    done = call(tmp_path, "--stats")
    assert done.exit_code == 0, done.stderr
    table = done.stdout.split("Statistics, by operator")[1]
    (row,) = [line for line in table.splitlines() if line.startswith("│")]
    cells = [cell.strip() for cell in row.split("│")]
    assert cells[1:4] == ["1", "5", "5"]  # operator, events, matched


def test_explain_tells_the_row_groups_that_a_run_skips(tmp_path: Path) -> None:
    times = list(range(12))
    events = {"time": times, "type": list("AABBCCDDDDDD"), "key": ["x"] * 12}
    pq.write_table(pa.table(events), tmp_path / "events.parquet", row_group_size=2)
    (tmp_path / "w.cep").write_text(QUERY)
    files = [str(tmp_path / "w.cep"), "--events", str(tmp_path / "events.parquet")]
    plan = CliRunner().invoke(app, ["explain", *files])
    assert plan.exit_code == 0, plan.stderr
    assert "On Spark, tasks skip 4 of 6 row groups" in plan.stdout
    data = CliRunner().invoke(app, ["explain", *files, "--format", "json", "--sample", "0"])
    why = "there are fewer than 131,072 events"
    told = {"read": 2, "skipped": 4, "not_combined_because": why}
    assert json.loads(data.stdout)["row_groups"] == [told]
    assert f"are not combined before the shuffle: {why}." in plan.stdout
    done = CliRunner().invoke(app, ["run", *files, "--stats"])
    assert "By their statistics 4 of 6 row groups were skipped." in done.stdout
    assert f"No events were combined before the shuffle: {why}." in done.stdout


def test_events_are_combined_where_that_is_asked_for(tmp_path: Path) -> None:
    combined = []
    for mode in ("always", "never"):
        done = call(tmp_path, "--stats", "--combine", mode)
        assert done.exit_code == 0, done.stderr
        table = done.stdout.split("Statistics, by operator")[1]
        (row,) = [line for line in table.splitlines() if line.startswith("│")]
        combined.append(int(row.split("│")[-2]))
    assert combined == [5, 0]


def test_unusable_events_stop_the_run(tmp_path: Path) -> None:
    done = call(tmp_path, times=[1, None, 3, 12, 13])
    assert done.exit_code == 1
    assert "1 event of 5 cannot be used (1 with null time)" in done.stderr


def test_unusable_events_are_set_aside(tmp_path: Path) -> None:
    place = tmp_path / "bad.parquet"
    done = call(tmp_path, "--rejects", str(place), times=[1, None, 3, 12, 13])
    assert done.exit_code == 0, done.stderr
    assert read_events(place).column("reject_reason").to_pylist() == ["null time"]


def test_an_unknown_time_column_is_a_wrong_argument(tmp_path: Path) -> None:
    done = call(tmp_path, "--time", "tme")
    assert done.exit_code == 2
    assert "Did you mean 'time'?" in done.stderr


def test_the_demo_agrees_with_this_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spark: SparkSession
) -> None:
    sample = flights().slice(0, SAMPLE)
    run_demo(sample, tmp_path, "local[2]")
    told = capsys.readouterr().out
    workload = el.Workload.parse(demo_text())
    expected = workload.run(sample, type=TYPE)
    for name, table in expected.items():
        actual = pq.read_table(tmp_path / f"{name}.parquet").to_pylist()
        assert sorted(actual, key=repr) == sorted(table.to_pylist(), key=repr)
        assert f"{table.num_rows:,} row" in told
    assert len(expected) >= 4


def test_the_demo_leaves_the_choice_of_a_collector_to_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable in JAVA_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    assert "-XX:+UseSerialGC" in for_short_job()["spark.driver.extraJavaOptions"]
    for variable in JAVA_VARIABLES:
        with monkeypatch.context() as patch:
            patch.setenv(variable, "-Xmx1g -XX:+UseG1GC")
            assert "GC" not in for_short_job()["spark.driver.extraJavaOptions"]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_column_that_is_always_null_is_of_any_type(tmp_path: Path, form: str) -> None:
    events, given = {"time": TIMES, "type": list("ABBAB"), "user": pa.nulls(5)}, f"events.{form}"
    write_table(pa.table(events), tmp_path / given, form)
    (tmp_path / "w.cep").write_text(
        "QUERY text RETURN COUNT(*) AS n PATTERN SEQ(A a, B b+) WHERE b.user = 'u' WITHIN 10;"
        "QUERY summed RETURN user, COUNT(*) AS n, SUM(b.user) AS s PATTERN SEQ(A a, B b+) "
        "GROUP BY user WITHIN 10;"
        "QUERY keyed RETURN COUNT(*) AS n PATTERN SEQ(A a, B b+) WHERE [user] WITHIN 10;"
    )
    command = ["run", str(tmp_path / "w.cep"), "--events", str(tmp_path / given)]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.stderr
    assert "query keyed: 'user' is null in every event, and [user] matches" in done.stderr
    for name in ("text", "keyed"):
        assert pq.read_table(tmp_path / "out" / f"{name}.parquet").num_rows == 0
    assert pq.read_table(tmp_path / "out" / "summed.parquet").to_pylist() == [
        {"user": None, "window_start": start, "window_end": start + 10, "n": n, "s": None}
        for start, n in ((0, 3.0), (10, 1.0))
    ]
