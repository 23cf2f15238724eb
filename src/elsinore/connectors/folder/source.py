"""A source of live events: a folder to which other programs add files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from elsinore.connectors.contract import NO_LIMIT, Limit, Offset
from elsinore.connectors.folder.listing import Completeness, Ready, new_files
from elsinore.connectors.folder.log import FileLog
from elsinore.connectors.folder.reading import FileSplit, FolderReader, split_columns
from elsinore.errors import InputError, StateError, did_you_mean
from elsinore.runtime.column_types import stored_type
from elsinore.runtime.files import parquet_schema, read_source
from elsinore.runtime.sources import (
    DataFile,
    Reading,
    Source,
    format_of,
    warn_about_reading,
)

FileOrder = Literal["modified", "name"]

SETTLE = 2.0  # seconds without a change after which a text file counts as complete
POLL_SECONDS = 0.2  # seconds between checks for the first complete file
SPLIT_ROWS = 1 << 18  # consecutive row groups up to this size are read together
RECENT = 1_000  # last admitted files that are checked for changes


class FolderSource:
    """The files of a folder in the order of their discovery, as micro-batches.

    Files are Parquet, CSV, JSON (also with .gz) or Zeek logs, with one format per folder. Hidden
    files, those with suffixes such as .tmp, and incomplete ones are skipped (`pending` has the
    reasons). Files discovered together are read in order of their modification times, or of their
    names with `order="name"`. Folders named `column=value` add columns.

    `log` is a file in the checkpoint that stores the order of files. `schema` has the columns and
    their types; by default it is the first file's, and is stored in the log. Text files are
    complete when they were not modified for `settle` seconds. With `rejects`, records and files
    that cannot be read are among the rejects, else they raise InputError. `warn` receives warnings
    for the user.

    Raises InputError if the folder cannot be listed, or has no file from which to infer the schema;
    StateError for a log of another folder or version.
    """

    def __init__(
        self,
        folder: str | Path,
        log: str | Path,
        *,
        schema: pa.Schema | None = None,
        reading: Reading | None = None,
        order: FileOrder = "modified",
        settle: float = SETTLE,
        rejects: bool = False,
        warn: Callable[[str], None] = warn_about_reading,
    ) -> None:
        if order not in get_args(FileOrder):
            hint = did_you_mean(order, get_args(FileOrder))
            raise InputError(f"Unknown order of files '{order}': modified or name.{hint}")
        self._folder = Path(folder).absolute()
        self._order = order
        self._reading = replace(
            Reading() if reading is None else reading, report=warn_about_reading
        )
        self._warn = warn
        self._settle = settle
        self._warned: set[str] = set()
        self._completeness = Completeness(self._folder, settle, warn)
        list(zip(new_files(self._folder, {}), range(1), strict=False))  # checks the folder
        self._log = FileLog(Path(log), self._folder)
        self._discover()
        self._schema = schema if schema is not None else self._first_schema()
        self._reader = FolderReader(
            schema=self._schema,
            reading=replace(self._reading, report=warn_about_reading),  # can be pickled
            rejects=rejects,
        )

    @property
    def name(self) -> str:
        """The source's name in messages."""
        return f"'{self._folder}'"

    @property
    def schema(self) -> pa.Schema:
        """The columns of all tables that the reader returns."""
        return self._schema

    @property
    def reader(self) -> FolderReader:
        """The reader of splits."""
        return self._reader

    @property
    def pending(self) -> dict[str, str]:
        """Relative paths of files that are not complete, with reasons, as last listed."""
        return dict(self._completeness.pending)

    def first(self) -> Offset:
        """Return the offset before the first file."""
        return _offset(0, 0)

    def available(self) -> Offset:
        """List new files; return the offset after the last complete one."""
        self._discover()
        return _offset(len(self._log.entries), 0)

    def advance(
        self, start: Offset, limit: Limit = NO_LIMIT, until: Offset | None = None
    ) -> Offset:
        """Return the end of the micro-batch that begins at `start`; see `contract.StreamSource`."""
        if until is None:
            until = self.available()
        file, unit = self._position(start)
        stop = self._position(until)
        files = rows = 0
        last_file = -1  # the last file that was counted
        while (file, unit) < stop:
            units = self._log.entries[file].rows
            if unit >= len(units):
                file, unit = file + 1, 0
                continue
            if file != last_file and limit.files is not None and files >= max(1, limit.files):
                break
            if rows and limit.rows is not None and rows + units[unit] > limit.rows:
                break
            files += file != last_file
            last_file = file
            rows += units[unit]
            unit += 1
        return _offset(file, unit)

    def splits(self, start: Offset, end: Offset) -> Sequence[FileSplit]:
        """Return the splits between two offsets."""
        (first, first_unit), (last, last_unit) = self._position(start), self._position(end)
        splits: list[FileSplit] = []
        for file in range(first, min(last + 1, len(self._log.entries))):
            entry = self._log.entries[file]
            begin = first_unit if file == first else 0
            stop = last_unit if file == last else len(entry.rows)
            splits += self._splits_of(entry, begin, stop)
        return splits

    def lag(self, start: Offset) -> dict[str, int]:
        """Return the number of unread rows of complete files; an estimate for text files."""
        self._discover()
        file, unit = self._position(start)
        entries = self._log.entries
        rows = sum(sum(entry.rows) for entry in entries[file:])
        return {"0": rows - (sum(entries[file].rows[:unit]) if file < len(entries) else 0)}

    def close(self) -> None:
        """Do nothing: a folder has no connection."""

    def _discover(self) -> None:
        with self._log.locked():
            new = list(new_files(self._folder, self._log.numbers))
            by_name = self._order == "name"
            ready = sorted(
                self._completeness.ready(new),
                key=lambda one: (0 if by_name else one.file.modified, one.file.path),
            )
            self._refuse_other_format(ready)
            self._log.append(ready)
        self._warn_of_changes()

    def _refuse_other_format(self, ready: Sequence[Ready]) -> None:
        entries = [*self._log.entries[:1], *ready]
        for entry in entries[1:]:
            first_path, other_path = entries[0].file.path, entry.file.path
            if format_of(Path(first_path)) != format_of(Path(other_path)):
                raise InputError(
                    f"The folder {self.name} holds files of several formats: '{first_path}' and "
                    f"'{other_path}'. Move one of them away: a stream's files have one format."
                )

    def _warn_of_changes(self) -> None:
        """Warn of files that were changed after they were admitted."""
        for entry in self._log.entries[-RECENT:]:
            path = self._folder / entry.file.path
            try:
                size = path.stat().st_size
            except OSError:  # files that were read may be deleted
                continue
            if size != entry.file.size and entry.file.path not in self._warned:
                self._warned.add(entry.file.path)
                self._warn(
                    f"'{path}' was changed after it was admitted to the stream, and what was added "
                    "is not read. Put new events into new files."
                )

    def _position(self, offset: Offset) -> tuple[int, int]:
        file, unit = offset["file"], offset["unit"]
        if file > len(self._log.entries) or (unit and file == len(self._log.entries)):
            raise StateError(
                f"The checkpoint has read {file:,} files of {self.name}, and its log "
                f"'{self._log.path}' knows {len(self._log.entries):,}: the log is not that of the "
                "checkpoint. Restore both from one copy, or start with a new checkpoint."
            )
        return file, unit

    def _splits_of(self, entry: Ready, begin: int, stop: int) -> list[FileSplit]:
        """Return splits for units of a file; consecutive ones up to SPLIT_ROWS are combined."""
        splits: list[FileSplit] = []
        path = str(self._folder / entry.file.path)
        columns = split_columns(entry.file.path)
        unit = begin
        while unit < stop:
            first, rows = unit, entry.rows[unit]
            unit += 1
            while unit < stop and rows + entry.rows[unit] <= SPLIT_ROWS:
                rows += entry.rows[unit]
                unit += 1
            splits.append(
                FileSplit(
                    path=path,
                    size=entry.file.size,
                    modified=entry.file.modified,
                    rows=rows,
                    first=first,
                    stop=unit,
                    columns=columns,
                )
            )
        return splits

    def _first_schema(self) -> pa.Schema:
        """Return the schema of the first file, from the log if it has one.

        If all files were modified recently, wait until one of them is complete.
        """
        if self._log.schema is not None:
            return self._log.schema
        patience = time.monotonic() + self._settle + POLL_SECONDS
        while (
            not self._log.entries
            and self._completeness.settles_soon
            and time.monotonic() < patience
        ):
            time.sleep(POLL_SECONDS)
            self._discover()
        if not self._log.entries:
            waiting = "".join(f" '{path}': {why}." for path, why in self.pending.items())
            raise InputError(
                f"The folder {self.name} holds no complete file yet, so the columns of its events "
                f"are not known.{waiting} Give them with --schema, or add a first file."
            )
        schema = file_schema(self._folder, self._log.entries[0].file.path, self._reading)
        self._log.keep_schema(schema)
        return schema


def file_schema(folder: Path, relative: str, reading: Reading) -> pa.Schema:
    """Return the columns of one file and of the folders named `column=value` above it.

    Columns without any value become text.
    """
    path = folder / relative
    columns = split_columns(relative)
    file_format = format_of(path)
    if file_format == "parquet":
        schema = parquet_schema(path)
    else:
        assert file_format is not None  # only files with a known suffix are admitted
        source = Source(
            files=(DataFile(path),), format=file_format, user_paths=(path,), reading=reading
        )
        schema = read_source(source).schema
    fields = [
        pa.field(f.name, pa.string() if pa.types.is_null(f.type) else stored_type(f.type))
        for f in schema
    ]
    names = {f.name for f in fields}
    fields += [pa.field(name, pa.string()) for name, _ in columns if name not in names]
    return pa.schema(fields)


def _offset(file: int, unit: int) -> Offset:
    return {"file": file, "unit": unit}
