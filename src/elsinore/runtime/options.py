"""Options of a run: how it reads its events."""

from __future__ import annotations

from dataclasses import dataclass

from elsinore.errors import InputError, kind_of_value, option
from elsinore.model.clock import LARGEST, ROWS, Clock
from elsinore.plan import Sharing
from elsinore.plan.modes import Combine, End, Scan, Uncertainty
from elsinore.runtime.times import TimeUnit
from elsinore.runtime.uncertain import UncertainTimes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The columns of events' times and types, and the treatment of events without them.

    `time` and `type` are column names or SQL expressions over the columns; `time_unit` is the unit
    of numeric times; `order_by` names columns that order simultaneous events; `allow_rejects` lets
    a run continue without unusable events, which are then returned beside the results.
    `ordered` sorts results on Spark, where the order of rows is otherwise undefined.

    `sharing` limits what queries may share; with `record` the statistics contain each burst and its
    decision. `scan`: on Spark, whether tasks read files themselves, Spark reads them, or the faster
    of both. `combine`: on Spark, whether a key's events of a pane are combined before the shuffle.
    `clock` is the unit of ticks, `largest_time` the maximum distance of times from the epoch in
    ticks, so that windows stay within 64 bits; `units_written` says whether the length of a window
    has a unit of time. `uncertain` describes uncertain times; `time` is then the first possible
    time, or the last if they are given by a granularity. `threads` is the maximum number of threads
    for a query's windows or keys in this process; None means all cores. `end` says whether more
    events may follow; if so, `last_time` is the time of the last event in ticks, once a driver
    knows it. `ragged_rows` has the reason and place of each CSV row that was skipped because of its
    number of cells; they are returned with the unusable events.
    """

    time: str = "time"
    type: str = "type"
    time_unit: TimeUnit = "s"
    order_by: tuple[str, ...] = ()
    allow_rejects: bool = False
    ordered: bool = False
    sharing: Sharing = Sharing.DYNAMIC
    record: bool = False
    scan: Scan = Scan.AUTO
    threads: int | None = None
    combine: Combine = Combine.AUTO
    clock: Clock = Clock()  # noqa: RUF009 - frozen
    units_written: bool = False
    largest_time: int = LARGEST
    uncertain: UncertainTimes | None = None
    end: End = End.CLOSED
    last_time: int | None = None
    ragged_rows: tuple[str, ...] = ()

    @property
    def uncertainty(self) -> Uncertainty | None:
        """The options of uncertain times for engines, in ticks of the clock."""
        return None if self.uncertain is None else self.uncertain.uncertainty(self.clock)

    @property
    def by_rows(self) -> bool:
        """Whether events have no times and are ordered by their row numbers."""
        return self.time == ROWS

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The columns that times are read from, without SQL expressions."""
        high = None if self.uncertain is None else self.uncertain.high
        return tuple(name.strip().strip("`") for name in (self.time, high) if name is not None)

    def __post_init__(self) -> None:
        if self.uncertain is not None and self.order_by:
            raise InputError(
                f"{option('order_by')} orders events of one time, and their times are uncertain: "
                "leave it out."
            )
        if self.by_rows and (self.uncertain is not None or self.order_by):
            conflicting = "order_by" if self.order_by else "time_granularity"
            raise InputError(
                f"{option('time', ROWS)} orders events by their rows, which needs no "
                f"{option(conflicting).rstrip('=')}: leave one of them out."
            )
        for name, text in (("time", self.time), ("type", self.type)):
            if not isinstance(text, str):
                raise TypeError(
                    f"{name} takes a column's name or an SQL expression, not {kind_of_value(text)}."
                )
        for column in self.order_by:
            if not isinstance(column, str):
                raise TypeError(f"order_by takes names of columns, not {kind_of_value(column)}.")
        threads = 1 if self.threads is None else self.threads
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise TypeError(
                f"threads is a whole number above 0, or None for all cores, not {threads!r}."
            )
