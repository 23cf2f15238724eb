"""Reading batches of users' events for the passes of a live run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import no_table, to_numpy, whole
from elsinore.errors import InputError, option
from elsinore.plan import Unit
from elsinore.runtime.fields import with_derived
from elsinore.runtime.options import RunOptions
from elsinore.runtime.possible_times import TYPES, possible_times
from elsinore.runtime.rejects import AHEAD, LATE, set_aside, unusable_reasons
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.times import TimeKind, as_ticks, kind_of_column, numbers_for_text, to_ticks
from elsinore.runtime.travelling import ClassFilter, select_events
from elsinore.runtime.types import types_of


@dataclass(frozen=True, slots=True, kw_only=True)
class UsableEvents:
    """Events of a batch that have a time and a type.

    `table` has their columns, `ticks` their times, `types` their types. `time` is the kind of the
    batch's times; for text it depends on whether some name a zone. `rejected` are the other events,
    with a last column `reject_reason`; None if there are none.
    """

    table: pa.Table
    ticks: pa.Array
    types: pa.Array
    time: TimeKind
    rejected: pa.Table | None = None

    @property
    def times(self) -> NDArray[np.int64]:
        """The times in ticks."""
        times: NDArray[np.int64] = to_numpy(self.ticks)
        return times

    def filter(self, chosen: NDArray[np.bool_]) -> UsableEvents:
        """Return the chosen events; rejected events are unchanged."""
        mask = pa.array(chosen)
        return UsableEvents(
            table=self.table.filter(mask),
            ticks=self.ticks.filter(mask),
            types=self.types.filter(mask),
            time=self.time,
            rejected=self.rejected,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Usable events of a batch, divided by whether a live run may add them.

    `events` are accepted, `late` ones are before the watermark, `ahead` ones are too far ahead of
    the clock. The latter two have a last column with the reason, and are None if empty. `greatest`
    is the greatest time of the events that are not too far ahead; None if there are none.
    """

    events: UsableEvents
    greatest: int | None
    late: pa.Table | None = None
    ahead: pa.Table | None = None

    @property
    def late_count(self) -> int:
        """The number of late events."""
        return 0 if self.late is None else self.late.num_rows

    @property
    def rejected_count(self) -> int:
        """The number of events that cannot be used or are too far ahead."""
        tables = (self.events.rejected, self.ahead)
        return sum(table.num_rows for table in tables if table is not None)

    @property
    def rejected(self) -> list[pa.Table]:
        """All events that are not added, each with a last column that has the reason."""
        tables = (self.events.rejected, self.ahead, self.late)
        return [table for table in tables if table is not None and table.num_rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReader:
    """Reads batches of events of one schema for the passes of a live run.

    `passes` are the units of each pass, `fields` the names of attributes that may be fields of
    structs. Reading depends only on the batch, so readers in any process have equal results.
    """

    schema: pa.Schema
    options: RunOptions
    passes: tuple[tuple[Unit, ...], ...]
    fields: tuple[str, ...] = ()
    _interests: tuple[tuple[ClassFilter, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        interests = tuple(tuple(ClassFilter(unit) for unit in units) for units in self.passes)
        object.__setattr__(self, "_interests", interests)

    def read(self, table: pa.Table) -> tuple[UsableEvents, list[pa.Table]]:
        """Return the usable events of a table, and the travelling events of each pass.

        Raises the errors of `usable`.
        """
        events = self.usable(table)
        return events, self.travelling(events)

    def usable(self, table: pa.Table) -> UsableEvents:
        """Return the usable events of a table.

        Raises InputError if some are not usable and that is not allowed (`rejects`), and if the
        columns are not those of the schema.
        """
        table, options = self._cast_to_schema(table), self.options
        time = evaluate_sql(options.time, table, "time")
        self._check_text(time)
        types = types_of(table, options.type)
        ticks, kind = to_ticks(
            time, options.time_unit, options.clock.per_microsecond, options.largest_time
        )
        ticks = whole(ticks)
        time_columns: dict[str, pa.Array] = {}
        odd: pa.Array | None = None
        if options.uncertain is not None:
            ticks, time_columns, odd = possible_times(table, ticks, types, options)
        rejected: pa.Table | None = None
        if ticks.null_count or types.null_count or (odd is not None and odd.null_count < len(odd)):
            reasons = unusable_reasons(time, ticks, types)
            if odd is not None:
                reasons = pc.coalesce(reasons, odd)
            table, rejected = set_aside(
                table, reasons, allowed=options.allow_rejects, time=options.time
            )
            is_usable = reasons.is_null()
            ticks, types = ticks.filter(is_usable), types.filter(is_usable)
            time_columns = {name: column.filter(is_usable) for name, column in time_columns.items()}
        for name, column in time_columns.items():
            table = table.append_column(name, column)
        table = with_derived(table, self.fields)
        return UsableEvents(table=table, ticks=ticks, types=types, time=kind, rejected=rejected)

    def admit(
        self, events: UsableEvents, *, watermark: int | None, latest: int | None
    ) -> Admission:
        """Return which usable events a live run adds.

        Events before `watermark` are late, events after `latest` too far ahead of the clock. Both
        are in ticks; None means no bound.

        Raises InputError for events too far ahead, unless `rejects` allows to drop them.
        """
        allowed = self.options.allow_rejects
        ahead = late = None
        if latest is not None:
            events, ahead = self._split(events, events.times > latest, AHEAD, allowed=allowed)
        times = events.times
        greatest = int(times.max()) if len(times) else None
        if watermark is not None:
            events, late = self._split(events, times < watermark, LATE, allowed=True)
        return Admission(events=events, greatest=greatest, late=late, ahead=ahead)

    def _split(
        self, events: UsableEvents, is_out: NDArray[np.bool_], reason: str, *, allowed: bool
    ) -> tuple[UsableEvents, pa.Table | None]:
        """Return the events that are not `is_out`, and those that are, with the reason."""
        if not is_out.any():
            return events, None
        reasons = pa.array([reason if out else None for out in is_out.tolist()], pa.string())
        table = events.table.select(self.schema.names)
        _, rejected = set_aside(table, reasons, allowed=allowed, time=self.options.time)
        return events.filter(~is_out), rejected

    def travelling(self, events: UsableEvents) -> list[pa.Table]:
        """Return the travelling events for the operators of each pass.

        The events may come from the reader of another generation; columns that only these queries
        derive are added.
        """
        existing = {*events.table.column_names}
        table = with_derived(events.table, [name for name in self.fields if name not in existing])
        orders = [evaluate_sql(text, table, "order") for text in self.options.order_by]
        return [
            select_events(
                units,
                interests,
                lambda name: whole(table.column(name)),
                events.ticks,
                events.types,
                orders,
            )
            for units, interests in zip(self.passes, self._interests, strict=True)
        ]

    def _check_text(self, time: pa.Array) -> None:
        """Raise InputError for times in text whose format depends on all events."""
        numbers = numbers_for_text(time)
        if numbers is not time:
            cast = option("time", f"CAST({self.options.time} AS DOUBLE)")
            raise InputError(
                "The times of these events are numbers in text. A live stream cannot tell from its "
                f"first events whether all are: declare it with {cast}."
            )
        if self.options.clock.per_microsecond == 1 and kind_of_column(time)[1]:
            cast = option("time", f"CAST({self.options.time} AS TIMESTAMP_NS)")
            raise InputError(
                "Some times in text have nanoseconds, which a live stream must know when it "
                f"starts: declare it with {cast}."
            )

    def _cast_to_schema(self, table: pa.Table) -> pa.Table:
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
                    f"The column '{column.name}' of a batch has the type {values.type}, but that "
                    f"of the stream has {column.type}: {error}. Cast it before it is pushed."
                ) from error
        return pa.table(columns, schema=self.schema)


def attribute_types(schema: pa.Schema, options: RunOptions) -> dict[str, pa.DataType]:
    """Return the types of the attributes that events have: columns, and possible times."""
    types = dict(zip(schema.names, schema.types, strict=True))
    return types if options.uncertain is None else types | TYPES


def time_kind(schema: pa.Schema, options: RunOptions) -> TimeKind:
    """Return the kind of times in the results of a live run.

    Raises InputError for a column that cannot be a time. Whether times in text have a zone is known
    from events alone (`UsableEvents.time`).
    """
    column = evaluate_sql(options.time, no_table(schema), "time")
    _, kind = as_ticks(column, options.time_unit, options.clock.per_microsecond)
    return kind
