"""A pass on Spark: one scan and one shuffle of the events for all units with the same key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from elsinore.model.spark_sql import quoted
from elsinore.operators import OperatorOptions, kind_for
from elsinore.plan import Carried, Travel, Unit
from elsinore.runtime.columnar import Layout, Stretches
from elsinore.runtime.finishing import Finish, Outputs
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import REFUSAL
from elsinore.runtime.travelling import travelling
from elsinore.spark.answers import INLINE_BYTES, Answers, Presentation
from elsinore.spark.classify import class_column
from elsinore.spark.events import Events
from elsinore.spark.expressions import Columns
from elsinore.spark.finishing import ANSWERS, FinishAll
from elsinore.spark.partition import Chained, RunOperators
from elsinore.spark.scan import Scanned, scanned
from elsinore.spark.shuffle import (
    TASKS_PER_CORE,
    known_cores,
    layout_of,
    packed,
    repartitioned,
    rows_at_once,
    task_memory,
)
from elsinore.spark.spreading import Share, spread
from elsinore.spark.statistics import PLANNING, StatisticsAccumulator, TypesSeen
from elsinore.spark.workers import MapInArrow, shipped


@dataclass(frozen=True)
class Pass:
    """The units of a pass, and the data frames of its results."""

    units: tuple[Unit, ...]
    events: Events
    statistics: tuple[StatisticsAccumulator | None, ...]
    types_seen: TypesSeen | None = None

    @cached_property
    def presentations(self) -> dict[int, Presentation]:
        """The conversions to results, by the queries' numbers."""
        _, time = self.events.time
        ordered = self.events.options.ordered
        presentations = {}
        for unit, types in zip(self.units, self._types, strict=True):
            groups = [self.events.arrow_type(name) for name in unit.group_by]
            for place, number in enumerate(unit.queries):
                form = kind_for(unit).result(unit, place, groups, types)
                presentations[number] = Presentation(form=form, time=time, ordered=ordered)
        return presentations

    def result(self) -> DataFrame:
        """Return the finished rows of the only query."""
        ((unit,), (presentation,)) = self.units, self.presentations.values()
        return self._finished(Finish(unit, (0,), self._types[0]), presentation.raw)

    def frame(self) -> DataFrame:
        """Return the result of the only query."""
        (presentation,) = self.presentations.values()
        return presentation.frame(self.result())

    def answers(self) -> Answers:
        """Return the results of all queries."""
        blobs = self._blobs
        finish = FinishAll(
            outputs=self._outputs,
            finishes=tuple(
                Finish(unit, tuple(family), types)
                for unit, types in zip(self.units, self._types, strict=True)
                for family in kind_for(unit).families(unit)
            ),
            schemas={
                number: presentation.form.schema
                for number, presentation in self.presentations.items()
            },
            inline=INLINE_BYTES // blobs.partitions,
            memory=task_memory(self.events.frame.sparkSession),
            rows_per_task=rows_at_once(self.events.frame.sparkSession),
        )
        answers = self._finished(finish, from_arrow_schema(ANSWERS))
        return Answers(
            packed_rows=answers,
            queries=self.presentations,
            zone=self.events.time_zone,
            expensive=not blobs.is_repeatable and len(self.presentations) > 1,
        )

    def _finished(self, finish: MapInArrow, schema: T.StructType) -> DataFrame:
        """Return `finish` of partial outputs, shuffled by group if these are added up."""
        blobs, run = self._blobs, self._operators
        events = repartitioned(blobs.frame, blobs.partitions)
        if not self._adds_up_over_partitions:
            return events.mapInArrow(shipped(Chained(run, finish)), schema)
        names = self.units[0].group_by
        group = [f"g{n}" for n in range(len(names))]
        types = [self.events.frame.schema[name].dataType for name in names]
        partials = T.StructType(
            [*map(T.StructField, group, types), *from_arrow_schema(self._outputs.fields)]
        )
        partials_frame = events.mapInArrow(shipped(run), partials)
        partials_frame = partials_frame.repartition(blobs.partitions if group else 1, *group)
        return partials_frame.mapInArrow(shipped(finish), schema)

    @cached_property
    def _types(self) -> list[dict[str, pa.DataType]]:
        """The types of the attributes that units read."""
        return [{name: self.events.arrow_type(name) for name in u.carried} for u in self.units]

    @property
    def _adds_up_over_partitions(self) -> bool:
        """Whether a group's partial outputs must be together and may lie in several partitions."""
        adds_up = any(kind_for(unit).adds_up(unit) for unit in self.units)
        return adds_up and bool(self.units[0].equivalence)

    @cached_property
    def _outputs(self) -> Outputs:
        """The columns of operators' outputs in a data frame."""
        return Outputs(self.units, self._types)

    @cached_property
    def _blobs(self) -> Blobs:
        """Return the blobs of events that are shuffled."""
        frame, options = self.events.frame, self.events.options
        layout = planned_layout(self.units, self.events)
        if layout is None:
            layout = layout_of(selected_events(self.units, self.events).schema)
        read: Scanned | str = "times are uncertain"
        if options.uncertain is None:
            source = self.events.source
            read = scanned(
                frame, self.units, options, layout, self.statistics, self.types_seen, source
            )
            if not isinstance(read, str):
                is_repeatable = read.partitions <= TASKS_PER_CORE * known_cores(frame.sparkSession)
                stretches = read.task.packing.stretches
                return Blobs(read.blobs, read.partitions, stretches, layout, read, is_repeatable)
        if self.statistics[0] is not None:
            planning = kind_for(self.units[0]).statistics()
            planning.not_combined = f"Spark reads the events, for {read}"
            self.statistics[0].add({PLANNING: planning})
        partitions, stretches = spread(frame, self.units, options, layout)
        selected = selected_events(self.units, self.events)
        blobs = packed(selected, layout, partitions, stretches)
        return Blobs(blobs, partitions, stretches, layout, None, False)

    @cached_property
    def _operators(self) -> MapInArrow:
        """Return the function that runs the operators over a partition's blobs."""
        blobs = self._blobs
        options = self.events.options
        actions, again, combined = None, None, 0
        combine = None if blobs.read is None else blobs.read.task.combine
        if blobs.read is not None and combine is not None:
            actions, again, combined = combine.layout, blobs.read.task.again, combine.number
        share = None
        if blobs.stretches is not None and blobs.stretches.crossing:
            share = Share.from_units(self.units, blobs.stretches, blobs.partitions)
        return RunOperators(
            units=self.units,
            outputs=self._outputs,
            layout=blobs.layout,
            options=operator_options(options),
            orders=tuple(f"o{n}" for n in range(len(options.order_by))),
            memory=task_memory(self.events.frame.sparkSession),
            statistics=self.statistics,
            actions=actions,
            combined=combined,
            again=again,
            share=share,
        )


