"""Where the time of matches with uncertain times goes: Figure 6, (b) to (d), of SASE++.

Sorting and the search are timed as they are called. Within the search enumerating events and
computing confidences alternate for every event, some nanoseconds each. So each confidence is
computed once, three times and five times: the search's time grows linearly, and the slope of the
line through it, by least squares, is what all confidences take. Medians of several runs are taken,
and a slope that is below the spread of the runs is no measurement.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from elsinore.local import driver
from elsinore.matches.engine import pattern
from elsinore.matches.engine.tables import Program, Search

REPEATS = (1, 3, 5)  # how often each confidence is computed
RUNS = 3


class Timed:
    """Seconds of the processor that went by in what was wrapped, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that counts its seconds under a name."""

        def call(*arguments: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                spent = time.process_time() - start
                self.seconds[name] = self.seconds.get(name, 0.0) + spent

        return call


@contextmanager
def timed(repeats: int = 1) -> Iterator[dict[str, float]]:
    """Give the seconds of `sorting` and `search` of runs meanwhile.

    Each confidence is computed `repeats` times; the answer is the same.
    """
    found = Timed()
    kept = driver.prepare, pattern.scan
    search = found.wrapped("search", pattern.scan)

    def scan(program: Program, state: Search) -> None:
        if state.worlds is not None:
            state.worlds.repeats = repeats
        search(program, state)

    driver.prepare = found.wrapped("sorting", driver.prepare)
    pattern.scan = scan
    try:
        yield found.seconds
    finally:
        driver.prepare, pattern.scan = kept


def breakdown(run: Callable[[], Any]) -> dict[str, float | None]:
    """Return the seconds of a run's phases: total, confidence, matching, sorting, results.

    Confidence and matching are None where what confidences take is below the spread of the runs.
    """
    run()  # memory that is used for the first time takes longer
    once: list[tuple[float, float, float]] = []  # total, search and sorting of a run
    searches: list[tuple[int, float]] = []
    for _ in range(RUNS):
        for repeats in REPEATS:
            start = time.process_time()
            with timed(repeats) as spent:
                run()
            searches.append((repeats, spent["search"]))
            if repeats == 1:
                total = time.process_time() - start
                once.append((total, spent["search"], spent["sorting"]))
    total, search, sorting = sorted(once)[len(once) // 2]  # the parts are of one run: they add up
    confidence = slope(searches)
    if confidence is not None:
        confidence = min(confidence, search)
    return {
        "total": total,
        "confidence": confidence,
        "pattern matching": None if confidence is None else search - confidence,
        "sorting": sorting,
        "results": max(total - search - sorting, 0.0),
    }


def slope(points: Sequence[tuple[int, float]]) -> float | None:
    """Return the slope of a line by least squares, None if it is within two standard errors of 0.

    >>> slope([(1, 1.5), (3, 2.5), (5, 3.5), (1, 1.5)])
    0.5
    >>> slope([(1, 1.5), (3, 1.2), (5, 1.6), (1, 1.4)]) is None
    True
    """
    x, y = np.array(points, dtype=float).T
    spread = np.sum((x - x.mean()) ** 2)
    found = np.sum((x - x.mean()) * (y - y.mean())) / spread
    rest = y - y.mean() - found * (x - x.mean())
    error = np.sqrt(np.sum(rest**2) / (len(x) - 2) / spread)
    return round(float(found), 9) if found > 2 * error else None
