"""Looking at events before a run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from elsinore.cli.arguments import existing
from elsinore.runtime.files import read_events


def schema_of_events(path: Path) -> pa.Schema:
    """Return the attributes of the events at `path`."""
    return read_events(existing(path)).schema
