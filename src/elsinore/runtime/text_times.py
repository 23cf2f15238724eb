"""Converting timestamps that Arrow parsed from text to microseconds, the default unit of events."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar


def usual_times(table: pa.Table) -> pa.Table:
    """Convert columns of timestamps to microseconds unless a value needs nanoseconds."""
    for index, field in enumerate(table.schema):
        kind = field.type
        if not pa.types.is_timestamp(kind) or kind.unit == "us":
            continue
        column = table.column(index)
        if kind.unit == "ns":
            counts = column.cast(pa.int64())
            if pc.any(
                pc.not_equal(
                    pc.multiply(pc.divide(counts, to_scalar(1000)), to_scalar(1000)), counts
                )
            ).as_py():
                continue
        table = table.set_column(index, field.name, column.cast(pa.timestamp("us", kind.tz)))
    return table
