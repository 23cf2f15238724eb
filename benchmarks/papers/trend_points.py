"""One point of a figure: a system over a case, in a process of its own.

Latency is what the paper's is (section 6.1): the time from the arrival of the last events that a
window's results need to the results, here from the last batch of fifty events of a window on.
Throughput is that of larger batches, in processor time. Events are encoded beforehand, for all
systems.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.baselines.trends.queries import UnsupportedError
from benchmarks.papers.apart import measured_apart
from benchmarks.papers.trend_cases import CASES, MINUTE, Case
from benchmarks.papers.trend_systems import SYSTEMS, Elsinore, Fed, Found
from benchmarks.processes import forget_peak, peak_memory

BATCH, LARGE_BATCH = 50, 1_000  # events: for latency and memory, for throughput
WARM_UP = 400  # events of a smaller case that has everything compiled and loaded
MEGABYTE = 2.0**20
SAME = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Where a system is measured: a case of `trend_cases` by its name, and its sizes.

    speed: whether throughput is measured, in a run of its own.
    """

    system: str
    case: str
    sizes: Mapping[str, Any]
    speed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was measured: seconds, events per second, bytes; or in a word why there is nothing.

    latency: median over windows; speed: events per second of processor time, from the second slide
    on, so that what is made once for a workload does not count; memory: how far the process's
    memory rose above what it took before the first event.
    """

    note: str = ""
    latency: float | None = None
    speed: float | None = None
    memory: float | None = None
    found: Found | None = None
    statistics: list[Any] | None = None  # of Elsinore's operators
    seconds: float = 0.0  # of the processor, for all batches
    analysis: float | None = None  # seconds that Elsinore planned the workload for


def measure(point: Point, budget: float) -> Measured:
    """Measure a point in a new process; after `budget` seconds it is ended, and noted as over."""
    measured, note = measured_apart(_measure, point, budget)
    return Measured(note=note) if measured is None else measured


@np.errstate(over="ignore")  # counts beyond a double's range are infinite, in all systems
def _measure(point: Point) -> Measured:
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    case = CASES[point.case](**point.sizes)
    try:
        small = Case(
            queries=case.queries,
            table=case.table.slice(0, WARM_UP if point.system != "MCEP" else 0),
            minutes=case.minutes,
            grouped=case.grouped,
        )
        run(SYSTEMS[point.system](small), small, BATCH)
        measured = run(SYSTEMS[point.system](case), case, BATCH)
        speed = None
        if point.speed:
            speed = run(SYSTEMS[point.system](case), case, LARGE_BATCH).speed
    except UnsupportedError as reason:
        return Measured(note=f"cannot express it: {reason}")
    return replace(measured, speed=speed)


def run(system: Fed, case: Case, batch: int) -> Measured:
    """Feed a case's events in batches of so many, close windows when they end; measure both."""
    times = case.times
    slide = min(window.slide for window in case.queries)
    ends = range(slide, case.minutes + 1, slide)
    edges = np.searchsorted(times, np.array(ends) * MINUTE).tolist()
    spans: list[list[tuple[int, int]]] = []
    begin = 0
    for edge in edges:
        cuts = [*range(begin, edge, batch), edge]
        spans.append([(a, b) for a, b in pairwise(cuts) if a < b])
        begin = edge
    if isinstance(system, Elsinore):
        for span in (span for of_window in spans for span in of_window):
            system.encode(*span)
    before = forget_peak()
    latencies = []
    begun = of_first = time.process_time()
    for end, of_window in zip(ends, spans, strict=True):
        last = time.perf_counter()
        for span in of_window:
            last = time.perf_counter()
            system.feed(*span)
        system.close(end)
        latencies.append(time.perf_counter() - last)
        if end == slide:
            of_first = time.process_time()
    ended = time.process_time()
    memory = peak_memory() - before
    return Measured(
        latency=float(np.median(latencies)),
        speed=(len(times) - edges[0]) / max(ended - of_first, 1e-9),
        memory=max(memory, 0.0) * MEGABYTE,
        found=system.found(),
        statistics=system.statistics() if isinstance(system, Elsinore) else None,
        seconds=ended - begun,
        analysis=system.analysis if isinstance(system, Elsinore) else None,
    )


def difference(found: Found, expected: Found) -> str | None:
    """Return the first difference between two systems' results as a sentence, None if equal.

    Both are infinite where a count is beyond a double's range; a sum is then not compared.
    """
    for key in sorted(found.keys() | expected.keys()):
        ours, theirs = found.get(key, (0.0, 0.0)), expected.get(key, (0.0, 0.0))
        pairs = list(zip(ours, theirs, strict=True))
        if math.isinf(ours[0]):
            pairs = pairs[:1]
        if not all(a == b or math.isclose(a, b, rel_tol=SAME) for a, b in pairs):
            return f"{key}: {ours} and {theirs}"
    return None
