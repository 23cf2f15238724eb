"""HAMLET's figures: measured in processes of their own, compared, drawn, chosen and interrupted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.papers import figure, hamlet, hamlet_fig9, hamlet_fig12
from benchmarks.papers.trend_cases import CASES
from benchmarks.papers.trend_points import Measured, Point, difference
from matplotlib.figure import Figure as Picture
from typer.testing import CliRunner

from elsinore import Workload
from elsinore.cli.app import app
from elsinore.trends.statistics import SharingStatistics, TrendStatistics

SMALL = hamlet.Sweep(
    case="trades",
    title="Stock",
    name="queries",
    values=(5, 10),
    fixed={"rate": 100, "minutes": 10},
)
PLAN = replace(hamlet_fig12.PLAN, sweeps=(SMALL,), systems=("Elsinore", "never", "GRETA", "MCEP"))


def test_a_figure_is_measured_compared_and_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hamlet, "QUICK_BUDGET", 300.0)  # other programs may run, too
    made = hamlet.measured(PLAN, quick=True, only=["queries=5", "Elsinore", "GRETA"])
    rows = made.table.to_pylist()
    assert [row["system"] for row in rows] == ["Elsinore", "GRETA"]
    assert rows[1]["note"] == "the same results"
    assert " of " in rows[0]["shared"]
    assert rows[0]["snapshots"] >= 0
    assert rows[0]["analysis, ms"] > 0
    assert rows[1]["snapshots"] is rows[1]["analysis, ms"] is None
    assert all(row["latency, ms"] > 0 and row["events/s"] > 0 for row in rows)
    files = [tmp_path / f"x{ending}" for ending in (".csv", ".png", ".svg")]
    figure.write(made, files)
    assert all(file.stat().st_size for file in files)
    picture = Picture()
    made.draw(picture)
    assert picture.legends[0].get_texts()[0].get_text() == "Elsinore"
    assert "21 to 34 %" in picture.get_supxlabel()


def test_systems_without_a_figure_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_time(point: Point, budget: float) -> Measured:
        if point.system == "MCEP":
            return Measured(note="over its time")
        return Measured(latency=0.001, speed=1e6, memory=0.0, found={("q", 0, 0): (1.0, 0.0)})

    monkeypatch.setattr(hamlet, "measure", no_time)
    made = hamlet.measured(PLAN, quick=False, only=[])
    assert made.table.num_rows == 8
    assert "MCEP: no figure at 2 points (over its time)." in made.remarks
    assert "Dynamic decisions take 1.00 to 1.00 times" in "".join(made.remarks)


def test_results_that_differ_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(point: Point, budget: float) -> Measured:
        count = 2.0 if point.system == "GRETA" else 1.0
        return Measured(latency=0.001, speed=1e6, memory=0.0, found={("q", 0, 0): (count, 0.0)})

    monkeypatch.setattr(hamlet, "measure", wrong)
    rows = hamlet.measured(PLAN, quick=True, only=["queries=5"]).table.to_pylist()
    of_greta = next(row for row in rows if row["system"] == "GRETA")
    assert of_greta["note"] == "DIFFERS: ('q', 0, 0): (2.0, 0.0) and (1.0, 0.0)"


def test_an_interrupted_run_keeps_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Point] = []

    def interrupted(point: Point, budget: float) -> Measured:
        if len(measured) == 4:
            raise KeyboardInterrupt
        measured.append(point)
        return Measured(latency=0.001, speed=1e6, memory=0.0, found={})

    monkeypatch.setattr(hamlet, "measure", interrupted)
    made = hamlet.measured(PLAN, quick=False, only=[])
    assert made.table.num_rows == 4
    assert made.remarks[-1] == "Interrupted: the rest was not measured."


@pytest.mark.parametrize(
    ("part", "said"),
    [("GRET", "Did you mean 'GRETA'?"), ("queries=7", "has no part 'queries=7'")],
)
def test_a_part_that_there_is_not_is_named(tmp_path: Path, part: str, said: str) -> None:
    done = CliRunner().invoke(app, ["bench", "hamlet-fig9", "--only", part, "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rising", [False, True])
def test_workloads_are_valid_and_distinct(name: str, rising: bool) -> None:
    case = CASES[name](rate=100, queries=25, minutes=20, rising=rising)
    workload = Workload.parse(case.text())
    texts = {query.text(value="v", within="", group=None).split("\n", 1)[1] + str(window)
             for window, queries in case.queries.items() for query in queries}  # fmt: skip
    assert len(workload) == 25
    assert len(texts) >= (25 if name != "trades" else 20)
    times = case.times
    assert (times[1:] > times[:-1]).all()


def test_the_authors_queries_of_figure_11_are_equal() -> None:
    case = CASES["plugs"](rate=100, queries=5, minutes=20, equal=True)
    texts = {text.split(" ", 2)[2] for text in case.text().split(";") if text.strip()}
    assert len(texts) == 1
    assert "SEQ" not in case.text()


def test_infinite_counts_are_equal_and_their_sums_are_not_compared() -> None:
    inf = float("inf")
    found: Any = {("q", 0, 0): (inf, 5.0)}
    assert difference(found, {("q", 0, 0): (inf, float("nan"))}) is None
    assert difference(found, {("q", 0, 0): (1.0, 5.0)}) is not None
    assert difference({}, found) is not None


def test_the_ninth_figure_has_the_papers_range() -> None:
    rates, queries = hamlet_fig9.PLAN.sweeps
    assert (rates.values[0], rates.values[-1]) == (10_000, 20_000)
    assert (queries.values[0], queries.values[-1]) == (5, 25)


def test_counts_of_sharing_sets_are_added_up() -> None:
    counts = SharingStatistics(
        "B+", ("q1", "q2"), graphlet_snapshots=3, event_snapshots=4, splits=2, merges=1,
        decision_seconds=0.01,
    )  # fmt: skip
    found = [TrendStatistics(sharing=[counts]), TrendStatistics(sharing=[counts])]
    point = Measured(statistics=found, seconds=2.0, analysis=0.081)
    assert hamlet.of_sharing(point) == {
        "snapshots": 14, "splits": 4, "merges": 2, "deciding, %": 1.0, "analysis, ms": 81.0,
    }  # fmt: skip
    assert hamlet.of_sharing(Measured()) == {}


def test_shared_bursts_are_those_that_the_operator_counts() -> None:
    counts = SharingStatistics("B+", ("q1", "q2"), bursts=7, shared_graphlets=5)
    found = [TrendStatistics(sharing=[counts, counts])]
    assert hamlet.shared_bursts(Measured(statistics=found)) == "10 of 14"
    assert hamlet.shared_bursts(Measured()) is None
