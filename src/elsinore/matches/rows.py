"""From matches to the columns of RETURN."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.errors import InputError
from elsinore.matches.columns import column_type
from elsinore.matches.events import Events
from elsinore.matches.found import Found
from elsinore.matches.operands import Layout
from elsinore.matches.registers import register_places
from elsinore.matches.returns import Column, ColumnKind
from elsinore.matches.template import MatchTemplate
from elsinore.matches.values import expression_values


class Rows:
    """Makes the columns of one template's matches."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        self._template = template
        self._types = layout.types
        self._unit = layout.unit
        self._kinds = [column_type(column, template, layout.types) for column in template.columns]
        self._places = register_places(template.registers)
        # queries of which this is equal have equal columns of matches that are the same
        self.made_of = self._places, tuple(replace(c, name="") for c in template.columns)

    def of(
        self,
        found: Found,
        events: Events,
        numbers: NDArray[np.int64] | None = None,
    ) -> list[pa.Array]:
        """Return the columns; `numbers` are those of the matches, if requested."""
        columns = []
        for column, kind in zip(self._template.columns, self._kinds, strict=True):
            if column.kind is ColumnKind.MATCH_NUMBER:
                columns.append(to_arrow(numbers, pa.int64()))
            elif column.kind is ColumnKind.COMPUTED:
                columns.append(self._computed(column, kind, found, events))
            else:
                columns.append(self._read(column, kind, found, events))
        return columns

    def _read(self, column: Column, kind: pa.DataType, found: Found, events: Events) -> pa.Array:
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
        return to_arrow(found.numbers[:, place].astype(np.int64))

    def _listed(self, column: Column, found: Found) -> tuple[NDArray[np.int64], pa.Array]:
        """Return the events of a column's lists, one list behind the other, and where each begins.

        Raises InputError if the lists of a piece have more events than Arrow can number.
        """
        states = self._template.states
        wanted = np.array([state.variable in column.variables for state in states])
        chosen = wanted[found.paths[:, 1]]
        begins = np.zeros(len(chosen) + 1, dtype=np.int32)
        np.cumsum(chosen, dtype=np.int32, out=begins[1:])
        return found.paths[chosen, 0].astype(np.int64), to_arrow(begins[found.starts])

    def _computed(
        self, column: Column, kind: pa.DataType, found: Found, events: Events
    ) -> pa.Array:
        assert column.expression is not None
        registers = self._template.registers
        values = expression_values(
            column.expression, registers, self._types, self._unit, found, events
        )
        try:
            return values if values.type == kind else values.cast(kind)
        except pa.ArrowInvalid as error:
            raise InputError(f"{column.name} goes beyond 64 bits: {error}") from error
