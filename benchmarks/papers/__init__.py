"""Figures and tables of papers, measured anew by `elsinore bench`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.papers.figure import Figure, check_free, print_table, write
from benchmarks.papers.parts import Parts, check_parts
from elsinore import NoRowsWarning


def parts_of(name: str) -> Parts:
    """Return the parts that a figure's `--only` may name."""
    plan = _plan(name)
    parts: Parts = plan.parts if hasattr(plan, "parts") else plan.PARTS
    return parts


def _plan(name: str) -> Any:
    """Return what measures a figure: its module, or a plan that several figures have in common."""
    module = import_module(f"benchmarks.papers.{name.replace('-', '_')}")
    return getattr(module, "PLAN", module)


def reproduce(
    name: str, *, quick: bool, out: Path, overwrite: bool, only: Sequence[str] = ()
) -> Figure:
    """Measure a figure, print its table and write NAME.csv, NAME.png and NAME.svg into a folder.

    only: parts of the figure; of none, all. Raises OutputError, before anything is measured, where
    the files exist and may not be replaced, and InputError for parts that the figure does not have.
    """
    warnings.simplefilter("ignore", NoRowsWarning)  # of what is run over a few events to warm up
    files = [out / f"{name}{ending}" for ending in (".csv", ".png", ".svg")]
    check_free(files, overwrite=overwrite)
    check_parts(parts_of(name), only)
    figure: Figure = _plan(name).measure(quick=quick, only=only)
    print_table(figure)
    write(figure, files)
    return figure
