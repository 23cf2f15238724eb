"""Classifying events: computing their classes (types and true predicates) from Arrow columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, to_scalar
from elsinore.expressions.columns import evaluate, nearest_doubles, values
from elsinore.numeric.sorting import rows_by_code
from elsinore.plan.classes import (
    Bit,
    Choices,
    Classes,
    Cuts,
    Digit,
    TypeClasses,
    comparison_with_number,
)
from elsinore.runtime.digits import PIECES, add_places, add_regions, add_truth, look_up
from elsinore.runtime.names import text_numbers
from elsinore.runtime.numbering import Codes, Numbering

SPARSE = 0.5  # rows of a type are selected first if its share of the events is less
FEW_TYPES = 2  # comparisons with constants are made for all events for up to so many types


def classify(
    classes: Classes,
    numbers: NDArray[np.int32],
    names: Sequence[str],
    columns: Mapping[str, pa.Array],
) -> NDArray[np.int64]:
    """Return each event's class, -1 for types that `classes` does not know.

    `numbers` are the events' types as places in `names` (see `type_places`), `columns` the
    attributes that `classes.attributes` names. Predicates of a type are computed for its own events
    only, so many types with many predicates cost one pass over the events; comparisons with
    constants, which cannot fail, are computed for all events at once if few types have any.
    """
    classes_by_type = {type_classes.type: type_classes for type_classes in classes.types}
    table = first_classes(classes, names)
    codes = np.empty(len(numbers), dtype=np.int64)
    look_up(table, numbers, codes)
    busy = [
        n
        for n, name in enumerate(names)
        if name in classes_by_type and classes_by_type[name].digits
    ]
    if not busy or not len(codes):
        return codes
    if len(busy) <= FEW_TYPES and all(
        _cannot_fail(classes_by_type[names[number]]) for number in busy
    ):
        for number in busy:
            _add_digits(codes, numbers, number, classes_by_type[names[number]], columns)
        return codes
    order, starts = rows_by_code(numbers, len(names))
    for number in busy:
        type_classes = classes_by_type[names[number]]
        rows = order[starts[number] : starts[number + 1]]
        if len(rows) == 0:
            continue
        type_columns = {name: columns[name] for name in Classes((type_classes,)).attributes}
        if len(rows) >= SPARSE * len(codes):
            _add_digits(codes, numbers, number, type_classes, type_columns)
            continue
        row_indices = to_arrow(rows)
        row_codes = np.zeros(len(rows), dtype=np.int64)
        zeros = np.zeros(len(rows), dtype=np.int32)
        _add_digits(
            row_codes,
            zeros,
            0,
            type_classes,
            {n: c.take(row_indices) for n, c in type_columns.items()},
        )
        codes[rows] += row_codes
    return codes


def first_classes(classes: Classes, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the first class of each type, -1 for unknown types, and -1 at the end."""
    offsets = {type_classes.type: type_classes.offset for type_classes in classes.types}
    return np.array([*(offsets.get(name, -1) for name in names), -1], dtype=np.int64)


def type_places(types: pa.Array, names: Sequence[str]) -> tuple[Numbering, Sequence[str]]:
    """Return each event's type as its place in a list of names, and that list; -1 for null.

    The list is `names`, and other types have -1; or a short dictionary of the column's own.

    >>> places, known = type_places(pa.array(["B", "C", None]), ["A", "B"])
    >>> places.whole().tolist(), known
    ([1, -1, -1], ['A', 'B'])
    >>> places, known = type_places(pa.array(["B", "C", None]).dictionary_encode(), ["A", "B"])
    >>> places.whole().tolist(), known
    ([0, 1, -1], ['B', 'C'])
    """
    if not pa.types.is_dictionary(types.type):
        return _text_places(types, names), names
    dictionary, indices = types.dictionary, types.indices
    if len(dictionary) <= 2 * len(names) + 100 and not dictionary.null_count:
        return Numbering(
            len(types), len(dictionary), partial(_indices, indices)
        ), dictionary.to_pylist()
    places = np.append(type_numbers(dictionary, names), np.int32(-1))

    def look_up_places(begin: int, end: int) -> Codes:
        return np.asarray(places[_indices(indices, begin, end)])

    return Numbering(len(types), len(names), look_up_places), names


