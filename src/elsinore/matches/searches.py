"""The searches of a unit's queries, and the batches that they return.

Deterministic queries of a unit are answered together, in one pass over the events
(`elsinore.matches.engine.backwards`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.errors import InputError
from elsinore.matches.arrays import Bools, Ints, Keys, MatchBatch, Shorts, bounded_parts
from elsinore.matches.classes import EventClasses
from elsinore.matches.columns import EventColumns, ResultColumns
from elsinore.matches.engine.backwards import go_back
from elsinore.matches.engine.codes import CLASS
from elsinore.matches.engine.pattern import AggregateFailure, PatternSearch
from elsinore.matches.engine.tables import values_alone
from elsinore.matches.merged import MergedQuery, Program, is_mergeable, merge
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import ANY_NUMBER, GUARD, QuerySearch, WindowSearch, are_apart, longest
from elsinore.matches.registers import COMPUTED
from elsinore.matches.returns import is_windowed
from elsinore.matches.spec import MatchUnit
from elsinore.matches.store import Rows, Store
from elsinore.matches.template import MatchTemplate, column_of
from elsinore.plan import Unit

if TYPE_CHECKING:
    from elsinore.matches.collapsed import CollapsedSearch, CollectedSearch

    Search = QuerySearch | CollapsedSearch | CollectedSearch | WindowSearch

ListSearch = Callable[[MatchTemplate, Layout], QuerySearch]


def search_of(template: MatchTemplate, layout: Layout, listing: ListSearch) -> Search:
    """Return the search for a query's matches.

    `listing` makes the search of single matches of events with exact times.
    """
    # few queries need these searches: they are loaded on request
    if template.query.collapsed:
        from elsinore.matches.collapsed import CollapsedSearch, CollectedSearch  # noqa: PLC0415

        return (CollectedSearch if template.gathers else CollapsedSearch)(template, layout)
    if template.uncertain is not None:
        from elsinore.matches.uncertain import UncertainSearch  # noqa: PLC0415

        return UncertainSearch(template, layout)
    search = listing(template, layout)
    if template.depends_on_window:
        return WindowSearch(search)
    return search


class Searches:
    """The searches of a unit's queries over events of one schema."""

    def __init__(
        self,
        unit: Unit,
        spec: MatchUnit,
        schema: pa.Schema,
        listing: ListSearch,
    ) -> None:
        self.schema = schema
        self._spec = spec
        self._has_groups = bool(unit.group_by)
        names = dict.fromkeys(name for template in spec.templates for name in template.attributes)
        types = {name: schema.field(column_of(name)).type for name in names}
        fine = any(template.has_fine_lengths for template in spec.templates)
        self.layout = Layout(types, EventClasses(unit.classes), fine=fine)
        self.searches: list[Search] = [
            search_of(template, self.layout, listing) for template in spec.templates
        ]
        self._together = _together(spec, self.searches)
        self._columns = [
            ResultColumns(template, types, self.layout.unit) for template in spec.templates
        ]
        self._schemas = spec.partials(self.layout.types)
        for search in self.searches:
            self.layout.texts.pin(search.pattern.texts())

    def events(self, rows: Rows, store: Store) -> EventColumns:
        """Return the columns of some rows, and make searches ready for them."""
        for search in self.searches:
            search.pattern.set_texts(rows.operands)
        return EventColumns(store.arrived, rows.keys, rows.numbers, has_groups=self._has_groups)

    def together(
        self, rows: Rows, events: EventColumns
    ) -> Iterator[tuple[tuple[int, ...], Iterator[pa.RecordBatch]]]:
        """Yield the numbers of queries that are answered together, and their matches."""
        if not are_apart(rows.operands, rows.keys):
            return
        for together in self._together:
            if together.is_possible(rows.keys):
                yield together.places, self._answered_together(together, rows, events)

    def _answered_together(
        self, together: Together, rows: Rows, events: EventColumns
    ) -> Iterator[pa.RecordBatch]:
        for numbers, piece in together.matches(rows.operands, rows.keys):
            groups = events.groups(piece.first)
            made: dict[Hashable, list[pa.Array]] = {}
            for number in numbers:
                columns = self._columns[number]
                if columns.key not in made:
                    made[columns.key] = columns.values(piece, events)
                yield self._batch(number, piece, groups, made[columns.key])

    def matches(
        self, number: int, rows: Rows, events: EventColumns, limit: int
    ) -> Iterator[MatchBatch]:
        """Yield the matches of a query in batches; errors name the query, variable and event."""
        template = self._spec.templates[number]
        # a match of two runs counts once against LIMIT
        limit = ANY_NUMBER if template.duplicates else limit
        try:
            yield from self.searches[number].matches(rows.operands, rows.keys, limit)
        except AggregateFailure as failure:
            event = ", ".join(
                f"{name.removeprefix(COMPUTED)}={events.value(name, failure.row)!r}"
                for name in self.layout.types
            )
            raise InputError(
                f"query {template.query.name}: {failure.name} over "
                f"{' and '.join(failure.variables)}: {failure.message}, at the event {event}."
            ) from None

    def batch(
        self, number: int, matches: MatchBatch, events: EventColumns, numbers: Ints | None = None
    ) -> pa.RecordBatch:
        """Return matches as a batch of partial outputs, with the values of MATCH_NUMBER()."""
        columns = self._columns[number].values(matches, events, numbers)
        return self._batch(number, matches, events.groups(matches.first), columns)

    def _batch(
        self, number: int, matches: MatchBatch, groups: pa.Array, columns: list[pa.Array]
    ) -> pa.RecordBatch:
        arrays = [to_arrow(np.full(len(matches), number, np.int32)), groups]
        if is_windowed(self._spec.templates[number].query):
            arrays.append(to_arrow(matches.window.copy()))
        return pa.RecordBatch.from_arrays(arrays + columns, schema=self._schemas[number])

    def may_begin(self, number: int, rows: Rows) -> Bools:
        """Return whether a match of a query may begin with each row."""
        return self.searches[number].pattern.may_begin(rows.operands.wholes[CLASS])

    def check_overflow(self) -> None:
        """Raise InputError if a whole number in a condition went beyond 64 bits."""
        for search, template in zip(self.searches, self._spec.templates, strict=True):
            if search.pattern.has_overflown():
                raise InputError(
                    f"{template.query.name}: a whole number in a condition goes beyond 64 bits. "
                    "Cast the attribute to a double, as in a column of its own."
                )


