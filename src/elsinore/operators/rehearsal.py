"""Running a unit over a few made-up events, for its kernels to be compiled or found compiled."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.operators.operator import OperatorOptions
from elsinore.operators.registry import kind_for
from elsinore.plan import Travel, Unit

EVENTS = 8  # of a key: few, as what is made up may all match
_SECOND = 10**6  # microseconds
_BITS = 4  # what is there at the first closing is made by it, and used by those that follow


def rehearse(unit: Unit, options: OperatorOptions, types: Mapping[str, pa.DataType]) -> None:
    """Run a unit's operator over made-up events of two keys, and finish its queries' results.

    types: what the attributes that the unit carries, and those it groups by, are in the input.
    """
    kind = kind_for(unit)
    batch = events_for(unit, types, EVENTS)
    operator = kind.operator(unit, options)
    partials = [*operator.process(batch), *operator.close()]
    groups = [to_arrow([None, None], types[name]) for name in unit.group_by]
    carried = {name: types[name] for name in unit.carried}
    for query, schema in enumerate(kind.partials(unit, carried)):
        mine = [
            batch.filter(pa.compute.equal(batch.column("query"), query))
            for batch in partials
            if batch.schema.equals(schema)
        ]
        # what several keys of a group, or several partitions, give out is added up
        pieces = 2 * mine if kind.adds_up(unit) else mine
        table = pa.Table.from_batches(pieces, schema).combine_chunks()
        kind.finish(unit, query, table, groups, carried)


def rehearse_closing(unit: Unit, options: OperatorOptions) -> None:
    """Give a unit's made-up events of one key bit by bit, and close windows after each bit."""
    kind = kind_for(unit)
    types = dict.fromkeys((*unit.carried, *unit.group_by), pa.float64())
    events = events_for(unit, types, EVENTS)
    place = events.schema.get_field_index("time")
    times = pa.compute.multiply(events.column("time"), _SECOND)
    events = events.set_column(place, "time", times)
    rows = events.num_rows // 2 // _BITS
    operator = kind.operator(unit, options)
    for first in range(0, _BITS * rows, rows or 1):
        bit = events.slice(first, rows)
        operator.process(bit, bit.column("time")[-1].as_py())
    operator.close()


def events_for(unit: Unit, types: Mapping[str, pa.DataType], count: int) -> pa.RecordBatch:
    """Return so many events for each of two keys, of classes in turn.

    Classes come in an order and in its reverse, so that what one awaits may come after it. Of more
    classes than events some are left out.
    """
    size = unit.classes.size
    classes = np.unique(np.linspace(0, max(size - 1, 0), min(size, count)).astype(np.int64))
    of_key = np.resize(np.concatenate([classes, classes[::-1]]), count if size else 0)
    rows = 2 * len(of_key)
    key = np.repeat(np.arange(2, dtype=np.int32), len(of_key))
    columns: dict[str, pa.Array] = {
        "key": to_arrow(key),
        "group": to_arrow(key),
        "time": to_arrow(np.tile(np.arange(len(of_key), dtype=np.int64), 2)),
        "class": to_arrow(np.tile(of_key, 2)),
    }
    numbers = to_arrow(np.arange(rows) % 5)
    for column in unit.columns:
        if column.travel is Travel.RANK:
            columns[column.name] = numbers
        elif column.travel is Travel.DOUBLE or not isinstance(column.source, str):
            columns[column.name] = numbers.cast(pa.float64())
        else:
            columns[column.name] = _values(numbers, types[column.source])
    return pa.RecordBatch.from_pydict(columns)


def _values(numbers: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return numbers as values of a type; nulls where it has nothing of the kind."""
    try:
        return numbers.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(numbers), kind)
