"""The searches of a unit's queries, and the batches that they return."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.errors import InputError
from elsinore.matches.arrays import Bools, Ints
from elsinore.matches.classes import EventClasses
from elsinore.matches.engine.codes import CLASS
from elsinore.matches.engine.pattern import AggregateFailure
from elsinore.matches.events import Events, repeated
from elsinore.matches.found import Found
from elsinore.matches.keyed import NO_WINDOW
from elsinore.matches.merged import goes_back
from elsinore.matches.operands import Layout
from elsinore.matches.query import ANY_NUMBER, QuerySearch, are_apart
from elsinore.matches.registers import COMPUTED
from elsinore.matches.returns import ColumnKind, is_windowed
from elsinore.matches.rows import Rows as ReturnedRows
from elsinore.matches.spec import MatchUnit, attribute_of
from elsinore.matches.statistics import QueryStatistics
from elsinore.matches.store import Rows, Store
from elsinore.matches.template import MatchTemplate
from elsinore.matches.together import MOST_QUERIES, Together
from elsinore.plan import Unit

if TYPE_CHECKING:
    from elsinore.matches.by_window import WindowSearch
    from elsinore.matches.collapsed import CollapsedSearch
    from elsinore.matches.uncertain import UncertainSearch

    Search = QuerySearch | UncertainSearch | CollapsedSearch | WindowSearch

ListSearch = Callable[[MatchTemplate, Layout, QueryStatistics], QuerySearch]


def listed_matches(
    template: MatchTemplate,
    layout: Layout,
    statistics: QueryStatistics,  # noqa: ARG001 - of searches that count what they do
) -> QuerySearch:
    """Return the search that lists single matches of exact times."""
    return QuerySearch(template, layout)


def search_of(
    template: MatchTemplate, layout: Layout, statistics: QueryStatistics, listing: ListSearch
) -> Search:
    """Return the search for a query's matches, which counts its work into `statistics`.

    `listing` makes the search if single matches of exact times are requested.
    """
    # searches that few queries ask for are loaded with the first of these
    if template.gathers:
        from elsinore.matches.gathered import GatheredSearch  # noqa: PLC0415

        return GatheredSearch(template, layout)
    if template.query.collapsed:
        from elsinore.matches.collapsed import CollapsedSearch  # noqa: PLC0415

        return CollapsedSearch(template, layout)
    if template.is_unsure:
        from elsinore.matches.negated import NegatedSearch  # noqa: PLC0415

        return NegatedSearch(template, layout)
    if template.uncertain is not None:
        from elsinore.matches.uncertain import UncertainSearch  # noqa: PLC0415

        return UncertainSearch(template, layout)
    search = listing(template, layout, statistics)
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
        counted: tuple[QueryStatistics, ...],
        listing: ListSearch,
    ) -> None:
        self.schema = schema
        self._spec = spec
        self._has_groups = bool(unit.group_by)
        types = {attribute_of(column): schema.field(column.name).type for column in unit.columns}
        fine = any(template.has_fine_lengths for template in spec.templates)
        self.layout = Layout(types, EventClasses(unit.classes), fine=fine)
        self.columns = {attribute_of(column): column.name for column in unit.columns}
        self.searches: list[Search] = [
            search_of(template, self.layout, statistics, listing)
            for template, statistics in zip(spec.templates, counted, strict=True)
        ]
        self._together = _together(spec, self.searches)
        self._rows = [ReturnedRows(template, self.layout) for template in spec.templates]
        self._schemas = spec.partials(self.layout.types)
        for search in self.searches:
            self.layout.texts.pin(search.pattern.texts())

    def events(self, rows: Rows, store: Store) -> Events:
        """Return what columns of matches read of some rows."""
        for search in self.searches:
            search.pattern.set_texts(rows.operands)
        ready = {
            name: to_arrow(rows.operands.doubles[row])
            for name, row in self.layout.doubles.items()
            if self.layout.types[name] == pa.float64()
            and not store.pieces.has_nulls(self.columns[name])
        }
        group = "group" if self._has_groups else None
        return Events(store.pieces, self.columns, rows, group, ready)

    def together(
        self, rows: Rows, events: Events
    ) -> Iterator[tuple[Together, Iterator[tuple[int, pa.RecordBatch]]]]:
        """Yield the queries that are answered together, with their matches by query."""
        if not are_apart(rows.operands, rows.keys):
            return
        for together in self._together:
            if together.is_possible(rows.keys):
                yield together, self._answered_together(together, rows, events)

    def _answered_together(
        self, together: Together, rows: Rows, events: Events
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        for numbers, piece in together.matches(rows.operands, rows.keys):
            groups = events.groups(piece.first)
            made: dict[Hashable, list[pa.Array]] = {}
            for number in numbers:
                returned = self._rows[number]
                if returned.made_of not in made:
                    made[returned.made_of] = returned.of(piece, events)
                yield number, self._batch(number, piece, groups, made[returned.made_of])

    def matches(self, number: int, rows: Rows, events: Events, limit: int) -> Iterator[Found]:
        """Yield the matches of a query in pieces; errors name the query, variable and event."""
        template = self._spec.templates[number]
        # a match that two runs find is counted against LIMIT once
        limit = ANY_NUMBER if template.duplicates else limit
        try:
            yield from self.searches[number].matches(
                rows.operands, rows.keys, window=window_of(template), limit=limit
            )
        except AggregateFailure as failure:
            event = ", ".join(
                f"{name.removeprefix(COMPUTED)}={events.value(name, failure.row)!r}"
                for name in self.columns
            )
            raise InputError(
                f"query {template.query.name}: {failure.name} over "
                f"{' and '.join(failure.variables)}: {failure.message}, at the event {event}."
            ) from None

    def batch(
        self, number: int, found: Found, events: Events, numbers: Ints | None = None
    ) -> pa.RecordBatch:
        """Return matches as a batch of partial outputs; `numbers` are those of MATCH_NUMBER()."""
        columns = self._rows[number].of(found, events, numbers)
        return self._batch(number, found, events.groups(found.first), columns)

    def _batch(
        self, number: int, found: Found, groups: pa.Array, columns: list[pa.Array]
    ) -> pa.RecordBatch:
        arrays = [repeated(number, len(found)), groups]
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


def has_numbers(template: MatchTemplate) -> bool:
    """Return whether a query numbers its matches."""
    return any(column.kind is ColumnKind.MATCH_NUMBER for column in template.columns)


def window_of(template: MatchTemplate) -> tuple[int, int, int]:
    """Return WITHIN, SLIDE (0: none) and ORIGIN; WITHIN is `NO_WINDOW` if there is none."""
    window = template.query.window
    if window is None:
        return NO_WINDOW, 0, 0
    return window.within, window.slide or 0, window.origin


def _together(spec: MatchUnit, searches: Sequence[Search]) -> list[Together]:
    """Return the queries that may be answered together."""
    mergeable = [
        (place, search.pattern)
        for place, (template, search) in enumerate(zip(spec.templates, searches, strict=True))
        if type(search) is QuerySearch
        and not (template.query.after_match or template.query.suppress)
        and goes_back(template, search.pattern)
    ]
    return [
        Together(mergeable[at : at + MOST_QUERIES]) for at in range(0, len(mergeable), MOST_QUERIES)
    ]
