"""Running a plan on Spark: classify, filter, shuffle, sort, then the operator over partitions.

Everything up to the operator is Spark's own (whole-stage code generation); events that no state
takes are dropped before the shuffle, and only the key, the time, the class and the attributes that
aggregates read travel on (DESIGN 8).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type

from elsinore.errors import InputError, did_you_mean
from elsinore.model import AttributeKind, Schema
from elsinore.plan import Plan, Unit, bind
from elsinore.runtime.finish import empty_result, group_column
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import NULL_TIME, NULL_TYPE, REASON_COLUMN, UNPARSEABLE_TIME
from elsinore.runtime.results import Results
from elsinore.spark.classify import class_column
from elsinore.spark.expressions import Columns, quoted
from elsinore.spark.partition import Aggregate, Finish
from elsinore.spark.skew import find_cut, is_cut, totals_by_panes
from elsinore.spark.statistics import StatisticsAccumulator, accumulator
from elsinore.spark.times import SparkTime, microseconds
from elsinore.trends import totals_fields

SHOWN_ROWS = 5
SEEN_TYPES = 12


@dataclass(frozen=True)
class Events:
    """A data frame of events with their time, in microseconds, and type as columns."""

    frame: DataFrame
    options: RunOptions

    @cached_property
    def time(self) -> tuple[Column, SparkTime]:
        """The time in microseconds, null where it is unusable, and the kind of time it was."""
        column = self.column(self.options.time, "time")
        kind = self.frame.select(column.alias("time")).schema["time"].dataType
        return microseconds(column, kind, self.options.time_unit)

    @cached_property
    def type(self) -> Column:
        """The type as text."""
        return self.column(self.options.type, "type").cast("string")

    @cached_property
    def reason(self) -> Column:
        """Why an event cannot be used; null where it can."""
        micros, _ = self.time
        raw = self.column(self.options.time, "time")
        return (
            F.when(raw.isNull(), NULL_TIME)
            .when(micros.isNull(), UNPARSEABLE_TIME)
            .when(self.type.isNull(), NULL_TYPE)
        )

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
                f"{', '.join(names)}. Name the column that holds the {what} with --{what}."
            ) from error
        return column


def run(plan: Plan, frame: DataFrame, options: RunOptions) -> Results[DataFrame]:
    """Run a plan over a data frame of events; return a lazy data frame per query.

    Lazy but for a look at a sample of the keys, which tells those that hold too many of the events
    (`find_cut`): Spark counts them here, once per unit whose keys can be cut.

    What the operators give out is kept (`persist`) once it is computed, so that the results of
    several queries cost one pass over the events; `Results.close` lets go of it. Where Spark keeps
    nothing (some serverless ones refuse to), each result is a pass of its own.

    Raises QueryError where a query does not fit the columns and InputError for unknown time or type
    columns. Unusable events (null time or type) make Spark stop with an error when results are
    computed, unless `options.allow_rejects`; they are then in `rejected`.
    """
    bind(plan.workload, schema_of(frame))
    events = Events(frame, options)
    tables: dict[str, DataFrame] = {}
    kept: list[DataFrame] = []
    statistics = [accumulator(frame) for _ in plan.units]
    for unit, counted in zip(plan.units, statistics, strict=True):
        totals = _totals(plan, unit, events, counted)
        with suppress(PySparkException):  # where Spark refuses to keep anything
            totals = totals.persist(StorageLevel.MEMORY_AND_DISK)
            kept.append(totals)
        tables |= {
            template.query.name: _finished(unit, number, totals, events, exact=plan.workload.exact)
            for number, template in enumerate(unit.members)
        }
    rejected = None
    if options.allow_rejects:
        rejected = frame.withColumn(REASON_COLUMN, events.reason).filter(
            F.col(REASON_COLUMN).isNotNull()
        )
    return Results(
        {query.name: tables[query.name] for query in plan.workload},
        rejected=rejected,
        find_statistics=lambda: tuple(one.value for one in statistics if one is not None),
        find_warnings=lambda: type_warnings(plan, events),
        release=lambda: [one.unpersist() for one in kept],
    )


def schema_of(frame: DataFrame) -> Schema:
    """Return the attributes that a data frame gives its events."""
    return Schema(tuple((field.name, _kind(field.dataType)) for field in frame.schema.fields))


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
    lines = [f"{bad:,} of {bad + usable:,} events cannot be used ({why}). The first of them:"]
    for row in shown.limit(SHOWN_ROWS).collect():
        values = row.asDict()
        told = values.pop(REASON_COLUMN)
        cells = ", ".join(f"{k}={'null' if v is None else v}" for k, v in values.items())
        lines.append(f"  ({told}): {cells}")
    lines.append("Mend them, or name a place for them with --rejects PATH and the run goes on.")
    return "\n".join(lines)


def type_warnings(plan: Plan, events: Events) -> tuple[str, ...]:
    """Return a sentence for each query that names types which never occur; costs a scan."""
    counted = events.frame.select(events.type.alias("type")).groupBy("type").count()
    seen = [row["type"] for row in counted.orderBy(F.desc("count")).collect() if row["type"]]
    shown = ", ".join(seen[:SEEN_TYPES]) or "none"
    more = f" and {len(seen) - SEEN_TYPES} more" if len(seen) > SEEN_TYPES else ""
    found = []
    for unit in plan.units:
        for template in unit.members:
            absent = sorted(set(template.predicates) - set(seen))
            if absent:
                found.append(
                    f"query {template.query.name}: no event has type {' or '.join(absent)}. "
                    f"Types seen: {shown}{more}."
                )
    return tuple(found)


def prepare(unit: Unit, events: Events, *, exact: bool = False) -> DataFrame:
    """Return what a unit's operator reads: selected, classified, filtered, shuffled, sorted."""
    return _sorted(unit, events, _selected(unit, events, exact=exact))


