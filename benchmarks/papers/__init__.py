"""Figures and tables of papers, measured anew by `elsinore bench`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.papers.figure import Figure, check_free, print_table, write
from benchmarks.papers.hamlet import Plan, check_parts, measured
from elsinore.errors import InputError


def reproduce(
    name: str, *, quick: bool, out: Path, overwrite: bool, only: Sequence[str] = ()
) -> Figure:
    """Measure a figure, print its table and write NAME.csv, NAME.png and NAME.svg into a folder.

    only: parts of the figure; of none, all. Raises OutputError, before anything is measured, where
    the files exist and may not be replaced, and InputError for parts that the figure does not have.
    """
    files = [out / f"{name}{ending}" for ending in (".csv", ".png", ".svg")]
    check_free(files, overwrite=overwrite)
    module = import_module(f"benchmarks.papers.{name.replace('-', '_')}")
    plan: Plan | None = getattr(module, "PLAN", None)
    if plan is not None:
        check_parts(plan, only)
        figure = measured(plan, quick=quick, only=only)
    elif only:
        raise InputError(f"{name} is measured whole: --only is for HAMLET's figures.")
    else:
        figure = module.measure(quick=quick)
    print_table(figure)
    write(figure, files)
    return figure
