"""Figure 5 of SASE++: throughput, runs and costs against selectivity and window, exact times.

The query is the paper's template, SEQ(A a, B+ b[ ], C c) under SKIP TILL ANY MATCH, with a
predicate that is true-value consistent, b[i].v > MAX(b[1..i-1].v) + x, or false-value consistent,
c.v < MAX(b[].v) - x. x sets the selectivity θ, matches per event. Each system is an evaluation of
`benchmarks.evaluations`, compiled, and "Elsinore" is the engine's own choice. Processor seconds
of a whole run in one process, from an Arrow table to an Arrow table; every system's matches are
compared with Elsinore's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.evaluations import ENGINE, run_by
from benchmarks.evaluations import main_counters as counters
from benchmarks.evaluations.marked import MarkedSearch
from benchmarks.evaluations.statistics import EvaluationStatistics
from benchmarks.papers.figure import Figure
from benchmarks.papers.parts import Parts, interruptible, is_chosen
from benchmarks.papers.sase import (
    BELOW,
    OVER,
    PAPER,
    Panel,
    Refused,
    draw,
    letters,
    limited,
    stream,
)
from elsinore.workload import Workload

SYSTEMS = {
    "SASE+": "runs",
    "ZStream": "zstream",
    "postponing": "postponing",
    "on-the-fly": "on-the-fly",
    "collapsed": ENGINE,
    "Elsinore": ENGINE,
}
BY_RUNS = ["SASE+", "ZStream", "postponing", "on-the-fly"]
BROKEN_DOWN = ["SASE+", "ZStream", "on-the-fly"]
PHASES = {
    "run initialization": counters.GO_BEGIN,
    "pattern matching": counters.GO_MATCH,
    "result construction": counters.GO_CONSTRUCT,
}
TRUE, FALSE = "b[i].v > MAX(b[1..i-1].v) + {x}", "c.v < MAX(b[].v) - {x}"
QUERY = """QUERY q RETURN a.time AS a, COUNT(b[]) AS n, {last} AS c PATTERN SEQ(A a, B+ b[], C c)
WHERE {where} STRATEGY SKIP TILL ANY MATCH WITHIN {within} {more};"""
WITHIN = 100  # events, where the selectivity varies
WINDOWS = (25, 1_000, 10_000, 25_000, 50_000, 75_000, 100_000)
X_TRUE = (1.0, 0.3, 0.1, 0.04, 0.0)
X_FALSE = (0.95, 0.8, 0.6, 0.3, 0.0)
REPEATS = 5  # of runs whose differences are costs
FOUND = (
    "up to 383 times over SASE+ and ZStream (Section 6.2); SASE+ and ZStream fall very fast as θ "
    "and W grow, postponing only slightly; on-the-fly is like postponing for true-value consistent "
    "predicates and better for false-value consistent ones"
)


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of a panel: a predicate, and a stream for each value of x and window."""

    panel: str
    letters: str  # of the panels drawn from it
    where: str
    shares: Mapping[str, float]
    points: Sequence[tuple[float, int]]  # x and window


CURVES = (
    Curve("θ, true", "ab", TRUE, {"A": 0.02, "B": 0.2, "C": 0.004}, [(x, WITHIN) for x in X_TRUE]),
    Curve(
        "W, true",
        "cd",
        TRUE,
        {"A": 2e-4, "B": 4.2e-4, "C": 4e-5},
        [(0.0, within) for within in WINDOWS],
    ),
    Curve(
        "θ, false", "e", FALSE, {"A": 0.02, "B": 0.07, "C": 0.004}, [(x, WITHIN) for x in X_FALSE]
    ),
    Curve(
        "W, false",
        "f",
        FALSE,
        {"A": 2e-4, "B": 1.7e-4, "C": 4e-5},
        [(0.75, within) for within in WINDOWS],
    ),
)
SCHEMA = pa.schema(
    [
        ("panel", pa.string()),
        ("system", pa.string()),
        ("W", pa.int64()),
        ("θ", pa.float64()),
        ("events/s", pa.float64()),
        ("runs", pa.int64()),
        ("ms", pa.float64()),
        ("note", pa.string()),
    ]
)
PANELS = (
    Panel(name="θ, true", title="(a) Vary θ (T-value consistent)", x="θ", y="events/s"),
    Panel(name="θ, true", title="(b) Vary θ (T-value consistent)", x="θ", y="runs"),
    Panel(name="W, true", title="(c) Vary W (T-value consistent)", x="W", y="events/s", log_x=True),
    Panel(name="W, true", title="(d) Vary W (T-value consistent)", x="W", y="runs", log_x=True),
    Panel(name="θ, false", title="(e) Vary θ (F-value consistent)", x="θ", y="events/s"),
    Panel(
        name="W, false", title="(f) Vary W (F-value consistent)", x="W", y="events/s", log_x=True
    ),
    *(
        Panel(name=f"cost, {system}", title=f"({letter}) {system}, cost", x="W", y="ms", log_x=True)
        for letter, system in zip("ghi", BROKEN_DOWN, strict=True)
    ),
)
PARTS: Parts = {"panels": letters(PANELS)}


