"""The searches of a unit's queries, and the batches that they return."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.errors import InputError
from elsinore.matches.arrays import Bools, Ints, MatchBatch
from elsinore.matches.classes import EventClasses
from elsinore.matches.engine.codes import CLASS
from elsinore.matches.engine.pattern import AggregateFailure
from elsinore.matches.event_columns import EventColumns
from elsinore.matches.merged import is_mergeable
from elsinore.matches.operands import Layout
from elsinore.matches.query import ANY_NUMBER, QuerySearch, are_apart
from elsinore.matches.registers import COMPUTED
from elsinore.matches.result_columns import ResultColumns
from elsinore.matches.returns import is_windowed
from elsinore.matches.spec import MatchUnit
from elsinore.matches.store import Rows, Store
from elsinore.matches.template import MatchTemplate, column_of
from elsinore.matches.together import MOST_QUERIES, Together
from elsinore.plan import Unit

if TYPE_CHECKING:
    from elsinore.matches.by_window import WindowSearch
    from elsinore.matches.collapsed import CollapsedSearch, CollectedSearch

    Search = QuerySearch | CollapsedSearch | CollectedSearch | WindowSearch

ListSearch = Callable[[MatchTemplate, Layout], QuerySearch]


def search_of(template: MatchTemplate, layout: Layout, listing: ListSearch) -> Search:
    """Return the search for a query's matches.

    `listing` makes the search if single matches of exact times are requested.
    """
    # searches that few queries need are loaded with the first of these
    if template.query.collapsed:
        from elsinore.matches.collapsed import CollapsedSearch, CollectedSearch  # noqa: PLC0415

        return (CollectedSearch if template.gathers else CollapsedSearch)(template, layout)
    if template.uncertain is not None:
        from elsinore.matches.uncertain import UncertainSearch  # noqa: PLC0415

        return UncertainSearch(template, layout)
    search = listing(template, layout)
    if template.depends_on_window:
        from elsinore.matches.by_window import WindowSearch  # noqa: PLC0415

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
        """Return the columns of some rows, with searches ready for them."""
        for search in self.searches:
            search.pattern.set_texts(rows.operands)
        ordered = {
            name: to_arrow(rows.operands.doubles[row])
            for name, row in self.layout.doubles.items()
            if self.layout.types[name] == pa.float64()
            and not store.arrived.has_nulls(column_of(name))
        }
        return EventColumns(
            store.arrived, rows.keys, rows.numbers, ordered, has_groups=self._has_groups
        )

    def together(
        self, rows: Rows, events: EventColumns
    ) -> Iterator[tuple[tuple[int, ...], Iterator[pa.RecordBatch]]]:
        """Yield the places of queries that are answered together, with their matches."""
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
                if columns.made_of not in made:
                    made[columns.made_of] = columns.values(piece, events)
                yield self._batch(number, piece, groups, made[columns.made_of])

    def matches(
        self, number: int, rows: Rows, events: EventColumns, limit: int
    ) -> Iterator[MatchBatch]:
        """Yield the matches of a query in pieces; errors name the query, variable and event."""
        template = self._spec.templates[number]
        # a match that two runs find is counted against LIMIT once
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
        self, number: int, found: MatchBatch, events: EventColumns, numbers: Ints | None = None
    ) -> pa.RecordBatch:
        """Return matches as a batch of partial outputs; `numbers` are those of MATCH_NUMBER()."""
        columns = self._columns[number].values(found, events, numbers)
        return self._batch(number, found, events.groups(found.first), columns)

    def _batch(
        self, number: int, found: MatchBatch, groups: pa.Array, columns: list[pa.Array]
    ) -> pa.RecordBatch:
        arrays = [to_arrow(np.full(len(found), number, np.int32)), groups]
        if is_windowed(self._spec.templates[number].query):
            arrays.append(to_arrow(found.window.copy()))
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
    """Return the queries that may be answered together."""
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
