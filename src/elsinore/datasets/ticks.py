"""Adding events at regular times to a stream, for queries that report periodically."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.datasets.columns import check_size
from elsinore.errors import InputError


def with_ticks(events: pa.Table, seconds: int, name: str = "tick") -> pa.Table:
    """Return events with a tick, an event of type `name`, at the end of each period of `seconds`.

    Columns are `time` (timestamps, or whole numbers of seconds), `type`, and any others, which are
    null for ticks. There is a tick for each period from the first event's to the last's, also
    without events; it precedes events of the same time, which are in the next period. Raises
    InputError for less than a second, and for events without these columns.

    >>> times = pa.array([0, 2_500_000, 3_000_000], pa.timestamp("us"))
    >>> table = with_ticks(pa.table({"time": times, "type": ["a", "b", "c"]}), 1)
    >>> table["type"].to_pylist()
    ['a', 'tick', 'tick', 'b', 'tick', 'c', 'tick']
    """
    check_size("seconds", seconds, least=1)
    length = seconds * _per_second(events)
    bounds = pc.min_max(events["time"].cast(pa.int64()))
    if not bounds["min"].is_valid:
        return events
    first, last = (bounds[end].as_py() // length + 1 for end in ("min", "max"))
    times = pa.array(range(first * length, last * length + 1, length), pa.int64())
    types = events["type"]
    if pa.types.is_dictionary(types.type):
        types = types.cast(types.type.value_type)
    ticks = pa.table(
        {"time": times.cast(events["time"].type), "type": pa.repeat(pa.scalar(name), len(times))}
    )
    # the sort is stable: ticks, which are first, stay before events of their time
    with_all = pa.concat_tables(
        [ticks, events.set_column(events.column_names.index("type"), "type", types)],
        promote_options="default",
    )
    order = pc.sort_indices(with_all.column("time"))
    return with_all.take(order).select(events.column_names).combine_chunks()


def _per_second(events: pa.Table) -> int:
    """Return how many units of the column `time` are a second."""
    for name in ("time", "type"):
        if name not in events.column_names:
            raise InputError(
                f"with_ticks reads the columns 'time' and 'type', and there is no column '{name}'. "
                f"Columns: {', '.join(events.column_names)}. Rename one with rename_columns()."
            )
    kind = events.schema.field("time").type
    if pa.types.is_timestamp(kind):
        return {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    if pa.types.is_integer(kind):
        return 1
    raise InputError(
        f"with_ticks takes timestamps or whole numbers of seconds; the column 'time' is {kind}."
    )
