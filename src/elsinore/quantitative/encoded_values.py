"""The types of values in saved states: how each is taken apart, and built from its parts.

Values are built by the functions of this module alone. A class of the user is looked up in the
modules that are loaded already and must be a dataclass or a named tuple; its fields are set without
calling its functions.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import inspect
import math
import sys
from base64 import b64decode, b64encode
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from types import MemberDescriptorType
from typing import Any, Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from elsinore.quantitative.items import UNDEFINED, Record, Undefined, record_type
from elsinore.quantitative.machine.frames import Buffer
from elsinore.quantitative.machine.moments import Keys
from elsinore.quantitative.sketches import Sketch, sketch_of
from elsinore.quantitative.versions import Bag, Counts

PACKED = 4  # numbers in a list from which on they are written as one array
FACTORIES = (None, int, float, str, list, dict, set, tuple)  # of the values that a defaultdict adds
_ARRAYS = frozenset("biufcSUmM")  # kinds of NumPy's types: no objects


class UnsupportedValueError(Exception):
    """A value that cannot be part of a saved state; the text names its type."""


class StoredType(NamedTuple):
    """How values of a type are taken apart (`parts`), and built from parts given one by one.

    hashed: 1 if building hashes each part, 2 if every other, from the first on, 0 if none.
    """

    parts: Callable[[Any], Sequence[Any]]
    build: Callable[..., Any]
    hashed: int = 0


def taken_apart(value: Any) -> tuple[int, Sequence[Any]]:
    """Return the place of a value's type in TYPES, and the value's parts.

    Raises UnsupportedValueError for values that cannot be saved.

    >>> number, parts = taken_apart(dt.timedelta(days=-1))
    >>> TYPES[number].build(*parts)
    datetime.timedelta(days=-1)
    """
    kind: Any = type(value)
    packed = _packed(value) if kind is list else None
    if packed is not None:
        return _NUMBERS["packed list"], packed
    number = _number_of_type(kind)
    return number, TYPES[number].parts(value)


@functools.lru_cache(maxsize=1024)
def _number_of_type(kind: type) -> int:
    name = _name(kind)
    if name not in _NUMBERS:
        if issubclass(kind, Record):
            name = _name(Record)
        elif issubclass(kind, np.generic):
            name = "scalar of NumPy"
        elif _is_pytz(kind):
            name = "zone of pytz"
        elif _is_class(kind):
            name = "dataclass or named tuple"
        else:
            raise UnsupportedValueError(f"a {name}")
    return _NUMBERS[name]


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def exactly(kind: type, value: Any) -> Any:
    """Return the value. Raises TypeError unless its class is this one."""
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__} in place of a {kind.__name__}")
    return value


# --- containers ---------------------------------------------------------------------------------


def _packed(values: list[Any]) -> Sequence[Any] | None:
    """Return the parts of an array of doubles or of 64-bit integers, None for other values."""
    kind = type(values[0]) if len(values) >= PACKED else None
    if kind not in {float, int} or any(type(value) is not kind for value in values):
        return None
    try:
        return _array_parts(np.array(values, "<f8" if kind is float else "<i8"))
    except OverflowError:
        return None


def _pairs(values: dict[Any, Any]) -> list[Any]:
    return [part for pair in values.items() for part in pair]


def _dict(*parts: Any) -> dict[Any, Any]:
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _default_dict_parts(values: defaultdict[Any, Any]) -> list[Any]:
    if values.default_factory not in FACTORIES:
        raise UnsupportedValueError("a collections.defaultdict with a function of the user")
    return [*_pairs(values), FACTORIES.index(values.default_factory)]


def _record(*parts: Any) -> Record:
    *values, names = parts
    if len(exactly(tuple, names)) != len(values):
        raise ValueError("a record has another number of values than of attributes")
    return record_type(names)(*values)


def _keys_parts(keys: Keys) -> tuple[Any, ...]:
    program, memory = keys.program, keys.memory
    states = {key: program.stacks_of(memory, code) for key, code in keys.codes.items()}
    return program.name, program.stacks_of(memory, 0), states


def _keys(*_: Any) -> Keys:
    raise ValueError("keys outside of a query")


# --- values of libraries ------------------------------------------------------------------------


_PLAIN = {int, float, str, bytes, dt.timedelta, dt.timezone, ZoneInfo, type(None)}


def _plain(*parts: Any) -> tuple[Any, ...]:
    """Return the parts. Raises UnsupportedValueError for a class that may be the user's."""
    for part in parts:
        if type(part) not in _PLAIN and not _is_pytz(type(part)):
            raise UnsupportedValueError(f"a {_name(type(part))}")
    return parts


