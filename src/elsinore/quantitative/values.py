"""Values of queries as Arrow columns: records as structs, mappings as maps."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.arrow import to_arrow
from elsinore.errors import InputError

PLAIN = {int, float, bool, str, type(None)}  # what Arrow has of itself


def struct_of(kind: type, columns: Sequence[pa.Array]) -> pa.Array:
    """Return records of a dataclass, or tuples, as a column: of the columns of their fields."""
    if kind is tuple:
        names = [f"_{n}" for n in range(1, len(columns) + 1)]
    else:
        names = [field.name for field in dataclasses.fields(kind)]
    return pa.StructArray.from_arrays(list(columns), names=names)


def as_array(values: Sequence[Any]) -> pa.Array:
    """Return values as an Arrow array.

    Mappings become maps, in order of their keys where these have one; dataclasses and named tuples
    structs of their fields, other tuples structs of the fields `_1`, `_2`, ...; None is null.
    Raises InputError where values are of different kinds.

    >>> as_array([(1, "a"), None]).to_pylist()
    [{'_1': 1, '_2': 'a'}, None]
    >>> as_array([{"x": 1.5}]).type
    MapType(map<string, double>)
    """
    if values and type(values[0]) in PLAIN:  # and so are all, as a rule
        with suppress(OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
            array = to_arrow(values)
            if not pa.types.is_nested(array.type):
                return array
    kinds = _kinds(values)
    if len(kinds) > 1:
        raise _mixed(kinds)
    kind = next(iter(kinds), "plain")
    if kind == "map":
        return _maps(values)
    if kind == "list":
        return _lists(values)
    if kind != "plain":
        return _structs(values)
    return _plain_array([_plain(value) for value in values])


def _kinds(values: Sequence[Any]) -> set[str]:
    """Return the kinds of values: their types, for plain tuples also their lengths."""
    examples = {type(value): value for value in values}
    kinds = {_kind(value) for value in examples.values() if value is not None}
    if tuple in examples:
        lengths = {len(value): value for value in values if type(value) is tuple}
        kinds |= {_kind(value) for value in lengths.values()}
    return kinds


def _plain_array(values: Sequence[Any]) -> pa.Array:
    try:
        return to_arrow(values)
    except OverflowError as error:
        raise InputError(
            "The query's values cannot be a column: one is a whole number beyond 64 bits. Let the "
            "fold begin with 0.0, for doubles, or give out the number as a text."
        ) from error
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        kinds = {type(value).__name__ for value in values if value is not None}
        if len(kinds) > 1:
            raise _mixed(kinds) from error
        raise InputError(f"The query's values cannot be a column: {error}") from error


def _mixed(kinds: Iterable[str]) -> InputError:
    return InputError(
        f"The query's values are of different kinds: {' and '.join(sorted(kinds))}. All parts of "
        "an `either`, and all steps of a fold, give values of one kind."
    )


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "map"
    if dataclasses.is_dataclass(value) or isinstance(value, tuple):
        return f"record of {', '.join(_fields(value))}"
    if isinstance(value, list | set | frozenset):
        return "list"
    return "plain"


def _fields(value: Any) -> tuple[str, ...]:
    if dataclasses.is_dataclass(value):
        return tuple(field.name for field in dataclasses.fields(value))
    named = getattr(value, "_fields", None)
    return tuple(named) if named else tuple(f"_{n}" for n in range(1, len(value) + 1))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _structs(values: Sequence[Any]) -> pa.Array:
    some = [value for value in values if value is not None]
    names, absent = _fields(some[0]), len(some) < len(values)
    columns = []
    for place, name in enumerate(names):
        parts = _field(some, place, name)
        if absent:
            there = iter(parts)
            parts = [None if value is None else next(there) for value in values]
        columns.append(as_array(parts))
    if not names:
        return to_arrow([None if value is None else {} for value in values], pa.struct([]))
    mask = to_arrow([value is None for value in values]) if absent else None
    return pa.StructArray.from_arrays(columns, names=list(names), mask=mask)


def _field(records: Sequence[Any], place: int, name: str) -> list[Any]:
    """Return a field of records, which are tuples or dataclasses."""
    kinds = set(map(type, records))
    by_name, by_place = operator.attrgetter(name), operator.itemgetter(place)
    reads = {kind: by_name if dataclasses.is_dataclass(kind) else by_place for kind in kinds}
    if len(kinds) == 1:
        return list(map(reads[kinds.pop()], records))
    return [reads[type(record)](record) for record in records]


def _maps(values: Sequence[Any]) -> pa.Array:
    keys: list[Any] = []
    items: list[Any] = []
    offsets: list[int | None] = []
    for value in values:
        offsets.append(None if value is None else len(keys))
        if value is not None:
            pairs = list(value.items())
            with suppress(TypeError):  # keys without an order stay in that of their first items
                pairs.sort(key=lambda pair: pair[0])
            keys += [key for key, _ in pairs]
            items += [item for _, item in pairs]
    offsets.append(len(keys))
    if any(key is None for key in keys):
        raise InputError(
            "A value is a map with the key None, which no column of maps can have: let the "
            "function of the key give another value for what has none."
        )
    return pa.MapArray.from_arrays(to_arrow(offsets, pa.int32()), as_array(keys), as_array(items))


def _lists(values: Sequence[Any]) -> pa.Array:
    flat: list[Any] = []
    offsets: list[int | None] = []
    for value in values:
        offsets.append(None if value is None else len(flat))
        flat += [] if value is None else list(value)
    offsets.append(len(flat))
    return pa.ListArray.from_arrays(to_arrow(offsets, pa.int32()), as_array(flat))
