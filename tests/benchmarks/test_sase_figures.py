"""SASE++'s figures: systems find the same, time budgets end runs, gaps stay gaps, costs add up."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pytest
from benchmarks.baselines import plain_nfa
from benchmarks.papers import figure, parts, sase, sase_fig5, sase_fig6, sase_fig7, sase_phases
from matplotlib.figure import Figure as Picture

from support.small_arrays import POSTPONED_KERNELS, interpret_evaluations


def test_what_passes_its_time_budget_is_ended_and_says_so() -> None:
    assert sase.limited(lambda: 6 * 7, 60).value == 42
    assert sase.limited(Event().wait, 0.05) == sase.Refused("over budget")


def test_a_point_over_budget_is_a_cross_and_has_no_value(tmp_path: Path) -> None:
    rows = [
        {"panel": "a", "system": "SASE+", "W": 10, "events/s": 5e5, "note": ""},
        {"panel": "a", "system": "SASE+", "W": 20, "events/s": None, "note": "over budget"},
    ]
    panels = [sase.Panel(name="a", title="(a) Vary W", x="W", y="events/s")]
    made = figure.Figure(
        title="Speeds",
        table=pa.Table.from_pylist(rows),
        remarks=[],
        draw=lambda picture: sase.draw(picture, panels, rows, across=2),
    )
    files = [tmp_path / f"x{ending}" for ending in (".csv", ".png", ".svg")]
    figure.write(made, files)
    assert files[0].read_text().splitlines()[2] == '"a","SASE+",20,,"over budget"'
    assert "<!-- (a) Vary W -->" in files[2].read_text()


def test_all_systems_of_figure_5_find_the_same_matches(monkeypatch: pytest.MonkeyPatch) -> None:
    interpret_evaluations(monkeypatch, POSTPONED_KERNELS)
    table = sase.stream(300, {"A": 0.1, "B": 0.3, "C": 0.1})
    for where in (sase_fig5.TRUE, sase_fig5.FALSE):
        found = {}
        for system in sase_fig5.SYSTEMS:
            run = sase_fig5.runner(system, where.format(x=0.1), 20, table)
            found[system] = run if isinstance(run, sase.Refused) else sase.Spent(run(), 0.1)
        rows = sase_fig5._rows("θ, true", 20, table.num_rows, found)
        assert [row["system"] for row in rows] == list(sase_fig5.SYSTEMS)
        assert rows[0]["runs"] > rows[2]["runs"] > 0
        other = {**found, "SASE+": sase.Spent(found["Elsinore"].value | {"sums": [0]}, 0.1)}
        with pytest.raises(AssertionError, match="other matches"):
            sase_fig5._rows("θ, true", 20, table.num_rows, other)


def test_confidences_are_compared_with_worlds_one_by_one() -> None:
    found = sase_fig6.naive(sase_fig6.uncertain(800), 15)()
    assert found["matches"] > 5


def test_the_automaton_of_xseqs_kind_does_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sase_fig6, "INPUTS", (20, 40))
    interpreted = plain_nfa.find_matches.py_func  # Numba compiles it for ten seconds
    monkeypatch.setattr(plain_nfa, "find_matches", interpreted)
    rows: list[dict[str, Any]] = []
    table = sase.stream(60, {f"A{n}": 0.25 for n in (1, 2, 3)})
    steps = ["A1", "A2", "A3"]
    sase_fig6.beside_automaton("g", sase_fig6.sequence(3), (steps, []), table, 20.0, rows)
    table = sase.stream(60, {"A": 0.1, "B": 0.3, "C": 0.1})
    sase_fig6.beside_automaton("h", sase_fig6.kleene(25), ("ABC", "B"), table, 20.0, rows)
    assert [row["system"] for row in rows] == ["Elsinore", "XSeq-like"] * 4
    for ours, theirs in zip(rows[::2], rows[1::2], strict=True):
        assert (ours["input"], ours["matches"]) == (theirs["input"], theirs["matches"])
    assert rows[3]["matches"] > 5
    assert rows[7]["matches"] > 5
    with pytest.raises(AssertionError, match="other matches"):
        sase_fig6.beside_automaton("h", sase_fig6.kleene(10), ("ABC", "B"), table, 20.0, rows)


def test_the_cost_of_confidences_is_the_slope_of_repeated_ones() -> None:
    parts = sase_phases.breakdown(
        sase_fig6.by_recurrence(sase_fig6.uncertain(4_000), 25, sase_fig6.UNCERTAIN, "")
    )
    assert parts["total"] is not None
    assert parts["confidence"] is not None
    assert 0 < parts["confidence"] < parts["total"]


def test_the_case_study_has_six_queries() -> None:
    assert list(sase_fig7.queries()) == ["Q1", "Q2", "Q3", "Q4", "Q5", "Q6"]


def test_no_line_is_drawn_across_a_point_without_a_value() -> None:
    rows = [
        {"panel": "a", "system": "s", "W": within, "ms": value, "note": note}
        for within, value, note in [(1, 2.0, ""), (2, None, sase.BELOW), (3, 4.0, "")]
    ]
    picture = Picture()
    sase.draw(picture, [sase.Panel(name="a", title="(a) A", x="W", y="ms")], rows, across=1)
    curve, crosses = picture.axes[0].get_lines()
    assert [float(y) for y in curve.get_ydata()] == pytest.approx(
        [2.0, float("nan"), 4.0], nan_ok=True
    )
    assert len(crosses.get_xdata()) == 0  # what is too small to be measured is not over budget


def test_costs_are_differences_of_medians_and_add_up_to_the_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three levels take 10, 10.1 and 30 ms, with a spread of half a millisecond."""

    def runner(system: str, where: str, within: int, table: pa.Table, go: int) -> Any:
        taken = iter([0.0, 0.5, 0.25, 0.75, 0.25])
        upto = {0: 10.0, 1: 10.1, 2: 30.0}[go]
        return lambda: {"seconds": (upto + next(taken)) / 1000}

    monkeypatch.setattr(sase_fig5, "runner", runner)
    curve = sase_fig5.CURVES[1]
    found = sase_fig5.costs(curve, curve.points[0], "SASE+", pa.table({}), [], 30.0)
    assert [(row["system"], row["note"]) for row in found] == [
        ("total", ""),
        ("run initialization", ""),
        ("pattern matching", sase.BELOW),
        ("result construction", ""),
    ]
    assert [row["ms"] for row in found] == pytest.approx([30.25, 10.25, None, 19.9])


