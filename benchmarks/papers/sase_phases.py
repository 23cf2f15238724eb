"""Where the time of matches with uncertain times goes: Figure 6, (b) to (d), of SASE++.

Sorting and the search are timed as they are called. Within the search enumerating events and
computing confidences alternate for every event, some nanoseconds each: what confidences take is the
time by which a search grows in which each of them is computed twice. What that is lost in is 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from numba import njit

from elsinore.local import driver
from elsinore.matches import uncertain, worlds

CONFIDENCES = ("begun", "grown", "within_window")  # the kernels that compute them
TWICE = 2


class Timed:
    """Seconds of the processor that went by in what was wrapped, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that counts its seconds under a name."""

        def call(*arguments: Any, **named: Any) -> Any:
            begun = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                spent = time.process_time() - begun
                self.seconds[name] = self.seconds.get(name, 0.0) + spent

        return call


@contextmanager
def timed(scan: Any = worlds.scan_worlds) -> Iterator[dict[str, float]]:
    """Give the seconds of `sorting` and `search`, which `scan` does, of runs meanwhile."""
    found = Timed()
    kept = driver.prepare, uncertain.enter, worlds.scan_worlds
    driver.prepare = found.wrapped("sorting", driver.prepare)
    uncertain.enter = found.wrapped("search", uncertain.enter)  # type: ignore[attr-defined]
    worlds.scan_worlds = scan
    try:
        yield found.seconds
    finally:
        driver.prepare, uncertain.enter, worlds.scan_worlds = kept  # type: ignore[attr-defined]


def computing_twice() -> Any:
    """Return the search with each confidence computed twice; the answer is the same.

    What a kernel calls is known by names: these are others in a copy of it.
    """
    body = worlds.scan_worlds.py_func  # type: ignore[attr-defined]
    names = dict(body.__globals__)
    for name in CONFIDENCES:
        names[name] = _twice(names[name])
    return njit(nogil=True, _nrt=False)(FunctionType(body.__code__, names, body.__name__))


def _twice(kernel: Callable[..., Any]) -> Any:
    @njit(nogil=True, _nrt=False)  # type: ignore[untyped-decorator]
    def again(*arguments: Any) -> float:
        result = 0.0
        for _ in range(TWICE):
            result = kernel(*arguments)
        return result

    return again


def breakdown(run: Callable[[], Any], twice: Any) -> dict[str, float]:
    """Return the seconds of a run's phases: total, confidence, matching, sorting, results."""
    run()  # memory that is used for the first time takes longer
    with timed() as once:
        begun = time.process_time()
        run()
        total = time.process_time() - begun
    with timed(twice) as again:
        run()
    confidence = max(again["search"] - once["search"], 0.0)
    return {
        "total": total,
        "confidence": confidence,
        "pattern matching": max(once["search"] - confidence, 0.0),
        "sorting": once["sorting"],
        "results": max(total - once["search"] - once["sorting"], 0.0),
    }
