"""Time columns of any usual kind to integer microseconds, and back to the kind they came in.

Inside, a time is a count of microseconds since the epoch. What a column held
is kept as a `TimeKind`, so that results speak of time as the input did: timestamps in, timestamps
out; numbers in, numbers out. Text is read as ISO 8601 and comes out as timestamps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import InputError
from elsinore.model.window import Window
from elsinore.runtime.iso8601 import parse_iso8601

TimeForm = Literal["timestamp", "date", "integer", "float", "text"]
TimeUnit = Literal["s", "ms", "us"]

MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
MICROSECONDS_PER_DAY = 86_400_000_000
NANOSECONDS_PER_MICROSECOND = 1_000
LARGEST = 2**63 - 1
# Doubles at or beyond 2^63 do not fit in 64 bits; this is the first that does not.
FIRST_FLOAT_TOO_LARGE = 2.0**63

ACCEPTED = (
    "a timestamp, a date, an integer or a float (seconds, or milliseconds or microseconds if so "
    "declared), or text in ISO 8601"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeKind:
    """What a time column held before it became microseconds.

    `unit` is that of the timestamps or numbers (s, ms, us, ns; "us" for text and dates), `zone` the
    time zone of timestamps, None where they have none.

    >>> TimeKind(form="timestamp", unit="ms", zone="Europe/Berlin").arrow_type
    TimestampType(timestamp[ms, tz=Europe/Berlin])
    """

    form: TimeForm
    unit: str = "us"
    zone: str | None = None

    @property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type results have where it holds their values without loss."""
        if self.form == "integer":
            return pa.int64()
        if self.form == "float":
            return pa.float64()
        if self.form == "date":
            return pa.date32()
        return pa.timestamp(self.unit, self.zone)


def kind_of_bounds(kind: TimeKind, window: Window | None) -> TimeKind:
    """Return the kind of time that holds every bound of a query's windows, as near to `kind`.

    Dates become timestamps where windows do not begin and end at midnight, whole numbers floats
    where bounds fall between them, and timestamps too coarse for the bounds get microseconds.

    >>> hour = Window(3_600_000_000)
    >>> kind_of_bounds(TimeKind(form="date"), hour).form
    'timestamp'
    """
    if window is None:
        return kind
    parts = (window.within, window.step, window.origin)
    if kind.form == "date" and any(part % MICROSECONDS_PER_DAY for part in parts):
        return TimeKind(form="timestamp")
    if any(part % MICROSECONDS.get(kind.unit, 1) for part in parts):
        if kind.form == "integer":
            return TimeKind(form="float", unit=kind.unit)
        if kind.form == "timestamp":
            return TimeKind(form="timestamp", zone=kind.zone)
    return kind


def to_microseconds(
    column: pa.ChunkedArray | pa.Array, unit: TimeUnit = "s"
) -> tuple[pa.Int64Array, TimeKind]:
    """Return `column` as microseconds since the epoch, and the kind it was.

    `unit` is the unit of numbers and says nothing about other kinds. Floats are rounded to the
    nearest microsecond; nanoseconds, and further digits of text, are cut down to the microsecond at
    or before them. A null in the result where `column` has a value marks an unusable one: text that
    is not ISO 8601, NaN, or a time outside the 64-bit range of microseconds (some 292,000 years
    around 1970). Text without a zone is a local time; in a column where some rows name a zone, the
    others are taken as UTC.

    Raise InputError for any other kind of column.

    >>> to_microseconds(pa.array([1.5, None]))[0].to_pylist()
    [1500000, None]
    >>> to_microseconds(pa.array(["1970-01-01T00:00:01Z", "soon"]))[0].to_pylist()
    [1000000, None]
    """
    if unit not in MICROSECONDS:
        raise InputError(f"Unknown time unit {unit!r}. Units of numeric times: s, ms, us.")
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    kind = _kind(column.type, unit)
    if kind.form == "text":
        parsed = [parse_iso8601(_plain_text(chunk)) for chunk in chunks]
        zoned = any(zone for _, zone in parsed)
        kind = TimeKind(form="text", zone="UTC" if zoned else None)
        return _concat([values for values, _ in parsed]), kind
    return _concat([_chunk_to_microseconds(chunk, kind) for chunk in chunks]), kind


