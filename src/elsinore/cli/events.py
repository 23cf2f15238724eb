"""Looking at events before a run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from elsinore.cli.arguments import existing
from elsinore.cli.console import ArgumentError
from elsinore.cli.job import Job
from elsinore.errors import InputError
from elsinore.runtime.files import read_events
from elsinore.runtime.sql import evaluate_sql


def schema_of_events(path: Path) -> pa.Schema:
    """Return the attributes of the events at `path`."""
    return read_events(existing(path)).schema


def check_columns(job: Job, table: pa.Table) -> None:
    """Raise ArgumentError for columns that the options name and the events lack."""
    empty = table.schema.empty_table()
    named = [("time", job.time), ("type", job.type), *(("order", name) for name in job.order_by)]
    for what, text in named:
        try:
            evaluate_sql(text, empty, what)
        except InputError as error:
            raise ArgumentError(str(error)) from error
