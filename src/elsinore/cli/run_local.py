"""A run in this process: a file of events in, a file per query out."""

from __future__ import annotations

from dataclasses import fields

import pyarrow as pa
import typer

from elsinore.cli.console import (
    SHOWN_ROWS,
    ArgumentError,
    events_text,
    print_table,
    say,
    steps,
    warn,
)
from elsinore.cli.job import Job
from elsinore.errors import InputError
from elsinore.runtime.files import read_events
from elsinore.runtime.outputs import write_table
from elsinore.runtime.results import Results
from elsinore.runtime.sql import evaluate_sql


def run_local(job: Job) -> None:
    """Run a job in this process and hand out its results."""
    reject_format = job.reject_format
    with steps(2) as bar:
        bar.begin("Reading events")
        table = read_events(job.events)
        _check_columns(job, table)
        bar.done()
        bar.begin("Running the queries")
        results = job.run(table)
        bar.done()
    for warning in results.warnings:
        warn(warning)
    if job.rejects is not None and reject_format is not None:
        rejected = results.rejected if results.rejected is not None else table.slice(0, 0)
        write_table(rejected, job.rejects, reject_format)
        if rejected.num_rows:
            say(f"{events_text(rejected.num_rows)} cannot be used; written to {job.rejects}")
    for name, found in results.items():
        if job.out is None:
            print_result(name, found)
        else:
            place = job.place(name)
            write_table(found, place, job.form)
            typer.echo(f"{name}: {found.num_rows:,} rows written to {place}")
    if job.stats:
        _print_statistics(results)


def _check_columns(job: Job, table: pa.Table) -> None:
    """Raise ArgumentError for columns that the options name and the events lack."""
    empty = table.schema.empty_table()
    named = [("time", job.time), ("type", job.type), *(("order", name) for name in job.order_by)]
    for what, text in named:
        try:
            evaluate_sql(text, empty, what)
        except InputError as error:
            raise ArgumentError(str(error)) from error


def print_result(name: str, found: pa.Table, shown: int = SHOWN_ROWS) -> None:
    """Print the first rows of a query's result."""
    first = found.slice(0, shown)
    columns = [column.to_pylist() for column in first.columns]
    rows = list(zip(*columns, strict=True))
    print_table(name, found.column_names, rows, found.num_rows, shown)


def _print_statistics(results: Results[pa.Table]) -> None:
    if not results.statistics:
        return
    names = [field.name for field in fields(results.statistics[0])]
    rows = [
        [number, *(getattr(one, name) for name in names)]
        for number, one in enumerate(results.statistics, start=1)
    ]
    title = "Statistics, by pass over the events"
    print_table(title, ["pass", *(name.replace("_", " ") for name in names)], rows, len(rows), 99)
