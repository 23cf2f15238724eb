"""Running a plan on Spark: classify, filter, shuffle in columns, then the operator over partitions.

Events of no interest are dropped before the shuffle, and only the key, the time, the classes and
the columns that units carry travel on. Units that take the stream apart alike go through it
together.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from elsinore.errors import InputError, choices_text, did_you_mean, option
from elsinore.model import AttributeKind, PythonQuery, Schema
from elsinore.operators import OperatorOptions, ResultForm, bind, fitted, kind_for
from elsinore.operators.panes import Panes
from elsinore.plan import Carried, Plan, Travel, Unit
from elsinore.plan.modes import HIGH
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import (
    ENDS_BEFORE,
    NOT_A_NUMBER,
    NULL_END,
    NULL_TIME,
    NULL_TYPE,
    REASON_COLUMN,
    TIME_OUT_OF_RANGE,
    UNPARSEABLE_TIME,
    mend_or_reject,
)
from elsinore.runtime.results import Results
from elsinore.runtime.warnings import absent_types, counts_of, overflow
from elsinore.spark.classify import class_column
from elsinore.spark.combining import panes_of
from elsinore.spark.compiled import hand_over, hand_over_panes
from elsinore.spark.expressions import Columns, quoted
from elsinore.spark.partition import Chained, Finish, Outputs, RunOperators, travelling
from elsinore.spark.scan import scanned
from elsinore.spark.shuffle import layout_of, packed, partitions_for, sent, task_memory
from elsinore.spark.statistics import StatisticsAccumulator, accumulator, total
from elsinore.spark.times import NANOSECONDS_KEY, SparkTime, has_zones, look_at, to_ticks
from elsinore.spark.workers import MapInArrow, ship_by_value, shipped, use_own_interpreter

SHOWN_ROWS = 5
ASKED_AT_ONCE = 50  # results that one job looks at: Spark's plans grow with them


@dataclass(frozen=True)
class Events:
    """A data frame of events with their time, in ticks, and type as columns."""

    frame: DataFrame
    options: RunOptions

    @cached_property
    def time(self) -> tuple[Column, SparkTime]:
        """The time in ticks, null where it is unusable, and the kind of time it was."""
        column, options = self.column(self.options.time, "time"), self.options
        field = self.frame.select(column.alias("time")).schema["time"]
        zoned = isinstance(field.dataType, T.StringType) and has_zones(self.frame, column)
        return to_ticks(
            column, field, options.time_unit, options.clock, options.largest_time, zoned=zoned
        )

    @cached_property
    def bounds(self) -> tuple[Column, Column]:
        """The first and the last possible time in ticks; equal where times are exact."""
        ticks, _ = self.time
        uncertain, options = self.options.uncertain, self.options
        if uncertain is None:
            return ticks, ticks
        if uncertain.high is not None:
            high, _ = Events(self.frame, replace(options, time=uncertain.high)).time
            return ticks, high
        by_type, other = uncertain.shifts(options.clock)
        shift = F.lit(other)
        for kind, length in by_type.items():
            shift = F.when(self.type == kind, F.lit(length)).otherwise(shift)
        return ticks - shift, ticks

    @cached_property
    def type(self) -> Column:
        """The type as text."""
        return self.column(self.options.type, "type").cast("string")

    @cached_property
    def reason(self) -> Column:
        """Why an event cannot be used; null where it can."""
        ticks, _ = self.time
        raw = self.column(self.options.time, "time")
        kind = self.frame.select(raw.alias("time")).schema["time"].dataType
        reason = F.when(raw.isNull(), NULL_TIME)
        if isinstance(kind, T.DoubleType | T.FloatType):
            reason = reason.when(F.isnan(raw), NOT_A_NUMBER)
        lost = UNPARSEABLE_TIME if isinstance(kind, T.StringType) else TIME_OUT_OF_RANGE
        reason = reason.when(ticks.isNull(), lost).when(self.type.isNull(), NULL_TYPE)
        if self.options.uncertain is None:
            return reason
        low, high = self.bounds
        return reason.when(high.isNull(), NULL_END).when(high < low, ENDS_BEFORE)

    @cached_property
    def time_zone(self) -> str:
        """The time zone of the session."""
        return str(self.frame.sparkSession.conf.get("spark.sql.session.timeZone"))

    def arrow_type(self, name: str) -> pa.DataType:
        """Return the type that an attribute has in Arrow."""
        kind = self.frame.schema[name].dataType
        if isinstance(kind, T.TimestampType):
            return pa.timestamp("us", self.time_zone)
        return to_arrow_type(kind)

    def column(self, text: str, what: str) -> Column:
        """Return a column by name, or an SQL expression."""
        if text in self.frame.columns:
            return F.col(quoted(text))
        try:
            column = F.expr(text)
            _ = self.frame.select(column).schema  # Spark Connect looks at nothing before
        except AnalysisException as error:
            names = self.frame.columns
            raise InputError(
                f"The expression for the {what}, {text!r}, does not fit the events: "
                f"{str(error).splitlines()[0]}{did_you_mean(text, names)} Columns: "
                f"{choices_text(names)}. Name the column that holds the {what} with {option(what)}."
            ) from error
        return column


def look_at_time(frame: DataFrame, options: RunOptions) -> tuple[bool, bool]:
    """Return whether the times of events are numbers, and whether they have nanoseconds.

    Looks at all events where times are text. Raises InputError for unknown columns.
    """
    column = Events(frame, options).column(options.time, "time")
    field = frame.select(column.alias("time")).schema["time"]
    return look_at(frame, column, field, options.time_unit)


def run(plan: Plan, frame: DataFrame, options: RunOptions) -> Results[DataFrame]:
    """Run a plan over a data frame of events; return a lazy data frame per query.

    No job is started here.

    Where units of a pass have several queries, what the operators give out is kept (`persist`) once
    it is computed, so that all results cost one pass over the events; `Results.close` lets go of
    it. Where Spark keeps nothing (some serverless ones refuse to), each result is a pass of its
    own.

    Raises QueryError where a query does not fit the columns and InputError for unknown time or type
    columns. Unusable events (null time or type) make Spark stop with an error when results are
    computed, unless `options.allow_rejects`; they are then in `rejected`.
    """
    bind(plan.workload, schema_of(frame))
    use_own_interpreter(frame.sparkSession)
    ship_by_value(plan.aggregates.values())
    ship_by_value(query.module for query in plan.workload if isinstance(query, PythonQuery))
    events = Events(frame, options)
    if options.uncertain is not None:
        events = Events(frame.withColumn(HIGH, events.bounds[1]), options)
    plan = fitted(plan, {name: events.arrow_type(name) for name in frame.columns}, declared=True)
    tables: dict[int, DataFrame] = {}
    kept: list[DataFrame] = []
    statistics = [accumulator(frame) for _ in plan.units]
    types = {n: events.arrow_type(n) for u in plan.units for n in (*u.carried, *u.group_by)}
    hand_over(frame.sparkSession, plan.units, _operator_options(options), types)
    for numbers in plan.passes:
        units = tuple(plan.units[n] for n in numbers)
        pass_ = Pass(units, events, tuple(statistics[n] for n in numbers))
        queries = [(unit, place) for unit in units for place in range(len(unit.queries))]
        if len(queries) == 1 and not pass_.adds_up_over_partitions:
            ((unit, _),) = queries
            tables[unit.queries[0]] = _presented(pass_.result(), unit, 0, events)
            continue
        partials = pass_.partials()
        if len(queries) > 1:
            with suppress(PySparkException):  # where Spark refuses to keep anything
                partials = partials.persist(StorageLevel.MEMORY_AND_DISK)
                kept.append(partials)
        outputs = pass_.outputs
        for unit, place in queries:
            number = unit.queries[place]
            mine = partials.filter(F.col("query") == number).select(
                *(F.col(f"g{n}") for n in range(len(unit.group_by))),
                *(F.col(name).alias(f"f{n}") for n, name in enumerate(outputs.columns_of(number))),
            )
            finish, raw = _finish(unit, place, events)
            tables[number] = _presented(mine.mapInArrow(shipped(finish), raw), unit, place, events)
    rejected = None
    if options.allow_rejects:
        rejected = frame.withColumn(REASON_COLUMN, events.reason).filter(
            F.col(REASON_COLUMN).isNotNull()
        )
    results = {query.name: tables[number] for number, query in enumerate(plan.workload)}
    return Results(
        results,
        rejected=rejected,
        find_statistics=lambda: tuple(
            total(one, kind_for(unit).statistics())
            for unit, one in zip(plan.units, statistics, strict=True)
            if one is not None
        ),
        find_warnings=lambda: type_warnings(plan, events) + overflow_warnings(plan, results),
        release=lambda: [one.unpersist() for one in kept],
        orders={
            name: _form(unit, place, events).order
            for unit in plan.units
            for place, name in enumerate(unit.names)
        },
    )


def schema_of(frame: DataFrame) -> Schema:
    """Return the attributes that a data frame gives its events."""
    return Schema(tuple((field.name, _kind(field)) for field in frame.schema.fields))


def unusable_report(frame: DataFrame, options: RunOptions) -> str | None:
    """Return how many events cannot be used, why, and the first five; None where all can."""
    reason = Events(frame, options).reason
    counted = frame.select(reason.alias("reason")).groupBy("reason").count().collect()
    counts = {row["reason"]: row["count"] for row in counted}
    usable = counts.pop(None, 0)
    if not counts:
        return None
    bad = sum(counts.values())
    why = ", ".join(f"{count:,} with {text}" for text, count in sorted(counts.items()))
    shown = frame.withColumn(REASON_COLUMN, reason).filter(F.col(REASON_COLUMN).isNotNull())
    noun = "event" if bad == 1 else "events"
    lines = [f"{bad:,} {noun} of {bad + usable:,} cannot be used ({why})."]
    lines.append("The first of them:" if bad > 1 else "It is:")
    for row in shown.limit(SHOWN_ROWS).collect():
        values = row.asDict()
        told = values.pop(REASON_COLUMN)
        cells = ", ".join(f"{k}={'null' if v is None else v}" for k, v in values.items())
        lines.append(f"  ({told}): {cells}")
    lines.append(mend_or_reject())
    return "\n".join(lines)


def type_warnings(plan: Plan, events: Events) -> tuple[str, ...]:
    """Return a sentence for each query that names types which never occur; costs a scan."""
    counted = events.frame.select(events.type.alias("type")).groupBy("type").count()
    seen = [row["type"] for row in counted.orderBy(F.desc("count")).collect() if row["type"]]
    return absent_types(plan, seen)


def overflow_warnings(plan: Plan, tables: Mapping[str, DataFrame]) -> tuple[str, ...]:
    """Return the sentence on counts beyond a double's range, if any are; computes the results."""
    asked = []
    for query in plan.workload:
        found = tables[query.name]
        doubles = {field.name for field in found.schema if isinstance(field.dataType, T.DoubleType)}
        asked += [
            found.filter(F.col(quoted(name)) == float("inf"))
            .limit(1)
            .select(F.lit(query.name).alias("query"), F.lit(name).alias("name"))
            for name in counts_of(query)
            if name in doubles
        ]
    overflown: dict[str, list[str]] = {}
    for start in range(0, len(asked), ASKED_AT_ONCE):
        together = functools.reduce(DataFrame.unionAll, asked[start : start + ASKED_AT_ONCE])
        for row in together.collect():
            overflown.setdefault(row["query"], []).append(row["name"])
    return overflow(plan.workload, overflown)


