"""Values in saved states beside numbers, texts and containers: dates, arrays, ..., and dataclasses.

Each type without parts has a number, which is part of the layout, and a way to bytes and back.
Dataclasses and named tuples are looked up by name, and made without calling their functions.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import inspect
import json
import math
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from types import MemberDescriptorType
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


def _scalars() -> Iterator[Scalar]:
    """Yield the types by their numbers, which are part of the layout."""
    moments = {name: (_moment_to_bytes, _moment_from_bytes(getattr(dt, name)))
               for name in ("time", "datetime")}  # fmt: skip
    pandas = "pandas._libs.tslibs"
    table: list[tuple[str, Callable[[Any], bytes], Callable[[bytes], Any]]] = [
        ("builtins.bytes", bytes, bytes),
        ("builtins.bytearray", bytes, bytearray),
        ("builtins.complex", lambda v: _COMPLEX.pack(v.real, v.imag),
         lambda content: complex(*_COMPLEX.unpack(content))),
        ("decimal.Decimal", lambda v: str(v).encode(), lambda content: Decimal(content.decode())),
        ("fractions.Fraction", lambda v: f"{v.numerator:x}/{v.denominator:x}".encode(),
         lambda content: Fraction(*(int(part, 16) for part in content.split(b"/")))),
        ("datetime.date", lambda v: v.isoformat().encode(),
         lambda content: dt.date.fromisoformat(content.decode())),
        ("datetime.time", *moments["time"]),
        ("datetime.datetime", *moments["datetime"]),
        ("datetime.timedelta", lambda v: _SPAN.pack(v.days, v.seconds, v.microseconds),
         lambda content: dt.timedelta(*_SPAN.unpack(content))),
        ("uuid.UUID", lambda v: v.bytes, lambda content: UUID(bytes=content)),
        ("numpy.generic", lambda v: _array_to_bytes(np.asarray(v)),
         lambda content: _array_from_bytes(content)[()]),
        ("numpy.ndarray", _array_to_bytes, _array_from_bytes),
        (f"{pandas}.timestamps.Timestamp", _pandas_to_bytes, _timestamp_from_bytes),
        (f"{pandas}.timedeltas.Timedelta", _pandas_to_bytes, _timedelta_from_bytes),
        (f"{pa.MonthDayNano.__module__}.MonthDayNano", lambda v: _SPAN.pack(*v),
         lambda content: pa.MonthDayNano(_SPAN.unpack(content))),
    ]  # fmt: skip
    for number, (name, to_bytes, from_bytes) in enumerate(table):
        yield Scalar(number, name, to_bytes, from_bytes)


_BY_NUMBER = {scalar.number: scalar for scalar in _scalars()}
_BY_TYPE = {scalar.type_name: scalar for scalar in _BY_NUMBER.values()}


# --- dataclasses and named tuples ---------------------------------------------------------------


class UnsupportedValueError(Exception):
    """A value that saved states do not hold; the text says which type it has."""


def is_class(kind: type) -> bool:
    """Return whether a class is a dataclass or a named tuple."""
    is_named = issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)
    return is_named or dataclasses.is_dataclass(kind)


def class_name(kind: type) -> str:
    """Return by which name a dataclass or named tuple is looked up when a state is read.

    Raises UnsupportedValueError if it cannot be found by it.
    """
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        found = class_named(name)
    except (KeyError, TypeError, ValueError):
        found = None
    if found is not kind:
        raise UnsupportedValueError(
            f"a {kind.__module__}.{kind.__qualname__}, which is not found by that name (define the "
            "class at the top of a module)"
        )
    return name


def class_named(name: str) -> type:
    """Return a dataclass or named tuple of a module that is loaded, by `module:name`.

    Raises ValueError, KeyError or TypeError for other names; calls no function of a module.
    """
    module, _, qualified = name.partition(":")
    if module not in sys.modules:
        raise ValueError(f"the module {module!r:.100} is not loaded; import it first")
    found: Any = sys.modules[module]
    for part in qualified.split("."):
        found = vars(found)[part]
    if not isinstance(found, type) or not is_class(found):
        raise ValueError(f"{name!r:.100} is neither a dataclass nor a named tuple")
    return found


def stored_values(value: Any) -> Sequence[Any]:
    """Return the values of the fields of a dataclass or a named tuple.

    Raises UnsupportedValueError for fields that are computed, or have no value.
    """
    if not dataclasses.is_dataclass(value):
        return tuple(value)
    kind = type(value)
    names = [field.name for field in dataclasses.fields(value)]
    for name in names:
        if not _is_stored(kind, name):
            raise UnsupportedValueError(
                f"a {kind.__qualname__}, whose field '{name}' is computed and not stored"
            )
        if not hasattr(value, name):
            raise UnsupportedValueError(f"a {kind.__qualname__} without a value of '{name}'")
    return [getattr(value, name) for name in names]


def object_of(name: str, values: Sequence[Any]) -> Any:
    """Return a dataclass or a named tuple with these fields, calling no function of its class."""
    kind = class_named(name)
    if not dataclasses.is_dataclass(kind):
        if len(kind._fields) != len(values):  # type: ignore[attr-defined]
            raise ValueError(f"{name} has other fields now")
        return tuple.__new__(kind, values)
    made: Any = object.__new__(kind)
    for field, value in zip(dataclasses.fields(kind), values, strict=True):
        if not _is_stored(kind, field.name):
            raise ValueError(f"the field '{field.name}' of {name} is computed")
        object.__setattr__(made, field.name, value)
    return made


def _is_stored(kind: type, name: str) -> bool:
    """Return whether setting a field of an object calls no function of its class."""
    descriptor = inspect.getattr_static(kind, name, None)
    return isinstance(descriptor, MemberDescriptorType) or not hasattr(type(descriptor), "__set__")
