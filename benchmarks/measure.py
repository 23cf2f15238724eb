"""Timing: medians of several runs, ratios of runs taken in turn, and what machine it was."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the results: what was measured, the figure, what it should be."""

    what: str
    figure: str
    target: str
    met: bool


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long one run takes; by `time.process_time` how much processor time.

    What it returns is let go of afterwards: of many small batches that takes longer than to make
    them.
    """
    start = clock()
    returned = run()
    taken = clock() - start
    del returned
    return taken


def cpu_seconds(run: Callable[[], object]) -> float:
    """Return the processor time that one run takes."""
    return seconds(run, time.process_time)


def in_turn(
    runs: dict[str, Callable[[], object]],
    times: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time several runs in turn, A B A B ..., after one uncounted run of each."""
    for run in runs.values():
        run()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(times):
        for name, run in runs.items():
            taken[name].append(seconds(run, clock))
    return taken


def ratio(over: list[float], under: list[float]) -> float:
    """Return the median of the ratios of runs taken in turn."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def assert_same(found: Mapping[str, pa.Table], expected: Mapping[str, pa.Table]) -> None:
    """Compare results of all queries: rows, bounds of windows, and numbers to nine digits."""
    for name, table in expected.items():
        if found[name].column_names != table.column_names or len(found[name]) != len(table):
            raise AssertionError(f"{name}: other rows")
        for column in table.column_names:
            one, other = found[name].column(column), table.column(column)
            if pa.types.is_floating(other.type):
                a, b = one.to_numpy(), other.to_numpy()
                with np.errstate(invalid="ignore"):
                    same = (abs(a - b) <= 1e-9 * abs(b)) | (a == b)
                if not same.all():
                    raise AssertionError(f"{name}: {column} differs")
            elif one != other:
                raise AssertionError(f"{name}: {column} differs")


def machine() -> str:
    """Return the processor, the system and the versions that figures were measured with."""
    packages = ("numba", "numpy", "pyarrow", "pyspark")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    model = "unknown processor"
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    system = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return f"{model}, {system}; Python {platform.python_version()}, {versions}"
