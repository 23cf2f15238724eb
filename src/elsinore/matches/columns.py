"""The columns of stored events, and those of RETURN: their Arrow types and values for matches.

Expressions are computed for all matches at once. Their leaves are slots
(`elsinore.matches.registers`): attributes of events that registers hold, or numbers of registers.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, whole
from elsinore.errors import InputError
from elsinore.expressions.columns import evaluate, type_of
from elsinore.expressions.lengths import is_length, unit_of
from elsinore.matches.arrays import Bools, Doubles, Ints, Keys, MatchBatch
from elsinore.matches.registers import Register, RegisterKind, register_places, slot_of
from elsinore.matches.returns import Column, ColumnKind, is_windowed
from elsinore.matches.template import MatchTemplate, column_of
from elsinore.model.expression import Attribute, Expression, attributes, with_attributes
from elsinore.operators.conditions.orders import Order, order_of

Types = Mapping[str, pa.DataType]
HALF = 2**32  # what one unit of the upper half of a sum stands for
EXACT = 2.0**53  # sums of halves below it are exact


# --- types


def partial_schema(template: MatchTemplate, types: Types) -> pa.Schema:
    """Return the schema of a query's partial outputs; columns `c0`, ... are those of RETURN."""
    fields = [pa.field("query", pa.int32()), pa.field("group", pa.int32())]
    if is_windowed(template.query):
        fields.append(pa.field("window", pa.int64()))
    for number, column in enumerate(template.columns):
        fields.append(pa.field(f"c{number}", column_type(column, template, types)))
    return pa.schema(fields)


def column_type(column: Column, template: MatchTemplate, types: Types) -> pa.DataType:
    """Return the Arrow type of a column of RETURN; `types` are those of attributes."""
    unknown = ((name, how) for name, how in template.computed if name not in types)
    types = {**types} | {name: type_of(how, types) for name, how in unknown}
    match column.kind:
        case ColumnKind.VALUE:
            return types[column.attribute or ""]
        case ColumnKind.LIST:
            return pa.list_(_type_in_list(column.attribute or "", types))
        case ColumnKind.EVENTS:
            fields = [pa.field(name, _type_in_list(name, types)) for name in column.fields]
            return pa.list_(pa.struct(fields))
        case ColumnKind.COUNT | ColumnKind.MATCH_NUMBER:
            return pa.int64()
        case _:
            assert column.expression is not None
            leaves = attributes(column.expression)
            kinds = {_slot_name(leaf): _leaf_type(leaf, template, types) for leaf in leaves}
            return type_of(_with_slot_names(column.expression), kinds)


def _type_in_list(name: str, types: Types) -> pa.DataType:
    """Return the type of an attribute's values in lists; Arrow cannot choose among untyped ones."""
    kind = types[name]
    return pa.float64() if pa.types.is_null(kind) else kind


def _leaf_type(leaf: Attribute, template: MatchTemplate, types: Types) -> pa.DataType:
    if leaf.name is not None:
        return types[leaf.name]
    register = template.registers[slot_of(leaf).register]
    if _chooses_text(register, types):
        return types[register.arguments[0]]
    counts = register.aggregate is not None and register.aggregate.counts
    if counts or register.kind in {RegisterKind.COUNT, RegisterKind.PRESENT}:
        return pa.int64()
    if register.kind is not RegisterKind.SUM:
        return pa.float64()
    return sum_type(types[register.attribute or ""])


def _chooses_text(register: Register, types: Types) -> bool:
    """Return whether a register contains the row of an event whose text is its value."""
    if register.aggregate is None or not register.aggregate.chooses:
        return False
    return order_of(types[register.arguments[0]]) is Order.TEXT