def test_costs_end_at_the_window_that_is_over_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    curve = sase_fig5.CURVES[1]
    before = [{"panel": "cost, SASE+", "system": "total", "note": sase.OVER}]
    found = sase_fig5.costs(curve, curve.points[-1], "SASE+", pa.table({}), before, 30.0)
    assert {(row["ms"], row["note"]) for row in found} == {(None, sase.OVER)}


def test_answers_of_the_case_study_are_those_of_the_log() -> None:
    log = sase_fig7.table(3_000)
    means = [row for row in sase_fig7.periods("a", "Q1", log) if row["system"] == "mean"]
    assert (means[0]["value"], means[-1]["value"]) == (0.0, 100.0)
    assert 20 < means[25]["seconds"] < 80
    data = sase_fig7.written(log)
    assert {row["panel"] for row in data} == {"(c) data", "(d) data"}
    latest = [row["seconds"] for row in data if row["panel"] == "(d) data"]
    assert latest[0] > min(row["seconds"] for row in data if row["panel"] == "(c) data")


def test_systems_of_a_chart_have_the_same_uncertainty_and_matches() -> None:
    events = sase_fig7.table(1_500)
    for chart in sase_fig7.CHARTS:
        rows = sase_fig7.compared(chart, "Q6", sase_fig7.queries()["Q6"], events, 20.0)
        assert len({row["events"] for row in rows}) == 1
        assert rows[0]["matches"] == rows[1]["matches"] > 20
    kinds = {
        chart: {way.is_uncertain for way in of.values()} for chart, of in sase_fig7.CHARTS.items()
    }
    assert kinds == {"(f) exact times": {False}, "(f) uncertain times": {True}}


def test_parts_of_the_case_study_are_measured_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sase_fig7, "EVENTS", 5_000)
    made = sase_fig7.measure(quick=True, only=["a", "c"])
    assert set(made.table["panel"].to_pylist()) == {"(a) Mapper", "(c) data", "(d) data"}
    made.draw(Picture())


def test_an_interrupted_figure_keeps_its_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(letter: str, name: str, log: pa.Table) -> Any:
        if letter == "b":
            raise KeyboardInterrupt
        return [sase_fig7._row("(a) Mapper", "Q1", "mean", seconds=1.0, value=100.0)]

    monkeypatch.setattr(sase_fig7, "EVENTS", 5_000)
    monkeypatch.setattr(sase_fig7, "periods", interrupted)
    made = sase_fig7.measure(quick=True)
    assert made.table.num_rows == 1
    assert made.remarks[-1] == parts.INTERRUPTED
