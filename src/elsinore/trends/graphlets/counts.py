"""Counts of trends by state (Equations 1 to 3 of the HAMLET paper), in one window of each query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from elsinore.model.expression import Expression
from elsinore.plan import TrendUnit
from elsinore.plan.assembly import COUNT_ONLY
from elsinore.plan.merged import Node, nodes_of_states
from elsinore.plan.template import ALL, START, Reads
from elsinore.trends.sets.states import States, WindowSums, unit_of_templates
from elsinore.trends.sets.sums import Values

Bounds = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event as the operator saw it; `row` is its place among those that were recorded."""

    row: int
    time: int
    code: int  # its class
    type: str
    true: frozenset[Expression]  # the local predicates that hold


Moments = Sequence[Sequence[RecordedEvent]]


@dataclass(frozen=True, slots=True)
class Vertex:
    """A state of a query's template in one window: what HAMLET calls a holder here."""

    query: int
    state: int
    name: str  # of the query
    bounds: Bounds
    number: int  # of its node
    node: Node = field(compare=False)

    def is_open(self, time: int) -> bool:
        """Return whether the window holds a time."""
        return holds(self.bounds, time)

    def takes(self, event: RecordedEvent) -> bool:
        """Return whether an event takes the state."""
        return self.is_open(event.time) and any(
            edge.takes(event.type, event.true) for edge in self.node.edges
        )

    def is_emptied(self, event: RecordedEvent) -> bool:
        """Return whether an event empties the state, which is before a NOT."""
        return any(reset.takes(event.type, event.true) for reset in self.node.resets)

    @property
    def is_repeated(self) -> bool:
        """Whether its events follow one another."""
        return any(edge.source == self.number for edge in self.node.edges)

    @property
    def comparison(self) -> Reads | None:
        """How its loop compares an event with the one before it, if it does."""
        return next((edge.reads for edge in self.node.edges if edge.reads != ALL), None)


class Counts:
    """The trends that end in each vertex, moment by moment, in integers of any size."""

    def __init__(
        self, unit: TrendUnit, values: Values, windows: Mapping[str, Bounds], moments: Moments
    ) -> None:
        """Count nothing yet; `windows`: the bounds of each query's window."""
        self.moments = moments
        self.values = values
        templates = [replace(template, aggregation=COUNT_ONLY) for template in unit.templates]
        self._unit = unit_of_templates(unit, dict(enumerate(templates)))
        names = [template.query.name for template in templates]
        self.vertices = [
            Vertex(query, state, names[query], windows[names[query]], node, self.nodes[node])
            for (query, state), node in nodes_of_states(templates).items()
        ]
        states = States(self._unit)
        self._kind_of = states.updates.kind_of
        codes = {event.row: event.code for moment in moments for event in moment}
        self._sums: list[tuple[WindowSums, list[list[int]]]] = []
        for window in self._unit.merged.windows:
            bounds = next(windows[t.query.name] for t in templates if t.query.window == window)
            rows = [[e.row for e in moment if holds(bounds, e.time)] for moment in moments]
            self._sums.append((WindowSums(states, values, codes, window, rows), rows))

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The states that are merged."""
        return self._unit.merged.nodes

    def of(self, node: int) -> int:
        """Return the trends that end in a node before the present moment."""
        return self._sums[self._kind_of[node]][0].count(node)

    def entering(self, vertex: Vertex, event: RecordedEvent | None = None) -> int:
        """Return the trends that go on to a vertex from the start and from other states.

        By an event, or by any that loops there.
        """
        return sum(
            1 if edge.source == START else self.of(edge.source)
            for edge in vertex.node.edges
            if edge.source != vertex.number
            and (event is None or edge.takes(event.type, event.true))
        )

    def by_moment(self) -> Iterator[list[dict[Vertex, int]]]:
        """Yield for each moment the trends that end in each of its events, by vertex.

        The events act when the next moment is asked for.
        """
        for number, moment in enumerate(self.moments):
            added = [(sums, rows[number], sums.added(rows[number])) for sums, rows in self._sums]
            counts = {
                (row, node): int(total.linear[0])
                for *_, additions in added
                for node, row, total in additions
            }
            yield [
                {v: counts[event.row, v.number] for v in self.vertices if v.takes(event)}
                for event in moment
            ]
            for sums, rows_of_moment, additions in added:
                sums.end(rows_of_moment, additions)

    def totals(self) -> dict[str, int]:
        """Return the number of each query's trends so far."""
        totals, merged = {}, self._unit.merged
        for template, ends in zip(self._unit.templates, merged.ends, strict=True):
            sums, _ = self._sums[merged.windows.index(template.query.window)]
            totals[template.query.name] = int(sums.total(ends).linear[0])
        return totals


def holds(bounds: Bounds, time: int) -> bool:
    """Return whether a window holds a time; None is the whole stream."""
    return bounds is None or bounds[0] <= time < bounds[1]
