"""The progress of a stream in each micro-batch, for displays and metrics."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from elsinore.operators import BurstCounts

RECENT = 100  # micro-batches that are remembered
RATE_SECONDS = 10.0  # over which events per second are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamProgress:
    """Counts of a micro-batch, and the state of the stream after it.

    `events` counts all read events, including `rejected` and `late` ones; `rows` result rows by
    query. `watermark` and `greatest` are times of the input; None before the first event.
    `waiting` counts events that the watermark has not passed; `keys` and `state_bytes` cover all
    buckets. `lag` is the number of unread rows of the source; None if unknown. `open_windows` has
    the number of each query's windows that contain the time of the last event; None if unknown.
    `sharing` has the bursts of each sub-pattern that queries can share. `watermark_delay` is the
    seconds by which the watermark is behind the machine's clock, `seconds` the duration from
    reading to the end of writing in the driver's process.
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
    sharing: tuple[BurstCounts, ...] = ()
    watermark_delay: float | None = None

    @property
    def bursts(self) -> int:
        """The number of bursts that queries could share."""
        return sum(counts.bursts for counts in self.sharing)

    @property
    def shared(self) -> int:
        """The number of bursts that queries shared."""
        return sum(counts.shared for counts in self.sharing)

    def facts(self) -> dict[str, Any]:
        """Return all fields as a dict, for logs."""
        return asdict(self) | {"bursts": self.bursts, "shared": self.shared}


def summed_bursts(parts: Iterable[BurstCounts]) -> tuple[BurstCounts, ...]:
    """Return the bursts of each sub-pattern and its queries, added up.

    >>> summed_bursts([BurstCounts("T+", ("a", "b"), 3, 1), BurstCounts("T+", ("a", "b"), 2, 2)])
    (BurstCounts(pattern='T+', queries=('a', 'b'), bursts=5, shared=3),)
    """
    sums: dict[tuple[str, tuple[str, ...]], BurstCounts] = {}
    for part in parts:
        place = (part.pattern, part.queries)
        before = sums.get(place, BurstCounts(*place, 0, 0))
        sums[place] = replace(
            before, bursts=before.bursts + part.bursts, shared=before.shared + part.shared
        )
    return tuple(sums.values())


def bursts_since(
    before: Iterable[BurstCounts], after: Iterable[BurstCounts]
) -> tuple[BurstCounts, ...]:
    """Return the increase of the counts between two times; a plan may have been dropped since.

    >>> bursts_since([BurstCounts("T+", ("a", "b"), 3, 1)], [BurstCounts("T+", ("a", "b"), 5, 2)])
    (BurstCounts(pattern='T+', queries=('a', 'b'), bursts=2, shared=1),)
    """
    counts_before = {(counts.pattern, counts.queries): counts for counts in summed_bursts(before)}
    grown = []
    for counts in summed_bursts(after):
        old = counts_before.get(
            (counts.pattern, counts.queries), BurstCounts(counts.pattern, counts.queries, 0, 0)
        )
        grown.append(
            replace(
                counts,
                bursts=max(0, counts.bursts - old.bursts),
                shared=max(0, counts.shared - old.shared),
            )
        )
    return tuple(grown)


@dataclass(slots=True)
class ProgressLog:
    """The progress of recent micro-batches, and totals since the stream was started."""

    recent: deque[StreamProgress] = field(default_factory=lambda: deque(maxlen=RECENT))
    batches: int = 0
    events: int = 0
    rejected: int = 0
    late: int = 0
    seconds: float = 0.0
    sharing: tuple[BurstCounts, ...] = ()
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, progress: StreamProgress) -> None:
        """Add a micro-batch."""
        self.recent.append(progress)
        self.batches += 1
        self.events += progress.events
        self.rejected += progress.rejected
        self.late += progress.late
        self.seconds += progress.seconds
        self.sharing = summed_bursts((*self.sharing, *progress.sharing))
        for name, rows in progress.rows.items():
            self.rows[name] = self.rows.get(name, 0) + rows

    def events_per_second(self) -> float:
        """Return the rate at which events were read in the last RATE_SECONDS; 0.0 if unknown."""
        if len(self.recent) < 2:
            return 0.0
        last = self.recent[-1].finished
        batches = [batch for batch in self.recent if batch.finished >= last - RATE_SECONDS]
        if len(batches) < 2:
            batches = list(self.recent)[-2:]
        seconds = last - batches[0].finished
        return sum(batch.events for batch in batches[1:]) / seconds if seconds > 0 else 0.0
