"""A durable log of a growing folder's files, in the order of reading.

New files may have any names and times, so neither can serve as an offset. The log assigns a
permanent number to each file; an offset is a position in the log. It grows by about 150 bytes per
file.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from elsinore.connectors.durable import sync_folder
from elsinore.connectors.folder.listing import FolderFile, Ready
from elsinore.errors import OutputError, StateError
from elsinore.saved_states import schema_from_bytes

try:
    import fcntl
except ImportError:  # Windows: one process at a time is up to the user
    fcntl = None  # type: ignore[assignment]

VERSION = 1


class FileLog:
    r"""The files of a folder in the order of reading; every process that opens it sees the same.

    `path` is a file in the checkpoint, created if absent. Each line is one JSON object: a header,
    the schema of the events, or a file. An incomplete last line was cut by a crash before it was
    used, and is removed.

    Raise StateError if the log is damaged, of another version or of another folder, and OutputError
    if it cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "files"
    >>> log = FileLog(path, Path("/data"))
    >>> log.append([Ready(FolderFile("a.parquet", 10, 0), (3, 4))])
    >>> FileLog(path, Path("/data")).entries[0].rows
    (3, 4)
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.entries: list[Ready] = []
        self.numbers: dict[str, int] = {}  # relative path -> place in `entries`
        self.schema: pa.Schema | None = None
        self._folder = str(folder)
        self._read_to = 0
        with self._writing():
            path.parent.mkdir(parents=True, exist_ok=True)
        with self.locked():
            if not self._read_to:
                self._write([{"version": VERSION, "folder": self._folder}])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Read entries of other processes, and exclude these from appending during the block."""
        with ExitStack() as stack:
            with self._writing():
                file = stack.enter_context(self.path.open("a+b"))
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX)
                self._catch_up(file)
            yield

    def append(self, files: Sequence[Ready]) -> None:
        """Add files to the log; they are on disk on return. Call it inside `locked`."""
        if not files:
            return
        self._write(
            {
                "path": ready.file.path,
                "size": ready.file.size,
                "modified": ready.file.modified,
                "rows": ready.rows,
            }
            for ready in files
        )
        for ready in files:
            self._add(ready)

    def keep_schema(self, schema: pa.Schema) -> None:
        """Save the schema of the events, that of the first file; it is on disk on return."""
        with self.locked():
            self._write([{"schema": _encode(schema)}])
        self.schema = schema

    def _write(self, lines: Iterable[dict[str, Any]]) -> None:
        new = not self._read_to
        with self._writing():
            with self.path.open("ab") as file:
                file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
                file.flush()
                os.fsync(file.fileno())
                self._read_to = file.tell()
            if new:
                sync_folder(self.path.parent)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Convert errors of the system to OutputError."""
        try:
            yield
        except OSError as error:
            raise OutputError(
                f"Cannot write '{self.path}' of the checkpoint: {error.strerror or error}. The "
                "checkpoint is valid: make room or give access, and start the stream again."
            ) from error

    def _catch_up(self, file: BinaryIO) -> None:
        """Read entries appended since the last call; remove an incomplete last line."""
        file.seek(self._read_to)
        content = file.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            file.truncate(self._read_to + end)
        lines = content[:end].splitlines()
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
                if not self._read_to and not number:
                    self._check(entry)
                elif "schema" in entry:
                    self.schema = _decode(entry["schema"])
                else:
                    file_entry = FolderFile(entry["path"], entry["size"], entry["modified"])
                    self._add(Ready(file_entry, tuple(entry["rows"])))
            except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
                raise StateError(
                    f"The log of files '{self.path}' is damaged: {line[:80]!r}. Restore the "
                    "checkpoint from a copy, or start with a new one."
                ) from error
        self._read_to += end

    def _check(self, header: dict[str, Any]) -> None:
        if header["version"] != VERSION:
            raise StateError(
                f"The log of files '{self.path}' has version {header['version']}; this release "
                f"reads version {VERSION}. Use the release that wrote it, or a new checkpoint."
            )
        if header["folder"] != self._folder:
            raise StateError(
                f"The log of files '{self.path}' belongs to the folder '{header['folder']}', not "
                f"to '{self._folder}'. Use a new checkpoint for another folder."
            )

    def _add(self, ready: Ready) -> None:
        self.numbers[ready.file.path] = len(self.entries)
        self.entries.append(ready)


def _encode(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


def _decode(text: str) -> pa.Schema:
    return schema_from_bytes(base64.b64decode(text))
