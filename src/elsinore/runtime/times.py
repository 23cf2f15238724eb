"""Conversion of time columns (timestamps, dates, numbers, text) to integer ticks, and back.

Internally a time is a count of ticks since the epoch: microseconds, or nanoseconds if the input or
a window is finer (`elsinore.model.clock`). The kind of the input's times is stored as a `TimeKind`,
so that results have times of the same kind: timestamps for timestamps, numbers for numbers. Text is
read as ISO 8601 and becomes timestamps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.errors import InputError
from elsinore.expressions.columns import nearest_doubles
from elsinore.model.clock import LARGEST, NANOSECONDS
from elsinore.model.window import Window
from elsinore.runtime.iso8601 import has_nanoseconds, parse_iso8601
from elsinore.runtime.numbers_in_text import numbers_in_text
from elsinore.runtime.ranges import by_ranges

TimeForm = Literal["timestamp", "date", "integer", "float", "text"]
TimeUnit = Literal["s", "ms", "us", "ns"]

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
MICROSECONDS_PER_DAY = 86_400_000_000
# Doubles at or beyond 2^63 do not fit in 64 bits; this is the first that does not.
FIRST_FLOAT_TOO_LARGE = 2.0**63
SLICE_ROWS = 2**15  # times that are converted at once: intermediate results stay in the cache

ACCEPTED = (
    "a timestamp, a date, an integer, a float or a decimal (seconds, or the unit that --time-unit "
    "or time_unit says), or text in ISO 8601 or of numbers"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeKind:
    """The kind of a time column before its conversion to ticks, `per_microsecond` of them each.

    `unit` is that of the timestamps or numbers (s, ms, us, ns; for text and dates us, or ns where
    ticks are nanoseconds), `zone` the time zone of timestamps, None if they have none.

    >>> TimeKind(form="timestamp", unit="ms", zone="Europe/Berlin").arrow_type
    TimestampType(timestamp[ms, tz=Europe/Berlin])
    """

    form: TimeForm
    unit: str = "us"
    zone: str | None = None
    per_microsecond: int = 1

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of results whose values it can represent exactly."""
        if self.form == "integer":
            return pa.int64()
        if self.form == "float":
            return pa.float64()
        if self.form == "date":
            return pa.date32()
        return pa.timestamp(self.unit, self.zone)

    @property
    def ticks(self) -> int:
        """The number of ticks of a unit."""
        if self.form == "date":
            return MICROSECONDS_PER_DAY * self.per_microsecond
        return max(1, NANOSECONDS[self.unit] * self.per_microsecond // 1_000)

    @property
    def is_number(self) -> bool:
        """Whether times are numbers, whose unit is an option."""
        return self.form in {"integer", "float"}


def kind_of_bounds(kind: TimeKind, window: Window | None) -> TimeKind:
    """Return the kind nearest to `kind` that represents all bounds of a query's windows exactly.

    Dates become timestamps where windows do not begin and end at midnight, whole numbers floats
    where bounds fall between them, and timestamps too coarse for the bounds get finer units.

    >>> hour = Window(3_600_000_000)
    >>> kind_of_bounds(TimeKind(form="date"), hour).form
    'timestamp'
    """
    if window is None:
        return kind
    parts = (window.within, window.step, window.origin)
    if kind.form == "float" or not any(part % kind.ticks for part in parts):
        return kind
    if kind.form == "integer":
        return replace(kind, form="float")
    fine = any(part % kind.per_microsecond for part in parts)
    zone = None if kind.form == "date" else kind.zone
    return replace(kind, form="timestamp", unit="ns" if fine else "us", zone=zone)


def check_unit(unit: str) -> None:
    """Raise InputError for an unknown unit of numeric times."""
    if unit not in NANOSECONDS:
        raise InputError(f"Unknown time unit {unit!r}. Units of numeric times: s, ms, us, ns.")


def kind_of_column(
    column: pa.ChunkedArray | pa.Array, unit: TimeUnit = "s"
) -> tuple[TimeKind, bool]:
    """Return the kind of a column's times, and whether it has nanoseconds.

    Only text is examined row by row: it is ISO 8601, or numbers if most texts are. Raise InputError
    for a column that cannot be a time.

    >>> kind_of_column(pa.array(["1970-01-01T00:00:00.000000001"]))[1]
    True
    """
    check_unit(unit)
    column = numbers_for_text(column)
    kind = _kind(column.type, unit)
    if kind.form != "text":
        return kind, kind.unit == "ns"
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return kind, any(has_nanoseconds(_plain_text(chunk)) for chunk in chunks)


def to_ticks(
    column: pa.ChunkedArray | pa.Array,
    unit: TimeUnit = "s",
    per_microsecond: int = 1,
    largest: int = LARGEST,
    threads: int = 1,
) -> tuple[pa.Int64Array, TimeKind]:
    """Return `column` as ticks since the epoch, and the kind it was.

    `unit` is the unit of numeric times and ignored for others. Numbers, timestamps and dates are
    converted by several `threads`. Floats, and decimals as the nearest floats, are rounded to the
    nearest tick. Unusable values become null: text that is not ISO 8601 (or not a number, if most
    texts of the column are numbers), NaN, and times further from the epoch than `largest` ticks.
    Text without a zone is a local time, but UTC if other rows of the column name a zone.

    Raise InputError for any other kind of column.

    >>> to_ticks(pa.array([1.5, None]))[0].to_pylist()
    [1500000, None]
    >>> to_ticks(pa.array(["1970-01-01T00:00:01Z", "soon"]), per_microsecond=1_000)[0].to_pylist()
    [1000000000, None]
    >>> to_ticks(pa.array(["1", "soon", "2"]))[0].to_pylist()
    [1000000, None, 2000000]
    """
    ticks, kind = as_ticks(column, unit, per_microsecond, threads)
    return within(ticks, largest, threads), kind


def as_ticks(
    column: pa.ChunkedArray | pa.Array,
    unit: TimeUnit = "s",
    per_microsecond: int = 1,
    threads: int = 1,
) -> tuple[pa.Int64Array, TimeKind]:
    """Return the result of `to_ticks` without a limit of the distance from the epoch.

    >>> as_ticks(pa.array([2**62]), "us")[0].to_pylist() == [2**62]
    True
    """
    check_unit(unit)
    column = numbers_for_text(column)
    kind = replace(_kind(column.type, unit), per_microsecond=per_microsecond)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if kind.form == "text":
        parsed = [parse_iso8601(_plain_text(chunk), per_microsecond) for chunk in chunks]
        has_zone = any(zone for _, zone in parsed)
        fine = "ns" if per_microsecond > 1 else "us"
        kind = replace(kind, unit=fine, zone="UTC" if has_zone else None)
        ticks = _concat([values for values, _ in parsed])
    else:
        ticks = _concat([_by_slices(chunk, kind, threads) for chunk in chunks])
    return ticks, kind


def within(
    ticks: pa.Int64Array, largest: int, threads: int = 1, *, ascending: bool = False
) -> pa.Int64Array:
    """Return ticks, with null for those further from the epoch than `largest`.

    `ascending`: they are sorted and not null, so the first and the last are the furthest.
    If all are within the limit, the ticks are returned unchanged.

    >>> within(pa.array([-3, 1, 2]), 2, ascending=True).to_pylist()
    [None, 1, 2]
    """

    def furthest(begin: int, end: int) -> int:
        extremes = pc.min_max(ticks.slice(begin, end - begin)).as_py()
        return 0 if extremes["max"] is None else max(extremes["max"], -extremes["min"])

    if ascending and len(ticks):
        far = max(ticks[-1].as_py(), -ticks[0].as_py())
    else:
        far = max(by_ranges(furthest, len(ticks), threads))
    if far > largest:
        near = pc.and_(
            pc.less_equal(ticks, to_scalar(largest)), pc.greater_equal(ticks, to_scalar(-largest))
        )
        ticks = pc.if_else(near, ticks, to_scalar(None, pa.int64()))
    return ticks


def schema_with_numbers(table: pa.Table, time: str) -> pa.Schema:
    """Return the schema that queries use: times that are numbers in text have numeric types.

    >>> schema_with_numbers(pa.table({"time": ["1", "soon"]}), "time").field("time").type
    DataType(int64)
    """
    if time not in table.column_names:
        return table.schema
    column = table.column(time)
    numbers = numbers_for_text(column)
    if numbers is column:
        return table.schema
    return table.schema.set(table.column_names.index(time), pa.field(time, numbers.type))


def from_ticks(values: pa.Array | pa.ChunkedArray, kind: TimeKind) -> pa.Array:
    """Return ticks since the epoch as the kind of time the input had.

    The kind is preserved if it represents every value exactly. Otherwise timestamps get the
    coarsest exact unit, dates become timestamps, integers floats. Text becomes timestamps, which
    keep their zone. Nulls remain null.

    >>> seconds = TimeKind(form="integer", unit="s")
    >>> from_ticks(pa.array([2_000_000, None]), seconds).to_pylist()
    [2, None]
    >>> from_ticks(pa.array([2_500_000, None]), seconds).to_pylist()
    [2.5, None]
    """
    if isinstance(values, pa.ChunkedArray):
        values = _concat(values.chunks)
    if not pa.types.is_int64(values.type):
        values = values.cast(pa.int64())
    finest = "us" if kind.per_microsecond == 1 else "ns"
    if kind.form == "timestamp" and kind.unit == finest:
        return values.cast(pa.timestamp(finest, kind.zone))
    ticks, nulls = _numpy(values)
    whole = not np.any(ticks % kind.ticks)
    if kind.form in {"integer", "float"}:
        if kind.form == "integer" and whole:
            return to_arrow(ticks // kind.ticks, pa.int64(), mask=nulls)
        return to_arrow(ticks / kind.ticks, pa.float64(), mask=nulls)
    if kind.form == "date" and whole:
        days = (ticks // kind.ticks).astype(np.int32)
        return to_arrow(days, pa.int32(), mask=nulls).cast(pa.date32())
    unit = "us" if kind.form == "date" else kind.unit
    exact = _exact_unit(ticks, unit, kind.per_microsecond)
    zone = None if kind.form == "date" else kind.zone
    return values.cast(pa.timestamp(finest, zone)).cast(pa.timestamp(exact, zone))


def _kind(data_type: pa.DataType, unit: TimeUnit) -> TimeKind:
    """Return the kind of times of a column of `data_type`; zones in text are read later."""
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    if pa.types.is_timestamp(data_type):
        return TimeKind(form="timestamp", unit=data_type.unit, zone=data_type.tz)
    if pa.types.is_null(data_type):
        return TimeKind(form="timestamp")
    if pa.types.is_date(data_type):
        return TimeKind(form="date")
    if pa.types.is_integer(data_type):
        return TimeKind(form="integer", unit=unit)
    if pa.types.is_floating(data_type) or pa.types.is_decimal(data_type):
        return TimeKind(form="float", unit=unit)
    if _is_text(data_type):
        return TimeKind(form="text")
    raise InputError(f"A column of type {data_type} cannot be a time. A time is {ACCEPTED}.")


def numbers_for_text(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray | pa.Array:
    """Convert a text column of mostly numbers to numbers; return other columns unchanged."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not _is_text(kind):
        return column
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    texts = pa.chunked_array([_plain_text(chunk) for chunk in chunks], pa.string())
    numbers = numbers_in_text(texts)
    return column if numbers is None else numbers


def reads_as_time(column: pa.ChunkedArray | pa.Array) -> pa.ChunkedArray:
    """Return which texts of a column are times (or numbers if most are), without a limit.

    >>> reads_as_time(pa.array(["9999-12-31", "soon"])).to_pylist()
    [True, False]
    """
    numbers = numbers_for_text(column)
    if numbers is not column:
        return pc.is_valid(numbers)
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    is_time = [parse_iso8601(_plain_text(chunk))[0].is_valid() for chunk in chunks]
    return pa.chunked_array(is_time, pa.bool_())


def _is_text(data_type: pa.DataType) -> bool:
    return any(
        test(data_type)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _plain_text(chunk: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    return chunk.cast(pa.string())


def _by_slices(chunk: pa.Array, kind: TimeKind, threads: int) -> pa.Array:
    """Convert a chunk to ticks slice by slice, which keeps intermediate results in the cache.

    Each step of a conversion allocates a new column; for long ones that takes most of the time.
    """
    in_numbers = pa.types.is_timestamp(chunk.type) or pa.types.is_int64(chunk.type)
    if len(chunk) <= SLICE_ROWS or (in_numbers and kind.ticks == 1):
        return _chunk_to_ticks(chunk, kind)
    ticks = np.empty(len(chunk), dtype=np.int64)

    def convert(begin: int, end: int) -> list[tuple[int, pa.Array]]:
        with_nulls = []
        for first in range(begin, end, SLICE_ROWS):
            part = _chunk_to_ticks(chunk.slice(first, min(SLICE_ROWS, end - first)), kind)
            if part.null_count:
                with_nulls.append((first, part.is_null()))
            ticks[first : first + len(part)] = to_numpy(part, 0)
        return with_nulls

    with_nulls = [nulls for some in by_ranges(convert, len(chunk), threads) for nulls in some]
    if not with_nulls:
        return to_arrow(ticks)
    mask = np.zeros(len(chunk), dtype=np.bool_)
    for first, nulls in with_nulls:
        mask[first : first + len(nulls)] = to_numpy(nulls)
    return to_arrow(ticks, mask=mask)


def _chunk_to_ticks(chunk: pa.Array, kind: TimeKind) -> pa.Array:
    """Convert one chunk of a column to ticks, null for unusable values."""
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if pa.types.is_null(chunk.type):
        return pa.nulls(len(chunk), pa.int64())
    if kind.form == "float":
        return _floats_to_ticks(chunk, kind.ticks)
    if pa.types.is_uint64(chunk.type):
        fits = pc.less_equal(chunk, to_scalar(LARGEST, pa.uint64()))
        chunk = pc.if_else(fits, chunk, to_scalar(None, pa.uint64()))
    if pa.types.is_date32(chunk.type):
        return _scaled(chunk.cast(pa.int32()), kind.ticks)
    if pa.types.is_date64(chunk.type):
        return _scaled(chunk.cast(pa.int64()), MICROSECONDS["ms"] * kind.per_microsecond)
    if kind.unit == "ns" and kind.per_microsecond == 1:
        nanos, nulls = _numpy(chunk.cast(pa.int64()))
        return to_arrow(nanos // 1_000, pa.int64(), mask=nulls)
    return _scaled(chunk.cast(pa.int64()), kind.ticks)


def _scaled(chunk: pa.Array, factor: int) -> pa.Array:
    """Return `chunk * factor`, null where the product leaves 64 bits."""
    if factor == 1:
        return chunk.cast(pa.int64())
    counts, nulls = _numpy(chunk.cast(pa.int64()))
    bound = LARGEST // factor
    if not chunk.null_count and len(counts) and -bound <= counts.min() and counts.max() <= bound:
        return to_arrow(counts * factor)
    unusable = nulls | (counts > bound) | (counts < -bound)
    return to_arrow(np.where(unusable, 0, counts) * factor, pa.int64(), mask=unusable)


def _floats_to_ticks(chunk: pa.Array, per_unit: int) -> pa.Array:
    """Return floats times `per_unit`, rounded; integer parts are multiplied as integers.

    Only the fraction is rounded, so a time with six decimals is converted exactly as long as a
    double distinguishes them (in seconds, until the year 2112).
    """
    decimals = pa.types.is_decimal(chunk.type)
    doubles = nearest_doubles(chunk) if decimals else chunk.cast(pa.float64())
    numbers = to_numpy(doubles, 0.0)
    if not doubles.null_count and len(numbers):
        near = FIRST_FLOAT_TOO_LARGE / per_unit / 2
        if -near < numbers.min() and numbers.max() < near:  # false for NaN
            return to_arrow(_rounded(numbers, per_unit))
    nulls = to_numpy(doubles.is_null())
    usable = ~nulls & np.isfinite(numbers) & (np.abs(numbers) < FIRST_FLOAT_TOO_LARGE / per_unit)
    ticks = _rounded(np.where(usable, numbers, 0.0), per_unit)
    # Just below 2^63, rounding the fraction up can overflow.
    usable &= (ticks >= 0) | (numbers < 0.0)
    return to_arrow(np.where(usable, ticks, 0), pa.int64(), mask=~usable)


def _rounded(numbers: npt.NDArray[np.float64], per_unit: int) -> npt.NDArray[np.int64]:
    """Return numbers times `per_unit`, rounded; below 0 if it exceeds 64 bits."""
    whole = np.floor(numbers)
    part = np.rint((numbers - whole) * per_unit).astype(np.int64)
    ticks: npt.NDArray[np.int64] = whole.astype(np.int64) * per_unit + part
    return ticks


def _exact_unit(ticks: npt.NDArray[np.int64], unit: str, per_microsecond: int) -> str:
    """Return `unit`, or the coarsest finer unit that represents all `ticks` exactly."""
    if unit == "ns" and per_microsecond == 1:
        bound = LARGEST // 1_000
        fits = not np.any((ticks > bound) | (ticks < -bound))
        return "ns" if fits else "us"
    units = ("s", "ms", "us", "ns")
    finer = units[units.index(unit) :] if per_microsecond > 1 else units[units.index(unit) : 3]
    sizes = {name: NANOSECONDS[name] * per_microsecond // 1_000 for name in finer}
    return next(name for name in finer if not np.any(ticks % sizes[name]))


def _numpy(values: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the values, zero where null, and the mask of nulls."""
    if values.null_count == 0:
        return to_numpy(values), np.zeros(len(values), dtype=np.bool_)
    return to_numpy(values, 0), to_numpy(values.is_null())


def _concat(chunks: list[Any]) -> pa.Int64Array:
    if len(chunks) == 1:
        return cast("pa.Int64Array", chunks[0])
    return cast("pa.Int64Array", pa.concat_arrays(chunks) if chunks else to_arrow([], pa.int64()))
