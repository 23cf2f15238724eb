"""Windows: the time ranges in which a query aggregates or matches events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from elsinore.errors import QuerySemanticError, QuerySyntaxError, Span
from elsinore.words import count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Numbers = TypeVar("Numbers", int, "NDArray[np.int64]")

SECOND = 1_000_000
LONGEST = 2**61  # ticks; sums of two lengths fit into 64 bits
MOST_WINDOWS = 100_000  # open windows at one time: each has a separate state for every key
UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": 3_600 * SECOND,
    "day": 86_400 * SECOND,
    "week": 7 * 86_400 * SECOND,
}


def first_window(time: Numbers, within: int, step: int, origin: int) -> Numbers:
    """Return the first k whose window [origin + k*step, ... + within) ends after `time`.

    Engines compile it.
    """
    return (time - origin - within) // step + 1


def last_window(time: Numbers, step: int, origin: int) -> Numbers:
    """Return the last k whose window starts at origin + k*step <= `time`.

    Engines compile it. If windows neither overlap nor leave gaps, `time` lies in this window.
    """
    return (time - origin) // step


def most_at_once(within: int, step: int) -> int:
    """Return the greatest number of windows that contain the same time.

    >>> most_at_once(10, 10), most_at_once(10, 4)
    (1, 3)
    """
    return -(-within // step)


def window_start(number: Numbers, step: int, origin: int) -> Numbers:
    """Return the start of the window with this number. Engines compile it."""
    return origin + number * step


@dataclass(frozen=True, slots=True)
class Window:
    """The windows `[origin + k*slide, origin + k*slide + within)` for every integer k.

    All in ticks, of which `per_microsecond` (1 or 1000) make a microsecond. Clauses named in `bare`
    ("WITHIN", "SLIDE", "ORIGIN") are numbers without a unit, taken as seconds until the clock of a
    run sets their unit (`elsinore.model.clock`). `slide` None is a tumbling window (trends)
    or one relative to the match (matches). `clause` is the clause that sets the
    length: SUPPRESS has a window, too, which follows a match.

    `events`: lengths are numbers of events of a key. `zone`: the time zone of ORIGIN, in which
    lengths are calendar days. Engines know neither: their windows count the positions of
    `elsinore.operators.positions`, and `original` is then the window of the query.

    Raises QuerySemanticError if a length is not positive or beyond `LONGEST`, if a time lies in
    more than `MOST_WINDOWS`, and if lengths are no whole days of the zone.
    """

    within: int
    slide: int | None = None
    origin: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)
    per_microsecond: int = 1
    bare: frozenset[str] = frozenset()
    clause: str = "WITHIN"
    events: bool = False
    zone: str | None = None
    original: Window | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.within <= 0 and self.original is None:
            raise QuerySemanticError(
                f"{self.clause} must be longer than 0: an empty window holds no event.",
                span=self.span,
            )
        if self.slide is not None and self.slide <= 0:
            raise QuerySemanticError(
                "SLIDE must be longer than 0: windows would never move on.", span=self.span
            )
        if max(self.within, self.step, abs(self.origin)) > LONGEST:
            years = LONGEST // (366 * UNITS["day"] * self.per_microsecond)
            in_nanoseconds = " in nanoseconds" if self.per_microsecond > 1 else ""
            raise QuerySemanticError(
                f"WITHIN, SLIDE, ORIGIN and SUPPRESS may be up to {years:,} years: times of 64 "
                f"bits cannot represent more{in_nanoseconds}.",
                span=self.span,
            )
        if self.within and self.overlap > MOST_WINDOWS:
            raise QuerySemanticError(
                f"Each event would lie in {self.overlap:,} windows; at most {MOST_WINDOWS:,} are "
                "possible. Make SLIDE longer or WITHIN shorter.",
                span=self.span,
            )
        if self.zone is not None and not self.has_whole_days:
            raise QuerySemanticError(
                f"ORIGIN names the time zone {self.zone}, whose days may have 23 or 25 hours: "
                "WITHIN and SLIDE are whole days of it, such as 1 day. For shorter windows write "
                "ORIGIN as a time in UTC.",
                span=self.span,
            )

    @classmethod
    def from_microseconds(
        cls,
        within: Fraction,
        slide: Fraction | None = None,
        origin: Fraction | None = None,
        *,
        bare: frozenset[str] = frozenset(),
        span: Span | None = None,
        clause: str = "WITHIN",
        zone: str | None = None,
    ) -> Window:
        """Return a window whose lengths are in microseconds, with fractions of whole nanoseconds.

        >>> Window.from_microseconds(Fraction(1, 2)).per_microsecond
        1000
        """
        lengths = [length for length in (within, slide, origin) if length is not None]
        scale = 1 if all(length.denominator == 1 for length in lengths) else 1_000
        if any((length * scale).denominator != 1 for length in lengths):
            raise QuerySyntaxError(
                "Times are whole nanoseconds: this is a fraction of one. Round it.", span=span
            )
        return cls(
            within=int(within * scale),
            slide=None if slide is None else int(slide * scale),
            origin=0 if origin is None else int(origin * scale),
            span=span,
            per_microsecond=scale,
            bare=bare,
            clause=clause,
            zone=zone,
        )

    @property
    def has_whole_days(self) -> bool:
        """Whether all lengths are whole days."""
        day = UNITS["day"] * self.per_microsecond
        return self.within % day == 0 and self.step % day == 0

    @property
    def step(self) -> int:
        """The distance between the starts of two windows."""
        return self.within if self.slide is None else self.slide

    @property
    def overlap(self) -> int:
        """The greatest number of windows that contain the same time."""
        return most_at_once(self.within, self.step)

    @property
    def pane(self) -> int:
        """The length of a pane: the longest time range that never crosses a window's edge."""
        return math.gcd(self.within, self.step)

    def first(self, time: Numbers) -> Numbers:
        """Return the index of the first window that ends after `time` (or each of an array)."""
        return first_window(time, self.within, self.step, self.origin)

    def last(self, time: Numbers) -> Numbers:
        """Return the index of the last window that starts by `time` (or each of an array)."""
        return last_window(time, self.step, self.origin)

    def edge(self, time: int) -> int:
        """Return the last time, at or before `time`, at which a window starts or ends.

        >>> [Window(10, 7).edge(time) for time in (7, 9, 10, 13, 14)]
        [7, 7, 10, 10, 14]
        """
        return max(self.bounds(self.last(time))[0], self.bounds(self.first(time) - 1)[1])

    def bounds(self, index: Numbers) -> tuple[Numbers, Numbers]:
        """Return start and end (exclusive) of the window (or windows) of an index.

        >>> Window(10, 5).bounds(1)
        (5, 15)
        """
        start = window_start(index, self.step, self.origin)
        return start, start + self.within


