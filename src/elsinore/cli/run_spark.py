"""A run on Spark: files of events in, a folder per query out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import typer

from elsinore.cli import interrupt
from elsinore.cli.console import (
    SHOWN_ROWS,
    ArgumentError,
    Steps,
    events_text,
    print_table,
    say,
    steps,
    warn,
)
from elsinore.cli.job import Job
from elsinore.cli.statistics import print_statistics
from elsinore.errors import InputError, SetupError
from elsinore.operators import OperatorStatistics
from elsinore.runtime.drafts import draft
from elsinore.runtime.files import FileFormat, format_of
from elsinore.runtime.options import RunOptions

try:
    from pyspark.errors import AnalysisException
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F  # noqa: N812
except ImportError as error:
    raise SetupError(
        "PySpark is not installed. Install it with: pip install 'elsinore[spark,java]', or run in "
        "this process with --engine local."
    ) from error


@dataclass(frozen=True, slots=True)
class Answer:
    """A query's result, written or fetched: how many rows, and the first of them."""

    query: str
    rows: int
    place: Path | None
    names: tuple[str, ...]
    first: tuple[tuple[Any, ...], ...]

    def tell(self, shown: int = SHOWN_ROWS) -> None:
        """Print the first rows, or where the result was written."""
        if self.place is None:
            self.show(shown)
        else:
            typer.echo(f"{self.query}: {self.rows:,} rows written to {self.place}")

    def show(self, shown: int) -> None:
        """Print the first rows as a table."""
        print_table(self.query, self.names, self.first, self.rows, shown)


def run_spark(job: Job, master: str) -> None:
    """Run a job on Spark and hand out its results."""
    reject_format = job.reject_format
    with steps(3 + len(job.workload)) as bar:
        bar.begin("Starting Spark")
        with session(master) as spark:
            bar.done()
            frame = read_frame(spark, job.events)
            options = options_of(job)
            check_columns(options, frame)
            begun = perf_counter()
            answers, warnings, statistics = run_steps(job, frame, bar)
            seconds = perf_counter() - begun
            rejected = 0
            if job.rejects is not None and reject_format is not None:
                bad = job.run(frame).rejected
                if bad is not None:
                    write_frame(bad, job.rejects, reject_format, overwrite=job.overwrite)
                    rejected = bad.count()
    for warning in warnings:
        warn(warning)
    if rejected:
        say(f"{events_text(rejected)} cannot be used; written to {job.rejects}")
    for answer in answers:
        answer.tell()
    if job.stats:
        _tell_statistics(statistics, seconds)


def _tell_statistics(statistics: tuple[OperatorStatistics, ...], seconds: float) -> None:
    if statistics:
        print_statistics(statistics, seconds)
    else:
        say("There are no statistics over Spark Connect; --engine local has them.")


def run_steps(
    job: Job, frame: DataFrame, bar: Steps
) -> tuple[list[Answer], tuple[str, ...], tuple[OperatorStatistics, ...]]:
    """Compute each query's result; return them, the warnings, and what the operators counted.

    Raises InputError with the first of them where events cannot be used.
    """
    from elsinore.spark.driver import unusable_report  # noqa: PLC0415

    results = job.run(frame)
    answers = []
    kept: list[DataFrame] = []
    try:
        for name, found in results.tables.items():
            bar.begin(f"Running {name}")
            kept.append(found.persist())  # computed once for all that is wanted of it
            answers.append(answer_of(job, name, kept[-1], results.orders[name]))
            bar.done()
        bar.begin("Looking at the types of events")
        warnings = results.warnings
        bar.done()
    except Exception as error:
        report = None if job.rejects is not None else unusable_report(frame, options_of(job))
        if report is None:
            raise
        raise InputError(report) from error
    finally:
        for frame_of_query in kept:
            frame_of_query.unpersist()
    return answers, warnings, results.statistics


def answer_of(job: Job, name: str, found: DataFrame, order: Sequence[str]) -> Answer:
    """Write a result to its place, if there is one, and fetch its first rows in an order."""
    from elsinore.spark.expressions import quoted  # noqa: PLC0415

    place = None
    if job.out is not None:
        place = job.place(name)
        write_frame(found, place, job.form, overwrite=job.overwrite)
    rows = found.count()
    by = [F.col(quoted(column)).asc_nulls_last() for column in order]
    shown = (found.orderBy(*by) if by else found).limit(SHOWN_ROWS)
    first = tuple(tuple(row) for row in shown.collect())
    return Answer(name, rows, place, tuple(found.columns), first)


@contextmanager
def session(master: str, config: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Lend a session of Spark; one that is started for this is stopped again.

    `config` adds Spark's own settings to one that is started.
    """
    from elsinore.spark.session import local_session  # noqa: PLC0415

    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    spark = local_session(master, config=config)
    interrupt.install()  # Spark puts its own handler in place as it starts
    try:
        yield spark
    finally:
        if not interrupt.happened():
            spark.stop()


def read_frame(spark: SparkSession, path: Path) -> DataFrame:
    """Return the events at `path`; a folder's format is told by the files in it."""
    found = format_of(path)
    if found is None and path.is_dir():
        inside = {
            format_of(file) for file in path.rglob("*") if not file.name.startswith((".", "_"))
        }
        known = sorted(one for one in inside if one is not None)
        if len(known) > 1:
            raise ArgumentError(f"The folder '{path}' holds files of several formats: {known}.")
        found = known[0] if known else None
    if found is None:
        raise ArgumentError(
            f"Cannot tell the format of '{path}' from its name. Name it .parquet, .csv or .jsonl."
        )
    place = str(path.absolute())  # Java may stand in another folder
    if found == "csv":
        return spark.read.csv(place, header=True, inferSchema=True)
    return spark.read.json(place) if found == "json" else spark.read.parquet(place)


def write_frame(
    frame: DataFrame, path: Path, file_format: FileFormat, *, overwrite: bool = False
) -> None:
    """Write a data frame as a folder of files, which appears whole or not at all.

    Raises OutputError where something is there already and is not to be overwritten.
    """
    with draft(path.absolute(), overwrite=overwrite) as place:
        writer = frame.write
        if file_format == "csv":
            writer.csv(str(place), header=True, timestampFormat="yyyy-MM-dd'T'HH:mm:ss.SSSSSSX")
        elif file_format == "json":
            writer.json(str(place), ignoreNullFields=False)
        else:
            writer.parquet(str(place))


def options_of(job: Job) -> RunOptions:
    """Return how Spark is to read a job's events."""
    return RunOptions(
        time=job.time,
        type=job.type,
        time_unit=job.time_unit,
        order_by=job.order_by,
        allow_rejects=job.rejects is not None,
    )


def check_columns(options: RunOptions, frame: DataFrame) -> None:
    """Raise ArgumentError for columns that the options name and the events lack."""
    from elsinore.spark.driver import Events  # noqa: PLC0415

    events = Events(frame, options)
    try:
        frame.select(events.time[0], events.type)
    except InputError as error:
        raise ArgumentError(str(error)) from error
    try:
        frame.selectExpr(*options.order_by)
    except AnalysisException as error:
        raise ArgumentError(
            f"--order-by does not fit the events: {str(error).splitlines()[0]}"
        ) from error
