# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""A unit's events, encoded: batches of ranges of them, and what each thread has of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.kernels import enter, kernel
from elsinore.kernels.sorting import read_only, rows_by_type
from elsinore.plan import Unit
from elsinore.runtime.classify import first_classes, has_digits
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.units import Read, batch_of, event_classes

KEY, CLASS, TOLD = 0, 3, 4  # places of columns that every batch has, and how many they are
NO_CLASS = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Events:
    """What a unit reads of events, in the order in which operators are given them.

    `numbers` are the events' types as places in `names` (see `type_places`); `column` gives an
    attribute of all events.
    """

    unit: Unit
    keys: NumberedKeys
    times: NDArray[np.int64]
    numbers: Numbering
    names: Sequence[str]
    column: Callable[[str], pa.Array]

    def by_key(self) -> Events:
        """Return events in the order of their keys, those without a key left out."""
        codes = read_only(self.keys.key.whole())
        order, _ = enter(rows_by_type, 1e-6 * len(codes), codes, self.keys.count)
        rows = to_arrow(order)
        key, group = codes[order], self.keys.group.whole()[order]
        return replace(
            self,
            keys=replace(
                self.keys,
                key=Numbering.of(key, self.keys.count),
                group=Numbering.of(group, self.keys.group.size),
            ),
            times=self.times[order],
            numbers=Numbering.of(self.numbers.whole()[order], self.numbers.size),
            column=cache(lambda name: self.column(name).take(rows)),
        )

    def batch(self, begin: int, end: int) -> pa.RecordBatch:
        """Return the batch of events `begin` to `end` - 1."""

        def read(name: str) -> pa.Array:
            return self.column(name).slice(begin, end - begin)

        keys, codes = self.keys.of_rows(begin, end), self._classes(begin, end, read)
        return batch_of(self.unit, keys, self.times[begin:end], codes, read)

    def _classes(self, begin: int, end: int, read: Read) -> NDArray[np.int64]:
        """Return the classes of events; what reads their attributes is given."""
        classes, look_up = self.unit.classes, self.numbers.look_up
        if look_up is None or has_digits(classes, self.names):
            return event_classes(self.unit, self.numbers.make(begin, end), self.names, read)
        return look_up(begin, end, first_classes(classes, self.names))


def parted(batch: pa.RecordBatch, threads: int, *, keeps_all: bool) -> list[pa.RecordBatch]:
    """Return each thread's rows of a batch: of keys with its number as remainder, by `threads`.

    Its keys, apart by `threads`, are numbered one after another; -1 stays, with the first thread.
    Rows of no interest are nobody's, unless the unit keeps all.
    """
    columns = [read_only(to_numpy(column)) for column in batch.columns[:TOLD]]
    size = batch.num_rows
    owners, edges = np.empty(size, dtype=np.uint8), np.zeros(threads + 1, dtype=np.int64)
    rows = np.empty(size + 1, dtype=np.int32)
    taken: list[NDArray[Any]] = [np.empty_like(column) for column in columns]
    least = NO_CLASS if keeps_all else 0
    given: tuple[Any, ...] = (*columns, owners, rows, edges, *taken)
    enter(part_rows, 5e-6 * size, threads, least, *given)
    picked = to_arrow(rows[: edges[threads]])
    carried = [pc.take(column, picked, boundscheck=False) for column in batch.columns[TOLD:]]
    row_columns = [to_arrow(column[: edges[threads]]) for column in taken]
    together = pa.RecordBatch.from_arrays([*row_columns, *carried], schema=batch.schema)
    return [together.slice(begin, end - begin) for begin, end in pairwise(edges.tolist())]


@kernel
def part_rows(
    threads: int,
    least: int,
    keys: NDArray[np.int32],
    groups: NDArray[np.int32],
    times: NDArray[np.int64],
    classes: NDArray[np.int64],
    owners: NDArray[np.uint8],
    rows: NDArray[np.int32],
    edges: NDArray[np.int64],
    to_keys: NDArray[np.int32],
    to_groups: NDArray[np.int32],
    to_times: NDArray[np.int64],
    to_classes: NDArray[np.int64],
) -> None:
    """Put the rows of each thread together, in their order; rows of classes below the least go.

    owners: [row], for the thread that has it, or `threads`. rows: [place], one longer, for the row
    that is put there. edges: 0, then where each thread's rows end. A key is divided by multiplying
    doubles: half a step above a whole number, rounding does not matter. For each thread all rows
    are looked at, without a branch: to look once, and up where each goes, takes twice as long.
    """
    count, part = np.int32(threads), 1.0 / threads
    for row in range(len(keys)):
        key = max(keys[row], np.int32(0))
        owner = np.uint8(key - count * np.int32((key + 0.5) * part))
        owners[row] = owner if classes[row] >= least else np.uint8(count)
    for thread in range(threads):
        own, place = np.uint8(thread), edges[thread]
        for row in range(len(owners)):
            rows[np.uint64(place)] = row  # stays if the place is not the next row's, too
            place += np.int64(owners[row] == own)
        edges[thread + 1] = place
    for place in range(edges[threads]):
        row = np.uint64(rows[place])
        to_keys[place] = min(keys[row], np.int32((keys[row] + 0.5) * part))
        to_groups[place] = groups[row]
        to_times[place] = times[row]
        to_classes[place] = classes[row]
