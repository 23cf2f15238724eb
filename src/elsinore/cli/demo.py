"""`elsinore demo`: the flights of a year, and delays that aircraft pass on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elsinore.cli.arguments import OverwriteOption, check_folder, destination
from elsinore.cli.console import steps, warn, with_error_reports
from elsinore.cli.job import Job, check_places
from elsinore.cli.times import Times
from elsinore.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

    from elsinore.cli.run_spark import Answer

TYPE = (
    "CASE WHEN dep_delay IS NULL THEN 'Cancelled' WHEN dep_delay > 15 THEN 'Late' ELSE 'OnTime' END"
)
SHOWN_ROWS = 5
EVENTS = "flights.parquet"
QUERIES = "flights.cep"
# In a short job, the JVM's second compiler and parallel garbage collector cost more than they save.
ONE_COMPILER, ONE_COLLECTOR = "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"
JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")


@with_error_reports
def demo(
    out: Annotated[
        Path,
        typer.Option(
            "--out", parser=destination, metavar="DIR", help="Where everything is written."
        ),
    ] = Path("demo-output"),
    master: Annotated[
        str, typer.Option("--master", metavar="URL", help="Spark's master.")
    ] = "local[*]",
    overwrite: OverwriteOption = False,
) -> None:
    """Run trend queries over a year of New York's flights, on Spark.

    They are the 336,776 that left the city in 2013.
    """
    from elsinore.datasets import flights  # noqa: PLC0415 - loads Arrow

    check_folder(out)
    run_demo(flights(), out, master, overwrite=overwrite)


def run_demo(table: pa.Table, out: Path, master: str, *, overwrite: bool = False) -> None:
    """Write the flights in `table` below `out`, run the queries, and print the results."""
    from elsinore.cli.run_spark import run_steps, session  # noqa: PLC0415 - loads Spark
    from elsinore.runtime.drafts import draft  # noqa: PLC0415
    from elsinore.runtime.outputs import write_table  # noqa: PLC0415
    from elsinore.runtime.sources import DataFile, Source  # noqa: PLC0415
    from elsinore.spark.files import read_frame  # noqa: PLC0415

    text = demo_text()
    workload = Workload.parse(text, QUERIES)
    events = out / EVENTS
    source = Source(files=(DataFile(events),), format="parquet", user_paths=(events,))
    job = Job(
        workload=workload,
        source=source,
        times=Times(),
        type=TYPE,
        out=out,
        overwrite=overwrite,
    )
    paths = [events, out / QUERIES, *(job.place(query.name) for query in workload)]
    check_places([(place, "--out") for place in paths], [], overwrite=overwrite)
    with steps(3 + len(workload)) as bar:
        bar.begin(f"Writing {table.num_rows:,} flights")
        write_table(table, events, "parquet", overwrite=overwrite)
        with draft(out / QUERIES, overwrite=overwrite) as place:
            place.write_text(text, encoding="utf-8")
        bar.done()
        bar.begin("Starting Spark")
        with session(master, for_short_job()) as spark:
            bar.done()
            outcome = run_steps(job, read_frame(spark, source), bar)
    for warning in outcome.warnings:
        warn(warning)
    _print_results(job, events, table.num_rows, outcome.answers)


def for_short_job() -> dict[str, str]:
    """Return Spark's settings for a short job.

    A garbage collector from the environment has precedence: a JVM with two does not start.
    """
    is_configured = any("GC" in os.environ.get(variable, "") for variable in JAVA_VARIABLES)
    options = ONE_COMPILER if is_configured else f"{ONE_COMPILER} {ONE_COLLECTOR}"
    return {"spark.driver.extraJavaOptions": options}


def demo_text() -> str:
    """Return the queries of the demo."""
    return files("elsinore.cli").joinpath("demo.cep").read_text(encoding="utf-8")


def _print_results(job: Job, events: Path, flights: int, answers: Sequence[Answer]) -> None:
    """Print the queries, the plan, the results, and where they were written."""
    typer.echo(f"The queries ({job.out}/{QUERIES})\n")
    typer.echo(demo_text())
    typer.echo("The plan\n")
    typer.echo(job.workload.explain().rstrip("\n") + "\n")
    typer.echo(f"The results over {flights:,} flights\n")
    for answer in answers:
        answer.show(SHOWN_ROWS)
    typer.echo("Written to")
    for place in (events, *(answer.place for answer in answers)):
        typer.echo(f"  {place}")
    typer.echo(
        f"\nRun it yourself:\n  elsinore run {job.out}/{QUERIES} --events {events} \\\n"
        f'    --type "{TYPE}"'
    )
