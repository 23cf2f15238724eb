"""Quantitative queries on Spark: a stream for each key, in one pass over sorted partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
from pyspark.sql.types import (
    BooleanType,
    DataType,
    NumericType,
    StringType,
    StructField,
    StructType,
)

from elsinore.errors import InputError, QuerySemanticError
from elsinore.quantitative.lowered import CannotCompile, lowered
from elsinore.quantitative.pipeline import Pipeline
from elsinore.quantitative.query import Query
from elsinore.quantitative.regex import TYPE
from elsinore.runtime.streams import KeyRuns, check_key, check_names, run_rows, unknown

SAMPLE = 10_000  # rows that tell the type of values that the query's functions do not


def run(
    query: Query | Pipeline,
    data: DataFrame,
    *,
    time: str = "time",
    type: str = TYPE,  # noqa: A002 - the word for it
    by: Sequence[str] = (),
    compiled: bool | None = None,
    value: str | DataType | None = None,
) -> DataFrame:
    """Return a query's values as a Spark DataFrame: columns of `by`, the time, and `value`.

    Events are partitioned by `by` and sorted by time; each partition is gone through once, and a
    key may have more events than there is memory. Without `by` all events are one key's, in one
    task. `value` is the type of the values, in Spark's words ("double"); where it is left out it is
    worked out from the query's functions, or from the values of a sample of the events.

    Raises QuerySemanticError where a column is missing or the type of the values cannot be told,
    InputError for times that are text. Events without a time, or a type that is asked for, fail the
    job with InputError.
    """
    for name in (time, *([type] if type != TYPE else [])):
        if name not in data.columns:
            raise unknown(name, data.columns, "column")
    if isinstance(data.schema[time].dataType, StringType):
        raise InputError(
            f"The times (column '{time}') are text, which Spark would sort as text. Cast them: "
            f'events.withColumn("{time}", events["{time}"].cast("timestamp")).'
        )
    for name in by:
        if name not in data.columns:
            raise unknown(name, data.columns, "by")
        check_key(name, to_arrow_type(data.schema[name].dataType))
    if type != TYPE:
        data = data.withColumn(TYPE, data[type])
    kind = _value_type(query, data, by, value)
    fields = [StructField(name, data.schema[name].dataType) for name in (*by, time)]
    schema = StructType([*fields, StructField("value", kind)])
    parted = data.repartition(*by) if by else data.coalesce(1)
    ordered = parted.sortWithinPartitions(*by, time)
    task = _Task(query, (*by, time), tuple(by), to_arrow_type(kind), compiled is not False)
    return ordered.mapInArrow(task, schema)


def values_as_events(found: DataFrame, time: str) -> tuple[DataFrame, str]:
    """Return what `run` gave as events for the next query, and the name of the column of times.

    Raises QuerySemanticError where a field of the values is called like a key or the time.
    """
    kind = found.schema["value"].dataType
    if not isinstance(kind, StructType):
        return found, time
    before = [name for name in found.columns if name != "value"]
    check_names(kind.names, before)
    return found.select(*before, "value.*"), time


class _Task:
    """What a worker does with a sorted partition."""

    def __init__(
        self,
        query: Query | Pipeline,
        shown: tuple[str, ...],
        by: tuple[str, ...],
        kind: pa.DataType,
        compiled: bool,
    ) -> None:
        self._query, self._shown, self._by = query, shown, by
        self._kind, self._compiled = kind, compiled

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the values of a partition's rows."""
        runs: KeyRuns | None = None
        for batch in batches:
            if runs is None:
                runs = KeyRuns(self._query, self._by, batch.schema, compiled=self._compiled)
            table = pa.Table.from_batches([batch])
            _check_times(table, self._shown[-1])
            rows, values = runs.process(table)
            if values is None:
                continue
            shown = [table[name].take(pa.array(rows)) for name in self._shown]
            found = pa.table([*shown, values.cast(self._kind)], names=[*self._shown, "value"])
            yield from found.combine_chunks().to_batches()


def _check_times(table: pa.Table, time: str) -> None:
    if table[time].null_count:
        raise InputError(
            f"{table[time].null_count} events have no time (column '{time}'). Drop them, or give "
            "them one."
        )


def _value_type(
    query: Query | Pipeline, data: DataFrame, by: Sequence[str], value: str | DataType | None
) -> DataType:
    if isinstance(value, DataType):
        return value
    if isinstance(value, str):
        return DataType.fromDDL(value)
    plain = {
        field.name: to_arrow_type(field.dataType)
        for field in data.schema
        if isinstance(field.dataType, NumericType | BooleanType)
    }
    if isinstance(query, Query):
        try:
            machine = lowered(query, plain)
            return from_arrow_type(machine.values(machine.no_values()).type)
        except CannotCompile:
            pass
    few = data.orderBy(*by).limit(SAMPLE).toArrow() if by else data.limit(SAMPLE).toArrow()
    codes = np.zeros(few.num_rows, np.int32)
    _, found = run_rows(query, few, codes, 1, compiled=False)
    if pa.types.is_null(found.type):
        raise QuerySemanticError(
            f"The type of the query's values cannot be told: it has none on the first {SAMPLE} "
            'events. Say it: run(..., value="double"), in Spark\'s words.'
        )
    return from_arrow_type(found.type)