def _together(spec: MatchUnit, searches: Sequence[Search]) -> list[Together]:
    """Return the queries that may be answered together, in groups."""
    mergeable = [
        (place, search.pattern)
        for place, (template, search) in enumerate(zip(spec.templates, searches, strict=True))
        if type(search) is QuerySearch
        and not (template.query.after_match or template.query.suppress)
        and is_mergeable(template, search.pattern)
    ]
    return [
        Together(mergeable[at : at + MOST_QUERIES]) for at in range(0, len(mergeable), MOST_QUERIES)
    ]


MOST_QUERIES = 64  # answered in one pass
ROWS = 1 << 17  # read at a time, unless a key has more
MOST_NUMBERS = 1 << 28  # that may describe the matches of a key
_ZERO = np.int64(0)
_NO_PATHS: Shorts = np.zeros((0, 2), dtype=np.int32)


class Together:
    """Queries of one unit that are answered in one pass."""

    def __init__(self, queries: Sequence[tuple[int, PatternSearch]]) -> None:
        """`queries`: the place in the unit, and the search."""
        self._queries = [MergedQuery(*query) for query in queries]
        self.places = tuple(query.place for query in self._queries)
        self._classes = 0  # that the program has
        self._program: Program | None = None
        self._numbers: Shorts = np.empty(0, dtype=np.int32)

    def is_possible(self, keys: Keys) -> bool:
        """Return whether each event leads to at most one state, and no key is too long.

        A window of a long key may have too many matches, which the other search counts.
        """
        classes = len(self._queries[0].states.by_class)
        if classes != self._classes:
            self._classes, self._program = classes, merge(self._queries)
        if self._program is None:
            return False
        most = longest(keys)
        return most <= GUARD and most * sum(self._program.widths) <= MOST_NUMBERS

    def matches(self, operands: Operands, keys: Keys) -> Iterator[tuple[list[int], MatchBatch]]:
        """Yield matches as `QuerySearch.matches` does, with the places of their queries.

        No two events of a key are simultaneous.
        """
        assert self._program is not None
        merged, widths = self._program.merged, np.array(self._program.widths)
        values = values_alone(operands.doubles, operands.wholes)
        merged.keys = keys
        lengths = keys.end_row - keys.first_row
        for part in bounded_parts(lengths, ROWS):
            ends = int(lengths[part].sum()) * np.cumsum(widths)
            if len(self._numbers) < ends[-1]:
                self._numbers = np.empty(ends[-1], dtype=np.int32)
            merged.lane_ends = ends.copy()
            go_back(merged, values, part.start, part.stop, self._numbers)
            begins = np.asarray(merged.lane_ends)
            for lane in np.flatnonzero(begins < ends).tolist():
                numbers = self._numbers[begins[lane] : ends[lane]].reshape(-1, widths[lane])
                places = self._program.lanes[lane]
                batch = _batch(self._queries[places[0]], numbers)
                yield [self._queries[place].place for place in places], batch


def _batch(query: MergedQuery, matches: Shorts) -> MatchBatch:
    """Return a query's matches from their numbers: first and last rows, and registers."""
    events: Any = np.empty((query.events, len(matches)), dtype=np.int32)
    numbers: Any = np.empty((len(query.columns) - query.events, len(matches)), dtype=np.int32)
    for out, number in zip((*events, *numbers), query.columns, strict=True):
        out[:] = matches[:, number]
    if query.computes:  # the types of operands of expressions
        events, numbers = events.astype(np.int64), numbers.astype(np.float64)
    return MatchBatch(
        first=np.ascontiguousarray(matches[:, 0]), last=np.ascontiguousarray(matches[:, 1]),
        window=np.broadcast_to(_ZERO, len(matches)), events=events.T, numbers=numbers.T,
        starts=np.broadcast_to(_ZERO, len(matches) + 1), paths=_NO_PATHS,
    )  # fmt: skip
