"""`elsinore generate`: events to try things out with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elsinore.cli.arguments import OverwriteOption, destination
from elsinore.cli.console import ArgumentError, reported, steps
from elsinore.cli.job import check_places
from elsinore.errors import did_you_mean
from elsinore.words import count


@reported
def generate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="The stream: abc, ads, auctions, cluster, patients, ridesharing, smarthome, "
            "stock or taxi.",
        ),
    ],
    events: Annotated[int, typer.Option("--events", min=0, help="How many events.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            parser=destination,
            metavar="PATH",
            help="The file: .parquet, .csv or .json(l).",
        ),
    ],
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
    overwrite: OverwriteOption = False,
) -> None:
    """Write events of a generated stream to a file."""
    from elsinore import datasets  # noqa: PLC0415 - loads Arrow
    from elsinore.runtime.outputs import output_format, write_table  # noqa: PLC0415

    if name not in datasets.GENERATORS:
        raise ArgumentError(
            f"There is no stream called '{name}'. Streams: {', '.join(datasets.GENERATORS)}."
            f"{did_you_mean(name, datasets.GENERATORS)}"
        )
    file_format = output_format(out)
    if file_format is None:
        raise ArgumentError(
            f"Cannot tell the format of '{out}' from its name. Name it .parquet, .csv or .jsonl."
        )
    check_places([(out, "--out")], [], overwrite=overwrite)
    with steps(1) as bar:
        bar.begin(f"Generating {count(events, 'event')}")
        table = datasets.generate(name, events, seed)
        if ticks is not None:
            table = datasets.with_ticks(table, ticks)
        write_table(table, out, file_format, overwrite=overwrite)
        bar.done()
    typer.echo(f"{count(table.num_rows, 'event')} written to {out}")
