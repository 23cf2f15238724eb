"""Where the time of matches with uncertain times goes: Figure 6, (b) to (d), of SASE++.

Sorting and the search are timed as they are called. Within the search enumerating events and
computing confidences alternate for every event, some nanoseconds each: what confidences take is the
time by which a search grows in which each of them is computed twice. What that is lost in is 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from elsinore.local import driver
from elsinore.matches import uncertain
from elsinore.matches.engine.confidence import Worlds

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
def timed(repeats: int = 1) -> Iterator[dict[str, float]]:
    """Give the seconds of `sorting` and `search` of runs meanwhile.

    Each confidence is computed `repeats` times; the answer is the same.
    """
    found = Timed()
    kept = driver.prepare, uncertain.scan_worlds
    search = found.wrapped("search", uncertain.scan_worlds)

    def scan(*arguments: Any) -> None:
        for argument in arguments:
            if isinstance(argument, Worlds):
                argument.repeats = repeats
        search(*arguments)

    driver.prepare = found.wrapped("sorting", driver.prepare)
    uncertain.scan_worlds = scan
    try:
        yield found.seconds
    finally:
        driver.prepare, uncertain.scan_worlds = kept


def breakdown(run: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds of a run's phases: total, confidence, matching, sorting, results."""
    run()  # memory that is used for the first time takes longer
    with timed() as once:
        begun = time.process_time()
        run()
        total = time.process_time() - begun
    with timed(TWICE) as again:
        run()
    confidence = max(again["search"] - once["search"], 0.0)
    return {
        "total": total,
        "confidence": confidence,
        "pattern matching": max(once["search"] - confidence, 0.0),
        "sorting": once["sorting"],
        "results": max(total - once["search"] - once["sorting"], 0.0),
    }
