"""The graph of a window: its events with their counts, graphlets, and the table of snapshots.

The count of an event for all queries that share it is a linear form over snapshots. Counts by state
(Equations 1 to 3 of the HAMLET paper) are those of `elsinore.trends.exact_sums`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from elsinore.model.expression import Expression
from elsinore.plan import TrendUnit
from elsinore.plan.assembly import COUNT_ONLY
from elsinore.plan.merged import Node, nodes_of_states
from elsinore.plan.template import ALL, START, Reads
from elsinore.trends.exact_sums import EventValues, ExactSums, WindowSums

Bounds = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Form:
    """A sum of snapshots with whole coefficients, for example 4x + z (HAMLET, Section 3.3).

    >>> print(Form({"x": 3}) + Form({"x": 1, "z": 1}))
    4x + z
    """

    coefficients: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: str) -> Form:
        """Return the form that is one snapshot."""
        return cls({snapshot: 1})

    @classmethod
    def total(cls, forms: Iterable[Form]) -> Form:
        """Return the sum of forms.

        >>> str(Form.total([Form.of("x"), Form.of("x"), Form.of("y")]))
        '2x + y'
        """
        coefficients: dict[str, int] = {}
        for form in forms:
            for name, number in form.coefficients.items():
                coefficients[name] = coefficients.get(name, 0) + number
        return cls(coefficients)

    def __add__(self, other: Form) -> Form:
        return Form.total((self, other))

    def value(self, snapshots: Mapping[str, int]) -> int:
        """Return the form's value, given values of snapshots; the default is 0.

        >>> (Form({"x": 4}) + Form.of("z")).value({"x": 2, "z": 8})
        16
        """
        return sum(n * snapshots.get(name, 0) for name, n in self.coefficients.items())

    def __str__(self) -> str:
        parts = (f"{'' if n == 1 else n}{name}" for name, n in self.coefficients.items() if n)
        return " + ".join(parts) or "0"


@dataclass(frozen=True, slots=True)
class EventCount:
    """An event and the trends that end in it (HAMLET, Equation 2).

    In a shared graphlet, `form` is the count for all queries, and `counts` its value for each.
    `row` is the event's place among those that were recorded.
    """

    name: str  # b3: of type B, at the third moment of the window
    row: int
    time: int
    form: Form | None
    counts: Mapping[str, int]  # by query


@dataclass(frozen=True, slots=True)
class Graphlet:
    """Consecutive events of one type that are processed together (Definitions 6 and 7)."""

    name: str  # B3: of type B, the third graphlet
    type: str
    queries: tuple[str, ...]
    shared: bool
    opening: str | None  # the snapshot at its beginning
    events: tuple[EventCount, ...]

    @property
    def form(self) -> Form | None:
        """The sum of its events' counts (Equation 5), None if it is not shared."""
        forms = [event.form for event in self.events if event.form is not None]
        return Form.total(forms) if self.shared else None

    @property
    def sums(self) -> dict[str, int]:
        """The value of that sum for each query."""
        return {
            query: sum(event.counts.get(query, 0) for event in self.events)
            for query in self.queries
        }


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A variable with a value for each query (Definitions 8 and 9).

    `event` is None for a graphlet-level snapshot; otherwise the event whose count it is.
    """

    name: str
    graphlet: str
    event: str | None
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class HamletGraph:
    """One key's graphlets and snapshots in one window of each query.

    A query with several states in one graphlet has names like `query.2` there. `totals` is the
    number of its trends: COUNT(*) (Equation 3). `why_unshared` is the reason if no graphlet is
    shared, otherwise "".
    """

    key: int
    windows: Mapping[str, tuple[int, int] | None]  # [start, end) by query, None: the whole stream
    graphlets: tuple[Graphlet, ...]
    snapshots: tuple[Snapshot, ...]
    totals: Mapping[str, int]
    why_unshared: str = ""


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event as the operator saw it; `row` is its place among those that were recorded."""

    row: int
    slot: int
    time: int
    code: int  # its class
    type: str
    true: frozenset[Expression]  # the local predicates that hold


