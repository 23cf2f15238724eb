"""`elsinore bench`: reproduce figures and tables of papers."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

import elsinore
from elsinore.cli.arguments import OverwriteOption, check_folder, destination
from elsinore.cli.console import ArgumentError, say, with_error_reports
from elsinore.errors import SetupError, did_you_mean

CHECKOUT = Path(elsinore.__file__).resolve().parents[2]
FIGURES = {
    "hamlet-fig9": "HAMLET, Figure 9: latency and throughput beside other systems, ridesharing",
    "hamlet-fig10": "HAMLET, Figure 10: memory beside other systems, ridesharing",
    "hamlet-fig11": "HAMLET, Figure 11: beside GRETA, taxis and smart homes",
    "hamlet-fig12": "HAMLET, Figure 12: dynamic and static sharing decisions, stocks",
    "hamlet-fig13": "HAMLET, Figure 13: memory of dynamic and static decisions, stocks",
    "qre-fig5": "StreamQRE, Figure 5: transformations of streams that engines have of their own",
    "qre-fig6": "StreamQRE, Figure 6: throughput of Y1, Y2, N1-N5 beside other systems",
    "qre-table1": "StreamQRE, Table 1: exact and approximate evaluation of P6 and P7",
    "scale": "time and memory against events, queries, groups and overlapping windows",
    "sase-fig5": "SASE++, Figure 5: throughput, runs and costs against selectivity and window",
    "sase-fig6": "SASE++, Figure 6: uncertain times, thresholds of confidence, sequences, Kleene",
    "sase-fig7": "SASE++, Figure 7: the six queries on a cluster's logs",
}
INSTALLED = "pip install --group dev -e '.[spark,report]'"
OUTSIDE = (
    "Figures are measured beside other systems, which are in the repository. To measure one, clone "
    f"it, and there: {INSTALLED}"
)


@with_error_reports
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
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="PART",
            help="A system, such as GRETA, a value of an axis, such as queries=25, a panel, such "
            "as (e), or a query, such as Y2; may be repeated.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Measure a paper's figure or table again, beside the published values.

    Prints a table and writes NAME.csv, NAME.png and NAME.svg. Systems to compare with are in the
    repository, so this runs in a checkout of it.
    """
    in_checkout = (CHECKOUT / "benchmarks" / "papers").is_dir()
    if in_checkout:
        sys.path.insert(0, str(CHECKOUT))
    if name is None:
        for figure, about in FIGURES.items():
            typer.echo(f"{figure:<12} {about}")
        if not in_checkout:
            say(OUTSIDE)
        return
    if name not in FIGURES:
        raise ArgumentError(
            f"There is no figure '{name}'. Figures: {', '.join(FIGURES)}."
            f"{did_you_mean(name, FIGURES)}"
        )
    if not in_checkout:
        raise SetupError(OUTSIDE)
    try:
        papers = import_module("benchmarks.papers")
    except ImportError as error:
        raise SetupError(
            f"The systems to compare with are not all installed ({error.name}). In the repository: "
            + INSTALLED
        ) from error
    check_folder(out)
    papers.reproduce(name, quick=quick, out=out, overwrite=overwrite, only=tuple(only or ()))
