"""The statistics of operators, and of what queries shared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

from elsinore.operators.statistics import BurstCounts, Detail, OperatorStatistics
from elsinore.words import listed

if TYPE_CHECKING:
    from elsinore.trends.recording import Recording

SAVED_BY = "trends 19"  # the number is that of the form of operators' states
SHOWN_QUERIES = 20  # names of queries in a title


@dataclass(frozen=True, slots=True)
class BurstRecord:
    """One burst and what was decided for it (HAMLET, Definition 10 and Section 4.2).

    `time` is that of its first event in microseconds, `events` its length; `shared` of the
    `queries` that could share it did; `benefit` is the expected saving at the time of the decision,
    in nanoseconds (`elsinore.trends.engine.sharing.optimizer`), 0 without a decision. `key` is the
    operator's code of the key.
    """

    time: int
    events: int
    queries: int
    shared: int
    benefit: float
    key: int = 0


@dataclass(slots=True)
class SharingStatistics:
    """The statistics of one sharing set: a Kleene sub-pattern and its queries, at least two."""

    name: str  # the sub-pattern, for example Travel+
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
    records: list[BurstRecord] = field(default_factory=list)  # if requested

    def added(self, other: SharingStatistics) -> SharingStatistics:
        """Return the sums of two operators' statistics; records in the order of their times."""
        merged: dict[str, Any] = {
            "most_propagated": max(self.most_propagated, other.most_propagated)
        }
        for entry in fields(self):
            if entry.type in {"int", "float"} and entry.name not in merged:
                merged[entry.name] = getattr(self, entry.name) + getattr(other, entry.name)
        records = sorted(self.records + other.records, key=lambda record: record.time)
        return replace(self, records=records, **merged)

    def rows(self, state_bytes: int, seconds: float) -> list[tuple[str, str]]:
        """Return the set's rows for `--stats`, given the duration of the run.

        `state_bytes` is the most memory of its operator.

        >>> SharingStatistics("T+", ("q1", "q2"), decision_seconds=0.02).rows(0, 0.5)[-2]
        ('deciding', '20.0 ms, 4.0% of the run')
        """
        deciding = f"{self.decision_seconds * 1000:.1f} ms"
        if seconds > 0:
            deciding += f", {self.decision_seconds / seconds:.1%} of the run"
        return [
            ("bursts", f"{self.bursts:,}"),
            ("graphlets", f"{self.graphlets:,}"),
            ("shared graphlets", f"{self.shared_graphlets:,}"),
            ("splits", f"{self.splits:,}"),
            ("merges", f"{self.merges:,}"),
            ("snapshots of graphlets", f"{self.graphlet_snapshots:,}"),
            ("snapshots of events", f"{self.event_snapshots:,}"),
            ("most propagated at once", f"{self.most_propagated:,}"),
            ("decisions", f"{self.decisions:,}"),
            ("deciding", deciding),
            ("most memory of the operator", f"{state_bytes:,} bytes"),
        ]


@dataclass(slots=True)
class TrendStatistics(OperatorStatistics):
    """The work of a trend operator so far: `totals` are (query, group, window) rows it returned.

    `matched` are the events that some template state could take; `state_bytes` includes what
    windows are evaluated with.
    """

    sharing: list[SharingStatistics] = field(default_factory=list)
    recording: Recording | None = None  # of a recorded run in this process

    def added(self, other: Self) -> Self:
        """Return the sums of the statistics of two operators of one unit.

        Sharing sets with equal sub-patterns and queries are added up.
        """
        both = OperatorStatistics.added(self, other)
        sets: dict[tuple[str, tuple[str, ...]], SharingStatistics] = {}
        for shared in (*self.sharing, *other.sharing):
            place = (shared.name, shared.queries)
            sets[place] = sets[place].added(shared) if place in sets else shared
        both.sharing = list(sets.values())
        return both

    @property
    def shared_bursts(self) -> Sequence[BurstCounts]:
        """The bursts of each sharing set; those that were shared are its shared graphlets."""
        return [
            BurstCounts(shared.name, shared.queries, shared.bursts, shared.shared_graphlets)
            for shared in self.sharing
        ]

    def details(self, seconds: float) -> Sequence[Detail]:
        """Return a table for each sharing set, given the duration of the run."""
        return [
            Detail(
                f"{shared.name} of {listed(shared.queries, SHOWN_QUERIES)}",
                shared.rows(self.state_bytes, seconds),
            )
            for shared in self.sharing
        ]