def measure(*, quick: bool, only: Sequence[str] = ()) -> Figure:
    """Measure all panels or some; with `quick` fewer events and a shorter time budget."""
    pa.set_cpu_count(1)
    budget = 2.0 if quick else 30.0
    _warm_up()
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    with interruptible(notes):
        for curve in CURVES:
            number = 100_000 if curve.panel.startswith("θ") else 300_000
            table = stream(number if quick else 10 * number, curve.shares)
            if any(is_chosen(letter, PARTS["panels"], only) for letter in curve.letters):
                print(f"{curve.panel} ...", flush=True)
                for point in curve.points:
                    rows += at_point(curve, point, table, rows, budget)
            for system, letter in zip(BROKEN_DOWN, "ghi", strict=True):
                if curve.panel == "W, true" and is_chosen(letter, PARTS["panels"], only):
                    print(f"cost, {system} ...", flush=True)
                    for point in curve.points:
                        rows += costs(curve, point, system, table, rows, budget)
    return Figure(
        title="Figure 5 of SASE++: events per second of each system",
        table=pa.Table.from_pylist(rows, schema=SCHEMA),
        shown=pa.Table.from_pylist(lines) if (lines := list(shown(rows))) else None,
        remarks=[*remarks(rows, budget), *notes],
        draw=lambda picture: draw(picture, PANELS, rows, across=3),
        size=(12.0, 9.0),
    )


def at_point(
    curve: Curve,
    point: tuple[float, int],
    table: pa.Table,
    before: Sequence[Mapping[str, Any]],
    budget: float,
) -> list[dict[str, Any]]:
    """Return a row for each system at a point of a curve.

    A system that passed its budget in a shorter window (`before`) is not run.
    """
    x, within = point
    over = {
        row["system"]: row["note"]
        for row in before
        if row["panel"] == curve.panel and row["note"] and curve.panel.startswith("W")
    }
    found: dict[str, Any] = {}
    for system in reversed(SYSTEMS):
        if system in over:
            found[system] = Refused(over[system])
        else:
            found[system] = limited(runner(system, curve.where.format(x=x), within, table), budget)
    return _rows(curve.panel, within, table.num_rows, found)


