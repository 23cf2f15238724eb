"""The table of events that a pass sends to its operators: keys, times, classes, columns.

A pass is a list of units with the same key. Its *travelling events*, which Spark shuffles by key,
are a table with the columns

    g0, g1, ...           the attributes of GROUP BY
    k0, k1, ...           the other attributes of the key
    time                  int64, in ticks of the clock
    class0, class1, ...   the event's class for each unit; -1 if none of its queries uses the event
    o0, o1, ...           the columns that order simultaneous events
    c0, c1, ...           the columns that operators read, each once (`travelling`)

Events that no unit uses are dropped, unless a unit keeps all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.expressions.columns import doubles, evaluate
from elsinore.operators.ranks import to_ranks
from elsinore.plan import Carried, Travel, Unit
from elsinore.runtime.chunks import plain
from elsinore.runtime.classify import classify, type_numbers
from elsinore.runtime.rejects import REFUSAL, unusable_reasons

FEW_CLASSES = 1 << 8  # up to this number, all classes are decoded at once
TABLE_LIMIT = 1 << 16  # up to this number, classes are looked up in a table

Read = Callable[[str], pa.Array]  # returns an attribute of all events


def travelling(units: Sequence[Unit]) -> dict[tuple[object, Travel], Carried]:
    """Return the distinct columns that the units of a pass read."""
    columns: dict[tuple[object, Travel], Carried] = {}
    for unit in units:
        for column in unit.columns:
            columns.setdefault((column.source, column.travel), column)
    return columns


def read_columns(units: Sequence[Unit], batch: pa.RecordBatch, unit: Unit) -> dict[str, pa.Array]:
    """Return the columns that the operator of `unit` reads, from a pass's travelling events."""
    places = {place: n for n, place in enumerate(travelling(units))}
    columns = {}
    for column in unit.columns:
        column_values = batch.column(f"c{places[column.source, column.travel]}")
        ranked = column.travel is Travel.RANK
        columns[column.name] = to_ranks(column_values, column.quoted) if ranked else column_values
    return columns


def operator_batch(
    units: Sequence[Unit],
    number: int,
    events: pa.RecordBatch,
    key: NDArray[np.int32],
    group: NDArray[np.int32],
) -> pa.RecordBatch:
    """Return the input of unit `number`'s operator: the unit's columns of travelling events.

    `key` and `group` are the codes of the events.
    """
    unit = units[number]
    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(key),
            "group": pa.array(group),
            "time": events.column("time"),
            "class": events.column(f"class{number}").cast(pa.int64()),
        }
        | read_columns(units, events, unit)
    )
    if len(units) > 1 and not unit.keeps_all:  # events of other units are among them
        batch = batch.filter(pc.greater_equal(batch.column("class"), 0))
    return batch


def select_events(
    units: Sequence[Unit],
    class_filters: Sequence[ClassFilter],
    read: Read,
    ticks: pa.Array,
    types: pa.Array,
    orders: Sequence[pa.Array] = (),
) -> pa.Table:
    """Return the travelling events of a pass; events without a time, type or key are dropped.

    `class_filters` has one item per unit, `read` returns an attribute of all events, `ticks` and
    `types` are the events' times and types, `orders` the columns that order simultaneous events.
    """
    first = units[0]
    has_key = _with_key(first.required, read, ticks, types)
    if has_key is not None:
        rows = pa.array(has_key)
        read, ticks, types = _filtered(read, rows), ticks.filter(rows), types.filter(rows)
        orders = [order.filter(rows) for order in orders]
    classes = []
    for unit, class_filter in zip(units, class_filters, strict=True):
        if not unit.types:  # then the column of types may have any type
            classes.append(np.full(len(ticks), -1, np.int64))
            continue
        columns = {name: read(name) for name in unit.classes.attributes}
        numbers = type_numbers(as_text(types), unit.types)
        classes.append(class_filter.apply(classify(unit.classes, numbers, unit.types, columns)))
    if not any(unit.keeps_all for unit in units):
        is_used = reduce(np.logical_or, [codes >= 0 for codes in classes])
        if not is_used.all():
            rows = pa.array(is_used)
            read, ticks = _filtered(read, rows), ticks.filter(rows)
            orders = [order.filter(rows) for order in orders]
            classes = [codes[is_used] for codes in classes]
    arrays = {f"g{n}": read(name) for n, name in enumerate(first.group_by)}
    arrays |= {f"k{n}": read(name) for n, name in enumerate(first.equivalence)}
    arrays["time"] = ticks
    arrays |= {f"class{n}": pa.array(codes) for n, codes in enumerate(classes)}
    arrays |= {f"o{n}": plain(order) for n, order in enumerate(orders)}
    arrays |= {
        f"c{n}": _travelling_column(column, read, len(ticks))
        for n, column in enumerate(travelling(units).values())
    }
    return pa.table(arrays)


