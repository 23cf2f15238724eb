"""`elsinore report`: pictures and records of the bursts that were shared in a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

from elsinore.cli.arguments import (
    DelimiterOption,
    Events,
    GranularityMode,
    GranularityOption,
    NullOption,
    OrderByOption,
    OverwriteOption,
    ParamOption,
    QueryOption,
    SharingMode,
    SharingOption,
    TextOption,
    TimeOption,
    TimeUnitOption,
    TypeFromOption,
    TypeOption,
    Unit,
    WorkloadFile,
    check_folder,
    destination,
    read_workload,
    source_of,
)
from elsinore.cli.console import steps, warn, with_error_reports
from elsinore.cli.job import Job, check_places, inputs_of
from elsinore.cli.times import Times
from elsinore.errors import InputError
from elsinore.operators import OperatorStatistics
from elsinore.plan import Sharing
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.times import TimeKind, to_ticks
from elsinore.words import count

WRITTEN = (
    "bursts.csv",
    "sharing.png",
    "sharing.svg",
    "graphlets.csv",
    "snapshots.csv",
    "graphlets.png",
    "graphlets.svg",
)


@with_error_reports
def report(
    events: Events,
    out: Annotated[
        Path,
        typer.Option(
            "--out", parser=destination, metavar="DIR", help="Where the picture and the records go."
        ),
    ],
    workload: WorkloadFile = None,
    query: QueryOption = None,
    param: ParamOption = None,
    time: TimeOption = "time",
    type: TypeOption = "type",  # noqa: A002 - the option's name
    type_from: TypeFromOption = None,
    time_unit: TimeUnitOption = Unit.s,
    order_by: OrderByOption = None,
    delimiter: DelimiterOption = None,
    null: NullOption = None,
    text: TextOption = None,
    sharing: SharingOption = SharingMode.dynamic,
    granularity: GranularityOption = GranularityMode.auto,
    overwrite: OverwriteOption = False,
) -> None:
    """Draw which bursts were shared, and the expected benefit.

    Runs in this process. Writes sharing.png and sharing.svg, and a row per burst to bursts.csv; of
    a few thousand events also the graphlets and snapshots of the windows with the longest burst
    that was shared, as graphlets.png, graphlets.svg, graphlets.csv and snapshots.csv.
    """
    queries = read_workload(workload, query, params=param)
    for warning in queries.warnings:
        warn(warning)
    check_folder(out)
    job = Job(
        workload=queries,
        source=source_of(events, delimiter, null, text, workload, None, type_from, type),
        times=Times(time=time, unit=time_unit.value),
        type=type,
        order_by=tuple(order_by or ()),
        out=out,
        overwrite=overwrite,
        sharing=sharing.value,
        granularity=granularity.value,
        record=True,
    )
    places = [(out / name, "--out") for name in WRITTEN]
    check_places(places, inputs_of(job.source, workload), overwrite=overwrite)
    run_report(job, out)


def run_report(job: Job, out: Path) -> None:
    """Run a job with a record of its bursts, draw them, and print the names of written files.

    Raises SetupError, before the run, if Matplotlib is missing, and InputError if no bursts could
    be shared.
    """
    from elsinore.cli.events import check_columns  # noqa: PLC0415 - loads Arrow
    from elsinore.report import draw, panels, records_table  # noqa: PLC0415 - Matplotlib, an extra
    from elsinore.report.picture import MOST_PANELS  # noqa: PLC0415
    from elsinore.runtime.files import read_source  # noqa: PLC0415
    from elsinore.runtime.outputs import write_table  # noqa: PLC0415

    with steps(3) as bar:
        bar.begin("Reading events")
        table = read_source(job.source)
        check_columns(job, table)
        bar.done()
        bar.begin("Running the queries")
        results = job.run(table)
        bar.done()
        bar.begin("Drawing")
        panels_drawn = panels(results.statistics)
        if not panels_drawn:
            raise InputError(_nothing(job))
        kind = _time_kind(job, table)
        records = records_table(results.statistics, kind)
        write_table(records, out / "bursts.csv", "csv", overwrite=job.overwrite)
        paths = draw(panels_drawn, kind, out / "sharing", overwrite=job.overwrite)
        paths += _draw_graph(job, results.statistics, kind, out)
        bar.done()
    for warning in results.find_warnings():
        warn(warning)
    if len(panels_drawn) > MOST_PANELS:
        warn(f"only the first {MOST_PANELS} of {len(panels_drawn)} sharing sets are drawn.")
    typer.echo(f"{count(records.num_rows, 'burst')} written to {out / 'bursts.csv'}")
    for place in paths:
        typer.echo(f"{'written' if place.suffix == '.csv' else 'drawn'} in {place}")


def _draw_graph(
    job: Job, statistics: Sequence[OperatorStatistics], kind: TimeKind, out: Path
) -> tuple[Path, ...]:
    """Draw the graphlets of the longest burst that was shared; warn if there are none."""
    from elsinore.report import draw_graph, graphlets_table, snapshots_table  # noqa: PLC0415
    from elsinore.runtime.outputs import write_table  # noqa: PLC0415
    from elsinore.trends.statistics import TrendStatistics  # noqa: PLC0415 - engines load on first use

    recordings = [
        operator.recording
        for operator in statistics
        if isinstance(operator, TrendStatistics)
        and operator.recording is not None
        and operator.sharing
    ]
    if not recordings:
        return ()
    longest = max(recordings, key=lambda recording: recording.longest_shared)
    try:
        graph = longest.graph()
        files = draw_graph(graph, out / "graphlets", overwrite=job.overwrite)
    except InputError as error:
        warn(f"No graphlets are drawn. {error}")
        return ()
    write_table(graphlets_table(graph, kind), out / "graphlets.csv", "csv", overwrite=job.overwrite)
    write_table(snapshots_table(graph), out / "snapshots.csv", "csv", overwrite=job.overwrite)
    return (*files, out / "graphlets.csv", out / "snapshots.csv")


def _nothing(job: Job) -> str:
    """Return the message that there are no bursts to draw, with the reason."""
    from elsinore.trends.explain import sharing_text  # noqa: PLC0415
    from elsinore.trends.kind import trend_units  # noqa: PLC0415 - engines load on first use

    units = trend_units(job.workload.planned(job.granularity).units)
    lines = ["There are no bursts to draw.", *sharing_text(units, None, Sharing(job.sharing))[1:]]
    if len(job.workload) == 1:
        lines[0] += " Bursts are shared between queries, and this workload has only one."
    return "\n".join(lines)


def _time_kind(job: Job, table: pa.Table) -> TimeKind:
    _, kind = to_ticks(evaluate_sql(job.time, table, "time"), job.times.unit)
    return kind
