"""Reading row groups of Parquet files in tasks, with columns in the types that Spark reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq

from elsinore.errors import InputError
from elsinore.expressions.reasons import TAKE_OUT
from elsinore.runtime.column_types import stored_type
from elsinore.runtime.contents import READING_ERRORS
from elsinore.runtime.schema import is_bytes, plain_type
from elsinore.spark.scan.conditions import NotSimpleError
from elsinore.spark.scan.storage import Storage

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
FOOTER_THREADS = 16  # footers are read in parallel, against the latency of object stores
BATCH_ROWS = 1 << 18
LARGE_GROUP = 1 << 27  # bytes of a row group from which it is read through buffers
BUFFER_BYTES = 1 << 22  # for each column
# Spark before 3.0 wrote dates of the hybrid Julian-Gregorian calendar; only Spark converts them.
_OLD_CALENDARS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
UNSIGNED = pa.decimal128(20, 0)  # the type as which Spark reads unsigned 64-bit integers
HERE = Storage()


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of a file: its number, its number of events, and the bytes of all its columns.

    `span`: its first and last time in ticks, if the file records them.
    """

    file: str
    number: int
    rows: int
    size: int
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column to read: its name in the files, and its Arrow type.

    `folder` marks a partition column, whose values are in the names of folders.
    """

    name: str
    type: pa.DataType
    folder: bool = False


def open_file(uri: str, storage: Storage = HERE, **options: Any) -> pq.ParquetFile:
    """Open a Parquet file by its URI, on any of Arrow's file systems.

    Raises InputError, with the file's name and Arrow's reason, if it cannot be opened or is not
    Parquet, and NotSimpleError if Arrow lacks the file system.
    """
    with _reading(uri, "cannot be read as Parquet"):
        system, path = storage.located(uri)
        source = path if isinstance(system, pa_fs.LocalFileSystem) else system.open_input_file(path)
        return pq.ParquetFile(source, coerce_int96_timestamp_unit="us", **options)


@contextmanager
def _reading(uri: str, what: str, remedy: str = "") -> Iterator[None]:
    """Convert errors of a file's reader to InputError, with the file and the first line."""
    try:
        yield
    except READING_ERRORS as error:
        # For HDFS, further lines are a hundred places without a library.
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        raise InputError(f"'{uri}' {what}: {reason}.{remedy}") from error


class RowGroupDecision(NamedTuple):
    """Whether a row group is read, and its time span, if known; both from its statistics."""

    read: bool = True
    span: tuple[int, int] | None = None


Judge = Callable[[str, pq.FileMetaData, pa.Schema], Sequence[RowGroupDecision]]


class SelectedRowGroups(NamedTuple):
    """The row groups to read, in the order of the files, and the number of skipped ones.

    `unopened` is the number of skipped files, `not_combined` the reason why no events are combined
    before the shuffle, if any.
    """

    groups: list[RowGroup]
    skipped: int
    unopened: int = 0
    not_combined: str = ""


def row_groups_in(
    files: Sequence[str],
    columns: Sequence[FileColumn],
    judge: Judge | None = None,
    storage: Storage = HERE,
) -> SelectedRowGroups:
    """Return the selected row groups of files, from their footers.

    `judge` decides from a file's URI, metadata and schema whether each row group is read.

    Raises InputError for a file that cannot be opened, or in which a column has another type than
    in other files, and NotSimpleError for files that only Spark can read.
    """
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        selection = list(pool.map(lambda file: _row_groups(file, columns, judge, storage), files))
    groups = [group for file_selection in selection for group in file_selection.groups]
    return SelectedRowGroups(groups, sum(file_selection.skipped for file_selection in selection))


