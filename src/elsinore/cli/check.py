"""`elsinore check`: say whether a workload is in order."""

from __future__ import annotations

import typer

from elsinore.cli.arguments import OptionalEvents, WorkloadFile, read_workload
from elsinore.cli.console import reported, warn
from elsinore.cli.events import schema_of_events


@reported
def check(
    workload: WorkloadFile,
    events: OptionalEvents = None,
) -> None:
    """Say for each query whether it can be run; with --events, over those.

    All errors are told at once, and the exit status is then 2.
    """
    queries = read_workload(workload)
    if events is not None:
        queries.check(schema_of_events(events))
    warnings = queries.warnings
    for query in queries:
        typer.echo(f"{query.name}: OK")
    for warning in warnings:
        warn(warning)
