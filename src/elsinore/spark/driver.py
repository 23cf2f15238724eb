"""Running a plan on Spark: classify, filter, shuffle in columns, then the operator over partitions.

Events that no query uses are dropped before the shuffle, and only the key, the time, the classes
and the columns that units read are shuffled. Units with the same partitioning share one pass
(`elsinore.spark.passes`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from elsinore.model import PythonQuery
from elsinore.model import expression as ex
from elsinore.model.spark_sql import quoted
from elsinore.operators import OperatorStatistics, bind, kind_for, specialize
from elsinore.operators.planning import open_windows, query_warnings
from elsinore.plan import Plan, Unit
from elsinore.plan.classes import EXACT_DOUBLES
from elsinore.plan.modes import HIGH, LAW, End
from elsinore.runtime.fields import derived_names
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import reason_column
from elsinore.runtime.result import Result
from elsinore.runtime.results import FINAL_RESULT, Results
from elsinore.runtime.warnings import (
    absent_types,
    always_null,
    counts_of,
    first_few,
    overflow,
    overflown_columns,
    tied_events,
    warn_of_no_rows,
    warn_of_ties,
)
from elsinore.spark.answers import Answer, Answers, Frames, FrameWithTaskErrors
from elsinore.spark.column_types import refuse_distinct, refuse_unsent
from elsinore.spark.events import (
    Events,
    inspect_time,
    last_time_of,
    nanosecond_columns,
    schema_of,
    unusable_report,
    with_numbers,
)
from elsinore.spark.fields import with_derived
from elsinore.spark.guessed import guess_again
from elsinore.spark.passes import Pass
from elsinore.spark.result_sql import selected
from elsinore.spark.statistics import StatisticsAccumulator, TypesSeen, accumulator, total
from elsinore.spark.workers import ship_by_value, use_driver_interpreter

__all__ = ["inspect_time", "nanosecond_columns", "run", "unusable_report"]

RESULTS_PER_JOB = 50  # results that one job checks: Spark's plans grow with them


def run(plan: Plan, frame: DataFrame, options: RunOptions) -> Results[DataFrame]:
    """Run a plan over a data frame of events; return a lazy data frame per query.

    No job is started here, except one for the last event's time if `options.end` is open.

    One job computes the rows of all queries of a pass when the first are read. If there are several
    queries, Spark persists the rows until `Results.close`. Without persistence (some serverless
    Sparks refuse it), each data frame is a separate pass.

    Raises QueryError for queries that do not fit the columns and InputError for unknown time or
    type columns. Unusable events (null time or type) fail the Spark job when results are computed,
    unless `options.allow_rejects`; they are then in `rejected`.
    """
    all_events = frame
    frame, unusable = guess_again(frame, options)
    source = with_numbers(frame, options)
    frame = with_derived(source, derived_names(plan.workload))
    bind(plan.workload, schema_of(frame).with_ticks(dict(options.clock.numeric_times)))
    if unusable is not None:
        raise unusable
    use_driver_interpreter(frame.sparkSession)
    ship_by_value(plan.aggregates.values())
    ship_by_value(query.module for query in plan.workload if isinstance(query, PythonQuery))
    if options.end is End.OPEN:
        options = replace(options, last_time=last_time_of(Events(frame, options)))
    events = replace(_events(frame, options), source=source)
    _ = events.orders  # raises errors before anything is computed
    plan = specialize(
        plan, {name: events.arrow_type(name) for name in frame.columns}, declared=True
    )
    refuse_unsent(plan.units, events.frame.schema)
    statistics = [accumulator(frame) for _ in plan.units]
    seen = [TypesSeen(accumulator(frame)) for _ in plan.passes]
    passes = _passes(plan, events, statistics, seen)
    answers: dict[str, tuple[int, Answers]] = {}
    answers_of_passes: list[Answers] = []
    makers: dict[int, Callable[[], DataFrame]] = {}
    counts = _Counts(plan, statistics)
    for pass_, types_seen in zip(passes, seen, strict=True):
        pass_answers = pass_.answers()
        pass_answers.on_empty = partial(_warn_of_results, plan, types_seen, events, counts)
        answers_of_passes.append(pass_answers)
        alone = len(pass_.presentations) == 1
        for unit in pass_.units:
            for number, name in zip(unit.queries, unit.names, strict=True):
                # the only query of a pass has a data frame that is not persisted
                make_frame = pass_.frame if alone else partial(pass_answers.frame, number)
                makers[number] = _followed(unit, make_frame)
                if kind_for(unit).after(unit) is None:
                    answers[name] = number, pass_answers
    frames = Frames({query.name: makers[number] for number, query in enumerate(plan.workload)})

    def result(name: str) -> Result:
        if name in answers:
            return Answer(name, *answers[name], frames)
        return FrameWithTaskErrors(name, frames[name])

    def release() -> None:
        for pass_answers in answers_of_passes:
            pass_answers.close()

    return Results(
        frames,
        rejected=_rejected(all_events, options) if options.allow_rejects else None,
        find_statistics=lambda: tuple(filter(None, counts.by_unit())),
        find_query_warnings=lambda: tuple(query_warnings(plan)),
        find_warnings=lambda: (
            *type_warnings(plan, events, seen),
            *first_few(always_null(plan, events.is_null), "have such keys"),
            *digit_warnings(plan, events.frame),
            *overflow_warnings(plan, result),
            *tied_events(plan.units, counts.by_unit()),  # counted while results were computed
        ),
        find_open_windows=lambda: open_windows(plan, options.last_time, counts.by_unit()),
        release=release,
        find_result=result,
        find_selected=lambda query: FrameWithTaskErrors(FINAL_RESULT, selected(query, frames)),
        orders=_orders(passes),
    )


def _passes(
    plan: Plan,
    events: Events,
    statistics: Sequence[StatisticsAccumulator | None],
    seen: Sequence[TypesSeen],
) -> list[Pass]:
    """Return a plan's passes; raise InputError for DISTINCT over rows that Spark cannot compare."""
    passes = [
        Pass(
            units=tuple(plan.units[n] for n in numbers),
            events=events,
            statistics=tuple(statistics[n] for n in numbers),
            types_seen=types_seen,
        )
        for numbers, types_seen in zip(plan.passes, seen, strict=True)
    ]
    for pass_ in passes:
        for unit in pass_.units:
            for number, name in zip(unit.queries, unit.names, strict=True):
                if pass_.presentations[number].form.distinct:
                    refuse_distinct(name, pass_.presentations[number].schema)
    return passes


