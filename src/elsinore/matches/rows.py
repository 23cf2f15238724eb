"""From matches to the columns of RETURN."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_scalar
from elsinore.errors import InputError
from elsinore.matches.columns import column_type
from elsinore.matches.conditions import Condition
from elsinore.matches.events import Events
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
        # queries of which this is equal have equal columns of matches that are the same
        self.made_of = self._places, tuple(replace(c, name="") for c in template.columns)

    def of(
        self,
        found: Found,
        operands: Operands,
        events: Events,
        numbers: NDArray[np.int64] | None = None,
    ) -> list[pa.Array]:
        """Return the columns; `numbers` are those of the matches, if they are asked for."""
        columns = []
        computed = 0
        for column in self._template.columns:
            if column.kind is ColumnKind.MATCH_NUMBER:
                columns.append(to_arrow(numbers, pa.int64()))
            elif column.kind is ColumnKind.COMPUTED:
                columns.append(self._computed(column, computed, found, operands))
                computed += 1
            else:
                columns.append(self._read(column, found, events))
        return columns

    def _read(self, column: Column, found: Found, events: Events) -> pa.Array:
        kind = column_type(column, self._types)
        if column.kind in {ColumnKind.LIST, ColumnKind.EVENTS}:
            places, offsets = self._listed(column, found)
            if column.kind is ColumnKind.EVENTS:
                fields = list(kind.value_type)
                parts = [events.values(field.name, places).cast(field.type) for field in fields]
                values = pa.StructArray.from_arrays(parts, fields=fields)
                return pa.ListArray.from_arrays(offsets, values)
            values = events.values(column.attribute or "", places).cast(kind.value_type)
            return pa.ListArray.from_arrays(offsets, values).cast(kind)
        place = self._places[column.register]
        if column.kind is ColumnKind.VALUE:
            return events.values(column.attribute or "", found.event(place)).cast(kind)
        if column.kind is ColumnKind.COUNT:
            return to_arrow(found.numbers[:, place].astype(np.int64))
        numbers = found.numbers[:, place]
        whole = column.kind is ColumnKind.SUM and kind == pa.int64()
        if whole and np.any(np.abs(numbers) > EXACT_SUMS):
            raise InputError(
                f"{column.name}: a sum passes 2**53, beyond which it is not exact. Give the "
                "events a column of doubles, and sum that."
            )
        return _with_nulls(np.array(numbers)).cast(kind, safe=False)

    def _listed(self, column: Column, found: Found) -> tuple[NDArray[np.int64], pa.Array]:
        """Return the events of a column's lists, one list behind the other, and where each begins.

        Raises InputError where lists of a piece hold more events than Arrow can number.
        """
        states = self._template.states
        wanted = np.array([state.variable in column.variables for state in states])
        chosen = wanted[found.paths[:, 1]]
        begins = np.zeros(len(chosen) + 1, dtype=np.int32)
        np.cumsum(chosen, dtype=np.int32, out=begins[1:])
        return found.paths[chosen, 0].astype(np.int64), to_arrow(begins[found.starts])

    def _computed(self, column: Column, number: int, found: Found, operands: Operands) -> pa.Array:
        out = values_of(self._program, number, operands, found.event, found.numbers)
        if np.may_share_memory(out, found.numbers):
            out = out.copy()
        values = _with_nulls(np.ascontiguousarray(out))
        kind = column_type(column, self._types)
        return pc.not_equal(values, to_scalar(0.0)) if kind == pa.bool_() else values


def _with_nulls(numbers: NDArray[np.float64]) -> pa.Array:
    """Return numbers that nobody writes over as an array, null where they are NaN."""
    if not np.isnan(np.min(numbers, initial=np.inf)):
        return to_arrow(numbers)
    nothing = np.isnan(numbers)
    return to_arrow(np.where(nothing, 0.0, numbers), mask=nothing)
