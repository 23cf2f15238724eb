"""Windows: the stretches of time a query counts in (SEMANTICS 3 and 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from elsinore.errors import QuerySemanticError, Span

SECOND = 1_000_000
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
    (matches). Raises QuerySemanticError where a length is not positive.
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
