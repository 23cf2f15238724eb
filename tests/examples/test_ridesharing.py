"""The HAMLET paper's introduction, as a user runs it, against the reference engine."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import elsinore as el
from elsinore.cli.app import app
from elsinore.datasets import ridesharing
from elsinore.runtime.outputs import write_table
from oracles.reference import ReferenceEvent, reference

WORKLOAD = Path(__file__).parents[2] / "examples" / "ridesharing" / "introduction.cep"
EVENTS = 1_500
MOST_TRAVELS = 8  # events of a trip: the reference builds every trend, 2^n of n
QUERIES = ("q1", "q2", "q3")
SHARING = ("dynamic", "always")


@pytest.fixture(scope="module")
def events() -> pa.Table:
    """Return a stream in which no trip has more Travel events than the reference can take."""
    table = ridesharing(EVENTS, seed=5)
    seen: dict[tuple[int, int], int] = {}
    kept = []
    trips = zip(
        *(table.column(name).to_pylist() for name in ("type", "driver", "rider")), strict=True
    )
    for kind, driver, rider in trips:
        travels = seen.get((driver, rider), 0) + (kind == "Travel")
        seen[driver, rider] = travels
        kept.append(kind != "Travel" or travels <= MOST_TRAVELS)
    return table.filter(pa.array(kept))


@pytest.fixture(scope="module", params=["local", "spark"])
def results(
    request: pytest.FixtureRequest, events: pa.Table, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, pa.Table]:
    """Return what `elsinore run` writes."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    folder = tmp_path_factory.mktemp("ridesharing")
    write_table(events, folder / "trips.parquet", "parquet")
    command = ["run", str(WORKLOAD), "--events", str(folder / "trips.parquet")]
    done = CliRunner().invoke(
        app, [*command, "--engine", request.param, "--out", str(folder / "out")]
    )
    assert done.exit_code == 0, done.output
    return {name: pq.read_table(folder / "out" / f"{name}.parquet") for name in QUERIES}


def micros(column: pa.ChunkedArray) -> list[int]:
    return pc.cast(column, pa.int64()).to_pylist()


Rows = dict[tuple[Any, Any], dict[str, float]]


@pytest.fixture(scope="module")
def every_trend(events: pa.Table) -> dict[str, Rows]:
    """Return what the reference finds, by query: aggregates by group and window."""
    times = micros(events.column("time"))
    stream = [
        ReferenceEvent(time, row["type"], row)
        for time, row in zip(times, events.to_pylist(), strict=True)
    ]
    workload = el.Workload.parse(WORKLOAD.read_text())
    return {
        name: {
            (row.group, row.window): {key: float(value) for key, value in row.values.items()}
            for row in reference(workload[name], stream)
        }
        for name in QUERIES
    }


def test_each_query_finds_what_the_reference_does(
    every_trend: dict[str, Rows], results: dict[str, pa.Table]
) -> None:
    for name in QUERIES:
        assert_same(results[name], every_trend[name])


def assert_same(found: pa.Table, expected: Rows) -> None:
    assert len(expected) > 5
    windows = zip(
        micros(found.column("window_start")), micros(found.column("window_end")), strict=True
    )
    places = [
        ((row["district"],), bounds) for row, bounds in zip(found.to_pylist(), windows, strict=True)
    ]
    assert len(set(places)) == len(places)
    assert set(places) == set(expected)
    for place, row in zip(places, found.to_pylist(), strict=True):
        assert_close(row, expected[place])


def assert_close(row: dict[str, Any], expected: dict[str, float]) -> None:
    for name, value in expected.items():
        assert math.isclose(row[name], value, rel_tol=1e-9), name


def test_the_queries_ask_what_the_paper_does(events: pa.Table) -> None:
    """q1 is about trips without a Pickup, q2 about pools, q3 about slow and cancelled ones."""
    kinds = set(events.column("type").to_pylist())
    assert {"Request", "Accept", "Travel", "Pickup", "Dropoff", "Cancel"} <= kinds
    workload = el.Workload.parse(WORKLOAD.read_text())
    workload.check(events.schema)
    assert workload.warnings == ()
    assert {query.group_by for query in workload} == {("district",)}


def test_explain_tells_of_sharing_what_the_readme_shows(tmp_path: Path) -> None:
    write_table(ridesharing(20_000), tmp_path / "trips.parquet", "parquet")
    readme = WORKLOAD.with_name("README.md").read_text(encoding="utf-8")
    (shown,) = (block for block in readme.split("```text\n") if block.startswith("Sharing, over"))
    command = ["explain", str(WORKLOAD), "--events", str(tmp_path / "trips.parquet")]
    told = {mode: CliRunner().invoke(app, [*command, "--sharing", mode]) for mode in SHARING}
    assert shown.split("```")[0] in told["dynamic"].output
    assert "2,067 of 2,067 bursts shared" in told["always"].output
    assert "9,836 of single events" in told["always"].output


def test_the_files_begin_as_the_readme_shows(tmp_path: Path) -> None:
    write_table(ridesharing(20_000), tmp_path / "trips.parquet", "parquet")
    command = ["run", str(WORKLOAD), "--events", str(tmp_path / "trips.parquet"), "--engine"]
    options = ["local", "--out", str(tmp_path), "--format", "csv"]
    assert CliRunner().invoke(app, [*command, *options]).exit_code == 0
    readme = WORKLOAD.with_name("README.md").read_text(encoding="utf-8")
    shown = [block.split("```")[0] for block in readme.split("```csv\n")[1:]]
    assert len(shown) == 2
    for name, lines in zip(("q1", "q3"), shown, strict=True):
        written = (tmp_path / f"{name}.csv").read_text().splitlines()
        for line, expected in zip(written, lines.splitlines(), strict=False):
            *places, seconds, speed = line.split(",")
            *known, known_seconds, known_speed = expected.split(",")
            assert places == known
            if known[0] != '"district"':
                assert math.isclose(float(seconds), float(known_seconds), rel_tol=1e-9)
                assert math.isclose(float(speed), float(known_speed), rel_tol=1e-9)
