"""What a match operator counts of its work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from elsinore.operators import Detail, OperatorStatistics


@dataclass(slots=True)
class QueryStatistics:
    """The work of one query.

    `open_windows` are those relative to a match that the end of an open stream left open, one for
    each event with which a match may begin. The others are what searches of the literature count,
    with which the engine is compared: `runs` that began or were cloned, `peak` open at once at
    most; `stored` events that were buffered, each once for a state; `predicates` that were tested
    between events; `candidates`, partial matches that were complete, and tested as a whole.
    """

    name: str
    runs: int = 0
    peak: int = 0
    stored: int = 0
    predicates: int = 0
    candidates: int = 0
    open_windows: int = 0

    def added(self, other: QueryStatistics) -> QueryStatistics:
        """Return the work of two operators."""
        return replace(
            self,
            runs=self.runs + other.runs,
            peak=max(self.peak, other.peak),
            stored=self.stored + other.stored,
            predicates=self.predicates + other.predicates,
            candidates=self.candidates + other.candidates,
            open_windows=self.open_windows + other.open_windows,
        )

    def rows(self) -> list[tuple[str, str]]:
        """Return the numbers that are not 0."""
        counted = {
            "runs": self.runs,
            "runs at once, at most": self.peak,
            "events buffered": self.stored,
            "predicates looked at": self.predicates,
            "candidates": self.candidates,
        }
        return [(name, f"{number:,}") for name, number in counted.items() if number]


@dataclass(slots=True)
class MatchStatistics(OperatorStatistics):
    """What a match operator has done, and each of its queries."""

    queries: tuple[QueryStatistics, ...] = ()

    def added(self, other: Self) -> Self:
        """Return what two operators of one unit did together."""
        total = OperatorStatistics.added(self, other)
        pairs = zip(self.queries, other.queries, strict=False)
        total.queries = tuple(a.added(b) for a, b in pairs) or self.queries or other.queries
        return total

    def details(self, seconds: float) -> Sequence[Detail]:  # noqa: ARG002 - the contract's
        """Return the work of each query if it was counted."""
        of_queries = [(query.name, query.rows()) for query in self.queries]
        return [Detail(name, rows) for name, rows in of_queries if rows]
