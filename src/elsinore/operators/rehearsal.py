"""Running a unit over a few synthetic events, so that its kernels are compiled or loaded."""

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
_BITS = 4  # the first closing creates state that later ones use


def rehearse(unit: Unit, options: OperatorOptions, types: Mapping[str, pa.DataType]) -> None:
    """Run a unit's operator over synthetic events of two keys, and finish its queries' results.

    types: what the attributes that the unit carries, and those it groups by, are in the input.
    """
    kind = kind_for(unit)
    batch = events_for(unit, types, EVENTS)
    operator = kind.operator(unit, options)
    partials = [*operator.process(batch), *operator.close()]
    groups = [to_arrow([None, None], types[name]) for name in unit.group_by]
    carried = {name: types[name] for name in unit.carried}
    for query, schema in enumerate(kind.partials(unit, carried)):
        query_partials = [
            batch.filter(pa.compute.equal(batch.column("query"), query))
            for batch in partials
            if batch.schema.equals(schema)
        ]
        # outputs of several keys of a group, or of several partitions, are added up
        pieces = 2 * query_partials if kind.adds_up(unit) else query_partials
        table = pa.Table.from_batches(pieces, schema).combine_chunks()
        kind.finish(unit, query, table, groups, carried)


def rehearse_closing(unit: Unit, options: OperatorOptions) -> None:
    """Process a unit's synthetic events of one key in parts, and close windows after each."""
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
    """Return `count` events for each of two keys, with alternating classes.

    Classes come in an order and in its reverse, so that what one awaits may come after it. Of more
    classes than events some are left out.
    """
    size = unit.classes.size
    classes = np.unique(np.linspace(0, max(size - 1, 0), min(size, count)).astype(np.int64))
    key_classes = np.resize(np.concatenate([classes, classes[::-1]]), count if size else 0)
    rows = 2 * len(key_classes)
    key = np.repeat(np.arange(2, dtype=np.int32), len(key_classes))
    columns: dict[str, pa.Array] = {
        "key": to_arrow(key),
        "group": to_arrow(key),
        "time": to_arrow(np.tile(np.arange(len(key_classes), dtype=np.int64), 2)),
        "class": to_arrow(np.tile(key_classes, 2)),
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
    """Return numbers as values of a type; nulls if that is impossible."""
    try:
        return numbers.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(numbers), kind)
