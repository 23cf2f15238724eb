"""Reading files into Spark data frames and writing results, equally to the in-process driver.

Spark reads Parquet itself, with nanoseconds as integers that are marked as times. Text (CSV, JSON,
Zeek logs) is read by `elsinore.runtime.files` in this process, one file at a time, and passed to
Spark as temporary Parquet files. Results are written by `elsinore.runtime.outputs`.
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812
from pyspark.sql.pandas.types import to_arrow_schema

from elsinore.errors import InputError, option
from elsinore.model.spark_sql import quoted
from elsinore.runtime.drafts import draft
from elsinore.runtime.files import (
    as_text,
    cast_to_schema,
    common_schema,
    misfits_of,
    parquet_schema,
    refuse_empty,
    tables_of,
)
from elsinore.runtime.outputs import OutputFormat, part_name, write_table
from elsinore.runtime.result import Result
from elsinore.runtime.row_order import refuse_own_column
from elsinore.runtime.sources import URL, Source, TypeFrom, find_source
from elsinore.runtime.type_from import COLUMN, type_of
from elsinore.spark.answers import Answer
from elsinore.spark.guessed import mark_guessed
from elsinore.spark.quiet import first_line, silenced
from elsinore.spark.row_order import FirstRows
from elsinore.spark.times import NANOSECONDS_KEY

GLOB = re.compile(r"([\[\]{}*?\\])")


def read_frame(spark: SparkSession, source: Source, *, by_rows: bool = False) -> DataFrame:
    """Return the events of a source; raise the errors of `elsinore.runtime.files.read_source`.

    With `by_rows`, the column ROWS numbers the rows of all files in their order.
    """
    if source.format != "parquet":
        return _frame_of_text_files(spark, source, by_rows=by_rows)
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    if source.streamed:
        if by_rows:
            raise InputError(
                f"{source.name} was written by a Spark stream, whose rows have no order. Name a "
                f"column of times with {option('time')}."
            )
        return spark.read.parquet(*(_place(path) for path in source.user_paths))
    schemas = [parquet_schema(file.path) for file in source.files]
    schema = common_schema(source, schemas)
    reader = spark.read
    if any(file.partition for file in source.files):
        if len(source.user_paths) > 1:
            raise InputError("Of partitioned data sets Spark reads one at a time. Name one folder.")
        reader = reader.option("basePath", str(source.user_paths[0].absolute()))
    for field in schema:
        if isinstance(field.type, pa.UuidType) or pa.types.is_float16(field.type):
            raise InputError(
                f"Spark cannot read column '{field.name}' of {source.name}, of type {field.type}. "
                "Write it as text or double, or run in this process (--engine local)."
            )
    if by_rows:
        refuse_own_column(schema.names)
    first_rows = FirstRows.of([file.path for file in source.files]) if by_rows else None
    try:
        with silenced():
            frames = [
                _with_type(_numbered(reader.parquet(*map(_place, paths)), first_rows), name)
                for (name, _), paths in _files_by_columns(source, schemas).items()
            ]
            frame = frames[0]
            for further in frames[1:]:
                frame = frame.unionByName(further, allowMissingColumns=True)
    except AnalysisException as error:
        raise InputError(f"Spark cannot read {source.name}: {first_line(error)}") from None
    return _with_marks(frame, schema)


def _files_by_columns(
    source: Source, schemas: Sequence[pa.Schema]
) -> dict[tuple[str | None, tuple[str, ...]], list[Path]]:
    """Return the Parquet files grouped by their events' type (None: from a column) and columns."""
    groups: dict[tuple[str | None, tuple[str, ...]], list[Path]] = {}
    for file, schema in zip(source.files, schemas, strict=True):
        names = schema.names
        has_types = source.type_from is TypeFrom.AUTO and COLUMN in names
        name = None if source.type_from is None or has_types else type_of(source, file.path)
        groups.setdefault((name, tuple(sorted(names))), []).append(file.path)
    return groups


def _numbered(frame: DataFrame, first_rows: FirstRows | None) -> DataFrame:
    return frame if first_rows is None else first_rows.number(frame)


def _with_type(frame: DataFrame, name: str | None) -> DataFrame:
    return frame if name is None else frame.withColumn(COLUMN, F.lit(name))


def read_place(
    spark: SparkSession,
    place: str | Path,
    reject: Callable[[str], None] | None = None,
    type_from: Literal["auto"] | None = None,
    *,
    by_rows: bool = False,
) -> DataFrame:
    """Return the events of a file, a folder or a pattern, in the user's session.

    Local files may have any format; remote ones (a URL, or a session on other machines) must be
    Parquet. `by_rows` as for `read_frame`. Raises InputError if there are no files, and for row
    numbers of remote files.
    """
    local = str(spark.conf.get("spark.master", "local")).startswith("local")
    if local and not URL.match(str(place)):
        how = None if type_from is None else TypeFrom(type_from)
        source = find_source((place,), reject=reject, type_from=how)
        if source.format != "parquet" or by_rows:
            return read_frame(spark, source, by_rows=by_rows)
        if not source.streamed and len(source.files) > 1:
            schemas = [parquet_schema(file.path) for file in source.files]
            if len(_files_by_columns(source, schemas)) > 1:
                return read_frame(spark, source)
    if by_rows:
        raise InputError(
            f"The rows of '{place}' are only numbered if this machine reads the files, in a local "
            f"Spark session. Name a column of times with {option('time')}."
        )
    try:
        with silenced():
            return spark.read.parquet(str(place))
    except AnalysisException as error:
        raise InputError(f"Spark cannot read '{place}': {first_line(error)}") from None


