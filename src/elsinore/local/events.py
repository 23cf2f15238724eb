"""A unit's encoded events: creating batches of rows, and partitioning them by key for threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.local.thread_rows import assign_rows, move_rows, place_rows
from elsinore.numeric.sorting import rows_by_code
from elsinore.plan import Unit
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.units import Read, batch_of, event_classes

FIXED_COLUMNS = 4  # columns that every batch has: key, group, time and class
NO_CLASS = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Events:
    """The events of a unit, in the order in which operators process them.

    `numbers` are the events' types as indices in `names` (see `type_places`); `column` returns an
    attribute of all events.
    """

    unit: Unit
    keys: NumberedKeys
    times: NDArray[np.int64]
    numbers: Numbering
    names: Sequence[str]
    column: Callable[[str], pa.Array]

    def by_key(self) -> Events:
        """Return the events with a key, sorted by key."""
        codes = self.keys.key.whole()
        order, _ = rows_by_code(codes, self.keys.count)
        rows = to_arrow(order)
        key, group = codes[order], self.keys.group.whole()[order]
        return replace(
            self,
            keys=replace(
                self.keys,
                key=Numbering.from_codes(key, self.keys.count),
                group=Numbering.from_codes(group, self.keys.group.size),
            ),
            times=self.times[order],
            numbers=Numbering.from_codes(self.numbers.whole()[order], self.numbers.size),
            column=cache(lambda name: self.column(name).take(rows)),
        )

    def batch(self, begin: int, end: int) -> pa.RecordBatch:
        """Return the batch of events `begin` to `end` - 1."""

        def read(name: str) -> pa.Array:
            return self.column(name).slice(begin, end - begin)

        keys, codes = self.keys.codes_of(begin, end), self._classes(begin, end, read)
        return batch_of(self.unit, keys, self.times[begin:end], codes, read)

    def _classes(self, begin: int, end: int, read: Read) -> NDArray[np.int64]:
        """Return the classes of events; `read` returns an attribute."""
        return event_classes(self.unit, self.numbers.make(begin, end), self.names, read)


def split_by_thread(
    batch: pa.RecordBatch, threads: int, *, keeps_all: bool
) -> list[pa.RecordBatch]:
    """Return each thread's rows of a batch: those of keys k with k % threads == thread.

    Keys are renumbered to k // threads; rows without a key (-1) belong to the first thread.
    Irrelevant rows are dropped, unless the unit keeps all.
    """
    keys, groups, times, classes = (to_numpy(column) for column in batch.columns[:FIXED_COLUMNS])
    size = batch.num_rows
    owners, edges = np.empty(size, dtype=np.uint8), np.zeros(threads + 1, dtype=np.int64)
    ends = np.empty(size + 1, dtype=np.int32)
    assign_rows(threads, NO_CLASS if keeps_all else 0, keys, classes, owners)
    place_rows(owners, ends, edges)
    rows = ends[: edges[threads]]
    parts = [np.empty(len(rows), dtype=column.dtype) for column in (keys, groups, times, classes)]
    move_rows(threads, rows, keys, groups, times, classes, *parts)
    row_indices = to_arrow(rows)
    other_columns = [
        pc.take(column, row_indices, boundscheck=False) for column in batch.columns[FIXED_COLUMNS:]
    ]
    together = pa.RecordBatch.from_arrays(
        [*map(to_arrow, parts), *other_columns], schema=batch.schema
    )
    return [together.slice(begin, end - begin) for begin, end in pairwise(edges.tolist())]
