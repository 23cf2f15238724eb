"""`elsinore explain`: the plan of a run, and sharing in a trial run over the first events."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from elsinore.cli.arguments import (
    DelimiterOption,
    GranularityMode,
    GranularityOption,
    NullOption,
    OptionalEvents,
    OrderByOption,
    ParamOption,
    PythonOption,
    QueryOption,
    SharingMode,
    SharingOption,
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
    WorkloadFile,
    choice_option,
    read_workload,
    source_of,
    warn_without_effect,
)
from elsinore.cli.console import steps, warn, with_error_reports
from elsinore.cli.job import Job
from elsinore.cli.times import UNCERTAIN, Times
from elsinore.operators import Sample
from elsinore.operators.explain import RowGroups, explain_json, explain_text
from elsinore.plan import Plan, Sharing
from elsinore.workload import EXPLAINERS

SAMPLE = 100_000


class Form(StrEnum):
    """The format of a plan."""

    text = "text"
    json = "json"
    mermaid = "mermaid"
    svg = "svg"


@with_error_reports
def explain(
    context: typer.Context,
    workload: WorkloadFile = None,
    query: QueryOption = None,
    python: PythonOption = None,
    param: ParamOption = None,
    events: OptionalEvents = None,
    form: Annotated[
        Form,
        typer.Option("--format", help="As text, as data or as a picture.", **choice_option(Form)),
    ] = Form.text,
    sample: Annotated[
        int,
        typer.Option(
            "--sample",
            min=0,
            metavar="N",
            help="With --events: run over the first N by time and show what was shared; 0: no run.",
        ),
    ] = SAMPLE,
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
    sharing: SharingOption = SharingMode.dynamic,
    granularity: GranularityOption = GranularityMode.auto,
) -> None:
    """Show how queries will be run, in words, JSON or a picture.

    With --events, words and JSON also show what was shared in a run over the first of them, in this
    process.
    """
    queries = read_workload(workload, query, python=python, params=param)
    plan = queries.planned(granularity.value)
    in_words = form in {Form.text, Form.json}
    sample_of, row_groups = None, []
    if not events:
        names = ["sample", "time", "type", "time_unit", "order_by", "delimiter", "null", "text"]
        warn_without_effect(context, dict.fromkeys([*names, *UNCERTAIN], "without --events"))
    else:
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
            sharing=sharing.value,
            granularity=granularity.value,
        )
        sample_of = _sample(job, sample if in_words else 0)
        row_groups = _row_groups(job, plan) if in_words else []
    if form is Form.text:
        output = explain_text(plan, sample_of, row_groups, Sharing(sharing.value))
    elif form is Form.json:
        output = explain_json(plan, sample_of, row_groups, Sharing(sharing.value))
    else:
        output = EXPLAINERS[form.value](plan)
    typer.echo(output.rstrip("\n"))


def _sample(job: Job, most: int) -> Sample | None:
    """Check that the events fit the queries, and run these over the first of them."""
    from elsinore.cli.events import checked_events  # noqa: PLC0415 - loads Arrow

    with steps(2) as bar:
        bar.begin("Reading events")
        table, warnings = checked_events(job)
        bar.done()
        for warning in warnings:
            warn(warning)
        if most == 0:
            return None
        bar.begin(f"Running over the first {min(most, table.num_rows):,} events")
        from elsinore.cli.sample import sample_statistics  # noqa: PLC0415 - loads the engines

        statistics = sample_statistics(job, table, most)
        bar.done()
        return statistics


def _row_groups(job: Job, plan: Plan) -> list[RowGroups]:
    """Return the numbers of row groups that a run on Spark would read, if known."""
    if job.source.format != "parquet" or job.source.streamed:
        return []
    try:
        from elsinore.spark.scan.selection import row_groups_of  # noqa: PLC0415 - loads PySpark
    except ImportError:  # no Spark here
        return []
    files = [str(file.path.resolve()) for file in job.source.files]
    selection = row_groups_of(plan, files, job.options()) or []
    return [
        RowGroups(len(look.groups), look.skipped, look.not_combined or None) for look in selection
    ]