def type_numbers(types: pa.Array, names: Sequence[str]) -> Codes:
    """Return the place of each type name in `names`, -1 where it is not among them.

    >>> type_numbers(pa.array(["B", "A", None, "C"]), ["A", "B"]).tolist()
    [1, 0, -1, -1]
    """
    if pa.types.is_dictionary(types.type):
        places = np.append(type_numbers(types.dictionary, names), np.int32(-1))
        return np.asarray(places[_indices(types.indices, 0, len(types))])
    return _text_places(types, names).make(0, len(types))


def _indices(indices: pa.Array, begin: int, end: int) -> Codes:
    """Return the dictionary indices of a range of rows, -1 for null."""
    some = indices.slice(begin, end - begin).cast(pa.int32())
    return to_numpy(some, -1)


def _text_places(types: pa.Array, names: Sequence[str]) -> Numbering:
    """Return the places of texts in `names`, -1 for others and null."""
    if len(types) == 0:
        return Numbering.from_codes(np.zeros(0, dtype=np.int32), len(names))
    numbering = text_numbers(types, names)
    if not types.null_count:
        return numbering

    def find(begin: int, end: int) -> Codes:
        numbers = numbering.make(begin, end)
        nulls = types.slice(begin, end - begin).is_null()
        numbers[to_numpy(nulls)] = -1
        return numbers

    return replace(numbering, make=find)


def _cannot_fail(classes: TypeClasses) -> bool:
    """Return whether a type's digits can be computed for events of other types too."""
    return all(
        not isinstance(digit, Bit) or comparison_with_number(digit.predicate) is not None
        for digit in classes.digits
    )


def _add_digits(
    codes: NDArray[np.int64],
    numbers: NDArray[np.int32],
    number: int,
    classes: TypeClasses,
    columns: Mapping[str, pa.Array],
) -> None:
    """Add the mixed-radix numbers of a type's digits to the codes of its events."""
    factor = classes.size
    for digit in classes.digits:
        factor //= digit.radix
        _add_digit(codes, numbers, number, digit, columns, factor)


def _add_digit(
    codes: NDArray[np.int64],
    numbers: NDArray[np.int32],
    number: int,
    digit: Digit,
    columns: Mapping[str, pa.Array],
    factor: int,
) -> None:
    """Add `factor` times a digit to the codes of a type's events."""
    match digit:
        case Cuts(attribute, points, _):
            table = np.array([*points, math.nan])
            guide = np.empty(PIECES * len(points) + 2, dtype=np.int64)
            doubles = _doubles(columns[attribute])
            add_regions(codes, numbers, number, doubles, table, guide, factor)
        case Choices(attribute, named, _):
            column = values(columns[attribute])
            if pa.types.is_temporal(column.type):
                place = _places_of_times(digit, columns)
            else:
                place = pc.index_in(column, value_set=to_arrow(named, column.type))
            unknown = pc.if_else(
                column.is_null(), to_scalar(-2, pa.int32()), to_scalar(-1, pa.int32())
            )
            places = to_numpy(pc.coalesce(place, unknown)) + np.int32(2)
            add_places(codes, numbers, number, places, factor)
        case Bit(predicate):
            truth = evaluate(predicate, columns)
            if isinstance(truth, pa.Scalar):
                truth = pa.repeat(bool(truth.as_py()), len(codes))
            truth = pc.fill_null(truth.cast(pa.bool_()), to_scalar(False))
            bits = np.frombuffer(truth.buffers()[1], dtype=np.uint8)
            add_truth(codes, numbers, number, bits, truth.offset, factor)


def _places_of_times(choices: Choices, columns: Mapping[str, pa.Array]) -> pa.Array:
    """Return the index of the time, among constants in text, that each value equals, or null."""
    place = to_scalar(None, pa.int32())
    for number, test in enumerate(choices.tests()):
        is_equal = evaluate(test, columns)
        place = pc.if_else(
            pc.fill_null(is_equal, to_scalar(False)), to_scalar(number, pa.int32()), place
        )
    return place


def _doubles(column: pa.Array) -> NDArray[np.float64]:
    """Return numbers as doubles, other values as NaN.

    Points are below 2**53, so integers beyond it, though rounded, are on the right side of each.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    column = nearest_doubles(column) if pa.types.is_decimal(column.type) else column
    return to_numpy(column.cast(pa.float64(), safe=False))
