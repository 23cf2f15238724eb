"""A run in this process: a file of events in, a file per query out."""

from __future__ import annotations

from time import perf_counter

import pyarrow as pa
import typer

from elsinore.cli.console import (
    SHOWN_ROWS,
    events_text,
    print_table,
    say,
    steps,
    warn,
)
from elsinore.cli.events import check_columns
from elsinore.cli.job import Job
from elsinore.cli.statistics import print_statistics
from elsinore.runtime.files import read_events
from elsinore.runtime.outputs import write_table


def run_local(job: Job) -> None:
    """Run a job in this process and hand out its results."""
    reject_format = job.reject_format
    with steps(2) as bar:
        bar.begin("Reading events")
        table = read_events(job.events)
        check_columns(job, table)
        bar.done()
        bar.begin("Running the queries")
        begun = perf_counter()
        results = job.run(table)
        seconds = perf_counter() - begun
        bar.done()
    for warning in results.warnings:
        warn(warning)
    if job.rejects is not None and reject_format is not None:
        rejected = results.rejected if results.rejected is not None else table.slice(0, 0)
        write_table(rejected, job.rejects, reject_format, overwrite=job.overwrite)
        if rejected.num_rows:
            say(f"{events_text(rejected.num_rows)} cannot be used; written to {job.rejects}")
    for name, found in results.tables.items():
        if job.out is None:
            print_result(name, found)
        else:
            place = job.place(name)
            write_table(found, place, job.form, overwrite=job.overwrite)
            typer.echo(f"{name}: {found.num_rows:,} rows written to {place}")
    if job.stats:
        print_statistics(results.statistics, seconds)


def print_result(name: str, found: pa.Table, shown: int = SHOWN_ROWS) -> None:
    """Print the first rows of a query's result."""
    first = found.slice(0, shown)
    columns = [column.to_pylist() for column in first.columns]
    rows = list(zip(*columns, strict=True))
    print_table(name, found.column_names, rows, found.num_rows, shown)