def sum_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a sum of values of a type.

    >>> sum_type(pa.int16()), sum_type(pa.float32()), sum_type(pa.duration("s"))
    (DataType(int64), DataType(double), DurationType(duration[us]))
    """
    if pa.types.is_dictionary(kind):
        return sum_type(kind.value_type)
    if is_length(kind):
        return pa.duration(unit_of(kind))
    return pa.int64() if pa.types.is_integer(kind) else pa.float64()


def _slot_name(leaf: Attribute) -> str:
    return leaf.variable + (leaf.name or "")


def _with_slot_names(expression: Expression) -> Expression:
    """Return an expression whose attributes are named by the slots that they are read from."""
    return with_attributes(expression, lambda leaf: Attribute("", _slot_name(leaf)))


# --- values


class ResultColumns:
    """Computes the columns of RETURN for the matches of one template."""

    def __init__(self, template: MatchTemplate, types: Types, unit: str) -> None:
        """`unit` is that of sums of durations."""
        self._template = template
        self._unit = unit
        self._types = types
        self._kinds = [column_type(column, template, types) for column in template.columns]
        self._places = register_places(template.registers)
        # queries with an equal key have equal columns for the same matches
        self.key = self._places, tuple(replace(c, name="") for c in template.columns)

    def values(
        self, matches: MatchBatch, events: EventColumns, numbers: Ints | None = None
    ) -> list[pa.Array]:
        """Return the columns; `numbers` are those of MATCH_NUMBER(), if requested."""
        columns = []
        for column, kind in zip(self._template.columns, self._kinds, strict=True):
            if column.kind is ColumnKind.MATCH_NUMBER:
                columns.append(to_arrow(numbers, pa.int64()))
            elif column.kind is ColumnKind.COMPUTED:
                columns.append(self._computed(column, kind, matches, events))
            elif column.kind in {ColumnKind.LIST, ColumnKind.EVENTS}:
                columns.append(self._lists(column, kind, matches, events))
            elif column.kind is ColumnKind.VALUE:
                rows = matches.events[:, self._places[column.register]]
                columns.append(events.values(column.attribute or "", rows).cast(kind))
            else:
                count = matches.numbers[:, self._places[column.register]]
                columns.append(to_arrow(count.astype(np.int64)))
        return columns

    def _lists(
        self, column: Column, kind: pa.DataType, matches: MatchBatch, events: EventColumns
    ) -> pa.Array:
        """Return the values of all events of some variables, a list for each match.

        Raises InputError if the lists of a batch have more events than Arrow can number.
        """
        states = self._template.states
        is_read = np.array([state.variable in column.variables for state in states])
        chosen = is_read[matches.paths[:, 1]]
        begins = np.zeros(len(chosen) + 1, dtype=np.int32)
        np.cumsum(chosen, dtype=np.int32, out=begins[1:])
        offsets = to_arrow(begins[matches.starts])
        rows = matches.paths[chosen, 0].astype(np.int64)
        if column.kind is ColumnKind.EVENTS:
            fields = list(kind.value_type)
            parts = [events.values(field.name, rows).cast(field.type) for field in fields]
            values = pa.StructArray.from_arrays(parts, fields=fields)
        else:
            values = events.values(column.attribute or "", rows).cast(kind.value_type)
        return pa.ListArray.from_arrays(offsets, values).cast(kind)

    def _computed(
        self, column: Column, kind: pa.DataType, matches: MatchBatch, events: EventColumns
    ) -> pa.Array:
        """Return the value of an expression for each match.

        Raises InputError for whole numbers beyond 64 bits.
        """
        assert column.expression is not None
        operands: dict[str, pa.Array] = {}
        for leaf in attributes(column.expression):
            number = slot_of(leaf).register
            if leaf.name is not None:
                rows = matches.events[:, self._places[number]]
                operands[_slot_name(leaf)] = events.values(leaf.name, rows)
            else:
                leaf_type = _leaf_type(leaf, self._template, self._types)
                operands[_slot_name(leaf)] = self._register(number, leaf_type, matches, events)
        values = evaluate(_with_slot_names(column.expression), operands)
        if isinstance(values, pa.Scalar):
            values = pa.repeat(values, len(matches))
        try:
            return values if values.type == kind else values.cast(kind)
        except pa.ArrowInvalid as error:
            raise InputError(f"{column.name} goes beyond 64 bits: {error}") from error

    def _register(
        self, number: int, kind: pa.DataType, matches: MatchBatch, events: EventColumns
    ) -> pa.Array:
        """Return a register's values as a column of their type, null where they are NaN."""
        register = self._template.registers[number]
        low = np.ascontiguousarray(matches.numbers[:, self._places[number]])
        if register.kind in {RegisterKind.COUNT, RegisterKind.PRESENT}:  # never null
            return to_arrow(low.astype(np.int64)).cast(kind)
        is_null = np.isnan(low)
        if not is_null.any() and kind == pa.float64():
            return to_arrow(low.copy())  # the search writes its next matches there
        if _chooses_text(register, self._types):
            rows = np.where(is_null, -1.0, low).astype(np.int64)
            return events.values(register.arguments[0], rows)
        low = np.where(is_null, 0.0, low)
        if register.kind is not RegisterKind.SUM or kind == pa.float64():
            return to_arrow(low, mask=is_null).cast(kind)
        upper = self._places[self._template.registers.index(register.upper_half)]
        total = to_arrow(_joined_halves(low, matches.numbers[:, upper], register), mask=is_null)
        return total.cast(pa.duration(self._unit)).cast(kind) if is_length(kind) else total


