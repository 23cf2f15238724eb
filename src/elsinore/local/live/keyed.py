"""Live runs of one quantitative query, with a stream per key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from elsinore.errors import InputError
from elsinore.local.live.live import Live, Rows
from elsinore.runtime.live import schema_from

NAME = "values"  # of the query in the workload that is run
TIME = "time"
POSITION = "position"  # the column that replaces times if events have none


class KeyedLive:
    """A live run of a quantitative query by key (`elsinore.quantitative`, `Keyed.live`).

    As `Keyed.run`, it returns the columns of the key, `time` (or `position`) and `value`.

    >>> import elsinore.quantitative as qre
    >>> total = qre.iterate1(qre.atom(qre.any, lambda item: item.v), qre.sum(0)).by("k")
    >>> live = total.live([{"time": 0, "type": "A", "k": "x", "v": 1}])
    >>> events = [{"time": 1, "type": "A", "k": "x", "v": 3},
    ...           {"time": 2, "type": "A", "k": "x", "v": 4}]
    >>> live.push(events)["value"].to_pylist()
    [3, 7]
    """

    def __init__(self, live: Live, *, timed: bool) -> None:
        """Wrap the live run of a workload with the query. timed: events have times."""
        self.live = live
        self._timed = timed

    def push(self, data: Any) -> pa.Table:
        """Add a batch of events; return the values after those that are before the watermark."""
        if not self._timed:
            table = self.live.as_table(data)
            first = self.live.greatest  # positions are times, in ticks
            first = 0 if first is None else first + 1
            if POSITION in table.column_names:
                table = table.drop_columns(POSITION)
            places = pa.array(range(first, first + table.num_rows), pa.int64())
            data = table.append_column(POSITION, places)
        return self._values(self.live.push(data))

    def end(self) -> pa.Table:
        """End the stream and return the remaining values."""
        return self._values(self.live.end())

    def save(self) -> bytes:
        """Return the state, with which `Keyed.resume` continues."""
        return self.live.save()

    def _values(self, rows: Rows) -> pa.Table:
        tables = [table for _, table in rows]
        tables = tables or [self.live.no_rows(NAME)]
        table = pa.concat_tables(tables, promote_options="permissive")
        if self._timed:
            return table
        return table.rename_columns([POSITION if n == TIME else n for n in table.column_names])


def start(workload: Any, schema: Any, *, time: str, **options: Any) -> KeyedLive:
    """Start a live run of a workload whose only query is quantitative (`NAME`)."""
    columns = schema_from(schema)
    if time in columns.names:
        return KeyedLive(workload.live(columns, time=time, **options), timed=True)
    if time != TIME:
        raise InputError(
            f"The events have no column '{time}' for their time. Columns: "
            f"{', '.join(columns.names)}."
        )
    if POSITION in columns.names:
        columns = columns.remove(columns.names.index(POSITION))
    columns = columns.append(pa.field(POSITION, pa.int64()))
    live = workload.live(columns, time=POSITION, time_unit="us", **options)
    return KeyedLive(live, timed=False)


def resume(workload: Any, state: bytes, **changes: Any) -> KeyedLive:
    """Continue a live run that was saved."""
    live = workload.resume(state, **changes)
    return KeyedLive(live, timed=live.options.request.time != POSITION)
