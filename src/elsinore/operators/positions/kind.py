"""A wrapper of kinds for queries whose windows count events or calendar days.

A unit of such queries wraps a unit of the inner kind, whose windows are in positions. Everything
else is delegated to the inner kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.model.kinds import Kind as QueryKind
from elsinore.model.query import Query
from elsinore.model.window import Window
from elsinore.operators.kind import Kind, ResultForm
from elsinore.operators.operator import Operator, OperatorOptions
from elsinore.operators.positions.calendar import CalendarDays
from elsinore.operators.positions.counting import EventCount
from elsinore.operators.positions.operator import CalendarOperator, CountingOperator
from elsinore.operators.statistics import OperatorStatistics
from elsinore.plan import PlanOptions, Unit

SUFFIX = "+positions"  # after the module of the inner kind
BOUNDS = ("window_start", "window_end")
COUNTS_EVENTS = (
    "WITHIN ... EVENTS ends a window with an event of its key, and rows of trend queries are of "
    "all keys: they are known when the stream ends. Return matches, or give WITHIN a length of "
    "time."
)

Positions = EventCount | CalendarDays


def positions_of(query: Query) -> Positions | None:
    """Return the positions that the windows of a query count; None for windows of time."""
    window = query.window
    if window is None:
        return None
    if window.events:
        return EventCount()
    if window.zone and not _is_relative(query):
        return CalendarDays.from_window(window)
    return None


def _is_relative(query: Query) -> bool:
    """Return whether the window of a query begins with each match."""
    has_slide = query.window is not None and query.window.slide is not None
    return query.kind is QueryKind.MATCHES and not has_slide


@dataclass(frozen=True, slots=True)
class Positioned:
    """The spec of a unit: the unit of the inner kind, and the mapping to positions."""

    inner: Unit
    positions: Positions


class PositionedKind:
    """A kind whose operators receive positions in place of times.

    Methods that are not defined here are delegated to the inner kind, with inner units.
    """

    def __init__(self, inner: Kind) -> None:
        self._kind = inner

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying and pickling look for such names
            raise AttributeError(name)
        value = getattr(self._kind, name)
        if not callable(value):
            return value
        return lambda *arguments, **keywords: value(*map(_with_inner_units, arguments), **keywords)

    def claims(self, query: Query) -> bool:
        """Return whether the inner kind claims a query with such windows."""
        return positions_of(query) is not None and self._kind.claims(query)

    def plan(self, queries: Sequence[tuple[int, Query]], options: PlanOptions) -> Sequence[Unit]:
        """Plan queries: units of the inner kind for all queries with equal positions.

        They have no clock: their times are positions.
        """
        units: list[Unit] = []
        by_positions: dict[Positions, list[tuple[int, Query]]] = {}
        for number, query in queries:
            positions = positions_of(query)
            assert positions is not None
            assert query.window is not None
            window = positions.window(query.window, is_relative=_is_relative(query))
            changed = replace(query, window=window, is_valid=True)
            by_positions.setdefault(positions, []).append((number, changed))
        for positions, changed_queries in by_positions.items():
            inner = self._kind.plan(changed_queries, replace(options, clock=None))
            units += [positioned(unit, positions) for unit in inner]
        return units

    def specialize(self, unit: Unit, types: Mapping[str, pa.DataType], *, declared: bool) -> Unit:
        """Return a unit specialized for attributes of these types."""
        inner = self._kind.specialize(_inner(unit), types, declared=declared)
        return positioned(inner, _positions(unit))

    def operator(self, unit: Unit, options: OperatorOptions) -> Operator:
        """Return a new operator."""
        inner, positions = _inner(unit), _positions(unit)
        if isinstance(positions, EventCount):
            return CountingOperator(self._kind, inner, options)
        last = options.last_time
        if last is not None:
            options = replace(options, last_time=positions.position(last))
        return CalendarOperator(self._kind.operator(inner, options), positions)

    def load(self, unit: Unit, blob: bytes) -> Operator:
        """Return the operator from the bytes that `save` returned."""
        inner, positions = _inner(unit), _positions(unit)
        if isinstance(positions, EventCount):
            return CountingOperator.load(self._kind, inner, blob)
        return CalendarOperator(self._kind.load(inner, blob), positions)

    def result(
        self,
        unit: Unit,
        query: int,
        groups: Sequence[pa.DataType],
        types: Mapping[str, pa.DataType],
    ) -> ResultForm:
        """Return the form of a result: bounds of windows are numbers of events, or times."""
        form = self._kind.result(_inner(unit), query, groups, types)
        positions = _positions(unit)
        times = {name: window for name, window in form.times.items() if name not in BOUNDS}
        if isinstance(positions, CalendarDays):
            times |= {name: positions.window_of_bounds for name in form.times if name in BOUNDS}
        return replace(form, times=times)

    def finish(
        self,
        unit: Unit,
        query: int,
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return a query's result from its partial outputs."""
        table = self._kind.finish(_inner(unit), query, partials, groups, types)
        return _in_time(table, _positions(unit))

    def finish_family(
        self,
        unit: Unit,
        family: Sequence[int],
        partials: pa.Table,
        groups: Sequence[pa.Array],
        types: Mapping[str, pa.DataType],
    ) -> pa.Table:
        """Return the results of a family in one table."""
        table = self._kind.finish_family(_inner(unit), family, partials, groups, types)
        return _in_time(table, _positions(unit))

    def windows(self, unit: Unit) -> Sequence[Window] | str:
        """Return the reason why windows cannot be spread: they are not windows of time."""
        return "its windows count calendar days or events"

    def panes(self, unit: Unit) -> str:
        """Return the reason why events are not combined: positions require all earlier events."""
        return "the queries need single events"

    def open_windows(
        self, unit: Unit, last_time: int, statistics: OperatorStatistics | None
    ) -> Sequence[int | None]:
        """Return the number of each query's open windows; None if they count events."""
        positions = _positions(unit)
        if isinstance(positions, EventCount):
            return [None] * len(unit.queries)
        return self._kind.open_windows(_inner(unit), positions.position(last_time), statistics)

    def streams(self, unit: Unit) -> Sequence[tuple[int, str]]:
        """Return the queries that cannot run over a live stream, with reasons."""
        inner = _inner(unit)
        reasons = list(self._kind.streams(inner))
        if isinstance(_positions(unit), EventCount) and self._kind.adds_up(inner):
            reasons += [(place, COUNTS_EVENTS) for place in range(len(unit.queries))]
        return reasons


