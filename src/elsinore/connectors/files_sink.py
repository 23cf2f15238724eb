"""Sinks that write results to files `out/QUERY/batch=N/part-00000.parquet`, idempotently."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from elsinore.connectors.durable import sync_folder
from elsinore.errors import InputError, OutputError, did_you_mean
from elsinore.runtime.outputs import OutputFormat, write_to

FileFormat = Literal["parquet", "csv", "ndjson"]

WRITERS: dict[str, OutputFormat] = {"parquet": "parquet", "csv": "csv", "ndjson": "json"}


class FilesSink:
    r"""Writes the rows of each query and micro-batch as one file.

    Writing a batch again replaces its file atomically, so replays leave each result once, and
    readers see the old or the new file. A file is on disk when `write` returns. A batch without
    rows has no folder.

    Raises InputError for an unknown format; `write` raises OutputError if the folder is not
    writable.

    >>> import tempfile
    >>> sink = FilesSink(tempfile.mkdtemp(), "ndjson")
    >>> path = sink.write("q1", 7, pa.table({"district": ["Harbor"]}))
    >>> path.parent.name, path.read_text()
    ('batch=7', '{"district": "Harbor"}\n')
    """

    def __init__(self, folder: str | Path, file_format: FileFormat = "parquet") -> None:
        _check_format(file_format)
        self._folder = Path(folder)
        self._format = file_format

    def write(self, query: str, batch: int, rows: pa.Table) -> Path | None:
        """Write a query's rows of a micro-batch; return the file, None if there are no rows."""
        return _write(self._folder / _folder_name(query), batch, rows, self._format)

    def discard(self, query: str, batch: int) -> None:
        """Remove a query's folder of a micro-batch in which it has no rows."""
        folder = self._folder / _folder_name(query) / f"batch={batch}"
        try:
            _remove(folder)
        except OSError as error:
            raise OutputError(f"Cannot remove '{folder}': {error.strerror or error}.") from error

    def flush(self) -> None:
        """Do nothing: `write` returns when the file is on disk."""

    def close(self) -> None:
        """Do nothing: no file stays open."""


class RejectsSink:
    """Writes the rejects of each micro-batch as `FOLDER/batch=N/part-00000.ndjson`.

    Batches are replaced, and errors raised, as by `FilesSink`.
    """

    def __init__(self, folder: str | Path, file_format: FileFormat = "ndjson") -> None:
        _check_format(file_format)
        self._folder = Path(folder)
        self._format = file_format

    def write(self, batch: int, rejects: pa.Table) -> Path | None:
        """Write the rejects of a micro-batch; return the file, None if there are none."""
        return _write(self._folder, batch, rejects, self._format)


def _check_format(file_format: str) -> None:
    if file_format not in WRITERS:
        hint = did_you_mean(file_format, get_args(FileFormat))
        raise InputError(f"Unknown format '{file_format}'. Formats: {', '.join(WRITERS)}.{hint}")


def _write(folder_above: Path, batch: int, rows: pa.Table, file_format: FileFormat) -> Path | None:
    folder = folder_above / f"batch={batch}"
    path = folder / f"part-00000.{file_format}"
    try:
        if not rows.num_rows:
            _remove(folder)
            return None
        _make_folder(folder)
        _replace(path, rows, WRITERS[file_format])
        _remove_others(path)
    except OSError as error:
        raise OutputError(f"Cannot write '{path}': {error.strerror or error}.") from error
    return path


def _folder_name(query: str) -> str:
    if not query or query.startswith((".", "_")) or "/" in query or "\0" in query:
        raise OutputError(
            f"The query's name {query!r} cannot be the name of a folder that readers see. Rename "
            "the query."
        )
    return query


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents durably."""
    if folder.is_dir():
        return
    if folder.parent != folder:
        _make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir()
    sync_folder(folder.parent)


def _replace(path: Path, rows: pa.Table, file_format: OutputFormat) -> None:
    # Only one writer has the checkpoint; drafts of killed writers are overwritten.
    draft = path.with_name(f".{path.name}.new")
    with draft.open("wb") as file:
        write_to(rows, file, file_format)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    sync_folder(path.parent)


def _remove_others(path: Path) -> None:
    """Remove files of an earlier attempt in another format from the batch's folder."""
    for part in path.parent.iterdir():
        if part.name != path.name and part.name.lstrip(".").startswith("part-"):
            part.unlink()


def _remove(folder: Path) -> None:
    if folder.is_dir():
        shutil.rmtree(folder)
        sync_folder(folder.parent)
