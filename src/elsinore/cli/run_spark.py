"""Running a job on Spark: files of events in, a folder per query out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pyarrow as pa
import pyarrow.compute as pc
import typer

from elsinore.cli import interrupt
from elsinore.cli.console import (
    ArgumentError,
    Steps,
    say,
    steps,
    warn,
)
from elsinore.cli.events import check_header, explaining_text_columns
from elsinore.cli.job import Job
from elsinore.cli.run_local import output_result, print_result, say_open_windows
from elsinore.cli.statistics import print_statistics
from elsinore.errors import InputError, SetupError
from elsinore.model.clock import ROWS
from elsinore.model.spark_sql import quoted
from elsinore.operators import OperatorStatistics
from elsinore.runtime.options import RunOptions
from elsinore.runtime.outputs import write_part, write_table
from elsinore.runtime.rejects import with_ragged_rows
from elsinore.runtime.results import FINAL_RESULT, Results
from elsinore.runtime.text_orders import EXAMINED, ordered_texts, text_orders
from elsinore.spark.answers import LARGEST_LIMIT
from elsinore.words import count

try:
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F  # noqa: N812

    from elsinore.spark.files import arrow_table, fetched, read_frame, write_parts
    from elsinore.spark.quiet import error_in_task, first_line, loggers
    from elsinore.spark.result_sql import selected
except ImportError as error:
    raise SetupError(
        "PySpark is not installed. Install it with: pip install 'elsinore[spark,java]', or run in "
        "this process with --engine local."
    ) from error


@dataclass(frozen=True, slots=True)
class Answer:
    """A query's result: the number of rows, and the fetched rows, or where all were written."""

    query: str
    rows: int
    place: Path | None
    fetched: pa.Table

    def print_outcome(self, job: Job) -> None:
        """Print the first rows, or where the result was written."""
        if self.place is not None:
            typer.echo(f"{self.query}: {count(self.rows, 'row')} written to {self.place}")
        elif job.form is not None:
            output_result(job, self.query, self.fetched)
        else:
            self.show(job.limit)

    def show(self, shown: int) -> None:
        """Print the first rows as a table."""
        print_result(self.query, self.fetched.slice(0, shown), self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The results of a run without rejected events."""

    answers: Sequence[Answer]
    warnings: tuple[str, ...]
    statistics: tuple[OperatorStatistics, ...]
    open_windows: Mapping[str, int | None]


def run_spark(job: Job, master: str) -> int:
    """Run a job on Spark and output its results; return the number of rows."""
    reject_format = job.reject_format
    with steps(3 + len(job.result_names)) as bar:
        bar.begin("Starting Spark")
        with session(master) as spark:
            bar.done()
            frame = read_frame(spark, job.source, by_rows=job.time == ROWS)
            options = options_of(job, frame)
            check_header(job, frame.columns)
            check_columns(options, frame)
            start = perf_counter()
            with explaining_text_columns(job):
                outcome = run_steps(job, frame, bar)
                about_texts = texts_compared(job, frame)
            seconds = perf_counter() - start
            rejected = 0
            if job.rejects is not None and reject_format is not None:
                bad = job.run(frame).rejected
                if bad is not None:
                    table = with_ragged_rows(arrow_table(bad), job.ragged_rows)
                    write_table(table, job.rejects, reject_format, overwrite=job.overwrite)
                    rejected = table.num_rows
    for warning in (*about_texts, *outcome.warnings):
        warn(warning)
    say_open_windows(outcome.open_windows)
    if rejected:
        say(f"{count(rejected, 'event')} cannot be used; written to {job.rejects}")
    for answer in outcome.answers:
        answer.print_outcome(job)
    if job.stats:
        _print_statistics(outcome.statistics, seconds)
    return sum(answer.rows for answer in outcome.answers)


def _print_statistics(statistics: tuple[OperatorStatistics, ...], seconds: float) -> None:
    if statistics:
        print_statistics(statistics, seconds)
    else:
        say("There are no statistics over Spark Connect; --engine local has them.")


def run_steps(job: Job, frame: DataFrame, bar: Steps) -> Outcome:
    """Compute each query's result; return the results and reports.

    Raises InputError with the first unusable events if there are any.
    """
    from elsinore.spark.events import unusable_report  # noqa: PLC0415

    results = job.run(frame)
    answers = []
    persisted: list[DataFrame] = []
    try:
        for name, frame_or_rows, order in final_results(job, results):
            bar.begin(f"Running {name}")
            if isinstance(frame_or_rows, pa.Table):
                answers.append(answer_of_rows(job, name, frame_or_rows, order))
            else:
                result = frame_or_rows.persist()  # computed once for counting, writing and printing
                persisted.append(result)
                answers.append(answer_of(job, name, result, order))
            bar.done()
        bar.begin("Reading the types of events")
        warnings = results.find_warnings()
        bar.done()
    except Exception as error:
        report = None if job.rejects is not None else unusable_report(frame, options_of(job, frame))
        report = report or error_in_task(error)
        if report is None:
            raise
        raise InputError(report) from error
    finally:
        for frame_of_query in persisted:
            frame_of_query.unpersist()
    return Outcome(
        answers=answers,
        warnings=warnings,
        statistics=results.statistics,
        open_windows=results.open_windows,
    )


def final_results(
    job: Job, results: Results[DataFrame]
) -> Iterator[tuple[str, DataFrame | pa.Table, Sequence[str]]]:
    """Yield each result after --having and --then: its name, its rows, the columns that order it.

    Rows that were fetched with other results are Arrow tables. Raises ArgumentError if --having or
    --then does not fit the columns of the results.
    """
    if job.having is None and job.final_query is None:
        for name in results:
            rows = fetched(results[name])
            yield name, results.tables[name] if rows is None else rows, results.orders[name]
        return
    frames = dict(results.tables)
    if job.having is not None:
        for name, frame in frames.items():
            frames[name] = analyze(f"--having, query {name}", frame.filter, job.having.text)
    if job.final_query is None:
        for name, frame in frames.items():
            yield name, frame, results.orders[name]
        return
    try:
        yield FINAL_RESULT, selected(job.final_query, frames), ()
    except InputError as error:
        raise ArgumentError(f"--then: {error}") from error


def analyze(option: str, make: Callable[[str], DataFrame], text: str) -> DataFrame:
    """Return the data frame of an option's SQL; raise ArgumentError if it does not fit."""
    try:
        return make(text)
    except AnalysisException as error:
        raise ArgumentError(
            f"{option}: it does not fit the results: {first_line(error)}"
        ) from error


def texts_compared(job: Job, frame: DataFrame) -> tuple[str, ...]:
    """Return warnings of texts that queries compare by order, from the first events.

    Events are only read if there are such queries.
    """
    text_columns = {*job.source.reading.texts, job.time}
    texts = [name for name, kind in frame.dtypes if kind == "string" and name not in text_columns]
    queries = job.workload.planned(job.granularity).workload
    compared_columns = ordered_texts(queries, texts)
    if not compared_columns:
        return ()
    first = frame.select([F.col(quoted(name)) for name in compared_columns]).limit(EXAMINED)
    return tuple(text_orders(queries, arrow_table(first)))


def answer_of(job: Job, name: str, result: DataFrame, order: Sequence[str]) -> Answer:
    """Write a result to its file, if there is one, and fetch the rows to print, in order."""
    if job.out is not None and job.parts:
        place = job.place(name)
        rows = write_parts(result, place, job.out_format, overwrite=job.overwrite)
        return Answer(name, rows, place, pa.table({}))
    if job.out is not None or job.form is not None:
        return answer_of_rows(job, name, arrow_table(result), order)
    by = [F.col(quoted(column)).asc_nulls_last() for column in order]
    first_rows = (result.orderBy(*by) if by else result).limit(min(job.limit, LARGEST_LIMIT))
    return Answer(name, result.count(), None, arrow_table(first_rows))


def answer_of_rows(job: Job, name: str, rows: pa.Table, order: Sequence[str]) -> Answer:
    """Write the rows of a result to their file, if there is one, and return those to print."""
    if order:
        keys = [(column, "ascending") for column in order]
        rows = rows.take(pc.sort_indices(rows.select(list(order)), keys))
    if job.out is None:
        return Answer(name, rows.num_rows, None, rows)
    place = job.place(name)
    write = write_part if job.parts else write_table
    write(rows, place, job.out_format, overwrite=job.overwrite)
    return Answer(name, rows.num_rows, place, rows)


@contextmanager
def session(master: str, config: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Yield the existing session of Spark, or a new one that is stopped at the end.

    `config` has Spark settings for a new session.
    """
    from elsinore.spark.session import local_session  # noqa: PLC0415

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    spark = local_session(master, config=config)
    interrupt.install()  # Spark replaces the handlers when it starts
    for logger in loggers():
        logger.disabled = True
    try:
        yield spark
    finally:
        if not interrupt.was_interrupted():
            spark.stop()


def options_of(job: Job, frame: DataFrame) -> RunOptions:
    """Return the options of a job for Spark; raise ArgumentError for a missing time column."""
    from elsinore.spark.events import inspect_time, nanosecond_columns  # noqa: PLC0415

    options = job.options()
    try:
        return job.workload.timed(options, *inspect_time(frame, options), nanosecond_columns(frame))
    except InputError as error:
        raise ArgumentError(str(error)) from error


def check_columns(options: RunOptions, frame: DataFrame) -> None:
    """Raise ArgumentError for columns that the options name and the events lack."""
    from elsinore.spark.events import Events  # noqa: PLC0415

    events = Events(frame, options)
    try:
        frame.select(events.time[0], events.type)
    except InputError as error:
        raise ArgumentError(str(error)) from error
    try:
        frame.selectExpr(*options.order_by)
    except AnalysisException as error:
        raise ArgumentError(f"--order-by does not fit the events: {first_line(error)}") from error
