"""From matches to the columns of RETURN."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints
from elsinore.matches.columns import column_type
from elsinore.matches.conditions import Condition
from elsinore.matches.interpret import STACK, value_of
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.program import Compiler, register_places
from elsinore.matches.query import Found
from elsinore.matches.returns import Column, ColumnKind
from elsinore.matches.template import MatchTemplate

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
            missing = events < 0
            taken = rows[np.where(missing, 0, events)]
            index = pa.array(taken, mask=missing if missing.any() else None)
            return _plain(attributes[column.attribute or ""].take(index)).cast(kind)
        numbers = found.numbers[:, place]
        whole = column.kind is ColumnKind.SUM and kind == pa.int64()
        if whole and np.any(np.abs(numbers) > EXACT_SUMS):
            raise InputError(
                f"{column.name}: a sum passes 2**53, beyond which it is not exact. Give the "
                "events a column of doubles, and sum that."
            )
        nothing = np.isnan(numbers)
        values = pa.array(np.where(nothing, 0.0, numbers), mask=nothing)
        return values.cast(kind, safe=False)

    def _computed(self, column: Column, number: int, found: Found, operands: Operands) -> pa.Array:
        code = self._program.code_of(number)
        wholes = list(self._program.wholes)
        for place, text in self._program.texts.items():
            wholes[place] = operands.code_of(text)
        # a table of its own: only the integer constants and the code are in it
        tables = np.array([0] * 6 + [7] + wholes + [len(code)] + code, dtype=np.int64)
        out = np.zeros(len(found), dtype=np.float64)
        values_of(
            tables,
            7 + len(wholes),
            np.array(self._program.constants, dtype=np.float64),
            operands.doubles,
            operands.wholes,
            found.events,
            found.numbers,
            out,
        )
        missing = np.isnan(out)
        values = pa.array(np.where(missing, 0.0, out), mask=missing)
        kind = column_type(column, self._types)
        return pc.not_equal(values, 0.0) if kind == pa.bool_() else values


@kernel
def values_of(
    tables: Ints,
    at: int,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    held: Ints,
    numbers: Doubles,
    out: Doubles,
) -> None:
    """Fill `out` with the value of the expression at `tables[at]` for each row of registers."""
    stack = np.empty(STACK, dtype=np.float64)
    whole_stack = np.empty(STACK, dtype=np.int64)
    for row in range(len(out)):
        out[row] = value_of(
            tables, at, constants, doubles, integers, -1, -1, row, row, held, numbers, stack,
            whole_stack,
        )  # fmt: skip


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