def _row_groups(
    uri: str, columns: Sequence[FileColumn], judge: Judge | None, storage: Storage
) -> SelectedRowGroups:
    """Return the selected row groups of one file; see `row_groups_in`."""
    with open_file(uri, storage) as file:
        with _reading(uri, "cannot be read as Parquet"):
            metadata, schema = file.metadata, file.schema_arrow
            schema.names  # noqa: B018 - decodes them
        if metadata.metadata and any(mark in metadata.metadata for mark in _OLD_CALENDARS):
            raise NotSimpleError(f"'{uri}' has dates of an old calendar")
        old_times = _int96(metadata)
        for column in columns:
            if not column.folder:
                name = in_file(column.name, schema, uri)
                if name is not None:
                    _check(uri, schema.field(name), column.type, old=name in old_times)
        numbers = range(metadata.num_row_groups)
        decisions = (
            [RowGroupDecision() for _ in numbers] if judge is None else judge(uri, metadata, schema)
        )
        groups = [(n, metadata.row_group(n)) for n in numbers]
        row_groups = [
            RowGroup(uri, n, group.num_rows, group.total_byte_size, decisions[n].span)
            for n, group in groups
            if group.num_rows and decisions[n].read
        ]
        return SelectedRowGroups(
            row_groups, sum(1 for _, group in groups if group.num_rows) - len(row_groups)
        )


def in_file(name: str, schema: pa.Schema, uri: str) -> str | None:
    """Return the name of a column in a file, ignoring case; None if the file lacks it."""
    if "." in name:
        raise NotSimpleError(f"a column is named '{name}'")
    exact = [column for column in schema.names if column == name]
    matching = exact or [column for column in schema.names if column.casefold() == name.casefold()]
    if len(matching) > 1:
        raise InputError(f"'{uri}' has several columns named '{name}'.")
    return matching[0] if matching else None


def _int96(metadata: pq.FileMetaData) -> set[str]:
    """Return the columns of INT96 timestamps, which are UTC although their type has no zone."""
    columns = (metadata.schema.column(n) for n in range(metadata.num_columns))
    return {column.path for column in columns if column.physical_type == "INT96"}


def _check(uri: str, field: pa.Field, target: pa.DataType, *, old: bool) -> None:
    """Raise InputError if the type of a file's column is incompatible with other files."""
    kind = plain_type(field.type)
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else stored_type(kind)
    if old and pa.types.is_timestamp(target) and target.tz is not None:
        return
    if not _fits(kind, target):
        raise InputError(
            f"'{uri}' has {kind} in column '{field.name}', and the events have {target} there. "
            "Write the file again with the type of the others, or read it separately."
        )


