"""Figures and tables of papers, measured anew by `elsinore bench`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.papers.figure import Figure, check_free, print_table, write

FIGURES = {
    "qre-fig6": "StreamQRE, Figure 6: throughput of Y1, Y2, N1-N5 beside other systems",
    "qre-table1": "StreamQRE, Table 1: exact and approximate evaluation of P6 and P7",
    "sase-fig5": "SASE++, Figure 5: throughput, runs and costs against selectivity and window",
    "sase-fig6": "SASE++, Figure 6: uncertain times, thresholds of confidence, sequences, Kleene",
    "sase-fig7": "SASE++, Figure 7: the six queries on a cluster's logs",
}


def reproduce(name: str, *, quick: bool, out: Path, overwrite: bool) -> Figure:
    """Measure a figure, print its table and write NAME.csv, NAME.png and NAME.svg into a folder.

    Raises OutputError, before anything is measured, where these exist and may not be replaced.
    """
    files = [out / f"{name}{ending}" for ending in (".csv", ".png", ".svg")]
    check_free(files, overwrite=overwrite)
    module = import_module(f"benchmarks.papers.{name.replace('-', '_')}")
    figure: Figure = module.measure(quick=quick)
    print_table(figure)
    write(figure, files)
    return figure
