"""Timing: medians of several runs, ratios of runs taken in turn, and what machine it was."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the results: what was measured, the figure, what it should be."""

    what: str
    figure: str
    target: str
    met: bool


def seconds(run: Callable[[], object]) -> float:
    """Return how long one run takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def in_turn(runs: dict[str, Callable[[], object]], times: int) -> dict[str, list[float]]:
    """Time several runs in turn, A B A B ..., after one uncounted run of each."""
    for run in runs.values():
        run()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(times):
        for name, run in runs.items():
            taken[name].append(seconds(run))
    return taken


def ratio(over: list[float], under: list[float]) -> float:
    """Return the median of the ratios of runs taken in turn."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def machine() -> list[str]:
    """Return lines that say on what the figures were measured."""
    packages = ("numba", "numpy", "pyarrow", "pyspark")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    model = "unknown processor"
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return [
        f"- {model}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"- Python {platform.python_version()}, {versions}",
    ]
