"""Listing new files of a folder that other programs write to, and detecting complete ones."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.errors import InputError
from elsinore.runtime.sources import STREAM_LOG, SUFFIXES, format_of

# Name patterns of files that are still being written.
TEMPORARY = (".tmp", ".temp", ".part", ".partial", ".inprogress", ".crdownload", "._copying_", "~")
SAMPLE_BYTES = 1 << 16  # of a text file, from which its number of rows is estimated
REPORT_SECONDS = 60.0  # seconds after which an incomplete file is reported


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file below a folder: its relative path, size in bytes, modification time in ns."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True, slots=True)
class Ready:
    """A file that is complete, and the rows of each of its units.

    Units are the row groups of a Parquet file, or a whole text file (an estimate).
    """

    file: FolderFile
    rows: tuple[int, ...]


def is_data_file(name: str) -> bool:
    """Return whether a file's name is neither hidden nor that of a file being written.

    >>> [is_data_file(n) for n in ("a.csv", ".a.csv", "_SUCCESS", "a.csv.tmp", "a.csv~")]
    [True, False, False, False, False]
    """
    return not name.startswith((".", "_")) and not name.lower().endswith(TEMPORARY)


def new_files(
    folder: Path, known: frozenset[str] | set[str] | dict[str, int]
) -> Iterator[FolderFile]:
    """Yield the data files below `folder` whose relative paths are not `known`, in any order.

    Hidden folders, and files that are deleted meanwhile, are skipped. Raise InputError if the
    folder cannot be listed or was written by a Spark stream.
    """
    pending = [(str(folder), "", frozenset[str]())]
    while pending:
        place, prefix, parents = pending.pop()
        real = os.path.realpath(place)
        if real in parents:  # a link to a parent folder
            continue
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name == STREAM_LOG:
                        raise InputError(
                            f"'{place}' was written by a Spark stream, and some of its files may "
                            "not count; only Spark knows which. Read it with spark.readStream."
                        )
                    if not is_data_file(entry.name):
                        continue
                    relative = prefix + entry.name
                    if relative in known:
                        continue
                    if entry.is_dir():
                        pending.append((entry.path, f"{relative}/", parents | {real}))
                    else:
                        status = entry.stat()
                        yield FolderFile(relative, status.st_size, status.st_mtime_ns)
        except FileNotFoundError:
            if prefix:
                continue
            raise InputError(f"There is no folder '{folder}'.") from None
        except NotADirectoryError:
            raise InputError(
                f"'{folder}' is not a folder. A live source is a folder to which files are added."
            ) from None
        except OSError as error:
            raise InputError(f"Cannot list '{error.filename}': {error.strerror}.") from error


MOMENT_AGO = "it was modified a moment ago"


class Completeness:
    """Decides which new files are complete, from earlier observations of them.

    A Parquet file is complete when it has a footer. A text file is complete when it is not empty
    and was not modified for `settle` seconds: a writer that pauses for longer must write elsewhere
    (or under a name that begins with a dot) and rename.
    """

    def __init__(self, folder: Path, settle: float, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._settle = settle
        self._warn = warn
        self._observations: dict[str, tuple[FolderFile, float]] = {}
        self._warned: set[str] = set()
        self.pending: dict[str, str] = {}  # path -> why the file is not read yet

    @property
    def settles_soon(self) -> bool:
        """Whether a pending file will count as complete if it is not modified again."""
        return MOMENT_AGO in self.pending.values()

    def ready(self, files: list[FolderFile]) -> list[Ready]:
        """Return the new files that are complete; remember the others."""
        now = time.monotonic()
        observations = {file.path: self._observations.get(file.path, (file, now)) for file in files}
        self._observations = {
            file.path: observations[file.path]
            if observations[file.path][0] == file
            else (file, now)
            for file in files
        }
        self.pending = {}
        complete = []
        for file in files:
            seconds_unchanged = now - self._observations[file.path][1]
            reason, rows = self._examine(file, seconds_unchanged)
            if not reason:
                complete.append(Ready(file, rows))
                del self._observations[file.path]
                continue
            self.pending[file.path] = reason
            if seconds_unchanged >= REPORT_SECONDS and file.path not in self._warned:
                self._warned.add(file.path)
                self._warn(f"'{self._folder / file.path}' is not read: {reason}.")
        return complete

    def _examine(self, file: FolderFile, seconds_unchanged: float) -> tuple[str, tuple[int, ...]]:
        """Return why a file is not complete ("" if it is), and the rows of its units."""
        path = self._folder / file.path
        file_format = format_of(path)
        if file_format is None:
            return f"its name ends in none of {', '.join(SUFFIXES)}", ()
        if not file.size:
            return "it is empty", ()
        try:
            if file_format == "parquet":
                metadata = pq.read_metadata(path)
                groups = range(metadata.num_row_groups)
                return "", tuple(metadata.row_group(group).num_rows for group in groups)
            age = time.time() - file.modified / 1e9
            if not (age >= self._settle or seconds_unchanged >= self._settle):
                return MOMENT_AGO, ()
            return "", (_estimated_rows(path, file.size),)
        except pa.ArrowInvalid:
            return "it has no Parquet footer, so it is incomplete or damaged", ()
        except OSError as error:
            return f"it cannot be read ({error.strerror or error})", ()


def _estimated_rows(path: Path, size: int) -> int:
    """Return the estimated number of lines of a text file, at least 1."""
    is_compressed = path.suffix.lower() == ".gz"
    with path.open("rb") as file:
        begin = file.read(SAMPLE_BYTES)
    if not begin:
        return 1
    text = begin
    if is_compressed:
        import zlib  # noqa: PLC0415 - seldom needed

        try:
            text = zlib.decompressobj(wbits=31).decompress(begin)
        except zlib.error:  # damaged: reading the file raises the error
            return 1
    return max(1, round(text.count(b"\n") * size / len(begin)))
