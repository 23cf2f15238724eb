"""What an operator counts of its own work, and of what queries shared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields


@dataclass(frozen=True, slots=True)
class BurstRecord:
    """One burst and what was decided for it (HAMLET, Definition 10 and Section 4.2).

    `time` is its first event's in microseconds, `events` its length; of `queries` that could share
    it `shared` did; `benefit` is what the cost model expected sharing to save, in its own unit.
    """

    time: int
    events: int
    queries: int
    shared: int
    benefit: float


@dataclass(slots=True)
class SharingStatistics:
    """What became of one sharing set: a Kleene sub-pattern and the queries, at least two."""

    name: str  # the sub-pattern, such as Travel+
    queries: tuple[str, ...]
    bursts: int = 0
    graphlets: int = 0
    shared_graphlets: int = 0
    splits: int = 0
    merges: int = 0
    graphlet_snapshots: int = 0  # snapshots created where a graphlet begins (Definition 8)
    event_snapshots: int = 0  # snapshots created at events (Definition 9)
    most_propagated: int = 0  # snapshots propagated at once, at most
    decisions: int = 0
    decision_seconds: float = 0.0
    records: list[BurstRecord] = field(default_factory=list)  # kept where they were asked for


@dataclass(slots=True)
class OperatorStatistics:
    """What an operator has done so far."""

    events: int = 0  # events it was given
    matched: int = 0  # events that some template state could take
    classes: int = 0  # classes of events that occurred
    totals: int = 0  # (query, group, window) rows given out
    state_bytes: int = 0  # memory of its state, at most, and of what windows are evaluated with
    sharing: list[SharingStatistics] = field(default_factory=list)


def sets_to_text(sets: Sequence[SharingStatistics]) -> str:
    """Return the statistics of sharing sets as text; `sets_from_text` makes them of it again."""
    return json.dumps([asdict(one) for one in sets])


def sets_from_text(text: str) -> list[SharingStatistics]:
    """Return the statistics of sharing sets that `sets_to_text` made text of."""
    found = []
    for told in json.loads(text):
        told["queries"] = tuple(told["queries"])
        told["records"] = [BurstRecord(**record) for record in told["records"]]
        found.append(SharingStatistics(**told))
    return found


def take_up(sharing: Sequence[SharingStatistics], text: str) -> None:
    """Count on from what was written by `sets_to_text`, in new statistics of the same sets.

    >>> one, other = (SharingStatistics("B+", ("q1", "q2")) for _ in range(2))
    >>> one.bursts, one.records = 1, [BurstRecord(0, 3, 2, 2, 0.5)]
    >>> take_up([other], sets_to_text([one]))
    >>> other == one
    True
    """
    for one, told in zip(sharing, sets_from_text(text), strict=True):
        for entry in fields(one):
            setattr(one, entry.name, getattr(told, entry.name))
