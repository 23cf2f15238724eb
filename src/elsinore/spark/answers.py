"""Results of the queries of a pass: one job over the events finishes all of them.

Tasks pack the rows of all queries (`elsinore.spark.finishing`), and Spark persists the packed rows.
Reading the rows of one query fetches those of all small results at once; data frames select their
query's rows from the persisted ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from elsinore.model.spark_sql import quoted
from elsinore.operators import ResultForm
from elsinore.runtime.presentation import arrange_rows
from elsinore.runtime.result import Result
from elsinore.spark.finishing import Unpack, unpacked
from elsinore.spark.quiet import task_errors
from elsinore.spark.times import SparkTime
from elsinore.spark.workers import shipped

LARGEST_LIMIT = 2**31 - 1  # of Spark's `limit`
INLINE_BYTES = 1 << 28  # of a pass's results, up to which the driver fetches all at once
# methods of a data frame that compute rows
ACTIONS = frozenset(
    ("collect", "count", "first", "head", "take", "tail", "isEmpty", "show", "toArrow", "toPandas")
)
_PLAIN = (
    T.NumericType,
    T.StringType,
    T.BooleanType,
    T.DateType,
    T.TimestampType,
    T.TimestampNTZType,
    T.BinaryType,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """Converts finished rows to a query's result: times of the input's kind, sorted on request."""

    form: ResultForm
    time: SparkTime
    ordered: bool

    @property
    def raw(self) -> T.StructType:
        """The columns of finished rows, times as integers."""
        return from_arrow_schema(self.form.schema)

    @property
    def schema(self) -> T.StructType:
        """The columns of the result."""
        struct = T.StructType()
        for column in self.raw.fields:
            if column.name in self.form.times:
                window = self.form.times[column.name]
                kind, metadata = self.time.type(window), self.time.metadata(window)
                struct.add(T.StructField(column.name, kind, metadata=metadata))
            else:
                struct.add(column)
        return struct

    def frame(self, rows: DataFrame) -> DataFrame:
        """Return the result of finished rows in a data frame."""
        form = self.form
        columns = []
        for name in self.raw.names:
            column = F.col(quoted(name))
            if name in form.times:
                window = form.times[name]
                column = self.time.present(column, window)
                column = column.alias(name, metadata=self.time.metadata(window))
            columns.append(column)
        presented = rows.select(*columns)
        if form.distinct:
            presented = presented.distinct()
        if form.limit is not None:
            presented = presented.limit(min(form.limit, LARGEST_LIMIT))
        order = [F.col(quoted(name)).asc_nulls_last() for name in form.order]
        return presented.orderBy(*order) if order and self.ordered else presented

    def table(self, table: pa.Table, zone: str) -> pa.Table:
        """Return the result of fetched finished rows, equal to `frame(...).toArrow()`."""
        form = self.form
        for name, window in form.times.items():
            place = table.schema.get_field_index(name)
            presented_column = self.time.presented(table.column(place), window)
            table = table.set_column(place, name, presented_column)
        table = arrange_rows(table, form, ordered=self.ordered)
        return table.cast(to_arrow_schema(self.schema, timezone=zone))


@dataclass(slots=True, kw_only=True)
class Answers:
    """The results of a pass's queries, packed by its tasks in `packed_rows` (see `ANSWERS`).

    Spark persists the packed rows if data frames read them, and if some results are too large to be
    fetched and `expensive` to recompute. When results have been fetched, `on_empty` is
    called with the queries without rows.
    """

    packed_rows: DataFrame
    queries: Mapping[int, Presentation]  # by number in the workload
    zone: str  # the session's time zone
    expensive: bool
    on_empty: Callable[[frozenset[int]], object] | None = None
    _is_persisted: bool = False
    _closed: bool = False
    _fetched: dict[int, pa.Table | None] | None = None

    def frame(self, query: int) -> DataFrame:
        """Return a query's result as a data frame."""
        self._persist()
        presentation = self.queries[query]
        blobs = self.packed_rows.filter(F.col("query") == query).select("blob")
        return presentation.frame(
            blobs.mapInArrow(shipped(Unpack(presentation.form.schema)), presentation.raw)
        )

    def fetched(self, query: int) -> pa.Table | None:
        """Return a query's result; None if it is too large to be fetched with all others.

        Results of all queries are computed and fetched in one job, when the first is read.
        """
        if self._fetched is None:
            if self.expensive:
                self._persist()
            with task_errors():
                self._fetched = self._fetch()
            if self.on_empty is not None:
                fetched = self._fetched.items()
                empty = (query for query, rows in fetched if rows is not None and not rows.num_rows)
                self.on_empty(frozenset(empty))
        return self._fetched[query]

    def close(self) -> None:
        """Release persisted and fetched rows."""
        if self._is_persisted:
            self.packed_rows.unpersist()
        self._is_persisted, self._closed, self._fetched = False, True, None

    def _persist(self) -> None:
        if not self._is_persisted and not self._closed:
            with suppress(PySparkException):  # without persistence, each frame is a separate pass
                self.packed_rows = self.packed_rows.persist(StorageLevel.MEMORY_AND_DISK)
                self._is_persisted = True

    def _fetch(self) -> dict[int, pa.Table | None]:
        """Run the job and fetch the rows of results that are small enough, by query."""
        small = F.when(F.col("small"), F.col("blob")).alias("blob")
        blobs_alone = self.packed_rows.filter(F.octet_length("blob") > 0)  # without empty rows
        small_rows = blobs_alone.select("query", small).toArrow()
        blobs: dict[int, list[pa.Scalar]] = {query: [] for query in self.queries}
        for query, blob in zip(small_rows.column(0).to_pylist(), small_rows.column(1), strict=True):
            blobs[query].append(blob)
        tables: dict[int, pa.Table | None] = {}
        for query, query_blobs in blobs.items():
            presentation = self.queries[query]
            if all(blob.is_valid for blob in query_blobs):
                rows = pa.Table.from_batches(
                    unpacked(query_blobs, presentation.form.schema), presentation.form.schema
                )
                tables[query] = presentation.table(rows, self.zone)
            else:
                tables[query] = None
        return tables


