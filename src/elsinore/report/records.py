"""The records of bursts as a table."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from elsinore.operators import OperatorStatistics
from elsinore.runtime.times import TimeKind, from_ticks
from elsinore.trends.statistics import TrendStatistics


def records_table(statistics: Sequence[OperatorStatistics], kind: TimeKind) -> pa.Table:
    """Return a row per burst: its pass, sharing set, time, events, and the decision.

    >>> records_table([], TimeKind(form="integer", unit="s")).column_names[:4]
    ['pass', 'pattern', 'queries', 'time']
    """
    rows = [
        (number, shared.name, ", ".join(shared.queries), record)
        for number, operator in enumerate(statistics, start=1)
        if isinstance(operator, TrendStatistics)
        for shared in operator.sharing
        for record in shared.records
    ]
    records = [row[3] for row in rows]
    times = pa.array([record.time for record in records], pa.int64())
    return pa.table(
        {
            "pass": pa.array([row[0] for row in rows], pa.int64()),
            "pattern": pa.array([row[1] for row in rows], pa.string()),
            "queries": pa.array([row[2] for row in rows], pa.string()),
            "time": from_ticks(times, kind),
            "events": pa.array([record.events for record in records], pa.int64()),
            "could_share": pa.array([record.queries for record in records], pa.int64()),
            "shared": pa.array([record.shared for record in records], pa.int64()),
            "benefit": pa.array([record.benefit for record in records], pa.float64()),
        }
    )
