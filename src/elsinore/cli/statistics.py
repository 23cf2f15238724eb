"""What `--stats` prints: a table of the operators, and what each kind adds to it."""

from __future__ import annotations

from collections.abc import Sequence

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
    for number, one in enumerate(statistics, start=1):
        for detail in one.details(seconds):
            plain_table(f"{detail.title}, operator {number}", detail.rows)
