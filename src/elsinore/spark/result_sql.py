"""SQL over results on Spark (`elsinore.runtime.result_sql`)."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from elsinore.errors import InputError
from elsinore.runtime.result_sql import SqlQuery
from elsinore.spark.quiet import first_line, silenced


def selected(query: SqlQuery, frames: Mapping[str, DataFrame]) -> DataFrame:
    """Run a SELECT over queries' results, which are temporary views while Spark analyses it.

    Raises InputError if it does not fit the columns of the results.
    """
    views = {name: f"elsinore_{uuid4().hex}" for name in query.names}
    spark = next(iter(frames.values())).sparkSession
    for name, view in views.items():
        frames[name].createTempView(view)
    try:
        with silenced():
            return spark.sql(query.text_over(views))
    except AnalysisException as error:
        raise InputError(f"'{query.text}' does not fit the results: {first_line(error)}") from error
    finally:
        for view in views.values():
            spark.catalog.dropTempView(view)