def _rows(panel: str, within: int, events: int, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a point; raises AssertionError where systems' matches differ."""
    ours = found["Elsinore"]
    known = None if isinstance(ours, Refused) else ours.value
    rows = []
    for system in SYSTEMS:
        spent = found[system]
        row: dict[str, Any] = dict.fromkeys(SCHEMA.names)
        row |= {"panel": panel, "system": system, "W": within, "note": ""}
        row["θ"] = None if known is None else known["matches"] / events
        if isinstance(spent, Refused):
            row["note"] = spent.why
        else:
            given = spent.value
            if known is not None and system != "collapsed" and given["sums"] != known["sums"]:
                raise AssertionError(f"{system}: other matches, W = {within}")
            row["events/s"] = events / given["seconds"]
            row["ms"] = 1000 * given["seconds"]
            row["runs"] = given["runs"] if system in BY_RUNS else None
        rows.append(row)
    return rows


def runner(
    system: str, where: str, within: int, table: pa.Table, go: int = counters.GO_CONSTRUCT
) -> Callable[[], dict[str, Any]]:
    """Return what runs a query as a system does."""
    is_collapsed = system == "collapsed"
    text = QUERY.format(
        where=where,
        within=within,
        last="COUNT(c[])" if is_collapsed else "c.time",
        more="COLLAPSED" if is_collapsed else "",
    )
    workload = Workload.parse(text)
    evaluation = SYSTEMS[system]

    def run() -> dict[str, Any]:
        MarkedSearch.go = go
        run_by(evaluation, workload, table.slice(0, 100))  # planned, and loaded
        start = time.process_time()
        results = run_by(evaluation, workload, table)
        seconds = time.process_time() - start
        found = results["q"]
        statistics = results.statistics[0]
        counted = statistics.queries if isinstance(statistics, EvaluationStatistics) else ()
        return {
            "seconds": seconds,
            "matches": found.num_rows,
            "sums": [pc.sum(found[name]).as_py() for name in ("a", "n", "c")],
            "runs": sum(query.runs for query in counted),
        }

    return run


def costs(
    curve: Curve,
    point: tuple[float, int],
    system: str,
    table: pa.Table,
    before: Sequence[Mapping[str, Any]],
    budget: float,
) -> list[dict[str, Any]]:
    """Return what a system's phases cost: differences of runs that stop after each of them.

    The first phase has taking in the events with it, that of ZStream also buffering them. Costs are
    differences of medians; one below the spread of the runs has no value, and `BELOW` as its note.
    """
    x, within = point
    panel = f"cost, {system}"
    over = next(
        (row["note"] for row in before if row["panel"] == panel and row["note"] not in {"", BELOW}),
        "",
    )
    found: list[dict[str, Any]] = []
    previous, noise = 0.0, 0.0
    for phase, go in PHASES.items():
        row: dict[str, Any] = dict.fromkeys(SCHEMA.names)
        row |= {"panel": panel, "system": phase, "W": within, "note": over}
        run = runner(system, curve.where.format(x=x), within, table, go)
        spent = Refused(over) if over else limited(repeated(run, budget), 2 * budget)
        found.append(row)
        if isinstance(spent, Refused):
            over = row["note"] = spent.why
            continue
        median, spread = spent.value
        cost = median - previous
        if cost > max(spread, noise):
            row["ms"] = cost
        else:
            row["note"] = BELOW
        previous, noise = max(median, previous), spread
    total: dict[str, Any] = dict.fromkeys(SCHEMA.names)
    total |= {"panel": panel, "system": "total", "W": within, "note": over}
    total["ms"] = None if over else previous
    return [total, *found]


def repeated(run: Callable[[], dict[str, Any]], budget: float) -> Callable[[], tuple[float, float]]:
    """Return what runs several times, as often as the budget lasts: median and spread in ms.

    The spread is the distance between the quartiles, that is, of the middle half of the runs.
    """

    def several() -> tuple[float, float]:
        taken: list[float] = []
        while len(taken) < REPEATS and sum(taken) * (1 + 1 / max(len(taken), 1)) < 1000 * budget:
            taken.append(1000 * run()["seconds"])
        low, median, high = np.percentile(taken, (25, 50, 75))
        return float(median), float(high - low)

    return several


def shown(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the table of the terminal: a line for each point, a column for each system."""
    curves = {curve.panel for curve in CURVES}
    for measured in ("events/s", "runs"):
        for row in rows:
            if row["system"] != "SASE+" or row["panel"] not in curves:
                continue
            point = [
                r for r in rows if r["panel"] == row["panel"] and (r["W"], r["θ"]) == _place(row)
            ]
            line: dict[str, Any] = {"varied, predicate": row["panel"], "": measured, "W": row["W"]}
            line["θ"] = row["θ"]
            for other in point:
                if measured == "events/s" or other["system"] in BY_RUNS:
                    text = "-" if other[measured] is None else f"{other[measured]:,.0f}"
                    line[other["system"]] = OVER if other["note"] == OVER else text
                else:
                    line[other["system"]] = ""
            yield line


def _place(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row["W"], row["θ"]


def remarks(rows: Sequence[Mapping[str, Any]], budget: float) -> list[str]:
    """Return what the paper says, and what was found."""
    lines = [f"{PAPER}: {FOUND}."]
    curves = {curve.panel for curve in CURVES}
    mine = [row for row in rows if row["panel"] in curves]

    def speeds(system: str, panel: str) -> dict[tuple[Any, Any], float]:
        return {
            _place(r): r["events/s"]
            for r in mine
            if r["system"] == system and r["panel"] == panel and r["events/s"] is not None
        }

    for system in ("ZStream", "postponing", "on-the-fly", "collapsed", "Elsinore"):
        times = {
            panel: [
                speed / base
                for place, base in speeds("SASE+", panel).items()
                if (speed := speeds(system, panel).get(place)) is not None
            ]
            for panel in sorted(curves)
        }
        parts = [f"{min(t):.2g} to {max(t):.3g} ({panel})" for panel, t in times.items() if t]
        if parts:
            lines.append(f"Found: {system} is {', '.join(parts)} times as fast as SASE+.")
    for panel in sorted(curves):
        after = [
            speeds("on-the-fly", panel)[place] / speed
            for place, speed in speeds("postponing", panel).items()
            if place in speeds("on-the-fly", panel)
        ]
        if after:
            lines.append(
                f"Found: on-the-fly is {min(after):.2g} to {max(after):.2g} times as fast as "
                f"postponing ({panel})."
            )
    lines += [
        f"{row['system']}, {row['panel']}: {row['note']}"
        for row in mine
        if row["note"] and row["note"] != OVER
    ]
    lines.append(
        f"Time budget of a run: {budget:g} s; a system beyond it is marked '{OVER}' and not asked "
        "about longer windows. The paper's SASE+ and ZStream are Java programs of 2014; these are "
        "the same algorithms compiled, so that their ratios, not their speeds, compare."
    )
    return list(dict.fromkeys(lines))


def _warm_up() -> None:
    """Run all systems once over a few events, for their kernels to be compiled."""
    table = stream(2_000, {"A": 0.02, "B": 0.1, "C": 0.02})
    for curve in (CURVES[0], CURVES[2]):
        for system in SYSTEMS:
            runner(system, curve.where.format(x=0.0), 50, table)()
