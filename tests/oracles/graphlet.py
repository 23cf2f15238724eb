"""Graphlets: the events of one burst with their intermediate counts (HAMLET, Definitions 6 and 7).

Small and slow; the kernel keeps the same forms as rows of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from oracles.snapshot import Form, SnapshotTable, total

Edge = Callable[
    [str, str, str], bool
]  # whether the edge from one event to the next holds for a query


def every_edge(before: str, after: str, query: str) -> bool:
    """Hold for all events and queries."""
    return True


@dataclass(slots=True)
class Graphlet:
    """A shared graphlet: each event's count is one form for all queries.

    `opening` is the snapshot at its start: what comes from other types and earlier graphlets.
    """

    queries: tuple[str, ...]
    table: SnapshotTable
    opening: Form
    active: bool = True
    counts: dict[str, Form] = field(default_factory=dict)

    def add(self, event: str, edge: Edge = every_edge, name: str = "z") -> Form:
        """Insert an event and return its count (HAMLET, Algorithm 1, lines 14 to 20).

        Where its predecessors differ between queries a snapshot called `name` is created.
        """
        before = {
            query: [e for e in self.counts if edge(e, event, query)] for query in self.queries
        }
        first = before[self.queries[0]]
        if all(found == first for found in before.values()):
            self.counts[event] = self.opening + total(self.counts[e] for e in first)
        else:
            self.counts[event] = self.table.create(
                name,
                {
                    query: self.table.value(
                        self.opening + total(self.counts[e] for e in before[query]), query
                    )
                    for query in self.queries
                },
            )
        return self.counts[event]

    def sum(self) -> Form:
        """Add up the counts of all events (HAMLET, Equation 5)."""
        return total(self.counts.values())

    def close(self) -> None:
        """Mark the graphlet as inactive: an event of another type of its queries came."""
        self.active = False


def next_opening(name: str, graphlet: Graphlet, others: Iterable[tuple[str, int]]) -> Form:
    """Create the snapshot at the start of the graphlet after this one (Definition 8).

    others: for queries, what their other predecessor types add since.
    """
    opening, inside = graphlet.opening, graphlet.sum()
    added = dict(others)
    values = {
        query: graphlet.table.value(opening + inside, query) + added.get(query, 0)
        for query in graphlet.queries
    }
    return graphlet.table.create(name, values)
