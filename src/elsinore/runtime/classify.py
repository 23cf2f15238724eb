"""Telling events' classes from Arrow columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.plan.classes import Bit, Choices, Classes, Cuts, Digit, TypeClasses
from elsinore.runtime.expressions import evaluate, values
from elsinore.runtime.rows import name_numbers, rows_by_type

SPARSE = 0.5  # a type with a lesser share of the events has its rows picked out first


def classify(
    classes: Classes,
    numbers: NDArray[np.int32],
    names: Sequence[str],
    columns: Mapping[str, pa.Array],
) -> NDArray[np.int64]:
    """Return each event's class, -1 for types that `classes` does not know.

    `numbers` are the events' types as places in `names` (see `type_numbers`), `columns` the
    attributes that `classes.attributes` names. Predicates of a type are computed for its own events
    only, so many types with many predicates cost one pass over the events.
    """
    known = {one.type: one for one in classes.types}
    offsets = [known[name].offset if name in known else -1 for name in names]
    codes = np.array([*offsets, -1], dtype=np.int64)[numbers]
    busy = [n for n, name in enumerate(names) if name in known and known[name].digits]
    if busy and len(codes):
        order, starts = enter(rows_by_type, 1e-6 * (len(numbers) + len(names)), numbers, len(names))
        for number in busy:
            one = known[names[number]]
            rows = order[starts[number] : starts[number + 1]]
            if len(rows) == 0:
                continue
            read = {name: columns[name] for name in Classes((one,)).attributes}
            if len(rows) < SPARSE * len(codes):
                picked = pa.array(rows)
                codes[rows] += _digits(one, {n: c.take(picked) for n, c in read.items()}, len(rows))
            else:
                codes[rows] += _digits(one, read, len(codes))[rows]
    return codes


def type_numbers(types: pa.Array, names: Sequence[str]) -> NDArray[np.int32]:
    """Return the place of each type name in `names`, -1 where it is not among them.

    >>> type_numbers(pa.array(["B", "A", None, "C"]), ["A", "B"]).tolist()
    [1, 0, -1, -1]
    """
    if pa.types.is_dictionary(types.type):
        places = np.append(type_numbers(types.dictionary, names), np.int32(-1))
        indices = types.indices.fill_null(-1) if types.null_count else types.indices
        return np.asarray(places[indices.to_numpy()])
    if len(types) == 0:
        return np.zeros(0, dtype=np.int32)
    wanted = pa.array(names, types.type)
    width = "int64" if pa.types.is_large_string(types.type) else "int32"
    numbers = np.empty(len(types), dtype=np.int32)
    letters = _text(types, width), _text(wanted, width)
    seconds = 2e-6 * sum(len(starts) + len(text) for starts, text in letters)
    enter(name_numbers, seconds, *letters[0], *letters[1], numbers)
    if types.null_count:
        numbers[types.is_null().to_numpy(zero_copy_only=False)] = -1
    return numbers


def _text(column: pa.Array, width: str) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """Return where each text begins in the bytes, and the bytes; no copies."""
    _, starts, text = column.buffers()
    offsets = np.frombuffer(starts, dtype=width)[column.offset : column.offset + len(column) + 1]
    data = np.frombuffer(text, dtype=np.uint8) if text else np.zeros(0, dtype=np.uint8)
    return offsets, data


def _digits(classes: TypeClasses, columns: Mapping[str, pa.Array], rows: int) -> NDArray[np.int64]:
    """Return the mixed-radix numbers of a type's digits."""
    number = np.zeros(rows, dtype=np.int64)
    for digit in classes.digits:
        number *= digit.radix
        number += _digit(digit, columns, rows)
    return number


def _regions(points: Sequence[int | float], numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each number how many points are below it, and how many below it or equal, added.

    >>> _regions((1, 2.5), np.array([0.0, 1.0, 2.0, 2.5, np.nan])).tolist()
    [0, 1, 2, 3, 4]
    """
    table = np.asarray(points)
    if numbers.dtype == np.float64 and table.dtype.kind in "if":
        table = table.astype(np.float64)
    below = np.searchsorted(table, numbers, side="left")
    if table.dtype == numbers.dtype and np.all(table[1:] > table[:-1]):  # it equals one at most
        equal = table[np.minimum(below, len(table) - 1)] == numbers
        return np.asarray(2 * below + equal, dtype=np.int64)
    return np.asarray(below + np.searchsorted(table, numbers, side="right"), dtype=np.int64)


def _digit(digit: Digit, columns: Mapping[str, pa.Array], rows: int) -> NDArray[np.int64]:
    match digit:
        case Cuts(attribute, points, _):
            column = values(columns[attribute])
            region = _regions(points, column.fill_null(0).to_numpy(zero_copy_only=False)) + 1
            if column.null_count:
                region[column.is_null().to_numpy(zero_copy_only=False)] = 0
            return region
        case Choices(attribute, named, _):
            column = values(columns[attribute])
            place = pc.index_in(column, value_set=pa.array(named, column.type))
            other = pc.if_else(
                column.is_null(), pa.scalar(-2, pa.int32()), pa.scalar(-1, pa.int32())
            )
            return np.asarray(pc.coalesce(place, other).to_numpy() + 2, dtype=np.int64)
        case Bit(predicate):
            held = evaluate(predicate, columns)
            if isinstance(held, pa.Scalar):
                return np.full(rows, bool(held.as_py()), dtype=np.int64)
            truth = held.cast(pa.bool_()).fill_null(False).to_numpy(zero_copy_only=False)
            return np.asarray(truth, dtype=np.int64)
