"""What `--stats` prints: a table of the operators, and what each kind adds to it."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from elsinore.cli.console import plain_table, print_table
from elsinore.operators import OperatorStatistics

COUNTED = ("events", "matched", "classes", "totals", "state_bytes", "combined")


def print_statistics(statistics: Sequence[OperatorStatistics], seconds: float) -> None:
    """Print what the operators of a run counted that took so many seconds."""
    rows = [
        [number, *(getattr(one, name) for name in COUNTED)]
        for number, one in enumerate(statistics, start=1)
    ]
    names = ["operator", *(name.replace("_", " ") for name in COUNTED)]
    print_table("Statistics, by operator", names, rows, len(rows), len(rows))
    groups, skipped, files = (
        sum(getattr(one, name) for one in statistics)
        for name in ("row_groups", "skipped_groups", "skipped_files")
    )
    if groups or files:
        unopened = f"; {files:,} files were not opened" if files else ""
        typer.echo(
            f"By their statistics {skipped:,} of {groups:,} row groups were skipped{unopened}."
        )
    for why in dict.fromkeys(one.not_combined for one in statistics if one.not_combined):
        typer.echo(f"No events were combined before the shuffle: {why}.")
    if spilled := sum(one.spilled_bytes for one in statistics):
        typer.echo(f"{spilled / 1e6:,.1f} MB of events were brought in order on local disk.")
    for number, one in enumerate(statistics, start=1):
        for detail in one.details(seconds):
            plain_table(f"{detail.title}, operator {number}", detail.rows)
