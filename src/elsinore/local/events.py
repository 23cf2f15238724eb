# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""A unit's events, encoded: batches of ranges of them, and of what one thread has of a range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.kernels import enter, kernel
from elsinore.kernels.sorting import read_only, rows_by_type
from elsinore.plan import Unit
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.ranges import by_ranges
from elsinore.runtime.units import batch_of

NOBODY = np.uint8(2**8 - 1)  # has rows of no interest; threads are fewer


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

    def kept(self, threads: int) -> Events:
        """Return the same with all numbers made, for several who read them."""
        return replace(self, keys=self.keys.kept(threads), numbers=self.numbers.kept(threads))

    def batch(self, begin: int, end: int) -> pa.RecordBatch:
        """Return the batch of events `begin` to `end` - 1."""
        return batch_of(
            self.unit,
            self.keys.of_rows(begin, end),
            self.times[begin:end],
            self.numbers.make(begin, end),
            self.names,
            lambda name: self.column(name).slice(begin, end - begin),
        )

    def owners(self, threads: int) -> NDArray[np.uint8]:
        """Return each event's thread: the remainder of its key when divided by `threads`.

        Events without a key go with the first. Those of no interest are NOBODY's, unless the unit
        keeps all: of a type that is beside all that it knows in `names`, or without a key.
        """
        owners = np.empty(len(self.times), dtype=np.uint8)
        known = {one.type for one in self.unit.classes.types}
        places = [number for number, name in enumerate(self.names) if name in known]
        least_key, first, last = 0, min(places, default=0), max(places, default=-1)
        if self.unit.keeps_all:
            least_key, first, last = -1, -1, len(self.names)

        def find(begin: int, end: int) -> None:
            keys, numbers = self.keys.key.make(begin, end), self.numbers.make(begin, end)
            given = read_only(keys), read_only(numbers), threads, least_key, first, last
            enter(find_owners, 1e-6 * (end - begin), *given, owners[begin:end])

        by_ranges(find, len(owners), threads)
        return owners

    def share(
        self, owners: NDArray[np.uint8], threads: int, thread: int, begin: int, end: int
    ) -> pa.RecordBatch:
        """Return the batch of those of events `begin` to `end` - 1 that are a thread's own.

        Its keys, apart by `threads`, are numbered one after another; -1 stays.
        """
        keys, mine = self.keys.of_rows(begin, end), owners[begin:end]
        count = np.count_nonzero(mine == thread)
        rows = np.empty(count + 1, dtype=np.int32)
        key, group, numbers = (np.empty(count, dtype=np.int32) for _ in range(3))
        times = np.empty(count, dtype=np.int64)
        given = [
            read_only(column)
            for column in (
                mine,
                keys.key,
                keys.group,
                self.times[begin:end],
                self.numbers.make(begin, end),
            )
        ]
        taken: tuple[Any, ...] = (rows, key, group, times, numbers)
        enter(take_share, 2e-6 * (end - begin), thread, threads, *given, *taken)
        picked = to_arrow(rows[:count])

        @cache
        def read(name: str) -> pa.Array:
            column = self.column(name).slice(begin, end - begin)
            return pc.take(column, picked, boundscheck=False)

        return batch_of(
            self.unit, replace(keys, key=key, group=group), times, numbers, self.names, read
        )


@kernel
def find_owners(
    keys: NDArray[np.int32],
    numbers: NDArray[np.int32],
    threads: int,
    least_key: int,
    first: int,
    last: int,
    owners: NDArray[np.uint8],
) -> None:
    """Put the remainders of keys into owners[row], NOBODY for keys or types out of bounds.

    A key is divided by multiplying doubles: half a step above a whole number, rounding does not
    matter. All is done in vector instructions.
    """
    count, part = np.int32(threads), 1.0 / threads
    least, low, high = np.int32(least_key), np.int32(first), np.int32(last)
    for row in range(len(keys)):
        key = max(keys[row], np.int32(0))
        owner = np.uint8(key - count * np.int32((key + 0.5) * part))
        wanted = (keys[row] >= least) & (numbers[row] >= low) & (numbers[row] <= high)
        owners[row] = owner if wanted else NOBODY


@kernel
def take_share(
    thread: int,
    threads: int,
    owners: NDArray[np.uint8],
    keys: NDArray[np.int32],
    groups: NDArray[np.int32],
    times: NDArray[np.int64],
    numbers: NDArray[np.int32],
    rows: NDArray[np.int32],
    to_keys: NDArray[np.int32],
    to_groups: NDArray[np.int32],
    to_times: NDArray[np.int64],
    to_numbers: NDArray[np.int32],
) -> None:
    """Put down which rows are a thread's, and their columns.

    rows: has room for one more. No branch is guessed wrong, whatever the order of keys.
    """
    count = np.uint64(0)
    for row in range(len(owners)):
        rows[count] = row
        count += np.uint64(owners[row] == thread)
    part = 1.0 / threads
    for place in range(len(to_keys)):
        row = np.uint64(rows[place])
        to_keys[place] = min(keys[row], np.int32((keys[row] + 0.5) * part))
        to_groups[place] = groups[row]
        to_times[place] = times[row]
        to_numbers[place] = numbers[row]
