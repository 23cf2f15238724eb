"""Reading events from files in this process: Parquet, CSV and JSON lines, single or in folders."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NoReturn
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from elsinore.errors import InputError, did_you_mean
from elsinore.runtime.tables import check_names, plain_views

FileFormat = Literal["parquet", "csv", "json"]

SUFFIXES: dict[str, FileFormat] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".json": "json",
    ".json.gz": "json",
    ".jsonl": "json",
    ".jsonl.gz": "json",
    ".ndjson": "json",
    ".ndjson.gz": "json",
}
STREAM_LOG = "_spark_metadata"
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
# Arrow guesses types from the first block; a whole file as one block lets every row have its say.
LARGEST_BLOCK = 2**31 - 1


def read_events(path: str | Path) -> pa.Table:
    """Return the events of a file, or of all files of a folder in the order of their names.

    The suffix tells the format: .parquet or .pq, .csv, .json, .jsonl or .ndjson (JSON: one object
    per line), the last four also with .gz behind. A folder holds files of one format; names that
    begin with `_` or `.` are passed over, and folders named `column=value` give a text column. In
    CSV the first line names the columns, an empty cell is null, and types are found from all the
    values.

    Raise InputError where nothing is there (naming the nearest that is), where the format is not
    known and where a file cannot be parsed (with the place).

    >>> read_events("no/such/trips.csv")
    Traceback (most recent call last):
        ...
    elsinore.errors.InputError: Cannot read 'no/such/trips.csv': there is no folder 'no/such'.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(_missing(path))
    if path.is_dir():
        return _read_folder(path)
    file_format = format_of(path)
    if file_format is None:
        raise InputError(unknown_format(path))
    return _read_file(path, file_format)


def format_of(path: Path) -> FileFormat | None:
    """Return the format the suffix of `path` stands for, None for an unknown one.

    >>> format_of(Path("trips.2024.CSV.gz"))
    'csv'
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        return SUFFIXES.get("".join(suffixes[-2:]))
    return SUFFIXES.get("".join(suffixes[-1:]))


def unknown_format(path: Path) -> str:
    """Say that a file's name does not tell its format, and which names do."""
    return (
        f"Cannot tell the format of '{path}' from its name. Known suffixes: {', '.join(SUFFIXES)}. "
        "Rename the file or convert it to one of these."
    )


def _missing(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"Cannot read '{path}': there is no folder '{folder}'."
    names = sorted(child.name for child in folder.iterdir())
    where = "this folder" if folder == Path() else f"'{folder}'"
    hint = did_you_mean(path.name, names)
    return f"Cannot read '{path}': {where} holds no '{path.name}'.{hint}"


def _read_folder(folder: Path) -> pa.Table:
    if (folder / STREAM_LOG).exists():
        raise InputError(
            f"'{folder}' was written by a Spark stream, and its files may be incomplete; only "
            "Spark knows which count. Read it with --engine spark."
        )
    files = _data_files(folder)
    by_format: dict[FileFormat, list[Path]] = {}
    unknown: list[Path] = []
    for file in files:
        file_format = format_of(file)
        if file_format is None:
            unknown.append(file)
        else:
            by_format.setdefault(file_format, []).append(file)
    if not by_format:
        found = f" (it holds '{unknown[0].name}')" if unknown else ""
        raise InputError(
            f"The folder '{folder}' holds no events{found}: no file in it has one of the suffixes "
            f"{', '.join(SUFFIXES)}."
        )
    if unknown:
        raise InputError(
            f"The folder '{folder}' holds '{unknown[0].relative_to(folder)}', whose suffix is none "
            f"of {', '.join(SUFFIXES)}. Move it away, or give it a name that begins with '_'."
        )
    if len(by_format) > 1:
        listed = " and ".join(f"{name} ('{some[0].name}')" for name, some in by_format.items())
        raise InputError(
            f"The folder '{folder}' holds files of several formats: {listed}. Keep one format a "
            "folder, or name one file."
        )
    ((file_format, files),) = by_format.items()
    parts = [
        _with_partition_columns(_read_file(file, file_format), file.relative_to(folder))
        for file in files
    ]
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"The files of '{folder}' do not fit together: {error}.") from error


def _data_files(folder: Path) -> list[Path]:
    """Return the files below `folder` that are not hidden, sorted by their paths."""
    found = []
    for child in sorted(folder.iterdir()):
        if child.name.startswith(("_", ".")):
            continue
        if child.is_dir():
            found += _data_files(child)
        else:
            found.append(child)
    return found


