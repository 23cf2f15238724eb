"""Values without parts that saved states hold beside numbers and texts: dates, decimals, arrays.

Each type has a number, which is part of the layout, and a way to bytes and back.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

_KINDS = frozenset("biufcSUmM")  # of NumPy's types: no objects
_COMPLEX = struct.Struct("<dd")
_SPAN = struct.Struct("<qqq")  # days, seconds and microseconds; months, days and nanoseconds


@dataclass(frozen=True, slots=True)
class Scalar:
    """How values of a type are written and read; `type_name` is the type with its module."""

    number: int
    type_name: str
    to_bytes: Callable[[Any], bytes]
    from_bytes: Callable[[bytes], Any]


def scalar_to_bytes(value: Any) -> tuple[int, bytes] | None:
    """Return the number of a value's type and the value as bytes; None for other types.

    >>> number, content = scalar_to_bytes(dt.date(2026, 1, 31))
    >>> scalar_from_bytes(number, content)
    datetime.date(2026, 1, 31)
    """
    kind = type(value)
    scalar = _BY_TYPE.get(f"{kind.__module__}.{kind.__qualname__}")
    if scalar is None and isinstance(value, np.generic):
        scalar = _BY_TYPE["numpy.generic"]
    if scalar is None:
        return None
    try:
        return scalar.number, scalar.to_bytes(value)
    except TypeError:  # of a kind that is not supported, such as an array of objects
        return None


def scalar_from_bytes(number: int, content: bytes) -> Any:
    """Return the value that was written. Raises some exception for bytes that are none."""
    return _BY_NUMBER[number].from_bytes(content)


def _zone_name(moment: dt.datetime | dt.time) -> list[Any] | None:
    """Return what a time zone is called, and whether it is one of pytz; None without a zone."""
    zone = moment.tzinfo
    match zone:
        case None:
            return None
        case dt.timezone():
            offset = zone.utcoffset(None)
            return ["offset", offset // dt.timedelta(microseconds=1)]
        case ZoneInfo() if zone.key is not None:
            return ["zone", zone.key]
    name = getattr(zone, "zone", None)
    if not isinstance(name, str) or not type(zone).__module__.startswith("pytz"):
        raise TypeError(f"a time zone of the type {type(zone).__name__}")
    return ["pytz", name, bool(moment.dst())]


def _with_zone(moment: Any, zone: list[Any] | None) -> Any:
    match zone:
        case None:
            return moment
        case ["offset", int(offset)]:
            return moment.replace(tzinfo=dt.timezone(dt.timedelta(microseconds=offset)))
        case ["zone", str(name)]:
            return moment.replace(tzinfo=ZoneInfo(name))
        case ["pytz", str(name), bool(summer)]:
            return import_module("pytz").timezone(name).localize(moment, is_dst=summer)
    raise ValueError(f"{zone!r:.50} is not a time zone")


def _moment_to_bytes(moment: dt.datetime | dt.time) -> bytes:
    naive = moment.replace(tzinfo=None)
    return json.dumps([naive.isoformat(), moment.fold, _zone_name(moment)]).encode()


def _moment_from_bytes(kind: Any) -> Callable[[bytes], Any]:
    def read(content: bytes) -> Any:
        text, fold, zone = json.loads(content)
        return _with_zone(kind.fromisoformat(text).replace(fold=fold), zone)

    return read


def _span_to_bytes(span: dt.timedelta) -> bytes:
    return _SPAN.pack(span.days, span.seconds, span.microseconds)


def _pandas_to_bytes(value: Any) -> bytes:
    """Return a Timestamp or a Timedelta of pandas: nanoseconds (of UTC), the unit, the zone."""
    zone = _zone_name(value) if hasattr(value, "tzinfo") else None
    return json.dumps([value.as_unit("ns").value, value.unit, zone]).encode()


def _timestamp_from_bytes(content: bytes) -> Any:
    nanoseconds, unit, zone = json.loads(content)
    made = import_module("pandas").Timestamp(nanoseconds, unit="ns").as_unit(unit)
    if zone is None:
        return made
    if zone[0] == "pytz":
        return made.tz_localize("UTC").tz_convert(import_module("pytz").timezone(zone[1]))
    moment = _with_zone(dt.datetime(1970, 1, 1), zone)
    return made.tz_localize("UTC").tz_convert(moment.tzinfo)


def _timedelta_from_bytes(content: bytes) -> Any:
    nanoseconds, unit, _ = json.loads(content)
    return import_module("pandas").Timedelta(nanoseconds, unit="ns").as_unit(unit)


def _array_to_bytes(array: Any) -> bytes:
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"an array of the type {array.dtype}")
    head = json.dumps([array.dtype.str, array.shape]).encode()
    return head + b"\n" + np.ascontiguousarray(array).tobytes()


def _array_from_bytes(content: bytes) -> Any:
    head, _, values = content.partition(b"\n")
    kind, shape = json.loads(head)
    dtype = np.dtype(str(kind))
    if dtype.kind not in _KINDS or min(shape, default=0) < 0:
        raise ValueError(f"an array has the type {kind!s:.20} and the shape {shape}")
    if math.prod(shape) * dtype.itemsize != len(values):
        raise ValueError("an array is not as long as its shape says")
    return np.frombuffer(values, dtype).reshape(shape).copy()


def _generic_to_bytes(value: Any) -> bytes:
    return _array_to_bytes(np.asarray(value))


def _generic_from_bytes(content: bytes) -> Any:
    return _array_from_bytes(content)[()]


def _as_it_is(content: bytes) -> bytes:
    return content


SCALARS = (
    Scalar(0, "builtins.bytes", _as_it_is, _as_it_is),
    Scalar(1, "builtins.bytearray", bytes, bytearray),
    Scalar(
        2,
        "builtins.complex",
        lambda value: _COMPLEX.pack(value.real, value.imag),
        lambda content: complex(*_COMPLEX.unpack(content)),
    ),
    Scalar(
        3,
        "decimal.Decimal",
        lambda value: str(value).encode(),
        lambda content: Decimal(content.decode()),
    ),
    Scalar(
        4,
        "fractions.Fraction",
        lambda value: f"{value.numerator:x}/{value.denominator:x}".encode(),
        lambda content: Fraction(*(int(part, 16) for part in content.split(b"/"))),
    ),
    Scalar(
        5,
        "datetime.date",
        lambda value: value.isoformat().encode(),
        lambda content: dt.date.fromisoformat(content.decode()),
    ),
    Scalar(6, "datetime.time", _moment_to_bytes, _moment_from_bytes(dt.time)),
    Scalar(7, "datetime.datetime", _moment_to_bytes, _moment_from_bytes(dt.datetime)),
    Scalar(
        8,
        "datetime.timedelta",
        _span_to_bytes,
        lambda content: dt.timedelta(*_SPAN.unpack(content)),
    ),
    Scalar(9, "uuid.UUID", lambda value: value.bytes, lambda content: UUID(bytes=content)),
    Scalar(10, "numpy.generic", _generic_to_bytes, _generic_from_bytes),
    Scalar(11, "numpy.ndarray", _array_to_bytes, _array_from_bytes),
    Scalar(12, "pandas._libs.tslibs.timestamps.Timestamp", _pandas_to_bytes, _timestamp_from_bytes),
    Scalar(13, "pandas._libs.tslibs.timedeltas.Timedelta", _pandas_to_bytes, _timedelta_from_bytes),
    Scalar(
        14,
        f"{pa.MonthDayNano.__module__}.MonthDayNano",
        lambda value: _SPAN.pack(*value),
        lambda content: pa.MonthDayNano(_SPAN.unpack(content)),
    ),
)
_BY_TYPE = {scalar.type_name: scalar for scalar in SCALARS}
_BY_NUMBER = {scalar.number: scalar for scalar in SCALARS}
