"""Derived columns on Spark: fields of structs, SQL expressions (see `elsinore.runtime.fields`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema

from elsinore.errors import QuerySemanticError
from elsinore.model.computed import ComputedName
from elsinore.model.expression import Attribute, Call, Expression, walk
from elsinore.model.spark_sql import quoted, spark_sql
from elsinore.runtime.fields import (
    FUNCTION,
    computable,
    fields_of,
    name_conflict,
    without_functions,
)
from elsinore.runtime.user_functions import Function, apply, typed
from elsinore.spark.expressions import sql_column
from elsinore.spark.quiet import first_line
from elsinore.spark.workers import ship_by_value


def with_derived(frame: DataFrame, names: Collection[str]) -> DataFrame:
    """Add a column to a frame for each name that is a field of a struct or is computed.

    Computed names that read a missing column are skipped.
    """
    if not names:
        return frame
    ship_functions(names)
    structs = frame.select(
        *(quoted(field.name) for field in frame.schema if field.dataType.typeName() == "struct")
    )
    paths = fields_of(to_arrow_schema(structs.schema), set(names).difference(frame.columns))
    columns = {name: F.col(".".join(map(quoted, path))) for name, path in paths.items()}
    frame = frame.withColumns(columns) if columns else frame
    computed_names = computable(names, frame.columns)
    clash = set(computed_names).intersection(frame.columns)
    if clash:
        raise name_conflict(min(clash))

    def call(function: Function, arguments: list[Expression]) -> str:
        nonlocal frame
        result = f"{FUNCTION}{len(frame.columns)}"
        argument_columns = [_column(frame, argument) for argument in arguments]
        frame = frame.withColumn(result, _over_columns(function)(*argument_columns))
        return result

    for name in computed_names:
        expression = without_functions(name.expression, call)
        frame = frame.withColumn(name, _column(frame, expression))
    return frame


def ship_functions(names: Iterable[str]) -> None:
    """Ship the modules of user-defined functions in computed values to Spark's workers."""
    ship_by_value(
        module
        for name in names
        if isinstance(name, ComputedName)
        for node in walk(name.expression)
        if isinstance(node, Call) and node.function is not None
        if (module := inspect.getmodule(node.function)) is not None
    )


def _column(frame: DataFrame, expression: Expression) -> Column:
    """Return an SQL expression as a column, null for rows for which it fails."""
    if isinstance(expression, Attribute) and expression.name is not None:
        return F.col(quoted(expression.name))
    try:
        return sql_column(frame, spark_sql(expression, quoted))
    except AnalysisException as error:
        raise QuerySemanticError(
            f"Spark does not compute this: {first_line(error)}",
            span=getattr(expression, "span", None),
        ) from error


def _over_columns(function: Function) -> Callable[..., Column]:
    """Return a function of Spark columns that calls a user-defined function."""
    typed_function = typed(function)

    def over_arrays(*columns: pa.Array) -> pa.Array:
        return apply(typed_function, columns, len(columns[0]))

    create_udf: Any = arrow_udf  # its type hints lack functions of any number of arrays
    udf: Callable[..., Column] = create_udf(over_arrays, from_arrow_type(typed_function.kind))
    return udf
