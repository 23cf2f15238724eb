"""The events that an equality with an earlier event lets follow, as ranges of sorted rows.

For each such equality the rows of a batch that may be bound to the later variable are put in order:
by key, by value, by row. The events that fulfil it are then a range for each earlier event. Row
3 * n of `Values.buckets` has the sorted rows of equality n, the next two the range of each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Ints, Keys
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import CLASS
from elsinore.matches.engine.orders import Lookups, column_of, known_of, shifted_other
from elsinore.matches.operands import Operands
from elsinore.operators.conditions.comparisons import Comparison
from elsinore.structs import table

ROWS_OF_BUCKET = 3


def put_buckets(program: tb.Program, lookups: Lookups, operands: Operands, keys: Keys) -> Ints:
    """Set the buckets of a program's edges; return `Values.buckets`."""
    buckets: dict[tuple[Comparison, int], int] = {}
    pieces: list[Ints] = []
    for part, target, comparison in lookups.equalities:
        bucket = comparison, target
        if bucket not in buckets:
            buckets[bucket] = len(buckets)
            pieces.append(_sorted_rows(program, target, comparison, operands, keys))
        part.bucket = buckets[bucket]
    program.buckets = table(
        tb.BUCKET,
        [
            (comparison.register, ROWS_OF_BUCKET * number)
            for (comparison, _), number in buckets.items()
        ],
    )
    return np.concatenate(pieces) if pieces else np.zeros((0, 0), np.int64)


def _sorted_rows(
    program: tb.Program, target: int, comparison: Comparison, operands: Operands, keys: Keys
) -> Ints:
    rows = operands.wholes.shape[1]
    key_of = np.full(rows, -1, np.int64)
    ranges = zip(keys.first_row.tolist(), keys.end_row.tolist(), strict=True)
    for number, (first, end) in enumerate(ranges):
        key_of[first:end] = number
    column = column_of(operands, comparison.is_whole, comparison.current)
    other, beyond = shifted_other(operands, comparison)
    other_column = column_of(operands, comparison.is_whole, comparison.other)
    is_bound = known_of(column) & (key_of >= 0) & _may_take(program, target, operands)
    refers = known_of(other_column) & (key_of >= 0) & (beyond == 0)
    values = np.unique(column[is_bound])
    codes = _codes(key_of, column, values, is_bound)
    order = np.argsort(codes[is_bound], kind="stable")
    sorted_rows = np.flatnonzero(is_bound)[order]
    sorted_codes = codes[is_bound][order]
    sought = _codes(key_of, other, values, refers)
    table = np.zeros((ROWS_OF_BUCKET, rows), np.int64)
    table[0, : len(sorted_rows)] = sorted_rows
    table[1, refers] = np.searchsorted(sorted_codes, sought[refers], side="left")
    table[2, refers] = np.searchsorted(sorted_codes, sought[refers], side="right")
    return table


def _codes(
    key_of: Ints, column: NDArray[Any], values: NDArray[Any], chosen: NDArray[np.bool_]
) -> Ints:
    """Return a number for each key and value; an odd one between if the value does not occur."""
    codes = np.full(len(column), -1, np.int64)
    places = np.searchsorted(values, column[chosen])
    is_there = places < len(values)
    if len(values):
        is_there &= values[np.minimum(places, len(values) - 1)] == column[chosen]
    codes[chosen] = 2 * (key_of[chosen] * (len(values) + 1) + places) + ~is_there
    return codes


def _may_take(program: tb.Program, target: int, operands: Operands) -> NDArray[np.bool_]:
    """Return which rows are of a class that a state takes, or a NOT (-1 - its number)."""
    classes = operands.wholes[CLASS]
    if target < 0:
        forbids = np.append(np.asarray(program.forbids)[-1 - target], 0)
        return np.asarray(forbids[np.where(classes < 0, -1, classes)] != 0)
    states = np.asarray(program.class_states)
    spans = np.asarray(program.classes)
    takes = np.zeros(len(spans) + 1, np.bool_)
    for number, (begin, end) in enumerate(spans.tolist()):
        takes[number] = target in states[begin:end]
    return takes[np.where(classes < 0, len(spans), classes)]
