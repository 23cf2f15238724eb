"""Counts of trends by Equations 1 to 3 of the HAMLET paper: event by event, in whole numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from elsinore.model.expression import Expression
from elsinore.plan import TrendUnit
from elsinore.plan.guarded import Events
from elsinore.plan.template import ALL, START, Reads, Transition

Bounds = tuple[int, int] | None
Holds = Callable[[Reads, int, int], bool]  # whether an event may follow an earlier one, by rows


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event as the operator saw it; `row` is its place among those that were recorded."""

    row: int
    time: int
    type: str
    true: frozenset[Expression]  # the local predicates that hold


@dataclass(frozen=True, slots=True)
class Vertex:
    """A state of a query's template in one window: what HAMLET calls a holder here."""

    query: int
    state: int
    name: str  # of the query
    bounds: Bounds
    moves: tuple[Transition, ...]  # those that end in it
    resets: frozenset[Events]
    seed: bool
    accepting: bool

    def is_open(self, time: int) -> bool:
        """Return whether the window holds a time."""
        return self.bounds is None or self.bounds[0] <= time < self.bounds[1]

    def takes(self, event: RecordedEvent) -> bool:
        """Return whether an event takes the state."""
        return self.is_open(event.time) and any(
            move.takes(event.type, event.true) for move in self.moves
        )

    @property
    def is_repeated(self) -> bool:
        """Whether its events follow one another."""
        return any(move.source == self.state for move in self.moves)

    @property
    def comparison(self) -> Reads | None:
        """How its loop compares an event with the one before it, if it does."""
        return next((move.reads for move in self.moves if move.reads != ALL), None)


def vertices_of(unit: TrendUnit, windows: Mapping[str, Bounds]) -> list[list[Vertex]]:
    """Return the vertices of each query by state."""
    return [
        [
            Vertex(
                query=query,
                state=number,
                name=template.query.name,
                bounds=windows[template.query.name],
                moves=tuple(move for move in template.transitions if move.target == number),
                resets=state.resets,
                seed=state.is_seed,
                accepting=number in template.accepting,
            )
            for number, state in enumerate(template.states)
        ]
        for query, template in enumerate(unit.templates)
    ]


@dataclass(slots=True)
class Counts:
    """The trends that end in each vertex before the present moment."""

    vertices: list[list[Vertex]]
    holds: Holds
    totals: dict[Vertex, int] = field(init=False)
    ended: dict[Vertex, list[tuple[int, int]]] = field(init=False)  # rows and their counts

    def __post_init__(self) -> None:
        every = [vertex for of_query in self.vertices for vertex in of_query]
        self.totals = {vertex: int(vertex.seed) for vertex in every}
        self.ended = {vertex: [] for vertex in every if vertex.comparison is not None}

    def entering(self, vertex: Vertex, event: RecordedEvent | None = None) -> int:
        """Return the trends that go on to a vertex from the start and from other states.

        By an event, or by any that loops there.
        """
        count = 0
        for move in vertex.moves:
            if move.source == vertex.state:
                continue
            if event is not None and not move.takes(event.type, event.true):
                continue
            of = self.vertices[vertex.query]
            count += 1 if move.source == START else self.totals[of[move.source]]
        return count

    def looping(self, vertex: Vertex, event: RecordedEvent) -> int:
        """Return the trends that end in a vertex and go on there by an event."""
        total = 0
        for move in vertex.moves:
            if move.source != vertex.state or not move.takes(event.type, event.true):
                continue
            if move.reads == ALL:
                total += self.totals[vertex]
            else:
                total += sum(
                    count
                    for row, count in self.ended[vertex]
                    if self.holds(move.reads, row, event.row)
                )
        return total

    def count(self, vertex: Vertex, event: RecordedEvent) -> int:
        """Return the trends that end in an event which takes a vertex (Equation 2)."""
        return self.entering(vertex, event) + self.looping(vertex, event)

    def results(self) -> dict[str, int]:
        """Return the number of each query's trends so far (Equation 3)."""
        return {
            of_query[0].name: sum(self.totals[vertex] for vertex in of_query if vertex.accepting)
            for of_query in self.vertices
        }

    def end_moment(
        self, events: Sequence[RecordedEvent], counted: Sequence[Mapping[Vertex, int]]
    ) -> None:
        """Let the events of a moment act, after what they forbid has been dropped."""
        for vertex in self.totals:
            if any(
                vertex.is_open(event.time) and reset.takes(event.type, event.true)
                for event in events
                for reset in vertex.resets
            ):
                self.totals[vertex] = 0
        for event, counts in zip(events, counted, strict=True):
            for vertex, count in counts.items():
                self.totals[vertex] += count
                if count and vertex in self.ended:
                    self.ended[vertex].append((event.row, count))
