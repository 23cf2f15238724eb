"""Results of compiled machines as Arrow columns: tuples as structs, mappings as maps.

A result's words are those of its value; of a mapping where its entries begin among the words of all
entries, and how many there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import types

from elsinore.arrow import to_arrow, to_scalar
from elsinore.quantitative.lowered.texts import TEXT, Texts
from elsinore.quantitative.lowered.words import SCALARS, Collected, Dynamic, Numbers


def out_size(kind: Any) -> int:
    """Return how many words a result of a type has."""
    if isinstance(kind, Dynamic):
        return 2
    if isinstance(kind, types.Optional):
        return 1 + out_size(kind.type)
    if isinstance(kind, types.BaseTuple):
        return sum(map(out_size, kind.types))
    return int(kind in SCALARS)


def parts_of(kind: Any) -> tuple[Any, Any]:
    """Return the types of a mapping's keys and values."""
    if isinstance(kind, Numbers):
        return kind.key, types.int64
    if isinstance(kind, Collected):
        return kind.key, kind.value
    raise TypeError(f"not a mapping: {kind}")


def as_arrow(words: Any, kind: Any, entries: Any, texts: Texts) -> pa.Array:
    """Return results, a row of words each, as an Arrow array; entries: words of mappings."""
    if kind == types.boolean:
        return to_arrow(words[:, 0] != 0)
    if kind == types.float64:
        return to_arrow(np.ascontiguousarray(words[:, 0]).view(np.float64))
    if kind == TEXT:
        return texts.texts(words[:, 0])
    if kind in SCALARS:
        return to_arrow(np.ascontiguousarray(words[:, 0]))
    if isinstance(kind, types.Optional):
        absent = words[:, 0] == 0
        if kind.type in SCALARS - {TEXT}:
            values = as_arrow(words[:, 1:], kind.type, entries, texts)
            return pc.if_else(to_arrow(absent), to_scalar(None, values.type), values)
        places = np.cumsum(~absent) - 1  # the words of what is absent were never written
        values = as_arrow(words[~absent][:, 1:], kind.type, entries, texts)
        return values.take(to_arrow(places, mask=absent))
    if isinstance(kind, types.BaseTuple):
        parts, at = [], 0
        for part in kind.types:
            parts.append(as_arrow(words[:, at:], part, entries, texts))
            at += out_size(part)
        named = isinstance(kind, types.BaseNamedTuple)
        names = kind.fields if named else [f"_{n}" for n in range(1, len(parts) + 1)]
        if not parts:
            return to_arrow([{}] * len(words), pa.struct([]))
        return pa.StructArray.from_arrays(parts, names=list(names))
    if isinstance(kind, Dynamic):
        return _maps(words, kind, entries, texts)
    return pa.nulls(len(words))


def _maps(words: Any, kind: Any, entries: Any, texts: Texts) -> pa.Array:
    """Return mappings, the entries of each in the order of their keys."""
    key, value = parts_of(kind)
    keyed = out_size(key)
    stride = keyed + out_size(value)
    begins, numbers = words[:, 0], words[:, 1]
    offsets = np.concatenate([[0], np.cumsum(numbers)])
    row = np.repeat(np.arange(len(words)), numbers)
    place = np.repeat(begins, numbers) + (np.arange(offsets[-1]) - offsets[:-1][row]) * stride
    rows = entries[place[:, None] + np.arange(stride)] if len(place) else _none(stride)
    order = np.lexsort((*reversed(_sortable(rows, key, texts)), row))
    rows = rows[order]
    return pa.MapArray.from_arrays(
        to_arrow(offsets, pa.int32()),
        as_arrow(rows, key, entries, texts),
        as_arrow(rows[:, keyed:], value, entries, texts),
    )


def _none(stride: int) -> Any:
    return np.zeros((0, stride), np.int64)


def _sortable(rows: Any, kind: Any, texts: Texts) -> list[Any]:
    """Return the columns of keys as numbers that are in their order."""
    if isinstance(kind, types.BaseTuple):
        keys, at = [], 0
        for part in kind.types:
            keys += _sortable(rows[:, at:], part, texts)
            at += out_size(part)
        return keys
    column = np.ascontiguousarray(rows[:, 0])
    if kind == TEXT:
        return [texts.places(column)]
    return [column.view(np.float64) if kind == types.float64 else column]
