"""Table 1 of StreamQRE: P6 and P7 exact and approximate, throughput, size of the state and error.

P6 is the median over all days of a day's number of measurements, P7 the number of atypical
measurements among the last W events. The size is that of the saved state; the errors are the
greatest at any output.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure as Picture

import elsinore.quantitative as qre
from benchmarks.baselines import compiled_loops
from benchmarks.papers.figure import Figure
from benchmarks.papers.parts import Parts, interruptible, is_chosen
from benchmarks.quantitative import processor
from benchmarks.streamqre import LIMIT, example, measured_days, monitored

EPS = 0.01
WINDOWS = (10_000, 100_000, 1_000_000, 10_000_000)
QUICK = 1_000_000  # the largest window of `--quick`
LEAST = 100_000  # events at least; twice the window otherwise
DAYS = 20_000  # of P6
PARTS: Parts = {"queries": ("P6", "P7")}
PAPER: dict[str, tuple[float, float, float, float, str]] = {
    # M items/s exact and approximate, kilobytes exact and approximate, error
    "P6": (8.208, 8.643, 1_458, 25.3, "0.14%"),
    "P7 (W = 10,000)": (6.747, 3.221, 151, 9.9, "0.09%"),
    "P7 (W = 100,000)": (5.100, 2.067, 1_501, 14.9, "0.52%"),
    "P7 (W = 1,000,000)": (4.030, 1.863, 15_001, 19.4, "0.19%"),
    "P7 (W = 10,000,000)": (0.826, 1.841, 150_001, 24.3, "0.36%"),
}


def measure(*, quick: bool, only: Sequence[str] = ()) -> Figure:
    """Measure P6 and P7, or one of them; with `quick` smaller windows and a tenth of the days."""
    pa.set_cpu_count(1)
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    with interruptible(notes):
        if is_chosen("P6", PARTS["queries"], only):
            rows.append(median_row(DAYS // 10 if quick else DAYS))
        for size in WINDOWS if is_chosen("P7", PARTS["queries"], only) else ():
            if not quick or size <= QUICK:
                print(f"P7: atypical measurements among the last {size:,} events ...", flush=True)
                rows.append(window_row(size))
    return Figure(
        title=f"Exact and approximate evaluation, eps = {EPS}",
        table=pa.Table.from_pylist([shown(row) for row in rows]),
        remarks=[
            "The paper: P6 1,458 KB -> 25 KB; P7 at W = 10^7 150 MB -> 24 KB; error at most 1 %.",
            *(
                f"Found: {row['query']} {row['exact KB']:,.1f} KB -> "
                f"{row['approximate KB']:,.1f} KB; error {row['error']:.2%}."
                for row in rows
            ),
            "Sizes are of the states as saved; the paper's of Java's serializer.",
            *notes,
        ],
        draw=lambda picture: draw(picture, rows),
        size=(10.0, 4.0),
    )


def median_row(days: int) -> dict[str, Any]:
    """Measure P6 over so many days of 10 to 100 measurements."""
    events = measured_days(56 * days)
    patients = example("patients")
    folds = {"exact": qre.median(), "approximate": qre.approx_median(EPS)}
    return compared("P6", events, {k: patients.median_measurements(f) for k, f in folds.items()})


def window_row(size: int) -> dict[str, Any]:
    """Measure P7 with a window of so many events."""
    patients = example("patients")
    events = monitored(max(2 * size, LEAST))
    queries = {
        "exact": patients.atypical(LIMIT, size),
        "approximate": patients.atypical(LIMIT, size, EPS),
    }
    row = compared(f"P7 (W = {size:,})", events, queries, size)
    by_hand = compiled_loops.p7(events, size, LIMIT)
    if not np.array_equal(row["values"], by_hand):
        raise AssertionError("P7 has other values than a loop")
    return row


def compared(
    name: str, events: pa.Table, queries: dict[str, Any], kept: int | None = None
) -> dict[str, Any]:
    """Run a query exactly and approximately; return speeds, sizes of saved states and the error.

    The state depends on the last `kept` events, on all where there is no such number.
    """
    last = events if kept is None else events.slice(events.num_rows - kept)
    row: dict[str, Any] = {"query": name, "events": events.num_rows}
    values = {}
    for kind, query in queries.items():
        found: list[Any] = []
        query.run(events)  # the timed call once before: all is compiled and loaded
        seconds = processor(lambda: found.append(query.run(events)))  # noqa: B023
        values[kind] = found[0]["value"].to_numpy().astype(float)
        row[f"{kind} M items/s"] = events.num_rows / seconds / 1e6
        row[f"{kind} KB"] = saved_kilobytes(query, last)
    exact, near = values["exact"], values["approximate"]
    row["values"] = exact
    row["error"] = float(np.max(np.abs(near - exact) / np.maximum(np.abs(exact), 1)))
    if row["error"] > EPS:
        raise AssertionError(f"{name} is off by {row['error']}")
    return row


def saved_kilobytes(query: qre.Query, events: pa.Table) -> float:
    """Return the size of a stream's saved state after some events, in 1,000 bytes."""
    stream = query.start()
    stream.take(events)
    return len(stream.save()) / 1_000


def shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the table shows of a row, beside the paper's figures."""
    fast, near, large, small, error = PAPER[row["query"]]
    return {
        "query": row["query"],
        "events": row["events"],
        "exact M/s": row["exact M items/s"],
        "paper M/s": fast,
        "approx. M/s": row["approximate M items/s"],
        "paper's M/s": near,
        "exact KB": row["exact KB"],
        "paper KB": float(large),
        "approx. KB": row["approximate KB"],
        "paper's KB": small,
        "error": f"{row['error']:.2%}",
        "paper": error,
    }


def _short(query: str) -> str:
    """Return a query's name, a window's size as a power of ten: long names would touch."""
    name, _, size = query.rstrip(")").partition(" (W = ")
    return f"{name}, $10^{size.count('0')}$" if size else name


def draw(picture: Picture, rows: list[dict[str, Any]]) -> None:
    """Draw the size of the state and the throughput, exact and approximate, for each query."""
    places = np.arange(len(rows))
    panels = picture.subplots(1, 2)
    for axes, unit in zip(panels, ("KB", "M items/s"), strict=True):
        for side, (kind, colour) in enumerate((("exact", "#0072B2"), ("approximate", "#E69F00"))):
            heights = [row[f"{kind} {unit}"] for row in rows]
            axes.bar(places + 0.4 * side - 0.2, heights, 0.4, color=colour, label=kind)
            of_paper = [PAPER[row["query"]][side + (2 if unit == "KB" else 0)] for row in rows]
            axes.plot(places + 0.4 * side - 0.2, of_paper, "_", color="black", ms=14, mew=2,
                      label="the paper" if side else None)  # fmt: skip
        axes.set_xticks(places, [_short(row["query"]) for row in rows], fontsize=8)
        axes.set_ylabel({"KB": "state, 1,000 bytes"}.get(unit, f"million {unit[2:]}"), fontsize=9)
        axes.grid(axis="y", linewidth=0.3)
    panels[0].set_yscale("log")
    panels[0].legend(fontsize=8, frameon=False)
