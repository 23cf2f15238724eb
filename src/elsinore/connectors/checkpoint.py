"""Elsinore's files in a stream's checkpoint, besides those of Spark.

    CHECKPOINT/elsinore/stream.json     the description: engine, queries, buckets, version
    CHECKPOINT/elsinore/schema.json     columns that were inferred, if the source is a topic
    CHECKPOINT/elsinore/progress.json   on Spark: the last micro-batch, and the watermark
    CHECKPOINT/elsinore/state           in process: the next micro-batch, its offset, the live run
    CHECKPOINT/elsinore/begun.json      in process: the micro-batch that was started last
    CHECKPOINT/elsinore/folder.log      the order of files, if the source is a folder

Files are replaced atomically, so a killed process leaves the old or the new one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from elsinore.connectors.durable import sync_folder
from elsinore.errors import OutputError, StateError

VERSION = 1  # of these files


class Checkpoint:
    """The folder of a stream's checkpoint."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).absolute()
        self._own = self.folder / "elsinore"

    @property
    def folder_log(self) -> Path:
        """The log of a folder's files."""
        return self._own / "folder.log"

    def prepare(self) -> None:
        """Create the folder. Raise OutputError if that is not allowed, or the disk is full."""
        try:
            self._own.mkdir(parents=True, exist_ok=True)
            probe = self._own / f".probe-{os.getpid()}"
            try:
                probe.write_bytes(b"x")
            finally:
                probe.unlink(missing_ok=True)
        except OSError as error:
            raise OutputError(
                f"Cannot write the checkpoint '{self.folder}': {error.strerror or error}. Give "
                "access or make room, or name a folder that this user may write."
            ) from error

    def stream(self, engine: str) -> dict[str, Any] | None:
        """Return the description of an engine's stream ("spark" or "local"); None if it is new.

        Raises StateError for a checkpoint of another engine or version.
        """
        facts = self._read("stream.json")
        if facts is None:
            if (self.folder / "metadata").exists():
                raise StateError(
                    f"The checkpoint '{self.folder}' is of a query of Spark that is not "
                    "Elsinore's. Name another folder."
                )
            return None
        if facts.get("version") != VERSION:
            raise StateError(
                f"The checkpoint '{self.folder}' has version {facts.get('version')}, and this "
                f"Elsinore reads version {VERSION}. Continue with the Elsinore that wrote it, or "
                "start with a new checkpoint."
            )
        if facts.get("engine") != engine:
            raise StateError(
                f"The checkpoint '{self.folder}' is of the engine {facts.get('engine')}, and this "
                f"is the engine {engine}. Use the same engine, or a new checkpoint."
            )
        return facts

    def save_stream(self, engine: str, facts: Mapping[str, Any]) -> None:
        """Save the description of the stream."""
        self._write("stream.json", {"version": VERSION, "engine": engine, **facts})

    def schema(self) -> str | None:
        """Return the columns inferred when the stream began, as text of `print_schema`."""
        facts = self._read("schema.json")
        return None if facts is None else str(facts.get("columns"))

    def keep_schema(self, columns: str) -> None:
        """Save the inferred columns, since inference from later messages might differ."""
        self._write("schema.json", {"columns": columns})

    def progress(self) -> dict[str, Any]:
        """Return the progress of the stream; empty before the first micro-batch."""
        return self._read("progress.json") or {}

    def save_progress(self, facts: Mapping[str, Any]) -> None:
        """Save the progress of the stream."""
        self._write("progress.json", facts)

    def state(self) -> bytes | None:
        """Return the state of a run in this process; None before the first micro-batch.

        Its format is defined by the run.
        """
        path = self._own / "state"
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(
                f"Cannot read '{path}' of the checkpoint: {error.strerror or error}."
            ) from error

    def save_state(self, blob: bytes) -> None:
        """Save the state of a run in this process."""
        self._replace("state", blob)

    def batch_plan(self) -> dict[str, Any] | None:
        """Return the plan of the last started micro-batch; None before the first."""
        return self._read("begun.json")

    def save_batch_plan(self, facts: Mapping[str, Any]) -> None:
        """Save the plan of a micro-batch before it is processed."""
        self._write("begun.json", facts)

    def _read(self, name: str) -> dict[str, Any] | None:
        path = self._own / name
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StateError(f"Cannot read '{path}' of the checkpoint: {error}.") from error
        if not isinstance(facts, dict):
            raise StateError(f"'{path}' of the checkpoint is damaged: it is not a JSON object.")
        return facts

    def _write(self, name: str, facts: Mapping[str, Any]) -> None:
        self._replace(name, json.dumps(facts).encode())

    def _replace(self, name: str, content: bytes) -> None:
        """Replace a file atomically and durably. Raises OutputError if it cannot be written."""
        path, draft = self._own / name, self._own / f".{name}.new"
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
            sync_folder(self._own)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()  # frees disk space
            raise OutputError(
                f"Cannot write '{path}' of the checkpoint: {error.strerror or error}. The "
                "checkpoint is valid: make room or give access, and start the stream again."
            ) from error
