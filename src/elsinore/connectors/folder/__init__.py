"""Live events from files that are added to a folder."""

from elsinore.connectors.folder.reading import FileSplit, FolderReader
from elsinore.connectors.folder.source import FileOrder, FolderSource

__all__ = ["FileOrder", "FileSplit", "FolderReader", "FolderSource"]
