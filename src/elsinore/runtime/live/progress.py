"""What a stream with a source and a sink did in each micro-batch, for displays and metrics."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RECENT = 100  # micro-batches that are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProgress:
    """What happened in a micro-batch, and how the stream is after it.

    events: that were read; rejected and late ones are among them. rows: of results, by query.
    watermark, greatest: as times of the input; None before the first event. waiting: events that
    the watermark has not passed. keys, state_bytes: of all buckets. lag: rows of the source that
    are unread; None if unknown. open_windows: for each query, how many windows contain the time of
    the last event; None if unknown. bursts, shared: bursts that could be shared, and that were.
    seconds: from reading to the end of writing, as far as the driver's process sees it.
    """

    batch: int
    events: int
    rejected: int
    late: int
    rows: Mapping[str, int]
    watermark: Any
    greatest: Any
    waiting: int
    keys: int
    state_bytes: int
    seconds: float
    finished: float
    lag: int | None = None
    open_windows: Mapping[str, int | None] = field(default_factory=dict)
    bursts: int = 0
    shared: int = 0


@dataclass(slots=True)
class ProgressLog:
    """The progress of the last micro-batches, and totals since the stream was started."""

    recent: deque[StreamProgress] = field(default_factory=lambda: deque(maxlen=RECENT))
    batches: int = 0
    events: int = 0
    rejected: int = 0
    late: int = 0
    bursts: int = 0
    shared: int = 0
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, progress: StreamProgress) -> None:
        """Add a micro-batch."""
        self.recent.append(progress)
        self.batches += 1
        self.events += progress.events
        self.rejected += progress.rejected
        self.late += progress.late
        self.bursts += progress.bursts
        self.shared += progress.shared
        for name, rows in progress.rows.items():
            self.rows[name] = self.rows.get(name, 0) + rows

    def events_per_second(self) -> float:
        """Return the rate at which events were read in the last micro-batches; 0.0 before two."""
        if len(self.recent) < 2:
            return 0.0
        seconds = self.recent[-1].finished - self.recent[0].finished
        events = sum(progress.events for progress in list(self.recent)[1:])
        return events / seconds if seconds > 0 else 0.0