def positioned(inner: Unit, positions: Positions) -> Unit:
    """Wrap a unit; operators that count events receive events of all types."""
    return replace(
        inner,
        kind=f"{inner.kind}{SUFFIX}",
        keeps_all=inner.keeps_all or isinstance(positions, EventCount),
        spec=Positioned(inner, positions),
    )


def _inner(unit: Unit) -> Unit:
    assert isinstance(unit.spec, Positioned)
    return unit.spec.inner


def _with_inner_units(argument: Any) -> Any:
    """Unwrap a unit or a list of units; return other arguments unchanged."""
    if isinstance(argument, Unit):
        return _inner(argument)
    if isinstance(argument, list | tuple) and argument and isinstance(argument[0], Unit):
        return [_inner(unit) for unit in argument]
    return argument


def _positions(unit: Unit) -> Positions:
    assert isinstance(unit.spec, Positioned)
    return unit.spec.positions


def _in_time(table: pa.Table, positions: Positions) -> pa.Table:
    """Convert window bounds in a result from positions to times."""
    if isinstance(positions, EventCount):
        return table
    for name in set(BOUNDS).intersection(table.column_names):
        times = positions.times(to_numpy(whole(table.column(name))))
        place = table.column_names.index(name)
        table = table.set_column(place, table.schema.field(place), to_arrow(times))
    return table