def _reduced(value: Any) -> tuple[Any, ...]:
    """Return the arguments of the class with which the value copies itself."""
    return _plain(*value.__reduce_ex__(4)[1])


def _rebuilt(kind: type) -> Callable[..., Any]:
    return lambda *parts: kind(*_plain(*parts))


def _zone_parts(zone: ZoneInfo) -> tuple[str]:
    if zone.key is None:
        raise UnsupportedValueError("a zoneinfo.ZoneInfo without a key")
    return (zone.key,)


def _is_pytz(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "pytz"


def _pytz_zone(*parts: Any) -> Any:
    """Return a zone of pytz: by no parts UTC, by an offset in minutes, or by name and offsets."""
    pytz = import_module("pytz")
    if not parts:
        return pytz.UTC
    return (pytz.FixedOffset if type(parts[0]) is int else pytz.tzinfo.unpickler)(*parts)


def _timestamp(moment: Any, zone: Any) -> Any:
    timestamp = import_module("pandas").Timestamp(exactly(np.datetime64, moment))
    (zone,) = _plain(zone)
    return timestamp if zone is None else timestamp.tz_localize("UTC").tz_convert(zone)


def _timedelta(length: Any) -> Any:
    return import_module("pandas").Timedelta(exactly(np.timedelta64, length))


def _text_of(content: bytes) -> tuple[str]:
    return (b64encode(content).decode(),)


def _bytes_of(text: str) -> bytes:
    return b64decode(exactly(str, text), validate=True)


def _array_parts(array: Any) -> tuple[Any, ...]:
    if array.dtype.kind not in _ARRAYS:
        raise UnsupportedValueError(f"a numpy.ndarray of the type {array.dtype}")
    return (array.dtype.str, *_text_of(array.tobytes()), *array.shape)


def _array(kind: str, text: str, *shape: int) -> Any:
    dtype, content = np.dtype(exactly(str, kind)), _bytes_of(text)
    if dtype.kind not in _ARRAYS or min(shape, default=0) < 0:
        raise ValueError(f"an array has the type {kind:.20} and the shape {shape}")
    if math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError("an array is not as long as its shape says")
    return np.frombuffer(content, dtype).reshape(shape).copy()


# --- dataclasses and named tuples ---------------------------------------------------------------


def _is_class(kind: type) -> bool:
    is_named = issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)
    return is_named or dataclasses.is_dataclass(kind)


def _class_named(name: str) -> Any:
    """Return a dataclass or named tuple of a loaded module, by `module:name`.

    Raises ValueError, KeyError or TypeError for other names; calls no function of a module.
    """
    module, _, qualified = exactly(str, name).partition(":")
    if module not in sys.modules:
        raise ValueError(f"the module {module!r:.100} is not loaded; import it first")
    named: Any = sys.modules[module]
    for part in qualified.split("."):
        named = vars(named)[part]
    if not isinstance(named, type) or not _is_class(named):
        raise ValueError(f"{name!r:.100} is neither a dataclass nor a named tuple")
    return named


def _stored_fields(kind: Any) -> list[str]:
    """Return a dataclass's fields. Raises ValueError if setting one calls a function."""
    names = [field.name for field in dataclasses.fields(kind)]
    for name in names:
        descriptor = inspect.getattr_static(kind, name, None)
        if hasattr(type(descriptor), "__set__") and type(descriptor) is not MemberDescriptorType:
            raise ValueError(f"whose field '{name}' is computed and not stored")
    return names


def _object_parts(value: Any) -> list[Any]:
    """Return the name of the class and the values of the fields.

    Raises UnsupportedValueError for a class that its name does not lead to, and for fields that are
    computed or have no value.
    """
    kind = type(value)
    name = f"{kind.__module__}:{kind.__qualname__}"
    try:
        is_reachable = _class_named(name) is kind
    except (KeyError, TypeError, ValueError):
        is_reachable = False
    if not is_reachable:
        raise UnsupportedValueError(
            f"a {_name(kind)}, which is not found by that name (define the class at the top of a "
            "module)"
        )
    if not dataclasses.is_dataclass(kind):
        return [name, *value]
    try:
        return [name, *(getattr(value, field) for field in _stored_fields(kind))]
    except (AttributeError, ValueError) as error:
        raise UnsupportedValueError(f"a {kind.__qualname__}, {error}") from error


