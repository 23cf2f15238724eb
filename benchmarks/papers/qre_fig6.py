"""Figure 6 of StreamQRE: items per second of Y1, Y2 and N1 to N5, beside other systems.

The paper compares StreamQRE's Java library with RxJava, Esper and Flink. Here Elsinore, in Python,
is beside RxPY, polars and plain loops, and beside those three where Java and Maven are. Items per
second of processor time, warm, the same events for all; each system's values are compared with
Elsinore's on the events that it got. A bar is the median of several runs, its line goes from the
slowest to the fastest. A system without a figure has a mark.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from matplotlib.figure import Figure as Picture

from benchmarks.baselines import java
from benchmarks.papers.figure import Figure
from benchmarks.papers.parts import Parts, interruptible, is_chosen
from benchmarks.quantitative import speeds
from benchmarks.streamqre import cases

RUNS = 7
QUICK = 20  # a twentieth of the events
QUICK_SECONDS = 150.0  # by the clock, after which `--quick` starts no other system
PAPER = (
    "StreamQRE is 2 to 4 times as fast as RxJava, 6 to 75 times as fast as Esper and 10 to 140 "
    "times as fast as Flink (Section 1); means of 100 runs with their standard deviations"
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
PARTS: Parts = {"queries": [*cases()], "systems": [*COLOURS]}
SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("system", pa.string()),
        ("runs", pa.int64()),
        ("M items/s", pa.float64()),
        ("slowest", pa.float64()),
        ("fastest", pa.float64()),
        ("Elsinore is", pa.string()),
    ]
)


def measure(*, quick: bool, only: Sequence[str] = ()) -> Figure:
    """Measure all queries and systems or some; with `quick` a twentieth of the events.

    Elsinore is always measured. Java's systems, which take longest, come last; with `quick` they
    are left out once the time is over.
    """
    pa.set_cpu_count(1)
    until = time.monotonic() + QUICK_SECONDS if quick else math.inf
    names = [name for name in cases() if is_chosen(name, PARTS["queries"], only)]
    systems = [name for name in COLOURS if is_chosen(name, PARTS["systems"], only)]
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    with interruptible(notes):
        for name in names:
            case = cases()[name]
            print(f"{name}: {case.about} ...", flush=True)
            _, found = speeds(case, QUICK if quick else 1, RUNS, systems)
            rows += [row(name, system, each) for system, each in found.items()]
        of_java = [system for system in systems if system in java.RUNS]
        reason = java.why_not() if of_java else None
        for system in of_java if reason is None else ():
            for name in names:
                print(f"{name}: {system} ...", flush=True)
                each, note = java.speeds(cases()[name], system, quick=quick, until=until)
                rows.append(row(name, system, each, note))
        notes += [reason] if reason else []
    order = [*COLOURS]
    rows.sort(key=lambda row: (names.index(row["query"]), order.index(row["system"])))
    for each in rows:
        times = _times(rows, each)
        each["Elsinore is"] = each.pop("note") if times is None else f"{times:.2f} times"
    return Figure(
        title="Throughput of StreamQRE's queries",
        table=pa.Table.from_pylist(rows, schema=SCHEMA),
        remarks=[*remarks(rows), *notes],
        draw=lambda picture: draw(picture, rows),
        size=(max(2.0 * len(names), 5.0), 3.8),
    )


def row(query: str, system: str, speeds: Sequence[float], note: str = "") -> dict[str, Any]:
    """Return the row of a query and a system from the items per second of its runs."""
    measured = [each / 1e6 for each in speeds]
    return {
        "query": query,
        "system": system,
        "runs": len(measured),
        "M items/s": statistics.median(measured) if measured else None,
        "slowest": min(measured, default=None),
        "fastest": max(measured, default=None),
        "note": note,
    }


def _times(rows: Sequence[dict[str, Any]], row: dict[str, Any]) -> float | None:
    """Return how many times as fast Elsinore is as a row's system, None if that has no figure."""
    if row["M items/s"] is None:
        return None
    base = next(other for other in rows if other["query"] == row["query"])
    return float(base["M items/s"] / row["M items/s"])


def remarks(rows: Sequence[dict[str, Any]]) -> list[str]:
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
    wide = [row for row in rows if row["M items/s"] and row["fastest"] > 1.5 * row["slowest"]]
    if wide:
        names = ", ".join(f"{row['system']} ({row['query']})" for row in wide)
        found.append(f"The fastest run is more than 1.5 times as fast as the slowest: {names}.")
    missing = [
        f"{row['system']} ({row['query']}: {row['Elsinore is']})"
        for row in rows
        if row["M items/s"] is None
    ]
    if missing:
        found.append(f"Without a figure: {', '.join(missing)}.")
    return found


def draw(picture: Picture, rows: Sequence[dict[str, Any]]) -> None:
    """Draw a panel of bars for each query, as the paper does; items per second in logarithms."""
    names = list(dict.fromkeys(row["query"] for row in rows)) or [""]
    panels = picture.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for axes, name in zip(panels, names, strict=True):
        bars = [row for row in rows if row["query"] == name]
        axes.bar(
            range(len(bars)),
            [bar["M items/s"] or 0 for bar in bars],
            color=[COLOURS[bar["system"]] for bar in bars],
        )
        for place, bar in enumerate(bars):
            if bar["M items/s"] is None:
                axes.text(place, 0, "×", ha="center", transform=axes.get_xaxis_transform())
            else:
                axes.plot([place] * 2, [bar["slowest"], bar["fastest"]], color="black", lw=1.2)
        axes.set_yscale("log")
        axes.set_title(name, fontsize=10)
        axes.set_xticks(range(len(bars)), [bar["system"] for bar in bars], rotation=90, fontsize=8)
        axes.tick_params(axis="y", labelsize=8)
        axes.grid(axis="y", linewidth=0.3)
    panels[0].set_ylabel("million items per second", fontsize=9)
