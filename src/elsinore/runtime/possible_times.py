"""The possible times of events with uncertain times, as columns of the travelling events."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar, whole
from elsinore.plan.modes import HIGH, LAW
from elsinore.runtime.distributions import distributions
from elsinore.runtime.options import RunOptions
from elsinore.runtime.rejects import ENDS_BEFORE, NULL_END, ODD_LAW
from elsinore.runtime.sql import evaluate_sql
from elsinore.runtime.times import to_ticks
from elsinore.runtime.uncertain import bounds

TYPES = {HIGH: pa.int64(), LAW: pa.list_(pa.float64())}


def possible_times(
    table: pa.Table, ticks: pa.Array, types: pa.Array, options: RunOptions
) -> tuple[pa.Array, dict[str, pa.Array], pa.Array]:
    """Return first possible times in ticks, columns of further data, and reasons for rejection.

    `ticks` are the times of `RunOptions.time`. The columns are `HIGH`, the last possible time in
    ticks, and `LAW`, the distribution, if there is one. Reasons are null for usable events.
    """
    assert options.uncertain is not None
    high = None
    if options.uncertain.high is not None:
        column = evaluate_sql(options.uncertain.high, table, "time")
        clock = options.clock.per_microsecond
        high, _ = to_ticks(column, options.time_unit, clock, options.largest_time)
    low, last = bounds(options.uncertain, whole(ticks), high, types, options.clock)
    time_columns = {HIGH: whole(last)}
    odd = pc.if_else(pc.less(last, low), to_scalar(ENDS_BEFORE), to_scalar(None, pa.string()))
    odd = pc.if_else(whole(last).is_null(), to_scalar(NULL_END), odd)
    if options.uncertain.law is not None:
        law = evaluate_sql(options.uncertain.law, table, "time_distribution")
        time_columns[LAW], is_odd = distributions(law)
        odd = pc.if_else(pc.and_(odd.is_null(), is_odd), to_scalar(ODD_LAW), odd)
    return low, time_columns, odd
