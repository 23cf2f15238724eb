"""Reading parts of a folder's files into the stream's columns."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.arrow import no_table, to_arrow, to_numpy
from elsinore.connectors.contract import Part
from elsinore.connectors.records.fit import (
    check_columns,
    fit_cells,
    fit_typed,
    is_plain_number,
)
from elsinore.connectors.records.json_records import JsonRecords
from elsinore.connectors.rejects import no_rejects, refuse, rejected_rows, rejects_table
from elsinore.errors import InputError
from elsinore.runtime.column_types import with_stored_types
from elsinore.runtime.contents import open_content, reading
from elsinore.runtime.json_lines import BYTE_ORDER_MARK, json_lines
from elsinore.runtime.sources import Reading, folder_columns, format_of
from elsinore.runtime.tables import check_names
from elsinore.runtime.text_files import READERS

HEADER_BYTES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSplit:
    """A part of a file: row groups `first` to `stop` of a Parquet file, or a whole text file.

    `size` and `modified` are those that the file had when it was admitted.
    """

    path: str
    size: int
    modified: int
    rows: int
    first: int = 0
    stop: int = 0
    columns: tuple[tuple[str, str | None], ...] = ()

    @property
    def partition(self) -> str:
        """A folder has one partition."""
        return "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderReader:
    """Reads splits of a folder; see `contract.Reader`.

    A record or a file that cannot be read is among the rejects if `rejects` is true; else it raises
    InputError.
    """

    schema: pa.Schema
    reading: Reading = field(default=Reading())
    rejects: bool = False

    def read(self, split: FileSplit) -> Part:
        """Return the rows of a split.

        Raise InputError if the file has changed since it was admitted, or if it or one of its
        records cannot be read (unless rejected).
        """
        path = Path(split.path)
        try:
            _check_unchanged(path, split)
            events, rejects = self._events(path, split)
        except InputError as error:
            if not self.rejects:
                raise
            events = no_table(self.schema)
            rejects = rejects_table([str(error)], split.path, [None], offsets=[None])
        if not self.rejects:
            refuse(rejects)
        return Part(events=events, rejects=rejects)

    def close(self) -> None:
        """Do nothing: a folder has no connection."""

    def _events(self, path: Path, split: FileSplit) -> tuple[pa.Table, pa.Table]:
        file_format = format_of(path)
        if file_format == "parquet":
            return self._parquet(path, split), no_rejects()
        if file_format == "json":
            return self._json(path, split)
        if file_format == "zeek":
            return self._zeek(path, split), no_rejects()
        return self._csv(path, split)

    def _parquet(self, path: Path, split: FileSplit) -> pa.Table:
        with reading(path), pq.ParquetFile(path) as file:
            names = [name for name in self.schema.names if name in file.schema_arrow.names]
            table = file.read_row_groups(range(split.first, split.stop), columns=names)
        table = with_stored_types(table.replace_schema_metadata(None))
        return fit_typed(self._with_folder_columns(table, split), self.schema, f"'{path}'")

    def _json(self, path: Path, split: FileSplit) -> tuple[pa.Table, pa.Table]:
        """Return the objects of a JSON file in the schema's types, and rejects for invalid ones."""
        content = open_content(path)
        is_array = content.first.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"[")
        with reading(path):
            text = b"".join(json_lines(content) if is_array else content.pieces())
        lines = text.split(b"\n")
        numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
        records = [lines[number - 1] for number in numbers]
        inside = pa.schema([f for f in self.schema if f.name not in dict(split.columns)])
        table, bad = JsonRecords(inside).parse(records)
        rejects = rejects_table(
            list(bad.values()),
            str(path),
            [records[place] for place in bad],
            offsets=[numbers[place] for place in bad],
        )
        table = self._with_folder_columns(table, split)
        return fit_typed(table, self.schema, f"'{path}'"), rejects

    def _zeek(self, path: Path, split: FileSplit) -> pa.Table:
        table = READERS["zeek"](path, self.reading)
        return fit_typed(self._with_folder_columns(table, split), self.schema, f"'{path}'")

    def _csv(self, path: Path, split: FileSplit) -> tuple[pa.Table, pa.Table]:
        """Return the rows of a CSV file in the schema's types, and rejects for invalid ones."""
        names, has_rows = _csv_header(path, self.reading)
        check_names(names, f"'{path}'")
        present_fields = [
            schema_field for schema_field in self.schema if schema_field.name in names
        ]
        outside = dict(split.columns)
        check_columns(
            [*names, *(name for name in outside if name not in names)], self.schema, f"'{path}'"
        )
        if not has_rows:
            return no_table(self.schema), no_rejects()
        texts = [
            schema_field.name
            for schema_field in present_fields
            if not is_plain_number(schema_field.type)
        ]
        table = self._read_csv(path, texts)
        odd = [
            schema_field.name
            for schema_field in present_fields
            if schema_field.name not in texts
            and not _fits(table.column(schema_field.name), schema_field.type)
        ]
        if odd:  # a cell is not a number: the original text of all cells of the column is needed
            texts += odd
            table = self._read_csv(path, texts)
        table_with_folders = self._with_folder_columns(table, split)
        columns = []
        reasons = np.full(table.num_rows, None, dtype=object)
        for schema_field in self.schema:
            values = table_with_folders.column(schema_field.name)
            if schema_field.name in texts:
                values, why = fit_cells(values, schema_field)
                for row in np.flatnonzero(to_numpy(why.is_valid())).tolist():
                    reasons[row] = reasons[row] or why[row].as_py()
            columns.append(values.cast(schema_field.type))
        fitted = pa.Table.from_arrays(columns, schema=self.schema)
        bad = np.array([reason is not None for reason in reasons], dtype=np.bool_)
        if not bad.any():
            return fitted, no_rejects()
        rejects = rejected_rows(
            table_with_folders.filter(to_arrow(bad)),
            to_arrow(reasons[bad], pa.string()),
            str(path),
            (np.flatnonzero(bad) + 1).tolist(),
        )
        return fitted.filter(to_arrow(~bad)), rejects

    def _read_csv(self, path: Path, texts: list[str]) -> pa.Table:
        # The schema defines which columns are numbers: do not warn of lost leading zeros.
        options = replace(self.reading, texts=tuple(texts), report=_ignore)
        return READERS["csv"](path, options)

    def _with_folder_columns(self, table: pa.Table, split: FileSplit) -> pa.Table:
        for name, value in split.columns:
            if name in self.schema.names and name not in table.column_names:
                cells = pa.chunked_array([to_arrow([value] * table.num_rows, pa.string())])
                column, _ = fit_cells(cells, self.schema.field(name))
                table = table.append_column(name, column)
        return table


