"""Windows: the stretches of time a query counts in."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from elsinore.errors import QuerySemanticError, Span

SECOND = 1_000_000
LONGEST = 2**61  # microseconds; sums of two of them fit into 64 bits
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


@dataclass(frozen=True, slots=True)
class Window:
    """The windows `[origin + k*slide, origin + k*slide + within)` for every integer k.

    All in microseconds. `slide` None is a window that tumbles (trends) or is relative to the match
    (matches). Raises QuerySemanticError where a length is not positive or beyond `LONGEST`, and
    where one moment lies in more than `MOST_WINDOWS`.
    """

    within: int
    slide: int | None = None
    origin: int = 0
    span: Span | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.within <= 0:
            raise QuerySemanticError(
                "WITHIN must be longer than 0: an empty window holds no event.", span=self.span
            )
        if self.slide is not None and self.slide <= 0:
            raise QuerySemanticError(
                "SLIDE must be longer than 0: windows would never move on.", span=self.span
            )
        if max(self.within, self.step, abs(self.origin)) > LONGEST:
            raise QuerySemanticError(
                f"WITHIN, SLIDE and ORIGIN go up to {LONGEST // (366 * UNITS['day']):,} years, "
                "which is what times of 64 bits can tell.",
                span=self.span,
            )
        if self.overlap > MOST_WINDOWS:
            raise QuerySemanticError(
                f"Each event would lie in {self.overlap:,} windows; up to {MOST_WINDOWS:,} can be "
                "kept. Make SLIDE longer or WITHIN shorter.",
                span=self.span,
            )

    @property
    def step(self) -> int:
        """The distance between the starts of two windows."""
        return self.within if self.slide is None else self.slide

    @property
    def overlap(self) -> int:
        """The number of windows that hold one moment at most."""
        return -(-self.within // self.step)

    @property
    def pane(self) -> int:
        """The length of a pane: the greatest stretch that never crosses a window's edge."""
        return math.gcd(self.within, self.step)

    def first(self, time: int) -> int:
        """Return the index of the first window that holds `time` or begins after it."""
        return (time - self.origin - self.within) // self.step + 1

    def last(self, time: int) -> int:
        """Return the index of the last window that begins at or before `time`."""
        return (time - self.origin) // self.step

    def bounds(self, index: int) -> tuple[int, int]:
        """Return start and end (exclusive) of a window.

        >>> Window(10, 5).bounds(1)
        (5, 15)
        """
        start = self.origin + index * self.step
        return start, start + self.within
