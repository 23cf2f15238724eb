"""Graphlets and snapshots of one window, by Algorithm 1 of the HAMLET paper.

The engine has decided which bursts are shared, and among which queries. A shared graphlet begins
with a snapshot of the trends that its first event extends (Definition 8). The counts of its events
are forms over snapshots as long as these are equal for all queries. An event that has different
predecessors for some of them, or that some do not take, is a snapshot of its own (Definition 9).
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from elsinore.trends.graph import (
    Counts,
    EventCount,
    Form,
    Graphlet,
    HamletGraph,
    RecordedEvent,
    Snapshot,
    Vertex,
)

OPENINGS, AT_EVENTS = ("x", "y"), "z"  # snapshots have the paper's names, then x3, x4, ..., z2, ...

State = tuple[int, int]  # a query, by its number in the unit, and a state of its template


class Piece(NamedTuple):
    """A burst of a sharing set, or a part of a long one, and whether it was shared."""

    number: int  # among those of the set
    is_shared: bool


class SharedSet(NamedTuple):
    """Queries' states that may share, and the piece of each event, by its row."""

    members: frozenset[State]
    pieces: Mapping[int, Piece]


class _Place(NamedTuple):
    """The key of a graphlet: a sharing set, a piece of it, and a pane."""

    number: int  # of the set
    piece: Piece | None
    pane: int


@dataclass(slots=True)
class _Open:
    """A graphlet that more events may join."""

    name: str
    type: str
    vertices: tuple[Vertex, ...]
    shared: bool
    opening: str | None = None
    events: list[EventCount] = field(default_factory=list)
    forms: list[tuple[int, Form]] = field(default_factory=list)  # of earlier moments, by row
    whole: bool = True  # whether all of its events follow all earlier ones


