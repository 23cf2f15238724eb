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

from elsinore.kernels import enter, kernel
from elsinore.kernels.sorting import read_only, rows_by_type
from elsinore.plan import Unit
from elsinore.runtime.keys import Keys
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
    keys: Keys
    times: NDArray[np.int64]
    numbers: NDArray[np.int32]
    names: Sequence[str]
    column: Callable[[str], pa.Array]

    def by_key(self) -> Events:
        """Return events in the order of their keys, those without a key left out."""
        codes = read_only(self.keys.key)
        order, _ = enter(rows_by_type, 1e-6 * len(codes), codes, self.keys.count)
        rows = pa.array(order)
        return replace(
            self,
            keys=self.keys.of_rows(order),
            times=self.times[order],
            numbers=self.numbers[order],
            column=cache(lambda name: self.column(name).take(rows)),
        )

    def batch(self, begin: int, end: int) -> pa.RecordBatch:
        """Return the batch of events `begin` to `end` - 1."""
        return batch_of(
            self.unit,
            self.keys.of_rows(slice(begin, end)),
            self.times[begin:end],
            self.numbers[begin:end],
            self.names,
            lambda name: self.column(name).slice(begin, end - begin),
        )

    def owners(self, threads: int) -> NDArray[np.uint8]:
        """Return each event's thread: the remainder of its key when divided by `threads`.

        Events without a key go with the first. Those of no interest, whose type the unit does not
        know or that have no key, are NOBODY's, unless the unit keeps all.
        """
        owners = np.empty(len(self.times), dtype=np.uint8)
        keeps_all, known = self.unit.keeps_all, {one.type for one in self.unit.classes.types}
        wanted = [keeps_all or name in known for name in (*self.names, None)]
        unwanted = np.where(wanted, 0, NOBODY).astype(np.uint8)
        keys, numbers = read_only(self.keys.key), read_only(self.numbers)
        keyless = np.uint8(0) if keeps_all else NOBODY

        def find(begin: int, end: int) -> None:
            rows = slice(begin, end)
            seconds, out = 2e-6 * (end - begin), owners[rows]
            enter(find_owners, seconds, keys[rows], numbers[rows], unwanted, threads, keyless, out)

        by_ranges(find, len(owners), threads)
        return owners

    def share(
        self, owners: NDArray[np.uint8], threads: int, begin: int, end: int, thread: int
    ) -> pa.RecordBatch:
        """Return the batch of those of events `begin` to `end` - 1 that are a thread's own.

        Its keys, apart by `threads`, are numbered one after another; -1 stays.
        """
        of_range = slice(begin, end)
        count = np.count_nonzero(owners[of_range] == thread)
        rows = np.empty(count + 1, dtype=np.int32)
        key, group, numbers = (np.empty(count, dtype=np.int32) for _ in range(3))
        times = np.empty(count, dtype=np.int64)
        given = [
            read_only(column[of_range])
            for column in (owners, self.keys.key, self.keys.group, self.times, self.numbers)
        ]
        taken: tuple[Any, ...] = (rows, key, group, times, numbers)
        enter(take_share, 2e-6 * (end - begin), thread, threads, *given, *taken)
        picked = pa.array(rows[:count])

        @cache
        def read(name: str) -> pa.Array:
            column = self.column(name).slice(begin, end - begin)
            return pc.take(column, picked, boundscheck=False)

        keys = replace(self.keys, key=key, group=group)
        return batch_of(self.unit, keys, times, numbers, self.names, read)


@kernel
def find_owners(
    keys: NDArray[np.int32],
    numbers: NDArray[np.int32],
    unwanted: NDArray[np.uint8],
    threads: int,
    keyless: int,
    owners: NDArray[np.uint8],
) -> None:
    """Put the remainders of keys into owners[row], NOBODY where a type's number is `unwanted`.

    unwanted: [number] -> 0 or NOBODY, the last place for -1. keyless: whose the rows without a key
    are. A key is divided by multiplying doubles: half a step above a whole number, rounding does
    not matter.
    """
    part = 1.0 / threads
    for row in range(len(keys)):
        key = max(keys[row], np.int32(0))
        owner = np.uint8(key - np.int32(threads) * np.int32((key + 0.5) * part))
        owners[row] = owner if keys[row] >= 0 else keyless
    for row in range(len(keys)):
        owners[row] |= unwanted[numbers[row]]


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
