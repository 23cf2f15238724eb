"""What an operator counts of its own work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class OperatorStatistics:
    """What an operator has done so far."""

    events: int = 0  # events it was given
    matched: int = 0  # events that some template state could take
    classes: int = 0  # classes of events that occurred
    totals: int = 0  # (query, group, window) rows given out
    state_bytes: int = 0  # memory of its state, at most
