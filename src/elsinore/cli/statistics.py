"""Printing `--stats`: a table of the operators, and tables of each kind."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from elsinore.cli.console import plain_table, print_table
from elsinore.operators import OperatorStatistics

COUNTED = ("events", "matched", "classes", "totals", "state_bytes", "combined")


def print_statistics(statistics: Sequence[OperatorStatistics], seconds: float) -> None:
    """Print the statistics of the operators of a run that took `seconds`."""
    rows = [
        [number, *(getattr(operator, name) for name in COUNTED)]
        for number, operator in enumerate(statistics, start=1)
    ]
    names = ["operator", *(name.replace("_", " ") for name in COUNTED)]
    print_table("Statistics, by operator", names, rows, len(rows), len(rows))
    groups, skipped, files = (
        sum(getattr(operator, name) for operator in statistics)
        for name in ("row_groups", "skipped_groups", "skipped_files")
    )
    if groups or files:
        unopened = f"; {files:,} files were not opened" if files else ""
        typer.echo(
            f"By their statistics {skipped:,} of {groups:,} row groups were skipped{unopened}."
        )
    for why in dict.fromkeys(
        operator.not_combined for operator in statistics if operator.not_combined
    ):
        typer.echo(f"No events were combined before the shuffle: {why}.")
    if spilled := sum(operator.spilled_bytes for operator in statistics):
        typer.echo(f"{spilled / 1e6:,.1f} MB of events were sorted on local disk.")
    for number, operator in enumerate(statistics, start=1):
        for detail in operator.details(seconds):
            plain_table(f"{detail.title}, operator {number}", detail.rows)
