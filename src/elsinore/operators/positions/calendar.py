"""Mapping times to positions in which all calendar days of a time zone have equal length.

When clocks change, a day has 23 or 25 hours. In positions each day has `GRID` hours, more than any
calendar day; the position of an event is that of its day's beginning plus the time since then. So
positions are monotonic in time, and a window of whole days has a constant length.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from elsinore.model.clock import CALENDAR_YEARS, YEAR
from elsinore.model.window import UNITS, Window

GRID = 50 * UNITS["hour"]  # a day that is repeated at the date line has 48 hours
DAY = UNITS["day"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CalendarDays:
    """Days that begin at the local time of day of an origin; times are in ticks.

    >>> days = CalendarDays("America/New_York", 1_552_107_600_000_000)  # 2019-03-09
    >>> (days.time(2 * GRID) - days.time(GRID)) // UNITS["hour"]  # clocks are put forward
    23
    """

    zone: str
    origin: int  # ticks since the epoch: a day begins then
    per_microsecond: int = 1

    @classmethod
    def from_window(cls, window: Window) -> CalendarDays:
        """Return the days of a window whose ORIGIN names a time zone."""
        assert window.zone is not None
        return cls(window.zone, window.origin, window.per_microsecond)

    def window(self, window: Window, *, is_relative: bool) -> Window:
        """Return a window of calendar days as a window of positions."""
        assert not is_relative

        def length(ticks: int) -> int:
            return ticks // (DAY * self.per_microsecond) * GRID * self.per_microsecond

        return Window(
            within=length(window.within),
            slide=None if window.slide is None else length(window.slide),
            per_microsecond=self.per_microsecond,
            original=window,
        )

    @property
    def window_of_bounds(self) -> Window:
        """A window with the precision of days' bounds: whole seconds."""
        return Window(within=UNITS["second"] * self.per_microsecond)

    def position(self, time: int) -> int:
        """Return the position of a time."""
        return int(self.positions(np.array([time], np.int64))[0])

    def time(self, position: int) -> int:
        """Return the first time whose position is at least `position`."""
        return int(self.times(np.array([position], np.int64))[0])

    def positions(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions of times."""
        if not len(times):
            return times
        furthest = CALENDAR_YEARS * YEAR * self.per_microsecond
        times = np.clip(times, -furthest, furthest)
        near = np.unique((times - self.origin) // (DAY * self.per_microsecond))
        days = np.unique(np.concatenate([near + shift for shift in (-2, -1, 0, 1, 2)]))
        edges = self._edges(days)
        at = np.searchsorted(edges, times, "right") - 1
        return np.asarray(days[at] * (GRID * self.per_microsecond) + times - edges[at])

    def times(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first times whose positions are at least `positions`."""
        if not len(positions):
            return positions
        day, rest = np.divmod(positions, GRID * self.per_microsecond)
        days = np.unique(np.concatenate([day, day + 1]))
        edges = self._edges(days)
        at = np.searchsorted(days, day)
        return np.asarray(np.minimum(edges[at] + rest, edges[at + 1]))

    def _edges(self, days: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the beginnings of days, numbered from that of the origin; ascending."""
        origin, rest = divmod(self.origin, self.per_microsecond)
        edges = [_beginning(self.zone, origin, day) for day in days.tolist()]
        return np.array(edges, np.int64) * self.per_microsecond + rest


@lru_cache(2**16)
def _beginning(zone: str, origin: int, day: int) -> int:
    """Return the beginning of a day, in microseconds since the epoch.

    A time of day that occurs twice is the first one; a skipped one is shifted by the gap.

    >>> _beginning("America/New_York", 1_552_107_600_000_000, 2) - 1_552_107_600_000_000
    169200000000
    """
    place = ZoneInfo(zone)
    first = (EPOCH + timedelta(microseconds=origin)).astimezone(place).replace(tzinfo=None, fold=0)
    local = (first + timedelta(days=day)).replace(tzinfo=place)
    return (local.astimezone(UTC) - EPOCH) // timedelta(microseconds=1)
