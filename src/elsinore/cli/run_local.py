"""A run in this process: a file of events in, a file per query out."""

from __future__ import annotations

import sys
from time import perf_counter

import pyarrow as pa
import typer

from elsinore.cli.console import (
    events_text,
    print_table,
    say,
    steps,
    warn,
)
from elsinore.cli.events import check_columns, explained
from elsinore.cli.job import Job
from elsinore.cli.statistics import print_statistics
from elsinore.runtime.files import read_source
from elsinore.runtime.outputs import write_part, write_table, write_to


def run_local(job: Job) -> None:
    """Run a job in this process and hand out its results."""
    reject_format = job.reject_format
    with steps(2) as bar:
        bar.begin("Reading events")
        table = read_source(job.source)
        check_columns(job, table)
        bar.done()
        bar.begin("Running the queries")
        begun = perf_counter()
        with explained(job, table):
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
        hand_out(job, name, found)
    if job.stats:
        print_statistics(results.statistics, seconds)


def hand_out(job: Job, name: str, found: pa.Table) -> None:
    """Write a result to its place or to the standard output, or print its first rows."""
    if job.out is not None:
        place = job.place(name)
        write = write_part if job.parts else write_table
        write(found, place, job.out_format, overwrite=job.overwrite)
        typer.echo(f"{name}: {found.num_rows:,} rows written to {place}")
    elif job.form is not None:
        sys.stdout.flush()
        write_to(found, sys.stdout.buffer, job.form)
        sys.stdout.buffer.flush()
    else:
        print_result(name, found.slice(0, job.limit), found.num_rows)


def print_result(name: str, first: pa.Table, total: int) -> None:
    """Print the first rows of a query's result, and how many there are."""
    columns = [column.to_pylist() for column in first.columns]
    rows = list(zip(*columns, strict=True))
    print_table(name, first.column_names, rows, total, first.num_rows)
