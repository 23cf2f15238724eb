"""Events without times on Spark: the numbers of their rows in files.

The rows of a data frame have no order, but those of a Parquet file do: Spark has each row's file
and its index there, and the files' footers have the numbers of rows of the files before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from elsinore.errors import InputError, option
from elsinore.model.clock import ROWS

ROWS_KEY = "elsinore.rows"  # metadata of a column that numbers the rows of files


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The number of the first row of each Parquet file, by its path; rows count from 1."""

    by_file: Mapping[str, int]

    @classmethod
    def of(cls, paths: Sequence[Path]) -> FirstRows:
        """Return the numbers for files whose rows come in the order of `paths`."""
        counts = [pq.read_metadata(path).num_rows for path in paths]
        names = [str(path.absolute()) for path in paths]
        return cls(dict(zip(names, accumulate(counts, initial=1), strict=False)))

    def number(self, frame: DataFrame) -> DataFrame:
        """Return a frame that reads some of the files, with the column ROWS."""
        uri = F.replace(F.col("_metadata.file_path"), F.lit("+"), F.lit("%2B"))
        path = F.regexp_replace(F.url_decode(uri), "^file:/+", "/")
        pairs = chain.from_iterable(self.by_file.items())
        first = F.try_element_at(F.create_map(*map(F.lit, pairs)), path)
        unknown = F.raise_error(F.concat(F.lit("The rows of this file are not known: "), path))
        number = F.coalesce(first, unknown.cast("bigint")) + F.col("_metadata.row_index")
        return frame.select("*", number.alias(ROWS)).withMetadata(ROWS, {ROWS_KEY: ""})


def refuse_without_row_numbers(frame: DataFrame) -> None:
    """Raise InputError for a frame without row numbers of files."""
    fields = {field.name: field for field in frame.schema.fields}
    if ROWS not in fields:
        raise InputError(
            f"The rows of a Spark DataFrame have no order, so {option('time', ROWS)} cannot order "
            f"its events. Name a column of times with {option('time')}, or run over the path of "
            "the files: workload.run(path, spark=spark)."
        )
    if ROWS_KEY not in fields[ROWS].metadata:
        raise InputError(
            f"{option('time', ROWS)} is the order of rows, which a Spark DataFrame does not have. "
            f"To read times from the column {ROWS}, write {option('time', '`ROWS`')}."
        )
