"""`elsinore run`: answer the queries of a workload over recorded events."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from elsinore.cli.arguments import (
    CombineMode,
    DelimiterOption,
    EndMode,
    Engine,
    Events,
    GranularityMode,
    GranularityOption,
    NullOption,
    OrderByOption,
    OverwriteOption,
    ParamOption,
    PythonOption,
    QueryOption,
    ScanMode,
    SharingMode,
    SharingOption,
    TableFormat,
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
    destination,
    format_of_out,
    output_format_of,
    read_workload,
    source_of,
    sql_over_results,
    warn_without_effect,
)
from elsinore.cli.console import SHOWN_ROWS, ArgumentError, warn, with_error_reports
from elsinore.cli.job import Job
from elsinore.cli.times import Times

ROWS_FOUND = 3  # exit status


@with_error_reports
def run(
    context: typer.Context,
    events: Events,
    workload: WorkloadFile = None,
    query: QueryOption = None,
    python: PythonOption = None,
    param: ParamOption = None,
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
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            parser=destination,
            metavar="PATH",
            help="Write results there instead of printing them: a folder or, for one result, a "
            "file named .parquet, .csv or .jsonl.",
        ),
    ] = None,
    form: Annotated[
        TableFormat | None,
        typer.Option(
            "--format",
            help="The format of results: under --out (default: its suffix, or parquet), "
            "otherwise on the standard output.",
            **choice_option(TableFormat),
        ),
    ] = None,
    parts: Annotated[
        bool,
        typer.Option("--parts", help="With --out, write each result as a folder of files."),
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="How many rows to print.")
    ] = SHOWN_ROWS,
    engine: Annotated[
        Engine, typer.Option("--engine", help="Where to run.", **choice_option(Engine))
    ] = Engine.spark,
    master: Annotated[
        str, typer.Option("--master", metavar="URL", help="Spark's master.")
    ] = "local[*]",
    sharing: SharingOption = SharingMode.dynamic,
    granularity: GranularityOption = GranularityMode.auto,
    exact: Annotated[
        bool, typer.Option("--exact", help="Compute with integers of any size.")
    ] = False,
    rejects: Annotated[
        Path | None,
        typer.Option(
            "--rejects",
            parser=destination,
            metavar="PATH",
            help="Write events that cannot be used there, and continue.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    stats: Annotated[
        bool, typer.Option("--stats", help="Print the operators' counts, and what was shared.")
    ] = False,
    scan: Annotated[
        ScanMode,
        typer.Option(
            "--scan",
            help="How files are read on Spark: by Spark, by tasks with Arrow, or the cheaper way "
            "(auto).",
            **choice_option(ScanMode),
        ),
    ] = ScanMode.auto,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="With --engine local, the most threads to use; all cores by default.",
        ),
    ] = None,
    combine: Annotated[
        CombineMode,
        typer.Option(
            "--combine",
            help="Whether Spark's tasks combine a key's events before the shuffle; auto: if it "
            "pays.",
            **choice_option(CombineMode),
        ),
    ] = CombineMode.auto,
    end: Annotated[
        EndMode,
        typer.Option(
            "--end",
            help="Whether more events may follow. open: print only results that are final at the "
            "last event's time, and how many windows were left open.",
            **choice_option(EndMode),
        ),
    ] = EndMode.closed,
    having: Annotated[
        str | None,
        typer.Option(
            "--having",
            metavar="CONDITION",
            help='Keep only result rows for which this SQL condition is true, as in "n > 3".',
        ),
    ] = None,
    then: Annotated[
        str | None,
        typer.Option(
            "--then",
            metavar="SELECT",
            help="Return the rows of this SQL query over the results, each a table with its "
            "query's name.",
        ),
    ] = None,
    fail_if_rows: Annotated[
        bool,
        typer.Option("--fail-if-rows", help="End with exit status 3 if there is any row."),
    ] = False,
) -> None:
    """Run the queries of a workload over events.

    Exit status: 0 for success, 1 if the run failed, 2 if a query or an argument is wrong, 3 if
    there are rows and --fail-if-rows is given.
    """
    queries = read_workload(workload, query, exact=exact, python=python, params=param)
    for warning in queries.warnings:  # planning also raises errors of queries that cannot run
        warn(warning)
    condition, final_query = sql_over_results(having, then, [query.name for query in queries])
    names_in_rows = form is TableFormat.ndjson
    if names_in_rows and out is not None:
        raise ArgumentError("--format ndjson is for the standard output. Use --format json.")
    results = 1 if final_query is not None else len(queries)
    file_format = None if out is None else format_of_out(out, form, results)
    times = Times.from_options(
        time,
        time_unit.value,
        time_interval,
        time_granularity,
        time_step,
        time_distribution,
        time_sets,
    )
    ragged_rows: list[str] = []
    reject = None if rejects is None else ragged_rows.append
    job = Job(
        workload=queries,
        source=source_of(events, delimiter, null, text, workload, reject, type_from, type),
        ragged_rows=ragged_rows,
        times=times,
        type=type,
        order_by=tuple(order_by or ()),
        out=out,
        form=file_format if form is None else output_format_of(form),
        out_is_file=file_format is not None,
        parts=parts,
        limit=min(limit, sys.maxsize),
        rejects=rejects,
        overwrite=overwrite,
        sharing=sharing.value,
        granularity=granularity.value,
        stats=stats,
        scan=scan.value,
        threads=threads,
        combine=combine.value,
        end=end.value,
        having=condition,
        final_query=final_query,
        names_in_rows=names_in_rows,
    )
    if form is not None and not names_in_rows and out is None and results > 1:
        raise ArgumentError(
            f"Only one result can be written to the standard output, not {results}. Name a folder "
            "with --out, use --format ndjson, which names the query in each row, or run one query."
        )
    job.check_places(workload)
    warn_without_effect(context, _without_effect(job, engine))
    if engine is Engine.local:
        from elsinore.cli.run_local import run_local  # noqa: PLC0415 - loads the engines

        rows = run_local(job)
    else:
        from elsinore.cli.run_spark import run_spark  # noqa: PLC0415 - loads Spark, an extra

        rows = run_spark(job, master)
    if fail_if_rows and rows:
        raise typer.Exit(ROWS_FOUND)


def _without_effect(job: Job, engine: Engine) -> dict[str, str]:
    """Return the options without effect in such a run, each with the reason."""
    reasons: dict[str, str] = {}
    if engine is Engine.local:
        reasons |= dict.fromkeys(["master", "scan", "combine"], "with --engine local")
    else:
        reasons["threads"] = "with --engine spark"
    if job.source.format != "csv":
        reasons |= dict.fromkeys(["delimiter", "null", "text"], f"on events in {job.source.format}")
    if job.out is not None or job.form is not None:
        reasons["limit"] = "if nothing is printed as a table"
    if job.out is None:
        reasons["parts"] = "without --out"
        if job.rejects is None:
            reasons["overwrite"] = "without --out or --rejects"
    return reasons