def from_microseconds(values: pa.Array | pa.ChunkedArray, kind: TimeKind) -> pa.Array:
    """Return microseconds since the epoch as the kind of time the input had.

    Timestamps keep their unit and zone, dates stay dates and integers integers where that is exact
    for every value; else timestamps get the coarsest finer unit that is exact, dates become
    timestamps in microseconds, integers floats. Text becomes timestamps. Nulls stay null.

    >>> seconds = TimeKind(form="integer", unit="s")
    >>> from_microseconds(pa.array([2_000_000, None]), seconds).to_pylist()
    [2, None]
    >>> from_microseconds(pa.array([2_500_000, None]), seconds).to_pylist()
    [2.5, None]
    """
    if isinstance(values, pa.ChunkedArray):
        values = _concat(values.chunks)
    if not pa.types.is_int64(values.type):
        values = values.cast(pa.int64())
    if kind.form == "timestamp" and kind.unit == "us":
        return values.cast(pa.timestamp("us", kind.zone))
    micros, nulls = _numpy(values)
    if kind.form in {"integer", "float"}:
        per_unit = MICROSECONDS[kind.unit]
        if kind.form == "integer" and not np.any(micros % per_unit):
            return pa.array(micros // per_unit, pa.int64(), mask=nulls)
        return pa.array(micros / per_unit, pa.float64(), mask=nulls)
    if kind.form == "date":
        if not np.any(micros % MICROSECONDS_PER_DAY):
            days = (micros // MICROSECONDS_PER_DAY).astype(np.int32)
            return pa.array(days, pa.int32(), mask=nulls).cast(pa.date32())
        return values.cast(pa.timestamp("us"))
    unit = _exact_unit(micros, kind.unit)
    return values.cast(pa.timestamp("us", kind.zone)).cast(pa.timestamp(unit, kind.zone))


def _kind(data_type: pa.DataType, unit: TimeUnit) -> TimeKind:
    """Return the kind of times a column of `data_type` holds; zones of text are found later."""
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
    if pa.types.is_floating(data_type):
        return TimeKind(form="float", unit=unit)
    if _is_text(data_type):
        return TimeKind(form="text")
    raise InputError(f"A column of type {data_type} cannot be a time. A time is {ACCEPTED}.")


def _is_text(data_type: pa.DataType) -> bool:
    return any(
        test(data_type)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def _plain_text(chunk: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    return chunk.cast(pa.string())


def _chunk_to_microseconds(chunk: pa.Array, kind: TimeKind) -> pa.Array:
    if pa.types.is_dictionary(chunk.type):
        chunk = chunk.dictionary_decode()
    if pa.types.is_null(chunk.type):
        return pa.nulls(len(chunk), pa.int64())
    if kind.form == "float":
        return _floats_to_microseconds(chunk, MICROSECONDS[kind.unit])
    if pa.types.is_uint64(chunk.type):
        fits = pc.less_equal(chunk, pa.scalar(LARGEST, pa.uint64()))
        chunk = pc.if_else(fits, chunk, pa.scalar(None, pa.uint64()))
    if pa.types.is_date32(chunk.type):
        return _scaled(chunk.cast(pa.int32()), MICROSECONDS_PER_DAY)
    if pa.types.is_date64(chunk.type):
        return _scaled(chunk.cast(pa.int64()), MICROSECONDS["ms"])
    if kind.unit == "ns":
        nanos, nulls = _numpy(chunk.cast(pa.int64()))
        return pa.array(nanos // NANOSECONDS_PER_MICROSECOND, pa.int64(), mask=nulls)
    return _scaled(chunk.cast(pa.int64()), MICROSECONDS[kind.unit])


def _scaled(chunk: pa.Array, factor: int) -> pa.Array:
    """Return `chunk * factor`, null where the product leaves 64 bits."""
    if factor == 1:
        return chunk.cast(pa.int64())
    counts, nulls = _numpy(chunk.cast(pa.int64()))
    bound = LARGEST // factor
    unusable = nulls | (counts > bound) | (counts < -bound)
    return pa.array(np.where(unusable, 0, counts) * factor, pa.int64(), mask=unusable)


def _floats_to_microseconds(chunk: pa.Array, per_unit: int) -> pa.Array:
    """Return floats times `per_unit`, rounded; the whole part is multiplied as an integer.

    So the only rounding is that of the fraction, and a time written with six decimals comes out as
    those six decimals for as long as a double can tell them apart (until the year 2112 in seconds).
    """
    doubles = chunk.cast(pa.float64())
    nulls = np.asarray(doubles.is_null())
    numbers = np.asarray(doubles.fill_null(0.0))
    usable = ~nulls & np.isfinite(numbers) & (np.abs(numbers) < FIRST_FLOAT_TOO_LARGE / per_unit)
    numbers = np.where(usable, numbers, 0.0)
    whole = np.floor(numbers)
    part = np.rint((numbers - whole) * per_unit).astype(np.int64)
    whole_micros = whole.astype(np.int64) * per_unit
    # Just below 2^63 the rounded fraction can carry over the edge.
    usable &= whole_micros <= LARGEST - part
    return pa.array(np.where(usable, whole_micros + part, 0), pa.int64(), mask=~usable)


def _exact_unit(micros: npt.NDArray[np.int64], unit: str) -> str:
    """Return `unit`, or the nearest unit that holds every value of `micros` exactly."""
    if unit == "ns":
        bound = LARGEST // NANOSECONDS_PER_MICROSECOND
        fits = not np.any((micros > bound) | (micros < -bound))
        return "ns" if fits else "us"
    finer = {"s": ("s", "ms", "us"), "ms": ("ms", "us"), "us": ("us",)}[unit]
    return next(name for name in finer if not np.any(micros % MICROSECONDS[name]))


def _numpy(values: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the values, zero where null, and the mask of nulls."""
    if values.null_count == 0:
        return np.asarray(values), np.zeros(len(values), dtype=np.bool_)
    nulls = np.asarray(values.is_null())
    return np.asarray(values.fill_null(0)), nulls


def _concat(chunks: list[Any]) -> pa.Int64Array:
    return cast("pa.Int64Array", pa.concat_arrays(chunks) if chunks else pa.array([], pa.int64()))