def _fits(kind: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark reads a file's type as `target`, with the result of Arrow's cast.

    Columns of type null are read as any type.
    """
    types = pa.types
    if kind == target or types.is_null(kind):
        return True
    if _is_text(target):
        return _is_text(kind)
    if is_bytes(target):
        return is_bytes(kind)
    if types.is_timestamp(target):
        if not types.is_timestamp(kind) or kind.unit == "ns":
            return False
        return (kind.tz is None) == (target.tz is None)
    if types.is_integer(target):
        if types.is_timestamp(kind):
            return bool(kind.unit == "ns" and target == pa.int64())
        return types.is_integer(kind) and _reach(kind) <= _reach(target)
    if types.is_duration(target):  # Spark writes its intervals as integers
        return bool(kind == pa.int64() and target.unit == "us")
    if types.is_float64(target):
        return bool(types.is_float32(kind))
    if types.is_decimal(target):
        return bool(kind == pa.uint64() and target == UNSIGNED)
    return False


def _reach(kind: pa.DataType) -> int:
    """Return the number of bits of an integer type, without the sign."""
    return int(kind.bit_width) - int(pa.types.is_signed_integer(kind))


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def read(
    groups: Sequence[RowGroup],
    columns: Sequence[FileColumn],
    dictionary_columns: frozenset[str],
    condition: Any,
    storage: Storage = HERE,
) -> Iterator[pa.Table]:
    """Yield the events of row groups, with `columns` under the files' names.

    Texts of the columns in `dictionary_columns` remain dictionaries. Events for which `condition`
    is not true are skipped. A column that a file lacks is null. Raises InputError with the file's
    name if it cannot be read completely.
    """
    by_file: dict[str, list[RowGroup]] = {}
    for group in groups:
        by_file.setdefault(group.file, []).append(group)
    for uri, groups_of_file in by_file.items():
        yield from _read_file(uri, groups_of_file, columns, dictionary_columns, condition, storage)


def _read_file(
    uri: str,
    groups: Sequence[RowGroup],
    columns: Sequence[FileColumn],
    dictionary_columns: frozenset[str],
    condition: Any,
    storage: Storage,
) -> Iterator[pa.Table]:
    """Yield the events of row groups of one file; see `read`."""
    with open_file(uri, storage) as file:
        schema, metadata = file.schema_arrow, file.metadata
    names = {
        column.name: in_file(column.name, schema, uri) for column in columns if not column.folder
    }
    dictionaries = [name for column in dictionary_columns if (name := names[column]) is not None]
    options: dict[str, Any] = {
        "read_dictionary": dictionaries,
        "page_checksum_verification": True,
    }
    if any(group.size > LARGE_GROUP for group in groups):
        options |= {"buffer_size": BUFFER_BYTES, "pre_buffer": False}
    with open_file(uri, storage, metadata=metadata, **options) as file:
        in_file_names = [name for name in names.values() if name is not None]
        # Read one column if all are partition columns: without columns there would be no rows.
        for batch in _batches(file, uri, groups, in_file_names or schema.names[:1]):
            with _reading(uri, "has values that cannot be read", f" {TAKE_OUT}."):
                arrays = [
                    pa.repeat(folder_value(uri, column), batch.num_rows)
                    if column.folder
                    else _column(batch, names[column.name], column.type)
                    for column in columns
                ]
            table = pa.Table.from_arrays(arrays, names=[column.name for column in columns])
            yield table if condition is None else table.filter(condition)


def _batches(
    file: pq.ParquetFile, uri: str, groups: Sequence[RowGroup], names: list[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the events of a file's row groups; raise InputError if it cannot be read.

    A few are read at a time, because Arrow's reader retains all bytes read until it ends.
    """
    for some in batches_of_groups(groups, BATCH_ROWS):
        numbers = [group.number for group in some]
        with _reading(uri, "is damaged", f" {TAKE_OUT}."):
            yield from file.iter_batches(
                BATCH_ROWS, row_groups=numbers, columns=names, use_threads=False
            )


def _column(batch: pa.RecordBatch, name: str | None, kind: pa.DataType) -> pa.Array:
    if name is None:
        return pa.nulls(batch.num_rows, kind)
    column = batch.column(name)
    if pa.types.is_dictionary(column.type):
        if _is_text(kind):
            return column
        column = column.dictionary_decode()
    return column if column.type == kind else column.cast(kind)


def folder_value(uri: str, column: FileColumn) -> pa.Scalar:
    """Return the value of a partition column from the names of a file's folders."""
    for part in urlsplit(uri).path.split("/"):
        name, equals, text = part.partition("=")
        if equals and unquote(name).casefold() == column.name.casefold():
            value = unquote(unquote(text))
            if value == HIVE_NULL:
                return pa.scalar(None, column.type)
            return pc.cast(pa.scalar(value), column.type)
    raise InputError(f"'{uri}' lies in no folder named '{column.name}=...'.")


def batches_of_groups(groups: Sequence[RowGroup], rows: int) -> list[list[RowGroup]]:
    """Return lists of consecutive row groups with up to `rows` events.

    >>> groups = [RowGroup("f", n, 600_000, 1) for n in range(3)]
    >>> [len(some) for some in batches_of_groups(groups, 1_500_000)]
    [2, 1]
    """
    bundles: list[list[RowGroup]] = []
    count = 0
    for group in groups:
        if not bundles or count + group.rows > rows:
            bundles.append([])
            count = 0
        bundles[-1].append(group)
        count += group.rows
    return bundles


def splits(groups: Sequence[RowGroup], target: int) -> list[list[RowGroup]]:
    """Divide row groups into at most `target` parts of consecutive groups with similar sizes.

    The largest parts come first, so that no long task starts last.

    >>> groups = [RowGroup("f", n, rows, rows) for n, rows in enumerate([5, 5, 1, 9, 3])]
    >>> [[group.rows for group in part] for part in splits(groups, 2)]
    [[9, 3], [5, 5, 1]]
    """
    total = sum(group.rows for group in groups)
    parts: list[list[RowGroup]] = [[] for _ in range(target)]
    before = 0
    for group in groups:
        middle = before + group.rows / 2
        parts[min(target - 1, int(middle * target / total))].append(group)
        before += group.rows
    parts.sort(key=lambda part: -sum(group.rows for group in part))
    return [part for part in parts if part]
