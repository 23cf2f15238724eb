"""`elsinore generate`: generated events and workloads for experiments."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from elsinore.cli.arguments import OverwriteOption, destination
from elsinore.cli.console import ArgumentError, steps, with_error_reports
from elsinore.cli.job import check_places
from elsinore.errors import did_you_mean
from elsinore.words import count


@with_error_reports
def generate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The stream: abc, ads, auctions, cluster, patients, ridesharing, smarthome, "
            "stock or taxi.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            parser=destination,
            metavar="PATH",
            help="The file: .parquet, .csv or .json(l); .cep with --workload.",
        ),
    ],
    events: Annotated[
        int | None, typer.Option("--events", min=0, help="How many events, with --from at most.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same events.")] = 0,
    ticks: Annotated[
        int | None,
        typer.Option(
            "--ticks",
            metavar="SECONDS",
            min=1,
            help="Put an event `tick` at the end of each so many seconds, for queries of "
            "elsinore.quantitative that report by the clock.",
        ),
    ] = None,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="NUMBER", help="Events per minute.")
    ] = None,
    burstiness: Annotated[
        float | None,
        typer.Option(
            "--burstiness",
            metavar="SHARE",
            help="The share of Travel events within bursts (ridesharing).",
        ),
    ] = None,
    recorded: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Take the events of a recorded stream: New York's taxi trips (taxi), plugs of "
            "DEBS 2014 (smarthome), or ticks (stock).",
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="KIND",
            help="Write queries over the stream instead: HAMLET's first workload (shared) or its "
            "second (diverse).",
        ),
    ] = None,
    queries: Annotated[
        int, typer.Option("--queries", min=0, help="How many, with --workload.")
    ] = 50,
    neighbours: Annotated[
        bool, typer.Option("--neighbours", help="Compare neighbours, with --workload.")
    ] = False,
    overwrite: OverwriteOption = False,
) -> None:
    """Write events of a generated or recorded stream, or queries over it, to a file."""
    from elsinore import datasets  # noqa: PLC0415 - loads Arrow
    from elsinore.runtime.outputs import output_format, write_table  # noqa: PLC0415

    if name not in datasets.GENERATORS:
        raise ArgumentError(
            f"There is no stream '{name}'. Streams: {', '.join(datasets.GENERATORS)}."
            f"{did_you_mean(name, datasets.GENERATORS)}"
        )
    if workload is not None:
        text = datasets.hamlet_workload(name, workload, queries, seed, neighbours=neighbours)
        check_places([(out, "--out")], [], overwrite=overwrite)
        out.write_text(text)
        typer.echo(f"{count(queries, 'query', 'queries')} written to {out}")
        return
    options = {"rate": rate, "burstiness": burstiness}
    given_options = {option: value for option, value in options.items() if value is not None}
    check_source(name, events, recorded, given_options)
    file_format = output_format(out)
    if file_format is None:
        raise ArgumentError(f"The format of '{out}' is unknown. Name it .parquet, .csv or .jsonl.")
    check_places([(out, "--out")], [], overwrite=overwrite)
    with steps(1) as bar:
        if recorded is not None:
            bar.begin(f"Reading {recorded}")
            table = datasets.LOADERS[name](recorded).slice(0, events)
        elif events is not None:
            bar.begin(f"Generating {count(events, 'event')}")
            table = datasets.generate(name, events, seed, **given_options)
        if ticks is not None:
            table = datasets.with_ticks(table, ticks)
        write_table(table, out, file_format, overwrite=overwrite)
        bar.done()
    typer.echo(f"{count(table.num_rows, 'event')} written to {out}")


def check_source(
    name: str, events: int | None, recorded: Path | None, options: Mapping[str, float]
) -> None:
    """Raise ArgumentError for an incompatible number of events, recorded file and options."""
    from elsinore.datasets import LOADERS  # noqa: PLC0415 - loads Arrow

    if recorded is None and events is None:
        raise ArgumentError("How many events? Give --events NUMBER, or --from FILE.")
    if recorded is not None and name not in LOADERS:
        raise ArgumentError(
            f"There are no recorded files of '{name}': --from is for {', '.join(LOADERS)}."
        )
    if recorded is not None and options:
        raise ArgumentError(
            f"A recorded stream is as it is: --{next(iter(options))} is for generated ones."
        )