def _operator_options(options: RunOptions) -> OperatorOptions:
    return OperatorOptions(
        one_slot=True,
        ordered=bool(options.order_by),
        sharing=options.sharing,
        record=options.record,
    )


@dataclass(frozen=True)
class Pass:
    """Units that go over the events together."""

    units: tuple[Unit, ...]
    events: Events
    statistics: tuple[StatisticsAccumulator | None, ...]

    @property
    def adds_up_over_partitions(self) -> bool:
        """Whether a group's partial outputs must be together and may lie in several partitions."""
        adds_up = any(kind_for(unit).adds_up(unit) for unit in self.units)
        return adds_up and bool(self.units[0].equivalence)

    @cached_property
    def outputs(self) -> Outputs:
        """How what the operators give out lies in a data frame."""
        return Outputs(self.units, _types(self.units, self.events))

    def partials(self) -> DataFrame:
        """Return what the operators give out; groups that are added up in one partition."""
        frame = selected_events(self.units, self.events)
        first = self.units[0]
        group = [f"g{n}" for n in range(len(first.group_by))]
        fields = from_arrow_schema(self.outputs.fields).fields
        schema = T.StructType([frame.schema[name] for name in group] + fields)
        partials = self._run(frame, schema)
        if self.adds_up_over_partitions:
            partials = partials.repartition(*group) if group else partials.repartition(1)
        return partials

    def result(self) -> DataFrame:
        """Return the result of a pass of one query, finished where its operator runs."""
        ((unit,), frame) = self.units, selected_events(self.units, self.events)
        finish, raw = _finish(unit, 0, self.events)
        return self._run(frame, raw, finish)

    def _run(
        self, selected: DataFrame, schema: T.StructType, finish: MapInArrow | None = None
    ) -> DataFrame:
        """Shuffle events and run the operators over them."""
        options = self.events.options
        layout = layout_of(selected)
        frame, actions, read = self.events.frame, None, None
        if options.uncertain is None:
            read = scanned(frame, self.units, options, layout, self.statistics[0])
        if read is None:
            partitions = partitions_for(frame, layout)
            blobs = packed(selected, layout, partitions)
        else:
            blobs, partitions, actions = read
        if actions is not None:
            panes = panes_of(self.units[0])
            assert isinstance(panes, Panes), panes
            hand_over_panes(
                frame.sparkSession, self.units[0], panes, ordered=bool(options.order_by)
            )
        run_operators: MapInArrow = RunOperators(
            units=self.units,
            outputs=self.outputs,
            layout=layout,
            options=_operator_options(options),
            orders=tuple(f"o{n}" for n in range(len(options.order_by))),
            memory=task_memory(selected.sparkSession),
            statistics=self.statistics,
            actions=actions,
        )
        if finish is not None:
            run_operators = Chained(run_operators, finish)
        return sent(blobs, partitions).mapInArrow(shipped(run_operators), schema)


