"""What `--stats` prints: a table of the passes over the events, and one for each sharing set."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.cli.console import SHOWN_ROWS, plain_table, print_table
from elsinore.plan.explain.words import listed
from elsinore.trends import OperatorStatistics, SharingStatistics

COUNTED = ("events", "matched", "classes", "totals", "state_bytes")


def print_statistics(statistics: Sequence[OperatorStatistics], seconds: float) -> None:
    """Print what the operators of a run counted that took so many seconds."""
    rows = [
        [number, *(getattr(one, name) for name in COUNTED)]
        for number, one in enumerate(statistics, start=1)
    ]
    names = ["pass", *(name.replace("_", " ") for name in COUNTED)]
    print_table("Statistics, by pass over the events", names, rows, len(rows), len(rows))
    for number, one in enumerate(statistics, start=1):
        for shared in one.sharing:
            title = f"{shared.name} of {listed(shared.queries, SHOWN_ROWS)}, pass {number}"
            plain_table(title, sharing_rows(shared, one.state_bytes, seconds))


def sharing_rows(
    shared: SharingStatistics, state_bytes: int, seconds: float
) -> list[tuple[str, str]]:
    """Return what there is to say of a sharing set, in a run of so many seconds.

    `state_bytes` is what its pass over the events held in memory at most.

    >>> sharing_rows(SharingStatistics("T+", ("q1", "q2"), decision_seconds=0.02), 0, 0.5)[-2]
    ('deciding', '20.0 ms, 4.0% of the run')
    """
    deciding = f"{shared.decision_seconds * 1000:.1f} ms"
    if seconds > 0:
        deciding += f", {shared.decision_seconds / seconds:.1%} of the run"
    return [
        ("bursts", f"{shared.bursts:,}"),
        ("graphlets", f"{shared.graphlets:,}"),
        ("shared graphlets", f"{shared.shared_graphlets:,}"),
        ("splits", f"{shared.splits:,}"),
        ("merges", f"{shared.merges:,}"),
        ("snapshots of graphlets", f"{shared.graphlet_snapshots:,}"),
        ("snapshots of events", f"{shared.event_snapshots:,}"),
        ("most propagated at once", f"{shared.most_propagated:,}"),
        ("decisions", f"{shared.decisions:,}"),
        ("deciding", deciding),
        ("most memory of the pass", f"{state_bytes:,} bytes"),
    ]