def _joined_halves(low: Doubles, high: Doubles, register: Register) -> Ints:
    """Return sums of whole numbers by their lower and upper halves.

    Raises InputError for sums beyond 64 bits.
    """
    high = np.where(np.isnan(high), 0.0, high)
    carry = np.floor(low / HALF)
    upper = high + carry
    is_beyond = (upper >= HALF // 2) | (upper < -HALF // 2)
    if np.any(is_beyond | (np.abs(low) > EXACT) | (np.abs(high) > EXACT)):
        raise InputError(
            f"SUM of '{register.attribute}' over a match goes beyond 64 bits. Cast the attribute "
            "to a double, as in a column of its own, and sum that."
        )
    total: Ints = (upper.astype(np.int64) << 32) + (low - carry * HALF).astype(np.int64)
    return total


class ArrivedRows:
    """Rows of Arrow columns in the order of arrival, read by their numbers.

    They are stored as tables. A table is joined with the one before it once it has half as many
    rows: so there are few tables, and each row is copied a few times.
    """

    def __init__(self) -> None:
        self._tables: list[pa.Table] = []
        self._starts: list[int] = []
        self.rows = 0
        self.nbytes = 0

    def append(self, table: pa.Table) -> None:
        """Append rows."""
        self._tables.append(table)
        self._starts.append(self.rows)
        self.rows += table.num_rows
        self.nbytes += table.nbytes
        tables = self._tables
        while len(tables) > 1 and 2 * tables[-1].num_rows >= tables[-2].num_rows:
            last = tables.pop()
            tables[-1] = pa.concat_tables([tables[-1], last]).combine_chunks()
            self._starts.pop()

    def table(self, numbers: Ints) -> pa.Table:
        """Return some rows; `numbers` are in any order."""
        schema = self._tables[0].schema
        columns = [self.take(name, numbers) for name in schema.names]
        return pa.table(
            [
                column if column.type == field.type else column.cast(field.type)
                for column, field in zip(columns, schema, strict=True)
            ],
            schema=schema,
        )

    def keep(self, numbers: Ints) -> None:
        """Remove all rows but these, and number them anew."""
        table = self.table(numbers) if len(numbers) else None
        self._tables, self._starts, self.rows, self.nbytes = [], [], 0, 0
        if table is not None:
            self.append(table)

    def take(self, name: str, numbers: Ints, missing: Bools | None = None) -> Any:
        """Return a column at some rows, null where `missing`."""
        columns = [whole(table.column(name)) for table in self._tables]
        if len(columns) == 1:
            return _taken(columns[0], numbers, missing)
        table = np.searchsorted(self._starts, numbers, side="right") - 1
        order = np.argsort(table, kind="stable")
        ends = np.searchsorted(table[order], np.arange(len(columns) + 1))
        parts = [
            _decoded(_taken(columns[n], numbers[order[a:b]] - self._starts[n]))
            for n, (a, b) in enumerate(itertools.pairwise(ends))
            if a < b
        ]
        if not parts:
            return _taken(columns[0], numbers, missing)
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return _taken(pa.concat_arrays(parts), places, missing)


class EventColumns:
    """The attributes of the events that are searched, read by their rows.

    An attribute that is read more often than there are events is sorted by row first, as the events
    of a match have neighbouring rows.
    """

    def __init__(
        self, arrived: ArrivedRows, keys: Keys, numbers: Ints, *, has_groups: bool
    ) -> None:
        """`numbers` are those of the rows of `keys` among the rows that arrived.

        `has_groups`: events are in groups.
        """
        self._arrived = arrived
        self._keys, self._numbers = keys, numbers
        self._has_groups = has_groups
        self._ordered: dict[str, pa.Array] = {}
        self._reads: dict[str, int] = {}

    def values(self, name: str, rows: Ints) -> pa.Array:
        """Return an attribute at some rows, null at those below 0."""
        missing: Bools | None = None
        if len(rows) and rows.min() < 0:
            missing = rows < 0
            rows = np.where(missing, 0, rows)
        numbers = self._numbers
        self._reads[name] = self._reads.get(name, 0) + len(rows)
        if name not in self._ordered and self._reads[name] > len(numbers):
            self._ordered[name] = self._arrived.take(column_of(name), numbers)
        if name in self._ordered:
            return _decoded(_taken(self._ordered[name], rows, missing))
        return _decoded(self._arrived.take(column_of(name), numbers[rows], missing))

    def value(self, name: str, row: int) -> Any:
        """Return an attribute of one event."""
        return self.values(name, np.array([row], np.int64))[0].as_py()

    def groups(self, rows: Ints) -> pa.Array:
        """Return the codes of the groups of events."""
        if not self._has_groups:
            return to_arrow(np.zeros(len(rows), np.int32))
        return _taken(self._group_of_row, rows)

    @cached_property
    def _group_of_row(self) -> pa.Array:
        keys = self._keys
        groups = self._arrived.take("group", self._numbers[keys.first_row])
        lengths = keys.end_row - keys.first_row
        return _taken(groups, np.repeat(np.arange(len(keys)), lengths))


def _taken(column: pa.Array, rows: Ints, missing: Bools | None = None) -> pa.Array:
    """Return a column at some rows, null where `missing`."""
    if pa.types.is_null(column.type):  # `take` returns its length, not that of the rows
        return pa.nulls(len(rows))
    return pc.take(column, to_arrow(rows, mask=missing), boundscheck=False)


def _decoded(column: pa.Array) -> pa.Array:
    """Return a column without a dictionary: those of two tables may differ."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
