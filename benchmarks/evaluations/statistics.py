"""Counts of the work of evaluations of match queries, as in the literature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from elsinore.matches.spec import MatchStatistics
from elsinore.operators import Detail


@dataclass(slots=True)
class QueryStatistics:
    """The work of one query.

    `runs` that began or were cloned, `peak` open at once at most; `stored` events that were
    buffered, each once for a state; `predicates` that were tested between events; `candidates`,
    partial matches that were complete, and tested as a whole.
    """

    name: str
    runs: int = 0
    peak: int = 0
    stored: int = 0
    predicates: int = 0
    candidates: int = 0

    def added(self, other: QueryStatistics) -> QueryStatistics:
        """Return the work of two operators."""
        return replace(
            self,
            runs=self.runs + other.runs,
            peak=max(self.peak, other.peak),
            stored=self.stored + other.stored,
            predicates=self.predicates + other.predicates,
            candidates=self.candidates + other.candidates,
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
class EvaluationStatistics(MatchStatistics):
    """What an operator of an evaluation has done, and each of its queries."""

    queries: tuple[QueryStatistics, ...] = ()

    def added(self, other: Self) -> Self:
        """Return what two operators of one unit did together."""
        total = MatchStatistics.added(self, other)
        pairs = zip(self.queries, other.queries, strict=False)
        total.queries = tuple(a.added(b) for a, b in pairs) or self.queries or other.queries
        return total

    def details(self, seconds: float) -> Sequence[Detail]:  # noqa: ARG002 - the contract's
        """Return the work of each query if it was counted."""
        return [Detail(q.name, rows) for q in self.queries if (rows := q.rows())]
