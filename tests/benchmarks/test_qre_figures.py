"""StreamQRE's figures: parts of them are measured, spreads drawn, and interrupted runs kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks.baselines import java
from benchmarks.papers import parts, qre_fig5, qre_fig6, qre_table1
from matplotlib.figure import Figure as Picture
from typer.testing import CliRunner

from elsinore.cli.app import app


def test_one_query_and_one_system_are_measured_beside_elsinore(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(qre_fig6, "QUICK", 1_000)
    made = qre_fig6.measure(quick=True, only=["Y2", "plain loop"])
    rows = made.table.to_pylist()
    assert [(row["query"], row["system"]) for row in rows] == [
        ("Y2", "Elsinore"),
        ("Y2", "plain loop"),
    ]
    assert all(row["runs"] == qre_fig6.RUNS for row in rows)
    assert all(row["slowest"] <= row["M items/s"] <= row["fastest"] for row in rows)
    made.draw(Picture())


def test_an_interrupted_measurement_keeps_the_queries_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(case: Any, *_: Any) -> Any:
        if case.name == "N1":
            raise KeyboardInterrupt
        return 0, {"Elsinore": [2e6, 1e6, 4e6], "RxPY": [1e6]}

    monkeypatch.setattr(qre_fig6, "speeds", interrupted)
    made = qre_fig6.measure(quick=True)
    rows = made.table.to_pylist()
    assert [row["query"] for row in rows] == ["Y1", "Y1", "Y2", "Y2"]
    assert rows[0]["M items/s"] == 2.0
    assert (rows[0]["slowest"], rows[0]["fastest"]) == (1.0, 4.0)
    assert made.remarks[-1] == parts.INTERRUPTED


def test_java_systems_are_left_out_once_the_time_is_over() -> None:
    case = qre_fig6.cases()["N1"]
    assert java.speeds(case, "Flink", quick=True, until=0.0) == ([], "no time left")
    row = qre_fig6.row("N1", "Flink", [], "no time left")
    assert (row["M items/s"], row["runs"], row["note"]) == (None, 0, "no time left")


def test_a_part_that_a_figure_lacks_is_named(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["bench", "qre-fig6", "--only", "Y9", "--out", str(tmp_path)])
    assert done.exit_code == 1
    assert "has no part 'Y9'. Parts: Y1, Y2, N1" in " ".join(done.stderr.split())


def test_p6_and_p7_of_table_1_are_measured_within_eps() -> None:
    row = qre_table1.median_row(60)
    assert 0 <= row["error"] <= 0.01
    assert row["exact KB"] > 0
    assert qre_table1.shown(row)["paper KB"] == 1458


def test_every_transformation_of_figure_5_is_run() -> None:
    made = qre_fig5.measure(quick=True)
    assert made.table.num_rows == len(qre_fig5.features()) == 13
    made.draw(Picture())
    assert qre_fig5.measure(quick=True, only=["(7)"]).table["Elsinore"].to_pylist() == ["tumbling"]