def _sorted(unit: Unit, events: Events, frame: DataFrame) -> DataFrame:
    """Bring each key's events together, in order."""
    key = [f"g{n}" for n in range(len(unit.group_by))]
    key += [f"k{n}" for n in range(len(unit.equivalence))]
    order = [f"o{n}" for n in range(len(events.options.order_by))]
    frame = frame.repartition(*key) if key else frame.repartition(1)
    return frame.sortWithinPartitions(*key, "time", *order).drop(*order)


def _totals(
    plan: Plan, unit: Unit, events: Events, statistics: StatisticsAccumulator | None
) -> DataFrame:
    """Return what a unit's operators give out, each group in one partition."""
    exact = plan.workload.exact
    frame = _selected(unit, events, exact=exact)
    group = [f"g{n}" for n in range(len(unit.group_by))]
    fields = from_arrow_schema(totals_fields(unit, exact=exact)).fields
    schema = T.StructType(
        [frame.schema[name] for name in group] + [f for f in fields if f.name != "group"]
    )
    options = events.options
    usable = _selected(unit, events, exact=exact, strict=False)
    cut = find_cut(unit, usable, events.options.skew_events)
    whole = frame if cut is None else frame.filter(~is_cut(unit, frame, cut))
    aggregate = Aggregate(
        unit,
        ordered=bool(options.order_by),
        sharing=options.sharing,
        record=options.record,
        statistics=statistics,
    )
    totals = _sorted(unit, events, whole).mapInArrow(aggregate, schema)
    if cut is not None:
        order = [f"o{n}" for n in range(len(events.options.order_by))]
        hot = frame.filter(is_cut(unit, frame, cut))
        totals = totals.unionByName(totals_by_panes(unit, hot, cut, order, schema))
        totals = totals.repartition(*group) if group else totals.repartition(1)
    elif unit.equivalence:  # a group's keys may lie in several partitions
        totals = totals.repartition(*group) if group else totals.repartition(1)
    return totals


def _selected(unit: Unit, events: Events, *, exact: bool, strict: bool = True) -> DataFrame:
    """Return what travels: key, time, class and attributes of the events that some state takes.

    Events that cannot be used stop the job, where it is `strict` and they are not allowed for.
    """
    columns = Columns(events.frame)
    micros, _ = events.time
    chosen = [F.col(quoted(name)).alias(f"g{n}") for n, name in enumerate(unit.group_by)]
    chosen += [F.col(quoted(name)).alias(f"k{n}") for n, name in enumerate(unit.equivalence)]
    chosen += [micros.alias("time"), class_column(unit, events.type, columns).alias("class")]
    chosen += [
        events.column(text, "order").alias(f"o{n}")
        for n, text in enumerate(events.options.order_by)
    ]
    for number, name in enumerate(unit.summed):
        addend = F.col(quoted(name)) if exact else columns.value(name).cast("double")
        chosen.append(addend.alias(f"s{number}"))
    chosen += [F.col(quoted(name)).alias(f"r{number}") for number, name in enumerate(unit.ranked)]
    chosen += [F.col(quoted(name)).alias(f"p{number}") for number, name in enumerate(unit.compared)]
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
    for name in unit.required:
        frame = frame.filter(columns.value(name).isNotNull())
    selected = frame.select(*chosen)
    if unit.keeps_all:
        return selected.fillna(-1, ["class"])
    return selected.filter(F.col("class").isNotNull())


def _finished(
    unit: Unit, number: int, totals: DataFrame, events: Events, *, exact: bool
) -> DataFrame:
    query = unit.members[number].query
    _, time = events.time
    types = {name: events.arrow_type(name) for name in unit.summed + unit.ranked}
    group_types = [events.arrow_type(name) for name in unit.group_by]
    empty = empty_result(unit, number, group_types, types, exact=exact)
    raw = from_arrow_schema(empty.schema)
    mine = totals.filter(F.col("query") == number)
    found = mine.mapInArrow(Finish(unit, number, types), raw)
    columns = []
    for field in raw.fields:
        column = F.col(quoted(field.name))
        if field.name in {"window_start", "window_end"}:
            column = time.present(column, query.window).alias(field.name)
        columns.append(column)
    order = [group_column(query, name) for name in query.group_by] + ["window_start"]
    return found.select(*columns).orderBy(*(F.col(quoted(name)).asc_nulls_last() for name in order))


def _kind(kind: T.DataType) -> AttributeKind:
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
