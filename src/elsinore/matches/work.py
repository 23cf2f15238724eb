"""The work of a search: how many partial matches it has tried in a run, and may try.

The limit is in proportion to the events and the matches.
"""

from __future__ import annotations

STEPS_AT_FIRST = 300_000_000  # partial matches: about half a minute
STEPS_EACH = 20_000  # more for each event, and for each match that is found


class Work:
    """Counts the partial matches that one search tries over all of its calls."""

    def __init__(self, allowed: int | None = None) -> None:
        """Allow so many steps in all; if None, more with each event and each match."""
        self.tried = 0
        self.allowed = STEPS_AT_FIRST if allowed is None else allowed
        self._each = STEPS_EACH if allowed is None else 0

    def allow(self, items: int) -> None:
        """Allow more steps for new events or matches."""
        self.allowed += self._each * items

    def count(self, steps: int, found: int) -> bool:
        """Count steps and matches of a search; return whether it exceeds the limit."""
        self.tried += steps
        self.allow(found)
        return self.tried > self.allowed
