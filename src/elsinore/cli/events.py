"""Checking events before a run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from elsinore.arrow import no_table
from elsinore.cli.console import ArgumentError, warn
from elsinore.cli.job import Job
from elsinore.errors import InputError, InvalidWorkloadError, QueryError, choices_text
from elsinore.local.driver import prepare, texts_compared, warnings_of_times
from elsinore.model.clock import ROWS
from elsinore.runtime.files import read_source
from elsinore.runtime.guessed import guess_again
from elsinore.runtime.numbers_in_text import NUMBER
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import reasons_text
from elsinore.runtime.row_order import refuse_own_column, with_row_numbers
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.text_files import text_notes
from elsinore.runtime.times import kind_of_column, schema_with_numbers
from elsinore.runtime.types import types_of
from elsinore.runtime.warnings import absent_types, types_by_frequency
from elsinore.words import count


def checked_events(job: Job) -> tuple[pa.Table, tuple[str, ...]]:
    """Return a job's events, and warnings of unusable events, odd times and absent types.

    Raises ArgumentError for missing columns named by options, and the errors of the queries for
    these events. Column types are those of a run: CSV columns that are text only because of
    unusable rows have the type of the other rows.
    """
    events = read_source(job.source)
    check_columns(job, events)
    table = with_row_numbers(events) if job.time == ROWS else events
    kind, fine = kind_of_column(evaluate_sql(job.time, table, "time"), job.times.unit)
    options = job.workload.timed(job.options(), kind.is_number, fine)
    usable, _, _ = guess_again(table, replace(options, allow_rejects=True))
    with explaining_text_columns(job, usable):
        job.workload.check(
            schema_with_numbers(usable, job.time), time=job.time, time_unit=job.times.unit
        )
    types = types_of(usable, job.type)
    plan = job.workload.planned(job.granularity)
    absent = absent_types(plan, types_by_frequency(types))
    return events, (*warnings_of(table, options), *texts_compared(plan, usable), *absent)


def warnings_of(table: pa.Table, options: RunOptions) -> tuple[str, ...]:
    """Return warnings of unusable events, at which a run would stop, and of implausible times."""
    stream, rejected = prepare(table, replace(options, allow_rejects=True))
    odd = warnings_of_times(stream, options)
    if rejected is None:
        return odd
    bad_count = f"{count(rejected.num_rows, 'event')} of {table.num_rows:,}"
    why = reasons_text(rejected.column(rejected.num_columns - 1))
    unusable = (
        f"{bad_count} cannot be used ({why}): a run stops unless --rejects names a file for them."
    )
    return unusable, *odd


def check_columns(job: Job, table: pa.Table) -> None:
    """Raise ArgumentError for all columns that options name and the events lack."""
    check_header(job, table.column_names)
    empty = no_table(table.schema)
    options = [("time", job.time), ("type", job.type), *(("order", name) for name in job.order_by)]
    if job.time == ROWS:
        refuse_own_column(table.column_names)
        del options[0]
    wrong = []
    for role, text in options:
        try:
            evaluate_sql(text, empty, role)
        except InputError as error:
            wrong.append(str(error))
    if wrong:
        raise ArgumentError("\n".join(wrong))


def check_header(job: Job, names: Sequence[str]) -> None:
    """Raise ArgumentError if CSV has no header, and --time names a cell of its first event.

    Numbered columns, which pandas writes for columns without names, are a header.
    """
    if job.source.format != "csv" or job.time not in names or not re.match(NUMBER, job.time):
        return
    numbers = [name for name in names if re.match(NUMBER, name)]
    numberings = (list(map(str, range(first, first + len(numbers)))) for first in (0, 1))
    if len(numbers) > 1 and numbers in numberings:
        return
    raise ArgumentError(
        f"The first line names the columns ({choices_text(names)}), but --time {job.time} is like "
        "a time in it: that event would be lost. Put a line before it that names the columns, as "
        "in 'time,type', and name the one with the time with --time."
    )


@contextmanager
def explaining_text_columns(job: Job, table: pa.Table | None = None) -> Iterator[None]:
    """Add to errors of events that do not fit the queries: which rows made columns text."""
    try:
        yield
    except (QueryError, InvalidWorkloadError) as error:
        if job.source.format == "csv":
            text = str(error)
            table = read_source(job.source) if table is None else table
            columns = {
                name for name in table.column_names if re.search(rf"\b{re.escape(name)}\b", text)
            }
            for note in text_notes(table, columns):
                warn(note)
        raise
