"""The watermark: the time before which no more events are expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SINGLE_PARTITION = ""  # the partition of a source without partitions


class Watermark:
    """Follows the greatest time of each partition of a source.

    The watermark is the least of these minus the lateness; it is monotonic. A partition that has
    been idle for longer than the timeout does not hold it back; while all partitions are idle, it
    advances with the clock. Times are in ticks, `per_second` of them in a second; `now` is in
    seconds, from any monotonic clock.

    >>> watermark = Watermark(lateness=2, idle_timeout=10.0, per_second=1)
    >>> watermark.observe(100, "p0", now=0.0)
    >>> watermark.observe(50, "p1", now=0.0)
    >>> watermark.at(now=5.0)
    48
    >>> watermark.observe(110, "p0", now=9.0)
    >>> watermark.at(now=12.0), watermark.at(now=29.0)
    (108, 128)
    """

    def __init__(
        self,
        *,
        lateness: int,
        idle_timeout: float | None = None,
        per_second: int = 1_000_000,
        start: int | None = None,
    ) -> None:
        self._lateness = lateness
        self._idle_timeout = idle_timeout
        self._per_second = per_second
        self._greatest: dict[str, int] = {}
        self._last_seen: dict[str, float] = {}  # when a partition was last seen
        self._watermark = start

    @property
    def greatest(self) -> int | None:
        """The greatest time of all events."""
        return max(self._greatest.values(), default=None)

    def expect(self, partition: str, now: float) -> None:
        """Hold the watermark back for a partition without events yet, until it is idle."""
        self._last_seen.setdefault(partition, now)

    def observe(self, greatest: int, partition: str = SINGLE_PARTITION, *, now: float) -> None:
        """Record the greatest time of some events of a partition."""
        self._greatest[partition] = max(greatest, self._greatest.get(partition, greatest))
        self._last_seen[partition] = now

    def at(self, now: float) -> int | None:
        """Return the watermark; None before the first event."""
        active = [
            name
            for name, last_seen in self._last_seen.items()
            if not self._is_idle(now - last_seen)
        ]
        if any(name not in self._greatest for name in active):
            return self._watermark  # waiting for a partition
        time = min((self._greatest[name] for name in active), default=None)
        greatest = self.greatest
        if time is None and greatest is not None:  # all are idle
            idle = now - max(self._last_seen.values())
            time = greatest + int(idle * self._per_second)
        if time is not None:
            candidate = time - self._lateness
            self._watermark = (
                candidate if self._watermark is None else max(self._watermark, candidate)
            )
        return self._watermark

    def saved(self) -> dict[str, Any]:
        """Return the state, as JSON values."""
        return {"greatest": self._greatest, "seen": self._last_seen, "reached": self._watermark}

    def restore(self, saved: Mapping[str, Any], now: float | None = None) -> None:
        """Restore the result of `saved`; with `now`, partitions count as seen then."""
        self._greatest = {str(name): int(time) for name, time in saved["greatest"].items()}
        last_seen = {str(name): float(time) for name, time in saved.get("seen", {}).items()}
        self._last_seen = last_seen if now is None else dict.fromkeys(self._greatest, now)
        self._watermark = None if saved["reached"] is None else int(saved["reached"])

    def _is_idle(self, seconds: float) -> bool:
        return self._idle_timeout is not None and seconds > self._idle_timeout
