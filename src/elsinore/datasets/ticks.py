"""Marks of time in a stream, for queries that report by the clock."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.datasets.columns import check_size


def with_ticks(events: pa.Table, seconds: int, name: str = "tick") -> pa.Table:
    """Return events with one more, of type `name`, at the end of each so many seconds of the clock.

    Columns are `time` (timestamp[us]), `type`, and any others, which ticks have no values of. There
    is a tick for each stretch from the first event's to the last's, also where nothing happened; it
    comes before an event of its own time, which is in the next stretch. Raises InputError for less
    than a second.

    >>> times = pa.array([0, 2_500_000, 3_000_000], pa.timestamp("us"))
    >>> table = with_ticks(pa.table({"time": times, "type": ["a", "b", "c"]}), 1)
    >>> table["type"].to_pylist()
    ['a', 'tick', 'tick', 'b', 'tick', 'c', 'tick']
    """
    check_size("seconds", seconds, least=1)
    if events.num_rows == 0:
        return events
    length = seconds * 1_000_000
    bounds = pc.min_max(events["time"].cast(pa.int64()))
    first, last = (bounds[end].as_py() // length + 1 for end in ("min", "max"))
    times = pa.array(range(first * length, last * length + 1, length), pa.int64())
    types = events["type"]
    if pa.types.is_dictionary(types.type):
        types = types.cast(types.type.value_type)
    ticks = pa.table(
        {"time": times.cast(events["time"].type), "type": pa.repeat(pa.scalar(name), len(times))}
    )
    # ticks stand first: the sort is stable, so they come before events of their time
    both = pa.concat_tables(
        [ticks, events.set_column(events.column_names.index("type"), "type", types)],
        promote_options="default",
    )
    order = pc.sort_indices(both.column("time"))
    return both.take(order).select(events.column_names).combine_chunks()