def _with_partition_columns(table: pa.Table, relative: Path) -> pa.Table:
    """Append the columns that the folders of a partitioned data set stand for."""
    for folder in relative.parent.parts:
        name, equals, text = folder.partition("=")
        if not equals or name in table.column_names:
            continue
        value = None if text == HIVE_NULL else unquote(text)
        table = table.append_column(name, pa.array([value] * table.num_rows, pa.string()))
    return table


def _read_file(path: Path, file_format: FileFormat) -> pa.Table:
    readers: dict[FileFormat, Callable[[Path], pa.Table]] = {
        "parquet": _read_parquet,
        "csv": _read_csv,
        "json": _read_json,
    }
    try:
        table = readers[file_format](path)
    except OSError as error:
        raise InputError(f"Cannot read '{path}': {error}.") from error
    check_names(table.column_names, f"'{path}'")
    return plain_views(table)


def _read_parquet(path: Path) -> pa.Table:
    if path.stat().st_size == 0:
        raise InputError(
            f"'{path}' is empty (0 bytes), as an interrupted writer leaves it. Delete it, or write "
            "the data set again."
        )
    try:
        return pq.ParquetFile(path).read()
    except pa.ArrowInvalid as error:
        raise InputError(f"'{path}' is not a Parquet file that can be read: {error}") from error


def _bytes(path: Path) -> pa.Buffer:
    """Return the content of `path`, unpacked where its name ends in .gz."""
    packed = path.suffix.lower() == ".gz"
    try:
        with pa.input_stream(str(path), compression="gzip" if packed else None) as stream:
            return stream.read_buffer()
    except (OSError, zlib.error) as error:
        what = "is no gzip file that can be unpacked" if packed else "cannot be read"
        raise InputError(f"'{path}' {what}: {error}.") from error


def _read_csv(path: Path) -> pa.Table:
    content = _bytes(path)
    options = pa_csv.ConvertOptions(
        null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )

    def read(*, whole: bool) -> pa.Table:
        block = min(max(content.size, 1), LARGEST_BLOCK) if whole else None
        read_options = pa_csv.ReadOptions(block_size=block, use_threads=not whole)
        return pa_csv.read_csv(
            pa.BufferReader(content), read_options=read_options, convert_options=options
        )

    try:
        table = read(whole=False)
    except pa.ArrowInvalid:
        try:
            table = read(whole=True)  # without threads, so that a parse error names the row
        except pa.ArrowInvalid as error:
            raise InputError(f"'{path}' is not CSV that can be read: {error}") from error
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise InputError(
                f"'{path}' has text in column '{field.name}' that is not UTF-8. Convert the file, "
                f"for example with: iconv -f latin1 -t utf-8"
            )
    return table


def _read_json(path: Path) -> pa.Table:
    content = _bytes(path)

    def read(*, whole: bool) -> pa.Table:
        block = min(max(content.size, 1), LARGEST_BLOCK) if whole else None
        read_options = pa_json.ReadOptions(block_size=block, use_threads=not whole)
        return pa_json.read_json(pa.BufferReader(content), read_options=read_options)

    try:
        return read(whole=False)
    except pa.ArrowInvalid:
        try:
            return read(whole=True)
        except pa.ArrowInvalid as error:
            _refuse_json(path, content.to_pybytes(), error)


def _refuse_json(path: Path, content: bytes, error: pa.ArrowInvalid) -> NoReturn:
    """Raise InputError that names the first line that is no JSON object, or what else is wrong."""
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        place = f"'{path}', line {number}"
        if number == 1 and line.lstrip().startswith(b"["):
            raise InputError(
                f"{place}: a JSON array. Events are read from one object per line; convert the "
                "file, for example with: jq -c '.[]'"
            ) from error
        try:
            value = json.loads(line)
        except UnicodeDecodeError as cause:
            raise InputError(f"{place}: text that is not UTF-8.") from cause
        except json.JSONDecodeError as cause:
            raise InputError(f"{place}, column {cause.colno}: {cause.msg}.") from cause
        if not isinstance(value, dict):
            raise InputError(f"{place}: an object such as {{...}} is expected.") from error
    raise InputError(f"'{path}' cannot be read as a table of events: {error}.") from error