class FrameWithTaskErrors(Result):
    """A query's result on Spark; methods that compute rows raise errors as `task_errors` does."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        attribute = super().__getattr__(name)
        if name not in ACTIONS:
            return attribute

        @wraps(attribute)
        def with_task_errors(*arguments: Any, **options: Any) -> Any:
            with task_errors():
                return attribute(*arguments, **options)

        return with_task_errors

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow Table."""
        with task_errors():
            return self.frame.toArrow()

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Row]:  # noqa: N802, N803
        """Return the rows one by one, as data frames do."""
        with task_errors():
            yield from self.frame.toLocalIterator(prefetchPartitions)


class Answer(FrameWithTaskErrors):
    """A query's result that is computed together with others, as rows or as a data frame."""

    __slots__ = ("_answers", "_frames", "_number")

    def __init__(self, query: str, number: int, answers: Answers, frames: Frames) -> None:
        super().__init__(query, None)
        self._number = number
        self._answers = answers
        self._frames = frames

    @property
    def frame(self) -> DataFrame:
        """The Spark DataFrame."""
        return self._frames[self._query]

    @property
    def schema(self) -> T.StructType:
        """The data frame's schema."""
        return self._answers.queries[self._number].schema

    def fetched(self) -> pa.Table | None:
        """Return the rows; None if all results are too large to be fetched together."""
        return self._answers.fetched(self._number)

    def to_arrow(self) -> pa.Table:
        """Return the rows as a pyarrow Table; Spark computes those of all queries of the pass."""
        rows = self.fetched()
        return super().to_arrow() if rows is None else rows

    toArrow = to_arrow  # noqa: N815 - as data frames call it

    def collect(self) -> list[Row]:
        """Return the rows as Spark's `Row` objects."""
        plain = all(isinstance(column.dataType, _PLAIN) for column in self.schema)
        rows = self.fetched() if plain else None
        with task_errors():
            if rows is None:
                return self.frame.collect()
            return ArrowTableToRowsConversion.convert(rows, self.schema)

    def count(self) -> int:
        """Return the number of rows."""
        rows = self.fetched()
        if rows is not None:
            return int(rows.num_rows)
        with task_errors():
            return self.frame.count()


class Frames(Mapping[str, DataFrame]):
    """Data frames by the names of queries, each created when it is first read."""

    def __init__(self, makers: Mapping[str, Callable[[], DataFrame]]) -> None:
        self._makers = makers
        self._frames: dict[str, DataFrame] = {}

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._frames:
            self._frames[name] = self._makers[name]()
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
