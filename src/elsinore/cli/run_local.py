"""Running a job in this process: a file of events in, a file per query out."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from time import perf_counter
from typing import TypeVar

import pyarrow as pa
import typer

from elsinore.cli.console import (
    ArgumentError,
    print_table,
    say,
    steps,
    warn,
)
from elsinore.cli.events import check_columns, explaining_text_columns
from elsinore.cli.job import Job
from elsinore.cli.statistics import print_statistics
from elsinore.errors import InputError
from elsinore.runtime.files import read_source
from elsinore.runtime.outputs import Rows, write_part, write_table, write_to, writing_rows
from elsinore.runtime.rejects import set_aside, with_ragged_rows
from elsinore.runtime.result import shown_values
from elsinore.runtime.results import FINAL_RESULT
from elsinore.words import count, listed

T = TypeVar("T")
SHOWN_QUERIES = 12  # with open windows, in one line


def run_local(job: Job) -> int:
    """Run a job in this process and output its results; return the number of rows."""
    reject_format = job.reject_format
    with steps(2) as bar:
        bar.begin("Reading events")
        table = read_source(job.source)
        check_columns(job, table)
        bar.done()
        bar.begin("Running the queries")
        start = perf_counter()
        rows = ResultRows(job)
        check_sql_over_results(job, table)
        with explaining_text_columns(job, table), rows:
            results = rows.write_pieces(job.batches(table))
        seconds = perf_counter() - start
        bar.done()
    for warning in results.find_warnings():
        warn(warning)
    say_open_windows(results.open_windows)
    if job.rejects is not None and reject_format is not None:
        rejected = results.rejected
        if rejected is None:
            _, rejected = set_aside(table.slice(0, 0), pa.nulls(0, pa.string()), allowed=True)
        rejected = with_ragged_rows(rejected, job.ragged_rows)
        write_table(rejected, job.rejects, reject_format, overwrite=job.overwrite)
        if rejected.num_rows:
            say(f"{count(rejected.num_rows, 'event')} cannot be used; written to {job.rejects}")
    if job.final_query is not None:
        table = job.final_query.rows(rows.tables(results.tables))
        output_result(job, FINAL_RESULT, table)
        total = len(table)
    else:
        for name, answer in results.tables.items():
            rows.print_outcome(name, answer)
        total = rows.total
    if job.stats:
        print_statistics(results.statistics, seconds)
    return total


def check_sql_over_results(job: Job, events: pa.Table) -> None:
    """Raise ArgumentError if --having or --then does not fit the columns of the results.

    They are evaluated over empty results, so that errors are reported before the run.
    """
    if job.having is None and job.final_query is None:
        return
    with explaining_text_columns(job, events):
        tables = job.run(events.slice(0, 0)).tables
    option = "--having"
    try:
        if job.having is not None:
            for name, table in tables.items():
                option = f"--having, query {name}"
                job.having.keep(table)
        option = "--then"
        if job.final_query is not None:
            job.final_query.rows(tables)
    except InputError as error:
        raise ArgumentError(f"{option}: {error}") from error


def say_open_windows(numbers: Mapping[str, int | None]) -> None:
    """Print the number of open windows of each query at the end of an open stream, if any.

    A number is None if it is unknown.
    """
    counts = [
        f"windows of {name}" if number is None else f"{count(number, 'window')} of {name}"
        for name, number in numbers.items()
        if number != 0
    ]
    if counts:
        say(f"Left open, as more events may follow: {listed(counts, SHOWN_QUERIES)}.")


class ResultRows(ExitStack):
    """Receives the rows of a run: writes them to files, or buffers as many as are shown.

    For the standard output, rows of several queries are buffered until each query is complete.
    """

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._job = job
        self._writers: dict[str, Rows] = {}
        self._buffered: dict[str, list[pa.Table]] = {}
        self._counts: dict[str, int] = {}

    def write_pieces(self, pieces: Generator[tuple[str, pa.Table], None, T]) -> T:
        """Take all pieces; return what the generator returns."""
        while True:
            try:
                name, piece = next(pieces)
            except StopIteration as end:
                result: T = end.value
                return result
            if self._job.having is not None:
                piece = self._job.having.keep(piece)
            before = self._counts.get(name, 0)
            self._counts[name] = before + piece.num_rows
            if self._job.final_query is not None:
                self._buffered.setdefault(name, []).append(piece)
            elif self._job.out is not None:
                self._writer(name).add(piece)
            elif self._job.form is not None or before < self._job.limit:
                shown = None if self._job.form is not None else self._job.limit - before
                self._buffered.setdefault(name, []).append(piece.slice(0, shown))

    @property
    def total(self) -> int:
        """The number of rows of all results."""
        return sum(self._counts.values())

    def tables(self, empty: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        """Return the buffered rows of each query; `empty` has tables for queries without rows."""
        return {
            name: pa.concat_tables(self._buffered[name]) if name in self._buffered else table
            for name, table in empty.items()
        }

    def print_outcome(self, name: str, empty: pa.Table) -> None:
        """Print a query's rows or where they were written; `empty` is its table without rows."""
        job, total = self._job, self._counts.get(name, 0)
        if job.out is not None and name in self._writers:
            typer.echo(f"{name}: {count(total, 'row')} written to {job.place(name)}")
        elif job.out is None and job.form is None:
            waiting = self._buffered.get(name)
            print_result(name, pa.concat_tables(waiting) if waiting else empty, total)
        else:
            waiting = self._buffered.get(name)
            output_result(job, name, pa.concat_tables(waiting) if waiting else empty)

    def _writer(self, name: str) -> Rows:
        if name not in self._writers:
            job = self._job
            self._writers[name] = self.enter_context(
                writing_rows(
                    job.place(name), job.out_format, overwrite=job.overwrite, parts=job.parts
                )
            )
        return self._writers[name]


def output_result(job: Job, name: str, table: pa.Table) -> None:
    """Write a result to its file or to the standard output, or print its first rows."""
    if job.out is not None:
        place = job.place(name)
        write = write_part if job.parts else write_table
        write(table, place, job.out_format, overwrite=job.overwrite)
        typer.echo(f"{name}: {count(table.num_rows, 'row')} written to {place}")
    elif job.form is not None:
        if job.names_in_rows:
            table = with_query_name(table, name)
        sys.stdout.flush()
        write_to(table, sys.stdout.buffer, job.form)
        sys.stdout.buffer.flush()
    else:
        print_result(name, table.slice(0, job.limit), table.num_rows)


def with_query_name(table: pa.Table, name: str) -> pa.Table:
    """Return a result with a first column that names its query.

    Raises ArgumentError if it has a column of this name.
    """
    if "query" in table.column_names:
        raise ArgumentError(
            f"A column of {name} is named query, as is the column that --format ndjson adds. "
            "Rename it with AS."
        )
    return table.add_column(0, "query", pa.repeat(name, table.num_rows))


def print_result(name: str, first: pa.Table, total: int) -> None:
    """Print the first rows of a query's result, and the number of rows."""
    columns = [shown_values(column) for column in first.columns]
    rows = list(zip(*columns, strict=True))
    print_table(name, first.column_names, rows, total, first.num_rows)
