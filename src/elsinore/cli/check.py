"""`elsinore check`: say whether a workload is in order."""

from __future__ import annotations

import typer

from elsinore.cli.arguments import (
    DelimiterOption,
    NullOption,
    OptionalEvents,
    OrderByOption,
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
    TypeOption,
    Unit,
    WorkloadFile,
    read_workload,
    source_of,
    warn_without_effect,
)
from elsinore.cli.console import reported, warn
from elsinore.cli.job import Job
from elsinore.cli.times import UNCERTAIN, Times


@reported
def check(
    context: typer.Context,
    workload: WorkloadFile = None,
    query: QueryOption = None,
    python: PythonOption = None,
    events: OptionalEvents = None,
    time: TimeOption = "time",
    type: TypeOption = "type",  # noqa: A002 - the option's name
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
    """Check for each query whether it can be run.

    All errors are reported at once, with exit status 2. With --events, the queries must also fit
    the events, which must have the columns that --time, --type and --order-by name; types that no
    event has give a warning.
    """
    queries = read_workload(workload, query, python=python)
    warnings = list(queries.warnings)  # planning, it also refuses what cannot run
    if not events:
        names = ["time", "type", "time_unit", "order_by", "delimiter", "null", "text"]
        warn_without_effect(context, dict.fromkeys([*names, *UNCERTAIN], "without --events"))
    else:
        from elsinore.cli.events import looked_at  # noqa: PLC0415 - loads Arrow

        times = Times.of(
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
            source=source_of(events, delimiter, null, text, workload),
            times=times,
            type=type,
            order_by=tuple(order_by or ()),
        )
        _, from_events = looked_at(job)
        warnings += from_events
    for checked in queries:
        typer.echo(f"{checked.name}: OK")
    for warning in warnings:
        warn(warning)
