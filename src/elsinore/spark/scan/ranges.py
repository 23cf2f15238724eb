"""Time ranges of row groups from files' statistics, and pieces of files with disjoint ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.runtime.options import RunOptions
from elsinore.runtime.times import to_ticks
from elsinore.spark.scan.files import FileColumn, RowGroup, batches_of_groups

PIECE_ROWS = 1 << 20  # row groups are combined together up to so many events
MOST_ROWS = 1 << 21  # a piece with more is cut in time, as it must fit in memory


def ranges_of(
    metadata: pq.FileMetaData, field: pa.Field, target: FileColumn, options: RunOptions
) -> list[tuple[int, int] | None]:
    """Return the first and the last time of each row group, in ticks; None if unknown.

    `field` is the column of times in the file.
    """
    paths = [metadata.schema.column(n).path for n in range(metadata.num_columns)]
    places = [n for n, path in enumerate(paths) if path == field.name]
    if len(places) != 1:
        return [None] * metadata.num_row_groups
    groups = range(metadata.num_row_groups)
    return [_range(metadata.row_group(n).column(places[0]), field, target, options) for n in groups]


def _range(
    column: Any, field: pa.Field, target: FileColumn, options: RunOptions
) -> tuple[int, int] | None:
    """Return the first and last time in a column's statistics, in ticks; None if unknown."""
    statistics = column.statistics
    if (
        statistics is None
        or not statistics.has_min_max
        or statistics.physical_type not in _WHOLE_OR_FLOATING
    ):
        return None
    kind = field.type
    plain = {"INT64": pa.int64(), "INT32": pa.int32()}.get(statistics.physical_type)
    if plain is not None and pa.types.is_unsigned_integer(kind):
        return None
    try:
        bounds = pa.array([statistics.min_raw, statistics.max_raw], plain or kind).cast(kind)
        ticks, _ = to_ticks(
            bounds.cast(target.type),
            options.time_unit,
            options.clock.per_microsecond,
            options.largest_time,
        )
    except (pa.ArrowException, OverflowError):
        return None
    first, last = ticks.to_pylist()
    return None if first is None or last is None or first > last else (first, last)


_WHOLE_OR_FLOATING = {"INT64", "INT32", "DOUBLE", "FLOAT"}


def pieces_of(part: Sequence[RowGroup]) -> list[list[RowGroup]]:
    """Return lists of consecutive row groups with up to `PIECE_ROWS` events."""
    return batches_of_groups(part, PIECE_ROWS)


def span_of(piece: Sequence[RowGroup]) -> tuple[int, int]:
    """Return the first and the last time of row groups with known spans."""
    spans = [group.span for group in piece if group.span is not None]
    return min(first for first, _ in spans), max(last for _, last in spans)
