"""Where live events come from, before it is opened: it can be sent to other processes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from elsinore.connectors.contract import StreamSource
from elsinore.connectors.folder import FileOrder, FolderSource


class Place(Protocol):
    """Opens a source where it is needed; it can be pickled."""

    @property
    def name(self) -> str:
        """What messages call the source."""

    def open(self, log: Path) -> StreamSource:
        """Return the source. log: a file in the checkpoint that the source may use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderPlace:
    """A folder to which files are added; see `FolderSource`."""

    folder: str
    schema: pa.Schema | None = None
    order: FileOrder = "modified"
    rejects: bool = False

    @property
    def name(self) -> str:
        """What messages call the folder."""
        return f"'{self.folder}'"

    def open(self, log: Path) -> FolderSource:
        """Return the source."""
        return FolderSource(
            self.folder, log, schema=self.schema, order=self.order, rejects=self.rejects
        )
