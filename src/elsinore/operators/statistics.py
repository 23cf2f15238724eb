"""Statistics of operators, which drivers sum over partitions and threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self


class Detail(NamedTuple):
    """A table of names with a value each, for `--stats`."""

    title: str
    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class BurstCounts:
    """The numbers of bursts of a Kleene sub-pattern that queries could share, and did share."""

    pattern: str  # such as Travel+
    queries: tuple[str, ...]
    bursts: int
    shared: int


@dataclass(slots=True)
class OperatorStatistics:
    """The counts of an operator. Kinds of query may have a subclass with more counts."""

    events: int = 0  # events received
    matched: int = 0  # events that some query can use
    classes: int = 0  # classes of events that occurred
    totals: int = 0  # rows returned
    state_bytes: int = 0  # greatest memory of its state
    combined: int = 0  # events that were combined before the shuffle
    not_combined: str = ""  # why none were combined on Spark; empty if some may be
    row_groups: int = 0  # of the files that its events came from, and how many of them were
    skipped_groups: int = 0  # skipped, as their statistics exclude events of interest
    skipped_files: int = 0  # files not opened, as their folders' names exclude such events
    tied: int = 0  # simultaneous events of one key and one pattern (`elsinore.operators.ties`)
    spilled_bytes: int = 0  # of events written to local disk for sorting

    def added(self, other: Self) -> Self:
        """Return the sum of the statistics of two operators of one unit, e.g. of two partitions.

        `state_bytes` and `classes` are the greater of both: the maximum for a single operator, and
        both may have seen the same classes.

        >>> OperatorStatistics(events=2, state_bytes=80).added(OperatorStatistics(events=3)).events
        5
        """
        return type(self)(
            events=self.events + other.events,
            matched=self.matched + other.matched,
            classes=max(self.classes, other.classes),
            totals=self.totals + other.totals,
            state_bytes=max(self.state_bytes, other.state_bytes),
            combined=self.combined + other.combined,
            not_combined=self.not_combined or other.not_combined,
            row_groups=self.row_groups + other.row_groups,
            skipped_groups=self.skipped_groups + other.skipped_groups,
            skipped_files=self.skipped_files + other.skipped_files,
            tied=self.tied + other.tied,
            spilled_bytes=self.spilled_bytes + other.spilled_bytes,
        )

    @property
    def shared_bursts(self) -> Sequence[BurstCounts]:
        """The bursts of each sub-pattern that queries can share."""
        return ()

    def details(self, seconds: float) -> Sequence[Detail]:  # noqa: ARG002 - for kinds that tell more
        """Return further tables for `--stats`, for a run of so many seconds."""
        return ()
