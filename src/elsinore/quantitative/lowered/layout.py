"""Typed values as fields of records: how compiled code reads and writes them, and Python does.

A number is a field; a tuple the fields of its parts; an optional value a flag and the value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
import pyarrow as pa
from numba import types
from numba.core.registry import cpu_target

from elsinore.quantitative.lowered.functions import CannotCompile, as_named_tuple
from elsinore.quantitative.lowered.whole import GREATEST, fits

Fields = list[tuple[str, str]]  # names and NumPy's types
SCALARS = {
    types.int64: "i8",
    types.float64: "f8",
    types.boolean: "u1",
}


def type_of(value: Any) -> Any:
    """Return the type of a constant. Raises CannotCompile for what compiled code does not hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = as_record(value)
    if not fits(value):
        raise CannotCompile(f"the value {value!r} holds a number greater than {GREATEST}")
    try:
        return normal(numba.typeof(value))
    except (ValueError, TypeError) as error:
        raise CannotCompile(f"the value {value!r} has no type of compiled code") from error


def as_record(value: Any) -> Any:
    """Return a value with dataclasses in it as named tuples."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return as_named_tuple(type(value))(*(as_record(getattr(value, name)) for name in names))
    return value


def normal(kind: Any) -> Any:
    """Return a type as it is kept: whole numbers of 64 bits, literals as what they are of."""
    kind = types.unliteral(kind)
    if isinstance(kind, types.Integer) and kind.signed:
        return types.int64
    if isinstance(kind, types.Float):
        return types.float64
    if kind in {types.boolean, types.none}:
        return kind
    if isinstance(kind, types.Optional):
        return types.Optional(normal(kind.type))
    if isinstance(kind, types.BaseNamedTuple):
        return types.NamedTuple([normal(part) for part in kind.types], kind.instance_class)
    if isinstance(kind, types.BaseTuple):
        return types.Tuple([normal(part) for part in kind.types])
    raise CannotCompile(f"values of type {kind} are not compiled")


def unified(one: Any, other: Any) -> Any:
    """Return the type that holds values of both; CannotCompile where there is none."""
    if one == other:
        return one
    if types.none in {one, other}:
        kind = other if one == types.none else one
        return kind if isinstance(kind, types.Optional) else types.Optional(kind)
    optional = [kind for kind in (one, other) if isinstance(kind, types.Optional)]
    if optional:
        inner = [kind.type if isinstance(kind, types.Optional) else kind for kind in (one, other)]
        return types.Optional(unified(*inner))
    tuples = isinstance(one, types.BaseTuple) and isinstance(other, types.BaseTuple)
    if tuples and len(one.types) == len(other.types):
        parts = [unified(a, b) for a, b in zip(one.types, other.types, strict=True)]
        if isinstance(one, types.BaseNamedTuple):
            return types.NamedTuple(parts, one.instance_class)
        return types.Tuple(parts)
    found = cpu_target.typing_context.unify_types(one, other)
    if found is None or found not in SCALARS:
        raise CannotCompile(f"one value is {one} and another {other}")
    return found


def fields(name: str, kind: Any) -> Fields:
    """Return the fields of a variable."""
    if kind in SCALARS:
        return [(name, SCALARS[kind])]
    if isinstance(kind, types.Optional):
        return [(f"{name}_is", "u1"), *fields(f"{name}_it", kind.type)]
    if isinstance(kind, types.BaseTuple):
        return [pair for n, part in enumerate(kind.types) for pair in fields(f"{name}_{n}", part)]
    return []


def read(record: str, name: str, kind: Any, names: dict[str, Any]) -> str:
    """Return the expression that reads a variable from a record."""
    if kind == types.boolean:
        return f"({record}.{name} != 0)"
    if kind in SCALARS:
        return f"{record}.{name}"
    if isinstance(kind, types.Optional):
        value = read(record, f"{name}_it", kind.type, names)
        return f"({value} if {record}.{name}_is != 0 else None)"
    if isinstance(kind, types.BaseTuple):
        parts = [read(record, f"{name}_{n}", part, names) for n, part in enumerate(kind.types)]
        return _made(kind, parts, names)
    return "None"


def write(record: str, name: str, kind: Any, value: str) -> list[str]:
    """Return the statements that write a value to a record."""
    if kind == types.boolean:
        return [f"{record}.{name} = 1 if {value} else 0"]
    if kind in SCALARS:
        return [f"{record}.{name} = {value}"]
    if isinstance(kind, types.Optional):
        lines = [f"if {value} is None:", f"    {record}.{name}_is = 0", "else:"]
        lines += [f"    {record}.{name}_is = 1"]
        unpacked = f"{name}_some"
        lines += [f"    {unpacked} = some({value})"]
        return lines + [f"    {t}" for t in write(record, f"{name}_it", kind.type, unpacked)]
    if isinstance(kind, types.BaseTuple):
        return [
            line
            for n, part in enumerate(kind.types)
            for line in write(record, f"{name}_{n}", part, f"{value}[{n}]")
        ]
    return []


def constant(value: Any, kind: Any, names: dict[str, Any]) -> str:
    """Return the expression of a constant as a value of a type that holds it."""
    value = as_record(value)
    if kind == types.boolean:
        return repr(bool(value))
    if kind == types.int64:
        return f"int({int(value)})"
    if kind == types.float64:
        number = float(value)
        return f"float({number!r})" if np.isfinite(number) else f"float('{number}')"
    if isinstance(kind, types.Optional):
        return "None" if value is None else constant(value, kind.type, names)
    if isinstance(kind, types.BaseTuple):
        parts = [constant(v, part, names) for v, part in zip(value, kind.types, strict=True)]
        return _made(kind, parts, names)
    return "None"


def getter(name: str, kind: Any, classes: Mapping[Any, type]) -> Callable[[Any], Any]:
    """Return what reads a variable of a record as a Python value; dataclasses as what they were."""
    if kind == types.boolean:
        return lambda record: bool(record[name])
    if kind in SCALARS:
        return lambda record: record[name].item()
    if isinstance(kind, types.Optional):
        inner = getter(f"{name}_it", kind.type, classes)
        return lambda record: inner(record) if record[f"{name}_is"] else None
    if isinstance(kind, types.BaseTuple):
        parts = [getter(f"{name}_{n}", part, classes) for n, part in enumerate(kind.types)]
        if isinstance(kind, types.BaseNamedTuple):
            made = classes.get(kind.instance_class, kind.instance_class)
            return lambda record: made(*(part(record) for part in parts))
        return lambda record: tuple(part(record) for part in parts)
    return lambda record: None


def put(record: Any, name: str, kind: Any, value: Any) -> None:
    """Write a Python value to a record. Raises OverflowError for what compiled code cannot hold."""
    value = as_record(value)
    if kind in SCALARS:
        if not fits(value):
            raise OverflowError(f"{value} is greater than {GREATEST}")
        record[name] = value
    elif isinstance(kind, types.Optional):
        record[f"{name}_is"] = value is not None
        if value is not None:
            put(record, f"{name}_it", kind.type, value)
    elif isinstance(kind, types.BaseTuple):
        for n, part in enumerate(kind.types):
            put(record, f"{name}_{n}", part, value[n])


def as_arrow(records: Any, name: str, kind: Any) -> pa.Array:
    """Return a field of many records as an Arrow array: tuples as structs."""
    if kind == types.boolean:
        return pa.array(records[name].astype(bool))
    if kind in SCALARS:
        return pa.array(np.ascontiguousarray(records[name]))
    if isinstance(kind, types.Optional):
        absent = records[f"{name}_is"] == 0
        found = as_arrow(records, f"{name}_it", kind.type)
        if isinstance(found, pa.StructArray):
            return pa.StructArray.from_arrays(
                found.flatten(), names=[f.name for f in found.type], mask=pa.array(absent)
            )
        return pa.compute.if_else(pa.array(absent), None, found)
    if isinstance(kind, types.BaseTuple):
        parts = [as_arrow(records, f"{name}_{n}", part) for n, part in enumerate(kind.types)]
        named = isinstance(kind, types.BaseNamedTuple)
        names = kind.fields if named else [f"_{n}" for n in range(1, len(parts) + 1)]
        if not parts:
            return pa.array([{}] * len(records), pa.struct([]))
        return pa.StructArray.from_arrays(parts, names=list(names))
    return pa.nulls(len(records))


def _made(kind: Any, parts: list[str], names: dict[str, Any]) -> str:
    inside = ", ".join(parts) + ("," if len(parts) == 1 else "")
    if isinstance(kind, types.BaseNamedTuple):
        made = f"N{kind.instance_class.__name__}"
        names[made] = kind.instance_class
        return f"{made}({', '.join(parts)})"
    return f"({inside})"
