"""How time and memory grow with events, queries, groups and overlapping windows.

Each point is a process of its own that runs a workload of trends over generated events from a file
of Parquet, in this process or on Spark with two cores; the fitted exponent is the slope of the
logarithm of time over that of the size: 1 is linear, 0 independent of it. Time includes reading the
file; starting Spark is not counted.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture

from benchmarks.papers.apart import measured_apart
from benchmarks.papers.figure import Figure, label_plainly, mark_missing
from benchmarks.papers.parts import Parts, interruptible, is_chosen
from benchmarks.processes import tree
from elsinore import Workload
from elsinore.datasets.columns import START, named_codes

BUDGET, QUICK_BUDGET = 600.0, 25.0  # seconds for a point
BASE = {"events": 1_000_000, "queries": 10, "groups": 1_000, "windows": 1}
SWEEPS: Mapping[str, Sequence[int]] = {
    "events": (100_000, 1_000_000, 10_000_000, 100_000_000),
    "queries": (1, 10, 100, 1_000, 10_000),
    "groups": (1, 100, 10_000, 1_000_000),
    "windows": (1, 3, 10, 30, 100),
}
QUICK = {
    "events": (100_000, 1_000_000),
    "queries": (1, 100),
    "groups": (1, 100_000),
    "windows": (1, 10),
}
QUICK_EVENTS = 100_000
SYSTEMS = ("in process", "Spark")
PARTS: Parts = {"axes": [*SWEEPS], "systems": SYSTEMS}
COLOURS = {"in process": ("#0072B2", "o"), "Spark": ("#D55E00", "s")}
SHARE = 0.5  # of events that are of the Kleene type
MINUTES = 60  # of the whole stream
WITHIN = 300  # seconds
PIECE = 5_000_000  # events that are generated at once
EVERY = 0.05  # seconds between looks at the memory


@dataclass(frozen=True, slots=True)
class Point:
    """Sizes of events and workload, and where it runs."""

    system: str
    events: int
    queries: int
    groups: int
    windows: int

    def text(self) -> str:
        """Return the workload: `windows` windows contain each moment."""
        slide = WITHIN / self.windows
        return "\n".join(
            f"QUERY q{number} RETURN COUNT(*), AVG(b.v) PATTERN SEQ(X{number} x, B b+) "
            f"GROUP BY g WITHIN {WITHIN} seconds SLIDE {slide:g} seconds;"
            for number in range(self.queries)
        )

    def write(self, file: Path) -> None:
        """Write the events; half of them are of type B, the others of a random query's type."""
        names = ["B", *(f"X{number}" for number in range(self.queries))]
        random = np.random.default_rng(7)
        writer = None
        for begin in range(0, self.events, PIECE):
            count = min(PIECE, self.events - begin)
            places = np.arange(begin, begin + count)
            times = START + places * (MINUTES * 60_000_000) // self.events
            kinds = np.where(
                random.random(count) < SHARE, 0, random.integers(1, self.queries + 1, count)
            )
            table = pa.table(
                {
                    "time": pa.array(times).cast(pa.timestamp("us")),
                    "type": named_codes(kinds, names),
                    "g": random.integers(0, self.groups, count),
                    "v": random.random(count),
                }
            )
            writer = writer or pq.ParquetWriter(file, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds, the greatest memory of the whole process tree in bytes, and rows of results."""

    seconds: float | None = None
    memory: float | None = None
    rows: int | None = None
    note: str = ""


class Peak:
    """The greatest memory of all processes, looked at from time to time."""

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        is_over = False
        while not is_over:
            self.bytes = max(self.bytes, sum(map(_resident, tree())))
            is_over = self._over.wait(EVERY)


def _resident(process: int) -> int:
    try:
        pages = Path(f"/proc/{process}/statm").read_text().split()[1]
    except OSError:  # it has ended
        return 0
    return int(pages) * 4096


def measure_point(point: Point, budget: float) -> Measured:
    """Measure a point in a new process; after `budget` seconds it is ended."""
    measured, note = measured_apart(_measure, point, budget)
    return Measured(note=note) if measured is None else measured


def _measure(point: Point) -> Measured:
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "events.parquet"
        point.write(file)
        workload = Workload.parse(point.text())
        if point.system == "Spark":
            return _on_spark(workload, file)
        with Peak() as peak:
            start = time.perf_counter()
            results = workload.run(str(file))
            rows = sum(table.num_rows for table in results.to_arrow().values())
            seconds = time.perf_counter() - start
        return Measured(seconds, float(peak.bytes), rows)


def _on_spark(workload: Workload, file: Path) -> Measured:
    from elsinore.spark.session import local_session  # noqa: PLC0415

    with local_session("local[2]") as spark:
        spark.range(10).count()
        with Peak() as peak:
            start = time.perf_counter()
            results = workload.run(spark.read.parquet(str(file)))
            rows = sum(table.num_rows for table in results.to_arrow().values())
            seconds = time.perf_counter() - start
        return Measured(seconds, float(peak.bytes), rows)


def measure(*, quick: bool, only: Sequence[str] = ()) -> Figure:
    """Measure all sweeps or some; with `quick` fewer and smaller points."""
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    sweeps = QUICK if quick else SWEEPS
    base = {**BASE, "events": QUICK_EVENTS} if quick else BASE
    with interruptible(notes):
        for axis, values in sweeps.items():
            for value in values if is_chosen(axis, [*SWEEPS], only) else ():
                for system in SYSTEMS:
                    if not is_chosen(system, SYSTEMS, only):
                        continue
                    print(f"{value:,} {axis}, {system} ...", flush=True)
                    point = Point(system, **{**base, axis: value})
                    found = measure_point(point, QUICK_BUDGET if quick else BUDGET)
                    rows.append(
                        {
                            "axis": axis,
                            "value": value,
                            "system": system,
                            "seconds": found.seconds,
                            "memory, MB": found.memory and found.memory / 1e6,
                            "rows": found.rows,
                            "note": found.note,
                        }
                    )
    return Figure(
        title="Time and memory against events, queries, groups and overlapping windows",
        table=pa.Table.from_pylist(rows),
        remarks=[*remarks(rows), *notes],
        draw=lambda picture: draw(picture, rows),
        size=(15.0, 6.4),
    )


def exponent(values: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of a line through the logarithms, by least squares, with two decimals.

    >>> exponent([1, 10, 100], [2, 20, 200])
    1.0
    """
    slope = float(np.polyfit(np.log(values), np.log(seconds), 1)[0])
    return round(slope, 2) + 0.0  # and no negative zero


def remarks(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the exponents, points without a figure, and whether both ways found as many rows."""
    found = []
    for axis in SWEEPS:
        for system in SYSTEMS:
            there = [
                row for row in rows if (row["axis"], row["system"]) == (axis, system)
                and row["seconds"]
            ]  # fmt: skip
            if len(there) > 1:
                values = [row["value"] for row in there]
                slope = exponent(values, [row["seconds"] for row in there])
                memory = exponent(values, [row["memory, MB"] for row in there])
                last = exponent(values[-2:], [row["seconds"] for row in there[-2:]])
                found.append(
                    f"{axis}, {system}: time grows with the power {slope:.2f}, with {last:.2f} "
                    f"between the two greatest; memory with {memory:.2f}."
                )
    over = [row for row in rows if row["note"]]
    found += [f"{row['value']:,} {row['axis']}, {row['system']}: {row['note']}." for row in over]
    by_point: dict[tuple[str, int], set[int]] = {}
    for row in rows:
        if row["rows"] is not None:
            by_point.setdefault((row["axis"], row["value"]), set()).add(row["rows"])
    differ = [point for point, counts in by_point.items() if len(counts) > 1]
    found.append(f"Both ways return as many rows at all points but {len(differ)}.")
    return found


def draw(picture: Picture, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw time above memory, a panel for each axis, both in logarithms."""
    panels = picture.subplots(2, len(SWEEPS), squeeze=False)
    for column, axis in enumerate(SWEEPS):
        for line, (name, title) in enumerate((("seconds", "seconds"), ("memory, MB", "MB"))):
            _panel(panels[line][column], axis, name, title, rows)
    handles, labels = panels[0][0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside upper center", ncols=len(labels), fontsize=9)


def _panel(axes: Axes, axis: str, name: str, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    for system in SYSTEMS:
        colour, marker = COLOURS[system]
        there = [row for row in rows if (row["axis"], row["system"]) == (axis, system)]
        heights = [row[name] or float("nan") for row in there]
        axes.plot([row["value"] for row in there], heights, color=colour, marker=marker,
                  label=system, lw=1.2, ms=5)  # fmt: skip
        mark_missing(axes, [row["value"] for row in there if row[name] is None], colour)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("overlapping windows" if axis == "windows" else axis, fontsize=9)
    axes.set_ylabel(title, fontsize=9)
    label_plainly(axes)
    axes.tick_params(which="both", labelsize=8)
    axes.grid(linewidth=0.3)
