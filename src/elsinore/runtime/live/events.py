"""Batches of events as users have them, read for the passes of a live run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import no_table, to_numpy, whole
from elsinore.errors import InputError
from elsinore.plan import Unit
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import set_aside, unusable_reasons
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.times import TimeKind, as_ticks, to_ticks
from elsinore.runtime.travelling import Interest, select_events
from elsinore.runtime.types import types_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEvents:
    """A batch of events that was read.

    events, times: the usable events, and their times in ticks. passes: what travels of them to the
    operators of each pass. rejected: unusable events, with their reasons; None if there are none.
    """

    events: pa.Table
    times: NDArray[np.int64]
    passes: tuple[pa.Table, ...]
    rejected: pa.Table | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReader:
    """Reads batches of events of one schema for the passes of a live run.

    passes: the units of each. Reading is a function of the batch alone, so any number of readers
    in any processes read alike.
    """

    schema: pa.Schema
    options: RunOptions
    time: TimeKind
    passes: tuple[tuple[Unit, ...], ...]
    _interests: tuple[tuple[Interest, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        interests = tuple(tuple(Interest(unit) for unit in units) for units in self.passes)
        object.__setattr__(self, "_interests", interests)

    def usable(self, table: pa.Table) -> tuple[pa.Table, pa.Array, pa.Array, pa.Table | None]:
        """Return the usable events of a table, their times in ticks and types, and the others.

        Raises InputError if there are unusable events and they are not allowed (`rejects`), or if
        the table's columns are not those of the schema.
        """
        table = self._fitting(table)
        options = self.options
        time = evaluate_sql(options.time, table, "time")
        types = types_of(table, options.type)
        ticks, _ = to_ticks(
            time, options.time_unit, options.clock.per_microsecond, options.largest_time
        )
        ticks = whole(ticks)
        if not (ticks.null_count or types.null_count):
            return table, ticks, types, None
        reasons = unusable_reasons(time, ticks, types)
        table, rejected = set_aside(table, reasons, allowed=options.allow_rejects)
        is_usable = reasons.is_null()
        return table, ticks.filter(is_usable), types.filter(is_usable), rejected

    def read(self, table: pa.Table) -> ReadEvents:
        """Return what is usable of a table, and what travels of it to each pass.

        Raises what `usable` does.
        """
        table, ticks, types, rejected = self.usable(table)
        return self.select(table, ticks, types, rejected)

    def select(
        self, table: pa.Table, ticks: pa.Array, types: pa.Array, rejected: pa.Table | None = None
    ) -> ReadEvents:
        """Return usable events, and what travels of them to each pass."""
        orders = [evaluate_sql(text, table, "order") for text in self.options.order_by]
        passes = [
            select_events(
                units, interests, lambda name: whole(table.column(name)), ticks, types, orders
            )
            for units, interests in zip(self.passes, self._interests, strict=True)
        ]
        return ReadEvents(
            events=table, times=to_numpy(ticks), passes=tuple(passes), rejected=rejected
        )

    def _fitting(self, table: pa.Table) -> pa.Table:
        """Return a table with the schema's columns, in the schema's types."""
        if table.schema.equals(self.schema):
            return table
        missing = [name for name in self.schema.names if name not in table.column_names]
        if missing:
            raise InputError(
                f"A batch of events lacks the column '{missing[0]}'. The stream's columns are "
                f"{', '.join(self.schema.names)}."
            )
        columns = []
        for column in self.schema:
            values = table.column(column.name)
            try:
                columns.append(values if values.type == column.type else values.cast(column.type))
            except pa.ArrowException as error:
                raise InputError(
                    f"The column '{column.name}' of a batch has type {values.type}, and the "
                    f"stream's has {column.type}: {error}. Cast it before it is pushed."
                ) from error
        return pa.table(columns, schema=self.schema)


def time_of(schema: pa.Schema, options: RunOptions) -> TimeKind:
    """Return the kind of times that results of a live run have.

    Raises InputError for columns that cannot be a time. Text is read as ISO 8601.
    """
    column = evaluate_sql(options.time, no_table(schema), "time")
    _, kind = as_ticks(column, options.time_unit, options.clock.per_microsecond)
    return kind
