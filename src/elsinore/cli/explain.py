"""`elsinore explain`: what a run would do."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from elsinore.cli.arguments import Debug, OptionalEvents, WorkloadFile, read_workload
from elsinore.cli.console import reported
from elsinore.cli.events import schema_of_events


class Form(StrEnum):
    """What a plan is told in."""

    text = "text"
    json = "json"
    mermaid = "mermaid"
    svg = "svg"


@reported
def explain(
    workload: WorkloadFile,
    events: OptionalEvents = None,
    form: Annotated[Form, typer.Option("--format", help="Words, data or a picture.")] = Form.text,
    debug: Debug = False,  # noqa: ARG001 - read by `reported`
) -> None:
    """Tell how the queries will be run, in words, as JSON, or as a picture."""
    queries = read_workload(workload)
    if events is not None:
        queries.check(schema_of_events(events))
    typer.echo(queries.explain(form.value).rstrip("\n"))