def _orders(passes: Sequence[Pass]) -> dict[str, tuple[str, ...]]:
    """Return the sort columns of each query's rows, by its name."""
    return {
        name: pass_.presentations[number].form.order
        for pass_ in passes
        for unit in pass_.units
        for number, name in zip(unit.queries, unit.names, strict=True)
    }


@dataclass(slots=True)
class _Counts:
    """The statistics of each unit's operators so far."""

    plan: Plan
    accumulated: Sequence[StatisticsAccumulator | None]
    has_warned: bool = False  # of ties

    def by_unit(self) -> list[OperatorStatistics | None]:
        """Return the statistics of each unit; None over Spark Connect."""
        return [
            None if counted is None else total(counted, kind_for(unit).statistics())
            for unit, counted in zip(self.plan.units, self.accumulated, strict=True)
        ]

    def warn_of_ties(self) -> None:
        """Warn of simultaneous events, once."""
        if not self.has_warned:
            sentences = tied_events(self.plan.units, self.by_unit())
            self.has_warned = bool(sentences)
            warn_of_ties(sentences)


def _warn_of_results(
    plan: Plan, types_seen: TypesSeen, events: Events, counts: _Counts, empty: frozenset[int]
) -> None:
    """Warn of ties, and of possible reasons why queries (by numbers) have no rows."""
    counts.warn_of_ties()
    names = {number: query.name for number, query in enumerate(plan.workload)}
    odd = always_null(plan, events.is_null)
    warn_of_no_rows(plan, frozenset(names[number] for number in empty), types_seen.types, odd)


def _events(frame: DataFrame, options: RunOptions) -> Events:
    """Return the events of a data frame, with columns for uncertain times."""
    events = Events(frame, options)
    if options.uncertain is None:
        return events
    added = {HIGH: events.bounds[1]}
    if events.law is not None:
        added[LAW] = events.law
    return Events(frame.withColumns(added), options)


