"""From matches to the columns of RETURN."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.matches.columns import column_type
from elsinore.matches.conditions import Condition
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.program import Compiler, register_places
from elsinore.matches.query import Found
from elsinore.matches.returns import Column, ColumnKind
from elsinore.matches.template import MatchTemplate
from elsinore.matches.vectors import values_of

EXACT_SUMS = 2**53  # whole numbers below it are doubles


class Rows:
    """Makes the columns of one template's matches."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        """Compile what is computed; rows of the layout are given out for what it reads."""
        self._template = template
        self._types = layout.types
        self._places = register_places(template.registers)
        compiler = Compiler(template.registers, layout)
        for column in template.columns:
            if column.expression is not None:
                expression = column.expression
                compiler.add(Condition(expression, (), (), (), expression))
        self._program = compiler.program

    def of(
        self,
        found: Found,
        operands: Operands,
        rows: NDArray[np.int64],
        attributes: Mapping[str, pa.Array],
        numbers: NDArray[np.int64] | None = None,
    ) -> list[pa.Array]:
        """Return the columns; row n of the matches' events is row `rows[n]` of `attributes`.

        `numbers` are those of the matches, if they are asked for.
        """
        columns = []
        computed = 0
        for column in self._template.columns:
            if column.kind is ColumnKind.MATCH_NUMBER:
                columns.append(pa.array(numbers, pa.int64()))
            elif column.kind is ColumnKind.COMPUTED:
                columns.append(self._computed(column, computed, found, operands))
                computed += 1
            else:
                columns.append(self._read(column, found, rows, attributes))
        return columns

    def _read(
        self,
        column: Column,
        found: Found,
        rows: NDArray[np.int64],
        attributes: Mapping[str, pa.Array],
    ) -> pa.Array:
        kind = column_type(column, self._types)
        if column.kind in {ColumnKind.LIST, ColumnKind.EVENTS}:
            states = self._template.states
            wanted = np.array([state.variable in column.variables for state in states])
            chosen = wanted[found.paths[:, 1]]
            lengths = np.concatenate([[0], np.cumsum(chosen)])[found.starts]
            taken = pa.array(rows[found.paths[chosen, 0]])
            offsets = pa.array((lengths - lengths[0]).astype(np.int32))
            if column.kind is ColumnKind.EVENTS:
                parts = [_plain(attributes[name].take(taken)) for name in column.fields]
                values = pa.StructArray.from_arrays(parts, fields=list(kind.value_type))
                return pa.ListArray.from_arrays(offsets, values)
            values = attributes[column.attribute or ""].take(taken)
            return pa.ListArray.from_arrays(offsets, _plain(values)).cast(kind)
        place = self._places[column.register]
        if column.kind is ColumnKind.VALUE:
            events = found.events[:, place]
            if len(events) and events.min() >= 0:
                index = pa.array(rows[events])
            else:
                missing = events < 0
                index = pa.array(rows[np.where(missing, 0, events)], mask=missing)
            return _plain(attributes[column.attribute or ""].take(index)).cast(kind)
        numbers = found.numbers[:, place]
        whole = column.kind is ColumnKind.SUM and kind == pa.int64()
        if whole and np.any(np.abs(numbers) > EXACT_SUMS):
            raise InputError(
                f"{column.name}: a sum passes 2**53, beyond which it is not exact. Give the "
                "events a column of doubles, and sum that."
            )
        return _with_nulls(numbers).cast(kind, safe=False)

    def _computed(self, column: Column, number: int, found: Found, operands: Operands) -> pa.Array:
        out = values_of(self._program, number, operands, found.events, found.numbers)
        values = _with_nulls(out)
        kind = column_type(column, self._types)
        return pc.not_equal(values, 0.0) if kind == pa.bool_() else values


def _with_nulls(numbers: NDArray[np.float64]) -> pa.Array:
    """Return numbers as an array, null where they are NaN."""
    nothing = np.isnan(numbers)
    if not nothing.any():
        return pa.array(np.ascontiguousarray(numbers))
    return pa.array(np.where(nothing, 0.0, numbers), mask=nothing)


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
