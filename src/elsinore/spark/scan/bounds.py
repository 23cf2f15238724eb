"""Bounds of columns from the statistics of Parquet row groups, for predicate pushdown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.runtime.schema import plain_type
from elsinore.spark.scan.conditions import Bounds, plain
from elsinore.spark.scan.files import FileColumn, folder_value, in_file

NOTHING = Bounds()
_WHOLE = {"INT64": pa.int64(), "INT32": pa.int32()}


@dataclass(slots=True)
class Statistics:
    """The statistics of one file: a call with a row group and a column returns its bounds.

    `columns` are those of the events, by the files' names; bounds are in their types. A column that
    the file lacks is null; a column of the folders' names is constant.
    """

    uri: str
    metadata: pq.FileMetaData
    schema: pa.Schema
    columns: Mapping[str, FileColumn]
    _places: dict[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {}
        for number in range(self.metadata.num_columns):
            self._places.setdefault(self.metadata.schema.column(number).path, []).append(number)

    def __call__(self, group: int, name: str) -> Bounds:
        """Return the bounds of a column in a row group, by its number."""
        column = self.columns[name]
        if column.folder:
            return of_folder(self.uri, column)
        in_this = in_file(name, self.schema, self.uri)
        if in_this is None:
            return Bounds(nans=False, values=False)
        places = self._places.get(in_this, [])
        if len(places) != 1:
            return NOTHING
        row_group = self.metadata.row_group(group)
        column_statistics = row_group.column(places[0]).statistics
        return bounds_of(
            column_statistics, row_group.num_rows, self.schema.field(in_this).type, column.type
        )


def of_folder(uri: str, column: FileColumn) -> Bounds:
    """Return the bounds of a column that is in the names of a file's folders."""
    value = folder_value(uri, column)
    if not value.is_valid:
        return Bounds(nans=False, values=False)
    folder_bound = plain(value)
    if isinstance(folder_bound, float) and math.isnan(folder_bound):
        return Bounds(nulls=False, values=False)
    return Bounds(folder_bound, folder_bound, nulls=False, nans=False)


def bounds_of(statistics: Any, rows: int, kind: pa.DataType, target: pa.DataType) -> Bounds:
    """Return the bounds in a column's statistics, converted from the file's type to `target`.

    Truncated bounds of texts still enclose the values. Statistics ignore NaN, so a column of floats
    may always contain NaN.
    """
    floating = pa.types.is_floating(target)
    if statistics is None:
        return Bounds(nans=floating)
    nulls = not statistics.has_null_count or statistics.null_count > 0
    values = not (statistics.has_null_count and statistics.null_count >= rows)
    nans = floating and values
    if not values or not statistics.has_min_max:
        return Bounds(nulls=nulls, nans=nans, values=values)
    kind = plain_type(kind)
    try:
        least, greatest = _bounds(statistics, kind, target)
    except (pa.ArrowException, OverflowError):
        least = greatest = None
    # ignore NaN as a bound, which some writers record, and bounds in the wrong order
    is_known = least is not None and greatest is not None and least <= greatest
    if not is_known:
        least = greatest = None
    return Bounds(least, greatest, nulls=nulls, nans=nans, values=values)


def _bounds(statistics: Any, kind: pa.DataType, target: pa.DataType) -> tuple[Any, Any]:
    """Return the least and greatest value in statistics, in the representation of `Bounds`."""
    raw = [statistics.min_raw, statistics.max_raw]
    types = pa.types
    if types.is_decimal(kind):
        whole = [int.from_bytes(n, "big", signed=True) if isinstance(n, bytes) else n for n in raw]
        return Decimal(whole[0]).scaleb(-kind.scale), Decimal(whole[1]).scaleb(-kind.scale)
    if isinstance(raw[0], bytes):
        return (raw[0], raw[1]) if statistics.physical_type == "BYTE_ARRAY" else (None, None)
    if types.is_boolean(kind):
        return raw[0], raw[1]
    stored = pa.array(raw, _WHOLE.get(statistics.physical_type, kind))
    if types.is_unsigned_integer(kind):
        unsigned = pa.uint64() if statistics.physical_type == "INT64" else pa.uint32()
        stored = stored.view(unsigned)
    bounds = stored.cast(kind).cast(target)
    return plain(bounds[0]), plain(bounds[1])
