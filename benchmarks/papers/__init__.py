"""Figures and tables of papers, measured anew by `elsinore bench`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from benchmarks.papers.figure import Figure, check_free, print_table, write


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