def _object(name: str, *values: Any) -> Any:
    """Return a dataclass or a named tuple with these fields, calling no function of its class."""
    kind: type = _class_named(name)
    if not dataclasses.is_dataclass(kind):
        if len(kind._fields) != len(values):  # type: ignore[attr-defined]
            raise ValueError(f"{name} has other fields now")
        return tuple.__new__(kind, values)
    instance: Any = object.__new__(kind)
    for field, value in zip(_stored_fields(kind), values, strict=True):
        object.__setattr__(instance, field, value)
    return instance


# --- the table ----------------------------------------------------------------------------------


_TABLE: dict[str, StoredType] = {  # the places are numbers of the layout: new types come last
    "builtins.tuple": StoredType(tuple, lambda *parts: parts),
    "builtins.list": StoredType(list, lambda *parts: list(parts)),
    "packed list": StoredType(list, lambda *parts: _array(*parts).tolist()),
    "builtins.dict": StoredType(_pairs, _dict, 2),
    "builtins.set": StoredType(list, lambda *parts: set(parts), 1),
    "builtins.frozenset": StoredType(list, lambda *parts: frozenset(parts), 1),
    "collections.Counter": StoredType(_pairs, lambda *parts: Counter(_dict(*parts)), 2),
    "collections.OrderedDict": StoredType(_pairs, lambda *parts: OrderedDict(_dict(*parts)), 2),
    "collections.defaultdict": StoredType(
        _default_dict_parts, lambda *p: defaultdict(FACTORIES[p[-1]], _dict(*p[:-1])), 2
    ),
    "collections.deque": StoredType(lambda q: [*q, q.maxlen], lambda *p: deque(p[:-1], p[-1])),
    _name(Counts): StoredType(lambda v: (dict(v),), lambda counts: Counts(exactly(dict, counts))),
    _name(Bag): StoredType(lambda v: (v.own(),), lambda values: Bag(exactly(list, values))),
    _name(Sketch): StoredType(Sketch.parts, sketch_of),
    _name(Keys): StoredType(_keys_parts, _keys),
    _name(Buffer): StoredType(
        lambda buffer: (buffer.offset, buffer.between(buffer.offset, buffer.end)),
        lambda offset, values: Buffer(exactly(int, offset), exactly(list, values)),
    ),
    _name(Record): StoredType(lambda record: (*record, record._fields), _record),
    "dataclass or named tuple": StoredType(_object_parts, _object),
    "builtins.int": StoredType(lambda v: (hex(v),), lambda text: int(text, 16)),  # beyond 64 bits
    _name(Undefined): StoredType(lambda _: (), lambda: UNDEFINED),
    "builtins.bytes": StoredType(_text_of, _bytes_of),
    "builtins.bytearray": StoredType(_text_of, lambda text: bytearray(_bytes_of(text))),
    "builtins.complex": StoredType(lambda v: (v.real, v.imag), _rebuilt(complex)),
    "decimal.Decimal": StoredType(_reduced, _rebuilt(Decimal)),
    "fractions.Fraction": StoredType(lambda v: v.as_integer_ratio(), _rebuilt(Fraction)),
    "uuid.UUID": StoredType(lambda v: (v.hex,), _rebuilt(UUID)),
    "datetime.date": StoredType(_reduced, _rebuilt(dt.date)),
    "datetime.time": StoredType(_reduced, _rebuilt(dt.time)),
    "datetime.datetime": StoredType(_reduced, _rebuilt(dt.datetime)),
    "datetime.timedelta": StoredType(_reduced, _rebuilt(dt.timedelta)),
    "datetime.timezone": StoredType(_reduced, _rebuilt(dt.timezone)),
    "zoneinfo.ZoneInfo": StoredType(_zone_parts, _rebuilt(ZoneInfo)),
    "zone of pytz": StoredType(_reduced, _pytz_zone),
    "numpy.ndarray": StoredType(_array_parts, _array),
    "scalar of NumPy": StoredType(
        lambda v: _array_parts(np.asarray(v)), lambda *parts: _array(*parts)[()]
    ),
    "pandas._libs.tslibs.timestamps.Timestamp": StoredType(
        lambda v: (v.asm8, *_plain(v.tzinfo)), _timestamp
    ),
    "pandas._libs.tslibs.timedeltas.Timedelta": StoredType(lambda v: (v.asm8,), _timedelta),
    _name(pa.MonthDayNano): StoredType(tuple, lambda *parts: pa.MonthDayNano(parts)),
}
TYPES: Final = tuple(_TABLE.values())
_NUMBERS = {name: number for number, name in enumerate(_TABLE)}
KEYS: Final = _NUMBERS[_name(Keys)]
