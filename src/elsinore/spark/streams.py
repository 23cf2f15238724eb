"""Running quantitative queries on Spark: one stream per key, in a pass as for workloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_type

from elsinore.arrow import whole
from elsinore.errors import InputError, QuerySemanticError, kind_of_value
from elsinore.model.spark_sql import quoted
from elsinore.plan import Unit
from elsinore.quantitative.check import check_keys, missing_attribute
from elsinore.quantitative.kind import KIND, VALUE, spec_of, unit_of
from elsinore.quantitative.operator import Spec
from elsinore.quantitative.regex import TYPE
from elsinore.quantitative.runnable import Runnable
from elsinore.runtime.keys import encode_keys
from elsinore.runtime.options import RunOptions
from elsinore.runtime.predicate_bits import (
    attributes_read_by,
    check_names,
    run_rows,
)
from elsinore.spark.column_types import is_sent, refuse_unsent
from elsinore.spark.events import Events, refuse_stream, schema_of
from elsinore.spark.passes import Pass
from elsinore.spark.workers import modules_of_users, ship_by_value, use_driver_interpreter

LIVE_QUERY = (
    "A workload that names the query (QUERY q FROM module:query) answers it while events "
    "arrive: workload.stream(events).start(path, checkpoint=...)"
)
SAMPLE = 10_000  # rows from which the type of values is inferred if functions lack types


def run(
    query: Runnable,
    data: DataFrame,
    *,
    time: str = "time",
    type: str = TYPE,  # noqa: A002 - the word for it
    by: Sequence[str] = (),
    value: str | T.DataType | None = None,
) -> DataFrame:
    """Return a query's values as a Spark DataFrame: columns of `by`, the time, and `value`.

    The events of a key are shuffled to one task, which processes them in time order; they may
    exceed its memory. Without `by`, all events have one key. Tasks read Parquet files themselves.
    `value` is the Spark type of the values ("double"); by default it is inferred from the query's
    functions, or from the values of a sample of the events.

    Raises QuerySemanticError if a column is missing or the type of the values cannot be inferred,
    InputError for times in text and for streams. Events without a time, or without a required type,
    fail the job.
    """
    refuse_stream(data, LIVE_QUERY)
    for name in (time, *([type] if type != TYPE else [])):
        if name not in data.columns:
            raise missing_attribute(name, data.columns, "column")
    if isinstance(data.schema[time].dataType, T.StringType):
        raise InputError(
            f"The times (column '{time}') are text, which Spark would sort as text. Cast them: "
            f'events.withColumn("{time}", events["{time}"].cast("timestamp")).'
        )
    if type != TYPE:
        data = data.withColumn(TYPE, F.col(quoted(type)))
    keys = tuple(dict.fromkeys(by))
    check_keys(keys, schema_of(data))
    attributes = attributes_read_by(query, data.columns)
    events = Events(data, _options(data, time, TYPE if TYPE in attributes else time))
    unit = _unit(query, keys, events, value)
    refuse_unsent((unit,), data.schema)
    use_driver_interpreter(data.sparkSession)
    ship_by_value(modules_of_users(query))
    pass_ = Pass((unit,), events, (None,))
    (presentation,) = pass_.presentations.values()
    result = presentation.frame(pass_.result())
    column = data.schema[time]
    times = F.col(quoted(spec_of(unit).called)).cast(column.dataType)
    columns = [F.col(quoted(name)) for name in keys]
    if time not in keys:
        columns.append(times.alias(time, metadata=column.metadata))
    return result.select(*columns, VALUE)


def values_as_events(values: DataFrame, time: str) -> tuple[DataFrame, str]:
    """Return the result of `run` as events for the next query, and the name of its time column.

    Raises QuerySemanticError if a field of the values has the name of a key or the time.
    """
    kind = values.schema[VALUE].dataType
    if not isinstance(kind, T.StructType):
        return values, time
    before = [name for name in values.columns if name != VALUE]
    check_names(kind.names, before)
    return values.select(*map(quoted, before), f"{VALUE}.*"), time


def _options(data: DataFrame, time: str, type: str) -> RunOptions:  # noqa: A002 - as above
    """Return the options for reading events, with times in ticks."""
    fine = isinstance(data.schema[time].dataType, T.FractionalType)
    return RunOptions(time=time, type=type, time_unit="us", order_by=(time,) if fine else ())


def _unit(
    query: Runnable,
    keys: tuple[str, ...],
    events: Events,
    value: str | T.DataType | None,
) -> Unit:
    """Return the unit of a query over events, with the declared type of values."""
    data, time = events.frame, events.options.time
    types = {name: events.arrow_type(name) for name in data.columns}
    unit = unit_of(query, keys, name="the query")
    spec = replace(
        spec_of(unit),
        called=next(name for name in ("time", "time of the value") if name not in keys),
        shown=(time, types[time]) if events.options.order_by else None,
    )
    unit = KIND.specialize(replace(unit, spec=spec), types, declared=False)
    spec = spec_of(unit)
    kind = (
        _declared_type(value)
        if value is not None
        else spec.value or _sampled_type(spec, data, time)
    )
    items = tuple(name for name in spec.items if name in types)
    return replace(unit, spec=replace(spec, value=kind, items=items))


def _declared_type(value: str | T.DataType) -> pa.DataType:
    """Return the Arrow type of values that a user declared; InputError for an unknown type."""
    try:
        kind = T.DataType.fromDDL(value) if isinstance(value, str) else value
        return to_arrow_type(kind)
    except (PySparkException, AttributeError):
        raise InputError(
            f"value is a type in Spark's words, such as 'double' or 'array<int>', not "
            f"{kind_of_value(value)}."
        ) from None


def _sampled_type(spec: Spec, data: DataFrame, time: str) -> pa.DataType:
    order = [F.col(quoted(name)) for name in (*spec.by, time)]
    sent_columns = [F.col(quoted(field.name)) for field in data.schema if is_sent(field.dataType)]
    sample = data.orderBy(*order).limit(SAMPLE).select(*sent_columns).toArrow()
    keys = encode_keys([whole(sample[name]) for name in spec.by], (), (), sample.num_rows)
    _, sampled = run_rows(spec.query, sample, keys.key, keys.count)
    if pa.types.is_null(sampled.type):
        raise QuerySemanticError(
            f"The type of the query's values is unknown: it has none on the first {SAMPLE} "
            'events. Declare it as a Spark type: run(..., value="double").'
        )
    return sampled.type