def overlap_of(window: Window | None) -> int:
    """Return the greatest number of windows that contain the same time; 1 without WITHIN."""
    return 1 if window is None else window.overlap


def pane_length(windows: Iterable[Window | None]) -> int | None:
    """Return the length of a pane: the greatest common divisor of all WITHIN and SLIDE.

    Queries without WITHIN (None) do not matter: they have one window. None if all are such.

    >>> pane_length([Window(10, 5), Window(15, 5)])
    5
    >>> pane_length([None]) is None
    True
    """
    length = 0
    for window in windows:
        if window is not None:
            length = math.gcd(length, window.pane)
    return length or None


def common_borders(windows: Sequence[Window]) -> tuple[int, int] | None:
    """Return the length and origin of the shortest time ranges whose borders no window crosses.

    They exist for windows that tumble or leave gaps; None if some windows overlap, or their origins
    are incompatible.

    >>> common_borders([Window(10), Window(15)])
    (30, 0)
    >>> common_borders([Window(10, 5)]) is None
    True
    """
    length, origin = math.lcm(*(window.step for window in windows)), windows[0].origin
    for window in windows:
        if window.overlap > 1 or (window.origin - origin) % window.step:
            return None
    return length, origin


def windows_in_words(window: Window | None) -> str:
    """Return a query's windows in words.

    >>> windows_in_words(Window(1_800_000_000, 300_000_000))
    'windows of 30 minutes, a new one every 5 minutes: 6 are open at once'
    """
    if window is None:
        return "one window over the whole stream"
    window = window.original or window
    within, step = (length_in_words(window, length) for length in (window.within, window.step))
    if window.step == window.within:
        return f"windows of {within}, one after another"
    lengths = f"windows of {within}, a new one every {step}"
    return f"{lengths}: {window.overlap} are open at once" if window.overlap > 1 else lengths


def length_in_words(window: Window, length: int) -> str:
    """Return a length in the unit of a window as written: of time, calendar days or events.

    >>> length_in_words(Window(10, events=True), 10)
    '10 events'
    """
    if window.events:
        return count(length, "event")
    calendar = f" in {window.zone}" if window.zone else ""
    return duration(length, window.per_microsecond) + calendar


def duration(length: int, per_microsecond: int = 1) -> str:
    """Return a duration in the greatest unit that divides it.

    `per_microsecond` says how many of its units make a microsecond.

    >>> duration(5_400_000_000), duration(1_500, 1_000)
    ('90 minutes', '1,500 nanoseconds')
    """
    for name, size in reversed(UNITS.items()):
        if name != "week" and length % (size * per_microsecond) == 0:
            return count(length // (size * per_microsecond), name, f"{name}s")
    return count(length, "nanosecond", "nanoseconds")