class ClassFilter:
    """The classes of events that at least one query of a unit uses."""

    def __init__(self, unit: Unit) -> None:
        self._classes = unit.classes
        self._predicate_sets = dict(unit.predicate_sets)
        self._known: dict[int, bool] = {}
        self._table: NDArray[np.int64] | None = None  # of all classes, if there are few

    def apply(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return classes with -1 in place of those that no query uses.

        A query uses an event that satisfies all predicates of a set (`Unit.predicate_sets`).
        """
        size = self._classes.size
        if size <= FEW_CLASSES and self._table is None:
            used_codes = [code if self._is_used(code) else -1 for code in range(size)]
            self._table = np.array([*used_codes, -1], np.int64)
        if self._table is not None:
            return self._table[codes]
        if size <= TABLE_LIMIT:
            present = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=size))
            table = np.full(size + 1, -1, dtype=np.int64)
            for code in present.tolist():
                if self._is_used(code):
                    table[code] = code
            return table[codes]
        present, places = np.unique(codes, return_inverse=True)
        used_codes = [
            code if code >= 0 and self._is_used(code) else -1 for code in present.tolist()
        ]
        return np.array(used_codes, dtype=np.int64)[places]

    def _is_used(self, code: int) -> bool:
        if code not in self._known:
            name, true = self._classes.decode(code)
            sets = self._predicate_sets.get(name, (frozenset(),))
            self._known[code] = any(needs <= true for needs in sets)
        return self._known[code]


def refuse_unusable(time: pa.Array, ticks: pa.Array, types: pa.Array) -> None:
    """Raise InputError for the first event without a time or a type, if there is one."""
    if ticks.null_count or types.null_count:
        reasons = unusable_reasons(time, ticks, types).drop_null()
        raise InputError(REFUSAL.format(reasons[0]))


def as_text(types: pa.Array) -> pa.Array:
    """Convert types of events to text if they are integers; return others unchanged."""
    return types.cast(pa.string()) if pa.types.is_integer(types.type) else types


def _with_key(
    required: Sequence[str], read: Read, ticks: pa.Array, types: pa.Array
) -> NDArray[np.bool_] | None:
    """Return which events have a time, a type and all required attributes; None if all have."""
    missing = [column.is_null() for column in (ticks, types) if column.null_count]
    missing += [read(name).is_null(nan_is_null=True) for name in required]
    missing = [mask for mask in missing if mask.true_count]
    if not missing:
        return None
    has_key: NDArray[np.bool_] = ~reduce(pc.or_, missing).to_numpy(zero_copy_only=False)
    return has_key


def _filtered(read: Read, rows: pa.Array) -> Read:
    """Return a reader of attributes that is limited to these rows."""
    return cache(lambda name: read(name).filter(rows))


def _travelling_column(column: Carried, read: Read, rows: int) -> pa.Array:
    """Return a travelling column; doubles are computed here, ranks only after the shuffle."""
    if isinstance(column.source, str):
        source = read(column.source)
    else:
        source = evaluate(column.source, {name: read(name) for name in column.attributes})
        if isinstance(source, pa.Scalar):
            source = pa.repeat(source, rows)
    if column.travel is Travel.DOUBLE:
        return doubles(source)
    return plain(source)