def _ignore(_: str) -> None:
    pass


def _csv_header(path: Path, options: Reading) -> tuple[list[str], bool]:
    """Return the names in the header of a CSV file, and whether a row follows."""
    content = open_content(path)
    with reading(path), content.open() as stream:
        begin = stream.read(HEADER_BYTES)
    text = begin.decode("utf-8", "replace").removeprefix("\ufeff")
    delimiter = options.delimiter or ("\t" if ".tsv" in path.suffixes else ",")
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    return next(rows, []), any(rows)


def _fits(column: pa.ChunkedArray, kind: pa.DataType) -> bool:
    """Return whether a column of a guessed type can be cast to `kind` without loss."""
    if pa.types.is_null(column.type):
        return True
    if not is_plain_number(kind) or not is_plain_number(column.type):
        return False
    if pa.types.is_boolean(kind) != pa.types.is_boolean(column.type):
        return False
    try:
        column.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _check_unchanged(path: Path, split: FileSplit) -> None:
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(
            f"'{path}' was admitted to the stream and cannot be read now ({error.strerror}). Put "
            "it back, or name a place for rejects, and it is among them."
        ) from error
    if (status.st_size, status.st_mtime_ns) != (split.size, split.modified):
        raise InputError(
            f"'{path}' was changed after it was admitted to the stream ({split.size:,} bytes then, "
            f"{status.st_size:,} now). Put new events into new files, written elsewhere and then "
            "renamed. To go on, put the old content and its time back, or name a place for rejects."
        )


def split_columns(relative: str) -> tuple[tuple[str, str | None], ...]:
    """Return the partition columns of a file, from its folders named `column=value`."""
    return folder_columns(Path(relative))
