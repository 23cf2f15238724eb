"""The reorder buffer of events that the watermark has not passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import whole


class _Waiting(NamedTuple):
    events: pa.Table
    first: int  # their least and greatest time
    last: int


class ReorderBuffer:
    """Events in the order of arrival; `take` returns those before a time, ordered by time.

    Simultaneous events are ordered by the columns `orders`, and otherwise by arrival.

    >>> buffer = ReorderBuffer(pa.schema({"time": pa.int64(), "v": pa.string()}), orders=())
    >>> buffer.add(pa.table({"time": [5, 3, 7, 3], "v": ["a", "b", "c", "d"]}))
    >>> buffer.take(6).to_pydict(), buffer.rows, buffer.first
    ({'time': [3, 3, 5], 'v': ['b', 'd', 'a']}, 1, 7)
    """

    def __init__(self, schema: pa.Schema, orders: Sequence[str]) -> None:
        self._schema = schema
        self._orders = tuple(orders)
        self._waiting: list[_Waiting] = []

    @property
    def rows(self) -> int:
        """The number of buffered events."""
        return sum(waiting.events.num_rows for waiting in self._waiting)

    @property
    def first(self) -> int | None:
        """The least time of the buffered events."""
        return min((waiting.first for waiting in self._waiting), default=None)

    @property
    def events(self) -> pa.Table:
        """The buffered events, in the order of arrival."""
        return pa.concat_tables([self._schema.empty_table(), *(w.events for w in self._waiting)])

    def add(self, events: pa.Table) -> None:
        """Add events, with the buffer's columns."""
        if events.num_rows:
            times = whole(events.column("time")).to_numpy()
            self._waiting.append(_Waiting(events, int(times.min()), int(times.max())))

    def take(self, until: int | None) -> pa.RecordBatch | None:
        """Remove and return the events before `until`, ordered by time; None: all events.

        Returns None if there are none.
        """
        released, later = [], []
        for waiting in self._waiting:
            if until is None or waiting.last < until:
                released.append(waiting.events)
            elif waiting.first >= until:
                later.append(waiting)
            else:
                times = whole(waiting.events.column("time")).to_numpy()
                is_due = times < until
                released.append(waiting.events.filter(pa.array(is_due)))
                stays = waiting.events.filter(pa.array(~is_due))
                later.append(_Waiting(stays, int(times[~is_due].min()), waiting.last))
        self._waiting = later
        if not released:
            return None
        table = pa.concat_tables(released).combine_chunks()
        return self._sorted_events(table.to_batches()[0])

    def _sorted_events(self, events: pa.RecordBatch) -> pa.RecordBatch:
        times = events.column("time").to_numpy()
        if self._orders:
            keys = pa.table({name: events.column(name) for name in ("time", *self._orders)})
            return events.take(
                pc.sort_indices(keys, [(name, "ascending") for name in keys.schema.names])
            )
        if (times[1:] < times[:-1]).any():
            return events.take(pa.array(np.argsort(times, kind="stable")))
        return events
