"""Expressions of RETURN over complete matches: Arrow columns, as over single events.

The leaves of an expression are slots (`elsinore.matches.registers`): attributes of the events that
registers hold, of their own types, and registers of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.errors import InputError
from elsinore.expressions.columns import evaluate, type_of
from elsinore.expressions.lengths import is_length, unit_of
from elsinore.matches.events import Events
from elsinore.matches.found import Found
from elsinore.matches.registers import Register, RegisterKind, register_places, slot_of
from elsinore.model.expression import Attribute, Expression, attributes, with_attributes

Types = Mapping[str, pa.DataType]
HALF = 2**32  # what the upper half of a sum counts
EXACT = 2.0**53  # halves below it are exact


def expression_type(
    expression: Expression, registers: tuple[Register, ...], types: Types
) -> pa.DataType:
    """Return the Arrow type of an expression over slots; `types` are those of attributes."""
    leaves = {leaf.variable + (leaf.name or ""): leaf for leaf in attributes(expression)}
    kinds = {name: _leaf_type(leaf, registers, types) for name, leaf in leaves.items()}
    return type_of(_with_names(expression), kinds)


def expression_values(
    expression: Expression,
    registers: tuple[Register, ...],
    types: Types,
    unit: str,
    found: Found,
    events: Events,
) -> pa.Array:
    """Return the value of an expression for each match; `unit` is that of sums of lengths of time.

    Raises InputError for whole numbers beyond 64 bits.
    """
    places = register_places(registers)
    columns: dict[str, pa.Array] = {}
    for leaf in attributes(expression):
        slot = slot_of(leaf)
        if leaf.name is not None:
            column = events.values(leaf.name, found.event(places[slot.register]))
        else:
            halves = _halves(slot.register, registers, places, found)
            kind = _leaf_type(leaf, registers, types)
            column = _column(halves, registers[slot.register], kind, unit)
        columns[leaf.variable + (leaf.name or "")] = column
    values = evaluate(_with_names(expression), columns)
    return pa.repeat(values, len(found)) if isinstance(values, pa.Scalar) else values


def _with_names(expression: Expression) -> Expression:
    """Return an expression whose attributes are named by the slots that they are read from."""
    return with_attributes(
        expression, lambda leaf: Attribute("", leaf.variable + (leaf.name or ""))
    )


def _leaf_type(leaf: Attribute, registers: tuple[Register, ...], types: Types) -> pa.DataType:
    if leaf.name is not None:
        return types[leaf.name]
    register = registers[slot_of(leaf).register]
    counts = register.aggregate is not None and register.aggregate.counts
    if counts or register.kind in {RegisterKind.COUNT, RegisterKind.PRESENT}:
        return pa.int64()
    if register.kind is not RegisterKind.SUM:
        return pa.float64()
    return sum_type(types[register.attribute or ""])


def sum_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a sum of values of a type.

    >>> sum_type(pa.int16()), sum_type(pa.float32()), sum_type(pa.duration("s"))
    (DataType(int64), DataType(double), DurationType(duration[us]))
    """
    if pa.types.is_dictionary(kind):
        return sum_type(kind.value_type)
    if is_length(kind):
        return pa.duration(unit_of(kind))
    return pa.int64() if pa.types.is_integer(kind) else pa.float64()


def _halves(
    number: int, registers: tuple[Register, ...], places: tuple[int, ...], found: Found
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return what a register holds for each match; of a sum, the lower and the upper half."""
    low = np.ascontiguousarray(found.numbers[:, places[number]])
    register = registers[number]
    if register.kind is not RegisterKind.SUM:
        return low, None
    upper = places[registers.index(register.upper_half)]
    return low, np.ascontiguousarray(found.numbers[:, upper])


def _column(
    halves: tuple[NDArray[np.float64], NDArray[np.float64] | None],
    register: Register,
    kind: pa.DataType,
    unit: str,
) -> pa.Array:
    """Return a register's numbers as a column of their type, null where they are NaN."""
    low, high = halves
    if register.kind in {RegisterKind.COUNT, RegisterKind.PRESENT}:  # never null
        return to_arrow(low.astype(np.int64)).cast(kind)
    nothing = np.isnan(low)
    if not nothing.any() and kind == pa.float64():
        return to_arrow(low.copy())  # the search writes its next matches there
    low = np.where(nothing, 0.0, low)
    if high is None or kind == pa.float64():
        return to_arrow(low, mask=nothing).cast(kind)
    high = np.where(np.isnan(high), 0.0, high)
    carry = np.floor(low / HALF)
    upper = high + carry
    beyond = (upper >= HALF // 2) | (upper < -HALF // 2)
    if np.any(beyond | (np.abs(low) > EXACT) | (np.abs(high) > EXACT)):
        raise InputError(
            f"SUM of '{register.attribute}' over a match goes beyond 64 bits. Cast the attribute "
            "to a double, as in a column of its own, and sum that."
        )
    total = (upper.astype(np.int64) << 32) + (low - carry * HALF).astype(np.int64)
    whole = to_arrow(total, mask=nothing)
    return whole.cast(pa.duration(unit)).cast(kind) if is_length(kind) else whole