def arrow_table(frame: DataFrame) -> pa.Table:
    """Collect a data frame's rows as a table; integers marked as nanoseconds become timestamps."""
    return _without_marks(frame.toArrow(), marks_of(frame.schema))


def fetched(result: Result) -> pa.Table | None:
    """Return a result's rows if they were fetched with the pass's other results, else None.

    Results of one pass are computed together, and fetched together if they are small.
    """
    if not isinstance(result, Answer):
        return None
    rows = result.fetched()
    return None if rows is None else _without_marks(rows, marks_of(result.schema))


def write_parts(
    frame: DataFrame, path: Path, file_format: OutputFormat, *, overwrite: bool = False
) -> int:
    """Write a folder with a file per partition in parallel; return the number of rows.

    The folder is written atomically. Raises OutputError if it exists without `overwrite`.
    """
    with draft(path.absolute(), overwrite=overwrite) as folder:
        folder.mkdir()
        write = _WriteParts(str(folder), file_format, marks_of(frame.schema))
        part_rows = frame.mapInArrow(write, "rows bigint").agg(F.sum("rows")).collect()
        if not any(folder.iterdir()):
            empty = _without_marks(
                to_arrow_schema(frame.schema).empty_table(), marks_of(frame.schema)
            )
            write_table(empty, folder / part_name(0, file_format), file_format)
        return int(part_rows[0][0] or 0)


@dataclass(frozen=True, slots=True)
class _WriteParts:
    """Writes a partition's rows as one file; yields their number."""

    folder: str
    file_format: OutputFormat
    marks: dict[str, str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        nonempty = [batch for batch in batches if batch.num_rows]
        if nonempty:
            context = TaskContext.get()
            assert context is not None
            place = Path(self.folder) / part_name(context.partitionId(), self.file_format)
            table = _without_marks(pa.Table.from_batches(nonempty), self.marks)
            write_table(table, place, self.file_format)
            yield pa.RecordBatch.from_pydict({"rows": pa.array([table.num_rows], pa.int64())})


def marks_of(schema: T.StructType) -> dict[str, str]:
    """Return the time zones of columns with timestamps in nanoseconds."""
    return {
        field.name: field.metadata[NANOSECONDS_KEY]
        for field in schema.fields
        if NANOSECONDS_KEY in field.metadata
    }


def _with_marks(frame: DataFrame, schema: pa.Schema) -> DataFrame:
    """Mark times in nanoseconds, and convert `bool8` to booleans and untyped nulls to Spark's void.

    Spark reads the last two as integers, which queries could not compare with text.
    """
    for field in schema:
        if pa.types.is_null(field.type):
            frame = frame.withColumn(field.name, F.lit(None))
        elif isinstance(field.type, pa.Bool8Type):
            frame = frame.withColumn(field.name, F.col(quoted(field.name)).cast("boolean"))
        elif pa.types.is_timestamp(field.type) and field.type.unit == "ns":
            frame = frame.withMetadata(field.name, {NANOSECONDS_KEY: field.type.tz or ""})
    return frame


def _without_marks(table: pa.Table, marks: dict[str, str]) -> pa.Table:
    for name, zone in marks.items():
        place = table.column_names.index(name)
        column = table.column(place).cast(pa.timestamp("ns", zone or None))
        table = table.set_column(place, name, column)
    return table


def _frame_of_text_files(spark: SparkSession, source: Source, *, by_rows: bool) -> DataFrame:
    """Return the events of text files, read from temporary Parquet files."""
    master = str(spark.conf.get("spark.master", "local"))
    if not master.startswith("local"):
        raise InputError(
            f"{source.name} is read here and passed on in temporary files, which Spark's other "
            "machines cannot read. Convert the events to Parquet in a place that all can read."
        )
    folder = Path(tempfile.mkdtemp(prefix="elsinore-events-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    places: list[Path] = []
    schemas: list[pa.Schema] = []
    rows = 0
    for _, table in tables_of(source):
        place = folder / part_name(len(places), "parquet")
        pq.write_table(table, place)
        places.append(place)
        schemas.append(table.schema)
        rows += table.num_rows
    misfits = misfits_of(source, schemas)
    if misfits:
        schemas.clear()
        for place, (_, table) in zip(places, tables_of(as_text(source, misfits)), strict=True):
            pq.write_table(table, place)
            schemas.append(table.schema)
    schema = common_schema(source, schemas)
    refuse_empty(source, rows)
    for place, file_schema in zip(places, schemas, strict=True):
        if not file_schema.equals(schema):
            pq.write_table(cast_to_schema(pq.read_table(place), schema), place)
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    frame = spark.read.parquet(*map(_place, places))
    if by_rows:
        refuse_own_column(schema.names)
        frame = FirstRows.of(places).number(frame)
    if source.format == "csv":
        texts = [field.name for field in schema if pa.types.is_string(field.type)]
        frame = mark_guessed(frame, [n for n in texts if n not in source.reading.texts], misfits)
    return _with_marks(frame, schema)


def _place(path: Path) -> str:
    """Return an absolute path: Java may have another working directory."""
    return GLOB.sub(r"\\\1", str(path.absolute()))