class GraphBuilder:
    """Builds the graph of one key's events in one window of each query."""

    def __init__(
        self, counts: Counts, sets: Sequence[SharedSet], labels: Mapping[str, str], *, key: int
    ) -> None:
        self._counts = counts
        self._key = key
        self._vertices = counts.vertices
        self._sets = sets
        self._set_of = {
            place: n for n, set_of_members in enumerate(sets) for place in set_of_members.members
        }
        self._labels = labels  # short names of types
        self._open: dict[object, _Open] = {}
        self._done: list[_Open] = []
        self._snapshots: list[Snapshot] = []
        self._values: dict[Vertex, dict[str, int]] = {vertex: {} for vertex in self._vertices}
        # [set] -> the forms of all events of its shared graphlets, by row
        self._forms: list[list[tuple[int, Form]]] = [[] for _ in sets]
        self._waiting: list[tuple[int, _Open, int, Form]] = []  # forms of the current moment
        self._ended: dict[Vertex, list[int]] = {vertex: [] for vertex in self._vertices}  # rows
        self._edges = sorted({edge for vertex in self._vertices for edge in vertex.bounds or ()})

    def build(self) -> HamletGraph:
        """Return the graph of the counted events."""
        moments = self._counts.moments
        counted = zip(moments, self._counts.by_moment(), strict=True)
        for number, (moment, counts_of) in enumerate(counted, start=1):
            used: dict[str, int] = {}
            for event, counts in zip(moment, counts_of, strict=True):
                if any(counts.values()):
                    label = self._labels[event.type]
                    used[label] = used.get(label, 0) + 1
                    name = f"{label[:1].lower()}{label[1:]}{number}" + "'" * (used[label] - 1)
                    self._insert(event, name, counts)
            self._end_moment(moment, counts_of)
        return self._graph()

    def _end_moment(
        self, moment: Sequence[RecordedEvent], counts_of: Sequence[Mapping[Vertex, int]]
    ) -> None:
        """Store the events of a moment, which do not precede one another."""
        for event, counts in zip(moment, counts_of, strict=True):
            self._deactivate(event.type, {v.query for v in self._vertices if v.is_emptied(event)})
            for vertex, count in counts.items():
                if count:
                    self._ended[vertex].append(event.row)
        for number, graphlet, row, form in self._waiting:
            graphlet.forms.append((row, form))
            self._forms[number].append((row, form))
        self._waiting = []

    def _deactivate(self, kind: str, queries: AbstractSet[int]) -> None:
        """Close graphlets of other types that these queries take part in (Algorithm 1, 4 to 6)."""
        for place, graphlet in list(self._open.items()):
            if graphlet.type != kind and queries & {v.query for v in graphlet.vertices}:
                del self._open[place]

    def _insert(self, event: RecordedEvent, name: str, counts: Mapping[Vertex, int]) -> None:
        """Put an event into the graphlets of the vertices that take it (Algorithm 1, 4 to 14)."""
        self._deactivate(event.type, {vertex.query for vertex, count in counts.items() if count})
        by_set: dict[int | None, list[Vertex]] = {}
        for vertex in self._shown(counts):
            by_set.setdefault(self._set_of.get((vertex.query, vertex.state)), []).append(vertex)
        for number, vertices in by_set.items():
            if number is None:
                self._insert_alone(event, name, counts, vertices, (event.type, "all"))
                continue
            piece = self._sets[number].pieces.get(event.row)
            place = _Place(number, piece, self._pane(event))
            sharing = self._sharing(place, event)
            if sharing:
                self._insert_shared(place, event, name, counts, sharing)
            for vertex in vertices:
                if vertex not in sharing:
                    self._insert_alone(event, name, counts, [vertex], (vertex, place))

    def _shown(self, counts: Mapping[Vertex, int]) -> list[Vertex]:
        """Return the vertices that show an event: accumulators beside a state do not."""
        plain = {vertex.query for vertex in counts if not vertex.node.storage.resets}
        return [
            vertex
            for vertex in counts
            if not vertex.node.storage.resets
            or vertex.query not in plain
            or (vertex.query, vertex.state) in self._set_of
        ]

    def _pane(self, event: RecordedEvent) -> int:
        return bisect.bisect_right(self._edges, event.time)

    def _sharing(self, place: _Place, event: RecordedEvent) -> tuple[Vertex, ...]:
        """Return the vertices that share a piece in these windows: of several queries, or none."""
        if place.piece is None or not place.piece.is_shared:
            return ()
        if place in self._open:
            return self._open[place].vertices
        sharing = tuple(
            vertex
            for vertex in self._vertices
            if self._set_of.get((vertex.query, vertex.state)) == place.number
            and vertex.is_open(event.time)
        )
        return sharing if len({vertex.query for vertex in sharing}) > 1 else ()

    def _insert_shared(
        self,
        place: _Place,
        event: RecordedEvent,
        name: str,
        counts: Mapping[Vertex, int],
        sharing: tuple[Vertex, ...],
    ) -> None:
        """Put an event into a graphlet whose counts are forms over snapshots."""
        graphlet = self._open.get(place)
        if graphlet is None:
            if not any(counts.get(vertex) for vertex in sharing):
                return
            graphlet = self._begin(place, event.type, sharing, shared=True)
            self._take_opening(graphlet, place, event)
        form = self._form(place.number, graphlet, event, counts)
        if form is None:
            values = {vertex: counts.get(vertex, 0) for vertex in sharing}
            form = Form()
            if any(values.values()):
                form = Form.of(self._snapshot(graphlet, name, values))
        self._waiting.append((place.number, graphlet, event.row, form))
        worth = {_label(v, sharing): counts.get(v, 0) for v in sharing}
        graphlet.events.append(EventCount(name, event.row, event.time, form, worth))

    def _take_opening(self, graphlet: _Open, place: _Place, first: RecordedEvent) -> None:
        """Create the snapshot at the beginning of a graphlet (Definition 8).

        Its values are the trends from the start, from other states and from earlier graphlets. If
        earlier graphlets lead to some of its events only, their forms are added event by event.
        """
        counts, sharing = self._counts, graphlet.vertices
        pieces = self._sets[place.number].pieces
        events = [
            event
            for event in itertools.chain.from_iterable(counts.moments)
            if event.row >= first.row and self._pane(event) == place.pane
            if pieces.get(event.row) == place.piece
        ]
        graphlet.whole = all(
            counts.values.follows(vertex.comparison, row, event.row)
            for vertex in sharing
            if vertex.comparison is not None
            for row in self._ended[vertex]
            for event in events
            if vertex.takes(event)
        )
        graphlet.opening = self._snapshot(
            graphlet,
            None,
            {
                vertex: counts.entering(vertex, first if vertex.takes(first) else None)
                + (counts.of(vertex.number) if graphlet.whole and vertex.is_repeated else 0)
                for vertex in sharing
            },
        )

    def _form(
        self,
        number: int,
        graphlet: _Open,
        event: RecordedEvent,
        counts: Mapping[Vertex, int],
    ) -> Form | None:
        """Return the count of an event as one form for all vertices; None if forms differ."""
        if any(vertex not in counts for vertex in graphlet.vertices):
            return None
        assert graphlet.opening is not None
        opening = Form.of(graphlet.opening)
        before = graphlet.forms if graphlet.whole else self._forms[number]
        if not any(vertex.is_repeated for vertex in graphlet.vertices):
            before = []
        forms = [
            opening
            + Form.total(
                form
                for row, form in before
                if how is None or self._counts.values.follows(how, row, event.row)
            )
            for how in dict.fromkeys(vertex.comparison for vertex in graphlet.vertices)
        ]
        if any(form != forms[0] for form in forms[1:]):
            return None
        if any(forms[0].value(self._values[v]) != counts[v] for v in graphlet.vertices):
            return None
        return forms[0]

    def _insert_alone(
        self,
        event: RecordedEvent,
        name: str,
        counts: Mapping[Vertex, int],
        vertices: Sequence[Vertex],
        place: object,
    ) -> None:
        """Put an event into a graphlet that is not shared, with a count for each query."""
        vertices = [vertex for vertex in vertices if counts[vertex]]
        if not vertices:
            return
        graphlet = self._open.get(place) or self._begin(place, event.type, (), shared=False)
        graphlet.vertices = tuple(dict.fromkeys((*graphlet.vertices, *vertices)))
        worth: dict[str, int] = {}
        for vertex in vertices:
            worth[vertex.name] = worth.get(vertex.name, 0) + counts[vertex]
        graphlet.events.append(EventCount(name, event.row, event.time, None, worth))

    def _begin(
        self, place: object, kind: str, vertices: tuple[Vertex, ...], *, shared: bool
    ) -> _Open:
        number = len(self._done) + 1
        label = self._labels[kind]
        name = f"{label[:1].upper()}{label[1:]}{number}"
        graphlet = _Open(name, kind, vertices, shared)
        self._open[place] = graphlet
        self._done.append(graphlet)
        return graphlet

    def _snapshot(self, graphlet: _Open, event: str | None, values: Mapping[Vertex, int]) -> str:
        before = sum((snapshot.event is None) == (event is None) for snapshot in self._snapshots)
        if event is not None:
            name = AT_EVENTS if before == 0 else f"{AT_EVENTS}{before + 1}"
        else:
            name = OPENINGS[before] if before < len(OPENINGS) else f"{OPENINGS[0]}{before + 1}"
        for vertex, value in values.items():
            self._values[vertex][name] = value
        by_label = {_label(vertex, graphlet.vertices): value for vertex, value in values.items()}
        self._snapshots.append(Snapshot(name, graphlet.name, event, by_label))
        return name

    def _graph(self) -> HamletGraph:
        return HamletGraph(
            key=self._key,
            windows={vertex.name: vertex.bounds for vertex in self._vertices},
            graphlets=tuple(
                Graphlet(
                    name=graphlet.name,
                    type=graphlet.type,
                    queries=tuple(
                        dict.fromkeys(
                            _label(v, graphlet.vertices) if graphlet.shared else v.name
                            for v in graphlet.vertices
                        )
                    ),
                    shared=graphlet.shared,
                    opening=graphlet.opening,
                    events=tuple(graphlet.events),
                )
                for graphlet in self._done
            ),
            snapshots=tuple(self._snapshots),
            totals=self._counts.totals(),
        )


def _label(vertex: Vertex, among: Sequence[Vertex]) -> str:
    """Return the name of a vertex among others: its query, numbered if the query has several."""
    siblings = [v for v in among if v.query == vertex.query]
    return vertex.name if len(siblings) == 1 else f"{vertex.name}.{siblings.index(vertex) + 1}"
