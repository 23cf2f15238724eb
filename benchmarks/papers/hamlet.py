"""What HAMLET's figures have in common: sweeps over rates and numbers of queries, and pictures.

Each figure compares Elsinore with the systems of the paper and with those that it left out: running
sums, the loop that one would write by hand, and Algorithm 1 as it is written. All results are
compared; a system over its time has a mark in place of a point.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.papers.apart import OVER
from benchmarks.papers.figure import Figure, label_plainly, mark_missing
from benchmarks.papers.parts import interruptible, is_chosen
from benchmarks.papers.trend_points import Measured, Point, difference, measure
from benchmarks.papers.trend_systems import SYSTEMS

BUDGET, QUICK_BUDGET = 30.0, 8.0  # seconds for a point
STYLES: Mapping[str, tuple[str, str]] = {  # colour and marker
    "Elsinore": ("#0072B2", "o"),
    "always": ("#56B4E9", "s"),
    "never": ("#009E73", "D"),
    "running sums": ("#999999", "v"),
    "HAMLET as written": ("#E69F00", "^"),
    "decided once": ("#F0E442", "<"),
    "GRETA": ("#D55E00", ">"),
    "SHARON": ("#CC79A7", "P"),
    "MCEP": ("#56494E", "*"),
}
GROWING = {"MCEP", "GRETA", "SHARON"}  # whose time grows with each axis
METRICS: Mapping[str, tuple[str, str, float]] = {  # column, title, factor
    "latency": ("latency, ms", "latency in milliseconds", 1e3),
    "speed": ("events/s", "events per second of processor time", 1.0),
    "memory": ("memory, MB", "memory in megabytes", 1e-6),
}
LEAST = {"latency": 1e-3, "speed": 1.0, "memory": 0.2}  # drawn; a page or two is no growth

SCHEMA = pa.schema(
    [
        ("stream", pa.string()),
        ("axis", pa.string()),
        ("value", pa.int64()),
        ("system", pa.string()),
        ("latency, ms", pa.float64()),
        ("events/s", pa.float64()),
        ("memory, MB", pa.float64()),
        ("note", pa.string()),
        ("shared", pa.string()),
        ("snapshots", pa.int64()),
        ("splits", pa.int64()),
        ("merges", pa.int64()),
        ("deciding, %", pa.float64()),
        ("analysis, ms", pa.float64()),
    ]
)
SHOWN = SCHEMA.names[: SCHEMA.names.index("shared") + 1]  # on the terminal


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Points along one axis: `name` is a size of the case, `fixed` are the others."""

    case: str
    title: str
    name: str
    values: Sequence[int]
    fixed: Mapping[str, Any]

    @property
    def axis(self) -> str:
        """Return the axis's title."""
        return "events per minute" if self.name == "rate" else "queries"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A figure: its sweeps, systems, the metrics drawn, and what the paper says."""

    title: str
    paper: str
    sweeps: Sequence[Sweep]
    systems: Sequence[str]
    metrics: Sequence[str]
    remarks: Callable[[list[dict[str, Any]]], list[str]] | None = None

    @property
    def parts(self) -> dict[str, list[str]]:
        """Return the systems, and the values of each axis such as `queries=25`."""
        values: dict[str, list[str]] = {}
        for sweep in self.sweeps:
            of_axis = values.setdefault(sweep.name, [])
            of_axis += [f"{sweep.name}={value}" for value in sweep.values]
        return {"systems": [*self.systems], **values}

    def measure(self, *, quick: bool, only: Sequence[str]) -> Figure:
        """Measure the figure (`measured`)."""
        return measured(self, quick=quick, only=only)


def measured(plan: Plan, *, quick: bool, only: Sequence[str]) -> Figure:
    """Measure a figure; with `quick` the least and the greatest value of each sweep.

    only: parts of the plan; of none, all. An interruption ends the measurement; what was measured
    until then is kept.
    """
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    with interruptible(notes):
        for sweep in plan.sweeps:
            values = sweep.values if not quick else (sweep.values[0], sweep.values[-1])
            over: set[str] = set()  # systems that were over their time at a smaller value
            for value in values:
                if is_chosen(f"{sweep.name}={value}", plan.parts[sweep.name], only):
                    chosen = [name for name in plan.systems if is_chosen(name, plan.systems, only)]
                    budget = QUICK_BUDGET if quick else BUDGET
                    point = _point(
                        sweep, value, chosen, budget, over, speed="speed" in plan.metrics
                    )
                    rows += point
                    over |= GROWING & {row["system"] for row in point if row["note"] == OVER}
    found = [] if plan.remarks is None else plan.remarks(rows)
    return Figure(
        title=plan.title,
        table=pa.Table.from_pylist(rows, schema=SCHEMA),
        shown=pa.Table.from_pylist(rows, schema=SCHEMA).select(SHOWN),
        remarks=[f"The paper: {plan.paper}", *_compared(rows), *found, *notes],
        draw=lambda picture: draw(picture, plan, rows),
        size=(4.0 * len(plan.sweeps), 3.0 * len(plan.metrics) + 0.8),
    )


def _point(
    sweep: Sweep,
    value: int,
    systems: Sequence[str],
    budget: float,
    over: Collection[str],
    *,
    speed: bool,
) -> list[dict[str, Any]]:
    """Measure systems at one value of an axis, and compare their results.

    over: systems that are not run, as they were over their time at a smaller value.
    speed: whether throughput is measured, too.
    """
    rows: list[dict[str, Any]] = []
    first: Measured | None = None
    for system in systems:
        print(f"{sweep.title}, {sweep.axis} {value:,}: {system} ...", flush=True)
        sizes = {**sweep.fixed, sweep.name: value}
        point = (
            measure(Point(system=system, case=sweep.case, sizes=sizes, speed=speed), budget)
            if system not in over
            else Measured(note=OVER)
        )
        row: dict[str, Any] = {"stream": sweep.title, "axis": sweep.axis, "value": value}
        row["system"] = system
        for name, (column, _, factor) in METRICS.items():
            raw = getattr(point, name)
            row[column] = None if raw is None else raw * factor
        row["note"] = point.note
        if point.found is not None:
            if first is None:
                first = point
            elif first.found is not None:
                apart = difference(point.found, first.found)
                row["note"] = "the same results" if apart is None else f"DIFFERS: {apart}"
        row["shared"] = shared_bursts(point)
        row |= of_sharing(point)
        rows.append(row)
    return rows


def shared_bursts(point: Measured) -> str | None:
    """Return how many bursts were shared of those that could be, None for other systems."""
    if point.statistics is None:
        return None
    counts = [one for unit in point.statistics for one in unit.shared_bursts]
    return f"{sum(one.shared for one in counts)} of {sum(one.bursts for one in counts)}"


def of_sharing(point: Measured) -> dict[str, float | None]:
    """Return what was counted of shared bursts, and the times of deciding and of planning."""
    if point.statistics is None or point.analysis is None:
        return {}
    sets = [shared for unit in point.statistics for shared in unit.sharing]
    return {
        "snapshots": sum(each.graphlet_snapshots + each.event_snapshots for each in sets),
        "splits": sum(each.splits for each in sets),
        "merges": sum(each.merges for each in sets),
        "deciding, %": 100 * sum(each.decision_seconds for each in sets) / max(point.seconds, 1e-9),
        "analysis, ms": 1000 * point.analysis,
    }


def _compared(rows: list[dict[str, Any]]) -> list[str]:
    """Return how many results were compared, and by how much Elsinore is ahead or behind."""
    differ = [row for row in rows if row["note"].startswith("DIFFERS")]
    same = [row for row in rows if row["note"] == "the same results"]
    text = f"Results of {len(same)} runs are the same as those of the first system at their point"
    found = [f"{text}; {len(differ)} differ."]
    for system in SYSTEMS:
        for column, more in (("latency, ms", False), ("events/s", True)):
            ratios = [
                (row[column] / base[column]) ** (-1 if more else 1)
                for row in rows
                for base in rows
                if row["system"] == system != "Elsinore" == base["system"]
                and all(row[key] == base[key] for key in ("stream", "axis", "value"))
                and row[column] and base[column]
            ]  # fmt: skip
            if ratios:
                what = "time per event" if more else "latency"
                found.append(
                    f"{system}: {what} {min(ratios):.3g} to {max(ratios):.3g} times Elsinore's "
                    f"({len(ratios)} points)."
                )
        over = [row for row in rows if row["system"] == system and row["latency, ms"] is None]
        if over:
            notes = ", ".join(dict.fromkeys(row["note"] for row in over))
            found.append(f"{system}: no figure at {len(over)} points ({notes}).")
    return found


def draw(picture: Picture, plan: Plan, rows: list[dict[str, Any]]) -> None:
    """Draw a row of panels for each metric, with the legend and the paper's words below."""
    panels = [(metric, sweep) for metric in plan.metrics for sweep in plan.sweeps]
    grid = picture.subplots(len(plan.metrics), len(plan.sweeps), squeeze=False).ravel()
    for number, (axes, (metric, sweep)) in enumerate(zip(grid, panels, strict=True)):
        _panel(axes, metric, sweep, plan.systems, rows)
        axes.set_title(f"({chr(97 + number)}) {sweep.title}", fontsize=9)
    handles, labels = grid[0].get_legend_handles_labels()
    columns = 4 if len(plan.sweeps) < 3 else 8
    picture.legend(handles, labels, loc="outside upper center", ncols=columns, fontsize=8)
    picture.supxlabel(f"The paper: {plan.paper}", fontsize=7, wrap=True)


def _panel(
    axes: Axes, metric: str, sweep: Sweep, systems: Sequence[str], rows: list[dict[str, Any]]
) -> None:
    column, title, _ = METRICS[metric]
    missing = 0  # systems that have marks
    for system in systems:
        colour, marker = STYLES[system]
        points = {
            row["value"]: row[column]
            for row in rows
            if (row["system"], row["stream"], row["axis"]) == (system, sweep.title, sweep.axis)
        }
        there = sorted(points)
        # a missing value is not-a-number, across which no line is drawn
        heights = [
            float("nan") if points[at] is None else max(points[at], LEAST[metric]) for at in there
        ]
        axes.plot(there, heights, color=colour, marker=marker, label=system, lw=1.2, ms=5)
        without = [at for at in there if points[at] is None]
        mark_missing(axes, without, colour, missing)
        missing += bool(without)
    axes.set_yscale("log")
    label_plainly(axes)
    axes.set_xlabel(sweep.axis, fontsize=8)
    axes.set_ylabel(title, fontsize=8)
    axes.tick_params(which="both", labelsize=8)
    axes.grid(linewidth=0.3)