Moments = Sequence[Sequence[RecordedEvent]]


@dataclass(frozen=True, slots=True)
class Vertex:
    """A state of a query's template in one window."""

    query: int
    state: int
    name: str  # of the query
    bounds: Bounds
    number: int  # of its node
    node: Node = field(compare=False)

    def is_open(self, time: int) -> bool:
        """Return whether the window contains a time."""
        return holds(self.bounds, time)

    def takes(self, event: RecordedEvent) -> bool:
        """Return whether an event takes the state."""
        return self.is_open(event.time) and any(
            edge.takes(event.type, event.true) for edge in self.node.edges
        )

    def is_emptied(self, event: RecordedEvent) -> bool:
        """Return whether an event empties the state, because a NOT forbids it."""
        return any(reset.takes(event.type, event.true) for reset in self.node.storage.resets)

    @property
    def is_repeated(self) -> bool:
        """Whether its events follow one another."""
        return any(edge.source == self.number for edge in self.node.edges)

    @property
    def comparison(self) -> Reads | None:
        """The conditions of its loop between an event and the one before it, if any."""
        return next((edge.reads for edge in self.node.edges if edge.reads != ALL), None)


class Counts:
    """The trends that end in each vertex, moment by moment, in integers of any size."""

    def __init__(
        self, unit: TrendUnit, values: EventValues, windows: Mapping[str, Bounds], moments: Moments
    ) -> None:
        """Start before the first event; `windows`: the bounds of each query's window."""
        self.moments = moments
        self.values = values
        templates = [replace(template, aggregation=COUNT_ONLY) for template in unit.templates]
        exact = ExactSums(unit, dict(enumerate(templates)))
        self._unit, nodes = exact.unit, exact.unit.merged.nodes
        names = [template.query.name for template in templates]
        self.vertices = [
            Vertex(query, state, names[query], windows[names[query]], node, nodes[node])
            for (query, state), node in nodes_of_states(templates).items()
        ]
        self._kind_of = exact.updates.kind_of
        codes = {event.row: event.code for moment in moments for event in moment}
        self._sums: list[tuple[WindowSums, list[list[int]]]] = []
        for window in self._unit.merged.windows:
            bounds = next(windows[t.query.name] for t in templates if t.query.window == window)
            rows = [[e.row for e in moment if holds(bounds, e.time)] for moment in moments]
            self._sums.append((WindowSums(exact, values, codes, window, rows), rows))

    def of(self, node: int) -> int:
        """Return the number of trends that end in a node before the current moment."""
        return self._sums[self._kind_of[node]][0].count(node)

    def entering(self, vertex: Vertex, event: RecordedEvent | None = None) -> int:
        """Return the number of trends that an event would extend into a vertex, loops left out.

        It includes a trend that begins with the event. Without an event, any edge is taken.
        """
        return sum(
            1 if edge.source == START else self.of(edge.source)
            for edge in vertex.node.edges
            if edge.source != vertex.number
            and (event is None or edge.takes(event.type, event.true))
        )

    def by_moment(self) -> Iterator[list[dict[Vertex, int]]]:
        """Yield for each moment the number of trends that end in each of its events, by vertex.

        The events are stored when the next moment is requested.
        """
        for number, moment in enumerate(self.moments):
            added = [
                (sums, rows[number], sums.contributions(rows[number])) for sums, rows in self._sums
            ]
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
                sums.store(rows_of_moment, additions)

    def totals(self) -> dict[str, int]:
        """Return the number of each query's trends so far."""
        totals, merged = {}, self._unit.merged
        for template, ends in zip(self._unit.templates, merged.ends, strict=True):
            sums, _ = self._sums[merged.windows.index(template.query.window)]
            totals[template.query.name] = int(sums.total(ends).linear[0])
        return totals


def holds(bounds: Bounds, time: int) -> bool:
    """Return whether a window contains a time; None is the whole stream."""
    return bounds is None or bounds[0] <= time < bounds[1]
