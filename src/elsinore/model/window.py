"""Windows: the stretches of time a query counts in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from elsinore.errors import QuerySemanticError, QuerySyntaxError, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Numbers = TypeVar("Numbers", int, "NDArray[np.int64]")

SECOND = 1_000_000
LONGEST = 2**61  # ticks; sums of two of them fit into 64 bits
MOST_WINDOWS = 100_000  # windows that one moment lies in: each is kept apart, for every key
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
    """Return which of the windows [origin + k*step, ... + within) is the first to end after `time`.

    Engines compile it.
    """
    return (time - origin - within) // step + 1


def last_window(time: Numbers, step: int, origin: int) -> Numbers:
    """Return the last of the windows that begin at origin + k*step which begins by `time`.

    Engines compile it. Of windows that neither overlap nor leave gaps it is the one that holds it.
    """
    return (time - origin) // step


def most_at_once(within: int, step: int) -> int:
    """Return how many windows hold one moment at most.

    >>> most_at_once(10, 10), most_at_once(10, 4)
    (1, 3)
    """
    return -(-within // step)


def window_start(number: Numbers, step: int, origin: int) -> Numbers:
    """Return when a window begins. Engines compile it."""
    return origin + number * step


@dataclass(frozen=True, slots=True)
class Window:
    """The windows `[origin + k*slide, origin + k*slide + within)` for every integer k.

    All in ticks, of which `per_microsecond` (1 or 1000) make a microsecond. Clauses named in `bare`
    ("WITHIN", "SLIDE", "ORIGIN") are numbers without a unit, taken as seconds until the clock of a
    run says what they count (`elsinore.model.clock`). `slide` None is a window that tumbles
    (trends) or is relative to the match (matches). `clause` is the one that has the length:
    SUPPRESS has a window, too, which follows a match. Raises QuerySemanticError if a length is not
    positive or beyond `LONGEST`, and if one moment lies in more than `MOST_WINDOWS`.
    """

    within: int
    slide: int | None = None
    origin: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)
    per_microsecond: int = 1
    bare: frozenset[str] = frozenset()
    clause: str = "WITHIN"

    def __post_init__(self) -> None:
        if self.within <= 0:
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
            counted = " in nanoseconds" if self.per_microsecond > 1 else ""
            raise QuerySemanticError(
                f"WITHIN, SLIDE, ORIGIN and SUPPRESS go up to {years:,} years, which is what times "
                f"of 64 bits can tell{counted}.",
                span=self.span,
            )
        if self.overlap > MOST_WINDOWS:
            raise QuerySemanticError(
                f"Each event would lie in {self.overlap:,} windows; up to {MOST_WINDOWS:,} can be "
                "kept. Make SLIDE longer or WITHIN shorter.",
                span=self.span,
            )

    @classmethod
    def of(
        cls,
        within: Fraction,
        slide: Fraction | None = None,
        origin: Fraction | None = None,
        *,
        bare: frozenset[str] = frozenset(),
        span: Span | None = None,
        clause: str = "WITHIN",
    ) -> Window:
        """Return the window of lengths in microseconds, which may have a fraction of nanoseconds.

        >>> Window.of(Fraction(1, 2)).per_microsecond
        1000
        """
        given = [length for length in (within, slide, origin) if length is not None]
        scale = 1 if all(length.denominator == 1 for length in given) else 1_000
        if any((length * scale).denominator != 1 for length in given):
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
        )

    @property
    def step(self) -> int:
        """The distance between the starts of two windows."""
        return self.within if self.slide is None else self.slide

    @property
    def overlap(self) -> int:
        """The number of windows that hold one moment at most."""
        return most_at_once(self.within, self.step)

    @property
    def pane(self) -> int:
        """The length of a pane: the greatest stretch that never crosses a window's edge."""
        return math.gcd(self.within, self.step)

    def first(self, time: Numbers) -> Numbers:
        """Return the index of the first window that ends after `time`; of times, theirs."""
        return first_window(time, self.within, self.step, self.origin)

    def last(self, time: Numbers) -> Numbers:
        """Return the index of the last window that begins at or before `time`; of times, theirs."""
        return last_window(time, self.step, self.origin)

    def edge(self, time: int) -> int:
        """Return the last edge of windows at or before `time`: one begins there, or ends.

        >>> [Window(10, 7).edge(time) for time in (7, 9, 10, 13, 14)]
        [7, 7, 10, 10, 14]
        """
        return max(self.bounds(self.last(time))[0], self.bounds(self.first(time) - 1)[1])

    def bounds(self, index: Numbers) -> tuple[Numbers, Numbers]:
        """Return start and end (exclusive) of a window; of windows, all of theirs.

        >>> Window(10, 5).bounds(1)
        (5, 15)
        """
        start = window_start(index, self.step, self.origin)
        return start, start + self.within


def overlap_of(window: Window | None) -> int:
    """Return how many windows of a query hold one moment at most; without WITHIN it has one."""
    return 1 if window is None else window.overlap
