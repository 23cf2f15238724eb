"""Measuring micro-batches: time, processor time of the process tree, memory and state."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.processes import cpu_seconds
from elsinore.runtime.live import StreamProgress

WARM_UP = 2  # micro-batches that start processes and compile, and are not counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Events, and the seconds of time and of processors that they took."""

    events: int
    wall: float
    processor: float

    @property
    def per_second(self) -> float:
        """Events in a second."""
        return self.events / self.wall

    @property
    def microseconds(self) -> float:
        """Processor time of an event."""
        return self.processor / self.events * 1e6

    def __str__(self) -> str:
        return f"{self.per_second:,.0f} events/s, {self.microseconds:.2f} us of processors an event"


@dataclass(slots=True)
class Marks:
    """Ends of micro-batches with events."""

    events: list[int] = field(default_factory=list)
    walls: list[float] = field(default_factory=list)
    processors: list[float] = field(default_factory=list)

    def add(self, events: int) -> None:
        """Note the end of a micro-batch of so many events."""
        if events:
            self.events.append(events)
            self.walls.append(time.perf_counter())
            self.processors.append(cpu_seconds())

    def rate(self) -> Rate:
        """Return what the micro-batches after the first WARM_UP ones took."""
        first = WARM_UP - 1
        if len(self.events) <= WARM_UP:
            raise AssertionError(f"{len(self.events)} micro-batches are too few to measure")
        return Rate(
            events=sum(self.events[WARM_UP:]),
            wall=self.walls[-1] - self.walls[first],
            processor=self.processors[-1] - self.processors[first],
        )


class Memory:
    """Peaks of memory in megabytes, keys and bytes of state after each micro-batch."""

    def __init__(self, peak: Callable[[], float]) -> None:
        self._peak = peak
        self._peaks: list[float] = []
        self._states: list[int] = []
        self._keys: list[int] = []

    def __call__(self, progress: StreamProgress) -> None:
        """Note a micro-batch that had events."""
        if progress.events:
            self._peaks.append(self._peak())
            self._states.append(progress.state_bytes)
            self._keys.append(progress.keys)

    @property
    def growth(self) -> float:
        """How much the peak and the state grew in the second half, as a factor."""
        half = len(self._peaks) // 2
        return max(
            self._peaks[-1] / self._peaks[half - 1],
            max(self._states[half:]) / max(self._states[:half]),
        )

    def __str__(self) -> str:
        return (
            f"peak {self._peaks[-1]:,.0f} MB, {max(self._keys):,} keys and "
            f"{max(self._states) / 1e6:.1f} MB of state at most; in the second half "
            f"{self.growth:.2f} times the first"
        )