def _rejected(frame: DataFrame, options: RunOptions) -> DataFrame:
    """Return the unusable rows of a data frame and those skipped by the reader, with reasons."""
    name = reason_column(frame.columns)
    reasons = frame.withColumn(name, _events(frame, options).reason)
    rejected = reasons.filter(F.col(name).isNotNull())
    if not options.ragged_rows:
        return rejected
    rows = [(*[None] * len(frame.columns), reason) for reason in options.ragged_rows]
    return rejected.unionAll(frame.sparkSession.createDataFrame(rows, rejected.schema))


def _followed(unit: Unit, make: Callable[[], DataFrame]) -> Callable[[], DataFrame]:
    """Return a function that creates a query's data frame and applies `Kind.after` to it."""
    after = kind_for(unit).after(unit)
    return make if after is None else lambda: after(make())


def type_warnings(plan: Plan, events: Events, seen: Sequence[TypesSeen]) -> tuple[str, ...]:
    """Return a warning for each query that names types which never occur.

    Costs a scan unless some pass has `seen` all events.
    """
    for pass_types in seen:
        if (types := pass_types.types()) is not None:
            return absent_types(plan, types)
    counted = events.frame.select(events.type.alias("type")).groupBy("type").count()
    rows = sorted(counted.collect(), key=lambda row: -row["count"])
    return absent_types(plan, [row["type"] for row in rows if row["type"]])


def digit_warnings(plan: Plan, frame: DataFrame) -> tuple[str, ...]:
    """Return a warning for each column of integer decimals that lose digits in conditions.

    Spark reads unsigned 64-bit integers as such decimals. Costs a scan if conditions compare them
    with constants or compute with them.
    """
    whole = {
        field.name
        for field in frame.schema.fields
        if isinstance(field.dataType, T.DecimalType)
        and field.dataType.scale == 0
        and field.dataType.precision >= len(str(EXACT_DOUBLES))
    }
    names = sorted(whole & _as_doubles(plan)) if whole else []
    if not names:
        return ()
    maxima = [F.max(F.abs(F.col(quoted(name)))).alias(str(n)) for n, name in enumerate(names)]
    greatest = frame.agg(*maxima).collect()[0]
    return tuple(
        f"Column '{name}' has whole numbers beyond 2^53, up to {value}, which conditions round to "
        "doubles, as Spark reads them as decimals. Write the column as signed integers or as text, "
        "or run in this process, which computes 64 bits exactly."
        for name, value in zip(names, greatest, strict=True)
        if value is not None and value > EXACT_DOUBLES
    )


def _as_doubles(plan: Plan) -> set[str]:
    """Return the columns that conditions compute with, or compare within one event."""
    conditions = [condition for query in plan.workload for condition in query.where]
    names = set()
    for node in (node for condition in conditions for node in ex.walk(condition)):
        operands = ex.children(node)
        attributes_read = [
            attribute for attribute in operands if isinstance(attribute, ex.Attribute)
        ]
        compares = isinstance(node, ex.Binary) and not node.operator.is_arithmetic
        if isinstance(node, ex.IsNull) or (
            compares
            and len({(attribute.variable, attribute.reference) for attribute in attributes_read})
            > 1
        ):
            continue
        names |= {attribute.name for attribute in attributes_read if attribute.name}
    return names


def overflow_warnings(plan: Plan, result: Callable[[str], Result]) -> tuple[str, ...]:
    """Return the warning of counts beyond a double's range, if any; computes the results."""
    overflown: dict[str, list[str]] = {}
    infinite = []
    for query in plan.workload:
        answer = result(query.name)
        rows = answer.fetched() if isinstance(answer, Answer) else None
        if rows is not None:
            overflown[query.name] = overflown_columns(query, rows)
            continue
        doubles = {
            field.name for field in answer.schema if isinstance(field.dataType, T.DoubleType)
        }
        infinite += [
            answer.filter(F.col(quoted(name)) == float("inf"))
            .limit(1)
            .select(F.lit(query.name).alias("query"), F.lit(name).alias("name"))
            for name in counts_of(query)
            if name in doubles
        ]
    for start in range(0, len(infinite), RESULTS_PER_JOB):
        union = functools.reduce(DataFrame.unionAll, infinite[start : start + RESULTS_PER_JOB])
        for row in union.collect():
            overflown.setdefault(row["query"], []).append(row["name"])
    return overflow(plan.workload, overflown)
