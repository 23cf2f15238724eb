"""The work of a search: how many partial matches it has tried in a run, and may try.

A search may try partial matches in proportion to the events it is given and the matches it finds.
"""

from __future__ import annotations

from elsinore.matches import search as se
from elsinore.matches.arrays import Ints

STEPS_AT_FIRST = 300_000_000  # partial matches: about half a minute
STEPS_EACH = 20_000  # more for each event, and for each match that is found
PLAIN_STEPS = 2_000  # events selected from one beginning before plain Python is given up


class Work:
    """Counts the partial matches that one search tries over all calls of its kernels."""

    def __init__(self) -> None:
        self.tried = 0
        self.allowed = STEPS_AT_FIRST

    def allow(self, items: int) -> None:
        """Allow more for events that came, or matches that were found."""
        self.allowed += STEPS_EACH * items

    def count(self, steps: int, found: int) -> bool:
        """Count what a search tried and found; return whether it has tried more than it may."""
        self.tried += steps
        self.allow(found)
        return self.tried > self.allowed

    def begin(self, progress: Ints) -> None:
        """Ready `progress` for a call: it ends when too much was tried, or to look for Ctrl-C."""
        left = max(self.allowed - self.tried, 0)
        progress[se.STEPS], progress[se.PAUSE_AT] = 0, min(se.PAUSE_STEPS, left)
        if progress[se.BUDGET] != PLAIN_STEPS:
            progress[se.BUDGET] = left

    def end(self, progress: Ints) -> bool:
        """Count what a call tried; return whether the search has tried more than it may."""
        return self.count(int(progress[se.STEPS]), int(progress[se.FOUND]))
