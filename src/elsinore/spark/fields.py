"""Fields of structs as columns, on Spark (see `elsinore.runtime.fields`)."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from elsinore.runtime.fields import fields_of
from elsinore.spark.expressions import quoted


def with_fields(frame: DataFrame, names: Collection[str]) -> DataFrame:
    """Return a frame with a column for each name that is a field of one of its structs."""
    if not names:
        return frame
    structs = frame.select(
        *(quoted(field.name) for field in frame.schema if field.dataType.typeName() == "struct")
    )
    paths = fields_of(to_arrow_schema(structs.schema), set(names).difference(frame.columns))
    columns = {name: F.col(".".join(map(quoted, path))) for name, path in paths.items()}
    return frame.withColumns(columns) if columns else frame