def selected_events(units: Sequence[Unit], events: Events, *, strict: bool = True) -> DataFrame:
    """Return what travels: key, time, classes and columns of the events of interest to a unit.

    Events that cannot be used stop the job, where it is `strict` and they are not allowed for.
    """
    first = units[0]
    columns = Columns(events.frame)
    ticks, _ = events.bounds
    classes = [f"class{n}" for n in range(len(units))]
    chosen = [F.col(quoted(name)).alias(f"g{n}") for n, name in enumerate(first.group_by)]
    chosen += [F.col(quoted(name)).alias(f"k{n}") for n, name in enumerate(first.equivalence)]
    chosen.append(ticks.alias("time"))
    chosen += [
        class_column(unit, events.type, columns).cast(_width(unit)).alias(name)
        for unit, name in zip(units, classes, strict=True)
    ]
    chosen += [
        events.column(text, "order").alias(f"o{n}")
        for n, text in enumerate(events.options.order_by)
    ]
    chosen += [
        _carried(column, columns).alias(f"c{n}")
        for n, column in enumerate(travelling(units).values())
    ]
    frame = events.frame
    if events.options.allow_rejects or not strict:
        frame = frame.filter(events.reason.isNull())
    else:
        told = F.concat(
            F.lit("An event cannot be used: "),
            events.reason,
            F.lit(". Mend the input, or let the run go on without such events (rejects)."),
        )
        frame = frame.filter(F.when(events.reason.isNull(), True).otherwise(F.raise_error(told)))
    for name in first.required:
        frame = frame.filter(columns.value(name).isNotNull())
    selected = frame.select(*chosen)
    if not any(unit.keeps_all for unit in units):
        selected = selected.filter(F.coalesce(*map(F.col, classes)).isNotNull())
        if len(units) == 1:
            return selected
    return selected.fillna(-1, classes)


