"""`elsinore check`: report errors and warnings of workloads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from elsinore.cli.arguments import (
    DelimiterOption,
    NullOption,
    OptionalEvents,
    OrderByOption,
    ParamOption,
    PythonOption,
    QueryOption,
    TextOption,
    TimeDistributionOption,
    TimeGranularityOption,
    TimeIntervalOption,
    TimeOption,
    TimeSetsOption,
    TimeStepOption,
    TimeUnitOption,
    TypeFromOption,
    TypeOption,
    Unit,
    is_named_as_events,
    read_workload,
    refuse_events,
    source_of,
    warn_without_effect,
)
from elsinore.cli.console import WRONG_ARGUMENTS, ArgumentError, say, warn, with_error_reports
from elsinore.cli.job import Job
from elsinore.cli.times import UNCERTAIN, Times
from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.words import count
from elsinore.workload import Workload


@with_error_reports
def check(
    context: typer.Context,
    workloads: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE|FOLDER...", help="Files with queries, or folders of *.cep."),
    ] = None,
    query: QueryOption = None,
    python: PythonOption = None,
    param: ParamOption = None,
    events: OptionalEvents = None,
    time: TimeOption = "time",
    type: TypeOption = "type",  # noqa: A002 - the option's name
    type_from: TypeFromOption = None,
    time_unit: TimeUnitOption = Unit.s,
    time_interval: TimeIntervalOption = None,
    time_granularity: TimeGranularityOption = None,
    time_step: TimeStepOption = None,
    time_distribution: TimeDistributionOption = None,
    time_sets: TimeSetsOption = False,
    order_by: OrderByOption = None,
    delimiter: DelimiterOption = None,
    null: NullOption = None,
    text: TextOption = None,
) -> None:
    """Check whether each query can be run.

    Each file is a workload of its own. All errors are reported at once, with exit status 2. With
    --events, the queries of one file must also fit the events, which must have the columns that
    --time, --type and --order-by name; types that no event has give a warning.
    """
    files = list(files_with_queries(workloads or []))
    if len(files) > 1:
        event_files = [str(file) for file in files if is_named_as_events(file)]
        if event_files:
            refuse_events(context, f"No queries are read from {', '.join(event_files)}.")
        if events or query is not None:
            option = "-q" if query is not None else "--events"
            raise ArgumentError(f"{option} needs one file of queries, not {len(files)}.")
        check_files(files, python, param)
        return
    workload = files[0] if files else None
    queries = read_workload(workload, query, python=python, params=param)
    warnings = warnings_of(queries) if not events else list(queries.warnings)
    if not events:
        names = ["time", "type", "time_unit", "order_by", "delimiter", "null", "text"]
        warn_without_effect(context, dict.fromkeys([*names, *UNCERTAIN], "without --events"))
    else:
        from elsinore.cli.events import checked_events  # noqa: PLC0415 - loads Arrow

        times = Times.from_options(
            time,
            time_unit.value,
            time_interval,
            time_granularity,
            time_step,
            time_distribution,
            time_sets,
        )
        job = Job(
            workload=queries,
            source=source_of(events, delimiter, null, text, workload, None, type_from, type),
            times=times,
            type=type,
            order_by=tuple(order_by or ()),
        )
        _, from_events = checked_events(job)
        warnings += from_events
    for valid_query in queries:
        typer.echo(f"{valid_query.name}: OK")
    for warning in warnings:
        warn(warning)


def files_with_queries(places: list[Path]) -> Iterator[Path]:
    """Yield the named files, and the files *.cep in named folders, sorted.

    Raises ArgumentError for a folder without such files.
    """
    for place in places:
        if not os.path.isdir(place):  # False also for text that is too long for a name
            yield place
            continue
        files = sorted(place.rglob("*.cep"))
        if not files:
            raise ArgumentError(f"The folder '{place}' has no file named *.cep.")
        yield from files


def warnings_of(queries: Workload) -> list[str]:
    """Return the warnings of queries; planning raises the errors of queries that cannot run.

    Queries whose parameters have no value are not planned.
    """
    if queries.parameters:
        return []
    return list(queries.warnings)


def check_files(files: list[Path], python: list[str] | None, param: list[str] | None) -> None:
    """Report the queries or the errors of each file; exit with 2 if there are errors."""
    wrong = 0
    for file in files:
        try:
            queries = read_workload(file, None, python=python, params=param)
            warnings = warnings_of(queries)
        except (ArgumentError, InvalidWorkloadError, QueryError) as error:
            say(f"{file}: {error}")
            wrong += 1
            continue
        for valid_query in queries:
            typer.echo(f"{file}: {valid_query.name}: OK")
        for warning in warnings:
            warn(f"{file}: {warning}")
    if wrong:
        say(f"{wrong} of {count(len(files), 'file')} cannot be run.")
        raise typer.Exit(WRONG_ARGUMENTS)