class Blobs(NamedTuple):
    """The blobs of a pass's events before the shuffle, and their number of partitions.

    `stretches` spread a key's events over partitions; None sends all of them to one. `read` is the
    function by which tasks read files; None if Spark reads them. `is_repeatable`: reading again is
    cheap.
    """

    frame: DataFrame
    partitions: int
    stretches: Stretches | None
    layout: Layout
    read: Scanned | None
    is_repeatable: bool


def operator_options(options: RunOptions) -> OperatorOptions:
    """Return the options of operators in a pass."""
    return OperatorOptions(
        one_slot=True,
        ordered=bool(options.order_by),
        sharing=options.sharing,
        record=options.record,
        last_time=options.last_time,
    )


def planned_layout(units: Sequence[Unit], events: Events) -> Layout | None:
    """Return the layout of `selected_events` in blobs, without analysis by Spark.

    Returns None if it contains computed columns, whose types only Spark knows.
    """
    first, frame_schema = units[0], events.frame.schema
    carried_columns = list(travelling(units).values())
    orders = events.options.order_by
    attributes = {*first.group_by, *first.equivalence, *orders}
    attributes |= {column.source for column in carried_columns if isinstance(column.source, str)}
    if not attributes <= set(frame_schema.names) or any(
        not isinstance(c.source, str) for c in carried_columns
    ):
        return None

    def columns(letter: str, names: Sequence[str]) -> list[T.StructField]:
        return [
            T.StructField(f"{letter}{n}", frame_schema[name].dataType)
            for n, name in enumerate(names)
        ]

    classes = {"int": T.IntegerType(), "bigint": T.LongType()}
    selected = [*columns("g", first.group_by), *columns("k", first.equivalence)]
    selected.append(T.StructField("time", T.LongType()))
    selected += [T.StructField(f"class{n}", classes[_width(u)]) for n, u in enumerate(units)]
    selected += columns("o", orders)
    selected += [
        T.StructField(
            f"c{n}",
            T.DoubleType()
            if column.travel is Travel.DOUBLE
            else frame_schema[str(column.source)].dataType,
        )
        for n, column in enumerate(carried_columns)
    ]
    return layout_of(T.StructType(selected))


def selected_events(units: Sequence[Unit], events: Events) -> DataFrame:
    """Return the events that a unit uses: key, time, classes and the columns that units read.

    Unusable events fail the job unless they are allowed.
    """
    first = units[0]
    columns = Columns(events.frame)
    ticks, _ = events.bounds
    classes = {
        f"class{n}": class_column(unit, events.type, columns).cast(_width(unit))
        for n, unit in enumerate(units)
    }
    chosen = [F.col(quoted(name)).alias(f"g{n}") for n, name in enumerate(first.group_by)]
    chosen += [F.col(quoted(name)).alias(f"k{n}") for n, name in enumerate(first.equivalence)]
    chosen.append(ticks.alias("time"))
    chosen += [column.alias(name) for name, column in classes.items()]
    chosen += [column.alias(f"o{n}") for n, column in enumerate(events.orders)]
    chosen += [
        _shuffled_column(column, columns).alias(f"c{n}")
        for n, column in enumerate(travelling(units).values())
    ]
    conditions = [columns.value(name).isNotNull() for name in first.required]
    keeps_all = any(unit.keeps_all for unit in units)
    if not keeps_all:
        conditions.append(F.coalesce(*classes.values()).isNotNull())
    is_selected = reduce(and_, conditions, F.lit(True))
    if events.options.allow_rejects:
        is_selected = events.reason.isNull() & is_selected
    else:
        before, after = REFUSAL.split("{}")
        message = F.concat(F.lit(before), events.reason, F.lit(after))
        # One condition: Spark may reorder two filters, and the first one protects the second.
        is_selected = F.when(events.reason.isNull(), is_selected).otherwise(F.raise_error(message))
    selected = events.frame.filter(is_selected).select(*chosen)
    if keeps_all or len(units) > 1:
        return selected.fillna(-1, list(classes))
    return selected


def _shuffled_column(column: Carried, columns: Columns) -> Column:
    """Return a column as it is shuffled: doubles are computed here, ranks in the worker."""
    if isinstance(column.source, str):
        if column.travel is Travel.DOUBLE:
            return columns.double(column.source)
        return F.col(quoted(column.source))
    value = columns.evaluate(column.source)
    return value.cast("double") if column.travel is Travel.DOUBLE else value


def _width(unit: Unit) -> str:
    """Return the narrowest of Spark's types for a unit's classes."""
    return "int" if unit.classes.size < 1 << 31 else "bigint"