def _carried(column: Carried, columns: Columns) -> Column:
    """Return a column as it travels: doubles are made here, ranks in the worker."""
    if isinstance(column.source, str):
        if column.travel is Travel.DOUBLE:
            return columns.value(column.source).cast("double")
        return F.col(quoted(column.source))
    value = columns.evaluate(column.source)
    return value.cast("double") if column.travel is Travel.DOUBLE else value


def _width(unit: Unit) -> str:
    """Return the narrowest of Spark's types that holds a unit's classes."""
    return "int" if unit.classes.size < 1 << 31 else "bigint"


def _finish(unit: Unit, query: int, events: Events) -> tuple[Finish, T.StructType]:
    """Return what makes a query's result of its partial outputs, and the columns it gives."""
    types = {name: events.arrow_type(name) for name in unit.carried}
    form = _form(unit, query, events)
    return Finish(unit, query, types), from_arrow_schema(form.schema)


def _form(unit: Unit, query: int, events: Events) -> ResultForm:
    types = {name: events.arrow_type(name) for name in unit.carried}
    group_types = [events.arrow_type(name) for name in unit.group_by]
    return kind_for(unit).result(unit, query, group_types, types)


def _presented(found: DataFrame, unit: Unit, query: int, events: Events) -> DataFrame:
    """Return a query's result with times of the input's kind; in order where that is asked for."""
    _, time = events.time
    form = _form(unit, query, events)
    columns = []
    for field in found.schema.fields:
        column = F.col(quoted(field.name))
        if field.name in form.times:
            window = form.times[field.name]
            column = time.present(column, window).alias(field.name, metadata=time.metadata(window))
        columns.append(column)
    shown = found.select(*columns)
    if form.distinct:
        shown = shown.distinct()
    if form.limit is not None:
        shown = shown.limit(form.limit)
    order = [F.col(quoted(name)).asc_nulls_last() for name in form.order]
    return shown.orderBy(*order) if order and events.options.ordered else shown


def _types(units: Sequence[Unit], events: Events) -> list[dict[str, pa.DataType]]:
    """Return the types of the attributes that units carry."""
    return [{name: events.arrow_type(name) for name in unit.carried} for unit in units]


def _kind(field: T.StructField) -> AttributeKind:
    kind = field.dataType
    if NANOSECONDS_KEY in field.metadata:
        return AttributeKind.TIME
    if isinstance(kind, T.BooleanType):
        return AttributeKind.BOOLEAN
    if isinstance(kind, T.IntegralType):
        return AttributeKind.INTEGER
    if isinstance(kind, T.NumericType):
        return AttributeKind.NUMBER
    if isinstance(kind, T.StringType):
        return AttributeKind.STRING
    if isinstance(kind, T.TimestampType | T.TimestampNTZType | T.DateType):
        return AttributeKind.TIME
    if isinstance(kind, T.StructType | T.ArrayType | T.MapType | T.VariantType):
        return AttributeKind.NESTED
    return AttributeKind.OTHER
