"""`elsinore bench`: figures and tables of papers, measured anew."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

import elsinore
from elsinore.cli.arguments import OverwriteOption, check_folder, destination
from elsinore.cli.console import ArgumentError, reported
from elsinore.errors import SetupError, did_you_mean

CHECKOUT = Path(elsinore.__file__).resolve().parents[2]


@reported
def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which figure; all are listed without one.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="With fewer events: at most 3 minutes on 2 cores.")
    ] = False,
    out: Annotated[
        Path,
        typer.Option(
            "--out", parser=destination, metavar="DIR", help="Where the table and the picture go."
        ),
    ] = Path("bench-output"),
    overwrite: OverwriteOption = False,
) -> None:
    """Measure a figure or a table of a paper anew, beside what the paper says.

    Prints a table and writes NAME.csv, NAME.png and NAME.svg. Systems to compare with are in the
    repository, so this runs in a checkout of it.
    """
    if not (CHECKOUT / "benchmarks" / "papers").is_dir():
        raise SetupError(
            "Figures are measured beside other systems, which are in the repository: clone it, and "
            "run `make bench` there once, or `pip install -e .` with the group dev."
        )
    sys.path.insert(0, str(CHECKOUT))
    try:
        papers = import_module("benchmarks.papers")
    except ImportError as error:
        raise SetupError(
            f"The systems to compare with are not all installed ({error.name}). In the repository: "
            "pip install --group dev -e '.[spark,report]'"
        ) from error
    if name is None:
        for figure, about in papers.FIGURES.items():
            typer.echo(f"{figure:<12} {about}")
        return
    if name not in papers.FIGURES:
        raise ArgumentError(
            f"There is no figure '{name}'. Figures: {', '.join(papers.FIGURES)}."
            f"{did_you_mean(name, papers.FIGURES)}"
        )
    check_folder(out)
    papers.reproduce(name, quick=quick, out=out, overwrite=overwrite)
