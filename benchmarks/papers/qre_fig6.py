"""Figure 6 of StreamQRE: items per second of Y1, Y2 and N1 to N5, beside other systems.

The paper compares StreamQRE's Java library with RxJava, Esper and Flink. Here Elsinore, in Python,
is beside RxPY, polars and plain loops, and beside those three where Java and Maven are. Items per
second of processor time, warm, the same events for all; each system's values are compared with
Elsinore's on the events that it got. A system that is over its time has no figure and a mark.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure as Picture

from benchmarks.baselines import java
from benchmarks.papers.figure import Figure
from benchmarks.quantitative import is_compiled, speeds
from benchmarks.streamqre import cases

QUICK = 10  # a tenth of the events
PAPER = (
    "StreamQRE is 2 to 4 times as fast as RxJava, 6 to 75 times as fast as Esper and 10 to 140 "
    "times as fast as Flink (Section 1)"
)
COLOURS = {
    "Elsinore": "#0072B2",
    "RxJava": "#D55E00",
    "Esper": "#CC79A7",
    "Flink": "#56494E",
    "RxPY": "#E69F00",
    "plain loop": "#999999",
    "polars": "#009E73",
    "Numba": "#56B4E9",
}


def measure(*, quick: bool) -> Figure:
    """Measure all queries; with `quick` a tenth of the events."""
    pa.set_cpu_count(1)
    scale = QUICK if quick else 1
    rows: list[dict[str, Any]] = []
    reason = java.why_not()
    for case in cases().values():
        print(f"{case.name}: {case.about} ...", flush=True)
        found: dict[str, float | None] = dict(speeds(case, scale)[1])
        if reason is None:
            found |= java.speeds(case, scale)
        rows += [
            {"query": case.name, "system": name, "M items/s": speed and speed / 1e6}
            for name, speed in found.items()
        ]
    for row in rows:
        times = _times(rows, row)
        row["Elsinore is"] = "over its time" if times is None else f"{times:.2f} times"
    return Figure(
        title="Throughput of StreamQRE's queries",
        table=pa.Table.from_pylist(rows),
        remarks=remarks(rows, reason),
        draw=lambda picture: draw(picture, rows),
        size=(14.0, 3.6),
    )


def _times(rows: list[dict[str, Any]], row: dict[str, Any]) -> float | None:
    """Return how many times as fast Elsinore is as a row's system, None where that was over."""
    if row["M items/s"] is None:
        return None
    base = next(other for other in rows if other["query"] == row["query"])
    return float(base["M items/s"] / row["M items/s"])


def remarks(rows: list[dict[str, Any]], reason: str | None) -> list[str]:
    """Return the paper's statement, and what was found."""
    found = [f"The paper: {PAPER}."]
    for system in COLOURS:
        times = [
            ratio
            for row in rows
            if row["system"] == system and system != "Elsinore"
            if (ratio := _times(rows, row)) is not None
        ]
        if times:
            found.append(
                f"Found: Elsinore is {min(times):.2g} to {max(times):.3g} times as fast as {system}"
                f" ({len(times)} queries)."
            )
    slow = [case.name for case in cases().values() if not is_compiled(case.query())]
    if slow:
        found.append(f"The machines of {', '.join(slow)} run in Python.")
    if reason is not None:
        found.append(reason)
    over = [f"{row['system']} ({row['query']})" for row in rows if row["M items/s"] is None]
    if over:
        found.append(f"Over their time, a part of the events notwithstanding: {', '.join(over)}.")
    return found


def draw(picture: Picture, rows: list[dict[str, Any]]) -> None:
    """Draw a panel of bars for each query, as the paper does; items per second in logarithms."""
    names = list(dict.fromkeys(row["query"] for row in rows))
    panels = picture.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        bars = [row for row in rows if row["query"] == name]
        axes.bar(
            range(len(bars)),
            [bar["M items/s"] or 0 for bar in bars],
            color=[COLOURS[bar["system"]] for bar in bars],
        )
        axes.set_yscale("log")
        for place, bar in enumerate(bars):
            if bar["M items/s"] is None:
                axes.text(place, 0, "×", ha="center", transform=axes.get_xaxis_transform())
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(len(bars)), [bar["system"] for bar in bars], rotation=90, fontsize=8)
        axes.tick_params(axis="y", labelsize=8)
        axes.grid(axis="y", linewidth=0.3)
    panels[0].set_ylabel("million items per second", fontsize=9)
