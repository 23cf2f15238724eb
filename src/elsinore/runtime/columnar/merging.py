"""The reduce side of the shuffle: merging a partition's blobs into keys' events in time order.

Events beyond the memory limit are sorted in parts; each part becomes a *run* on local disk, and the
runs are merged block by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.runtime.columnar.blobs import Blob, Layout, decode
from elsinore.runtime.columnar.runs import Runs, SortedEvents
from elsinore.runtime.columnar.segments import merged_order, with_sorted_ties
from elsinore.runtime.keys import encode_keys

MEMORY = 1 << 26  # bytes of blobs that are sorted at once; sorting takes about twice as much more
BATCH_ROWS = 1 << 17  # events in a batch for the operator
BLOCK_SHARE = 1 / 4  # of the memory limit, for the events of all runs merged at once
CHUNK_SHARE = 1 / 512  # of the memory limit, for each run while it is merged
LEAST_CHUNK = 1 << 10  # bytes, even if the memory limit is lower

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(slots=True)
class KeyCodes:
    """Assigns codes 0, 1, ... to a partition's keys and groups in the order of arrival."""

    layout: Layout
    group_columns: int  # how many of a key's first columns identify its group
    keys: list[pa.Array] = field(default_factory=list)  # the values of each key
    groups: list[pa.Array] = field(default_factory=list)  # those of each group
    group_codes: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def number(self, blobs: Sequence[Blob]) -> Codes:
        """Return the code of each key of some blobs, one blob after another."""
        columns = [
            pa.concat_arrays([blob.keys.column(n) for blob in blobs])
            for n in range(len(self.layout.keys))
        ]
        count = sum(blob.keys.num_rows for blob in blobs)
        before = len(self.group_codes)
        codes, self.keys = _extend_codes(self.keys, columns, before, count)
        fresh = [column.slice(before) for column in self.keys[: self.group_columns]]
        new = (int(codes.max()) + 1 if count else 0) - before
        if new > 0 and self.group_columns == len(self.layout.keys):  # a group is a key
            self.groups = self.keys
            self.group_codes = np.arange(before + new, dtype=np.int32)
        elif new > 0:
            known = len(self.groups[0]) if self.groups else 0
            groups, self.groups = _extend_codes(self.groups, fresh, known, new)
            self.group_codes = np.concatenate((self.group_codes, groups))
        return codes


def _extend_codes(
    known_values: list[pa.Array], columns: list[pa.Array], before: int, rows: int
) -> tuple[Codes, list[pa.Array]]:
    """Return the codes of rows, after `before` codes of known values, and all codes' values."""
    if not columns:
        return np.zeros(rows, dtype=np.int32), []
    if before:
        columns = [pa.concat_arrays(pair) for pair in zip(known_values, columns, strict=True)]
    keys = encode_keys(columns, [], [], before + rows)
    # example: the first row of each code, so that known values keep their codes
    codes = np.flatnonzero(keys.example >= 0)
    by_first = codes[np.argsort(keys.example[codes], kind="stable")]
    places = np.empty(len(keys.example), dtype=np.int32)
    places[by_first] = np.arange(len(by_first), dtype=np.int32)
    examples = pa.array(keys.example[by_first])
    return places[keys.group[before:]], [column.take(examples) for column in columns]


@dataclass(slots=True)
class Merging:
    """Sorts a partition's events.

    `add` all its blobs, then read `batches`, each (codes of groups, codes of keys, events); the
    values of the codes are in `codes`. Keys of a group are adjacent. Simultaneous events of a key
    are ordered by the columns `orders`, if there are any.

    It needs about three times `memory`, plus the memory of the keys' values. Simultaneous events of
    a key are never divided between runs, so they must fit in memory.

    Several `Merging` can use the same `shared` codes; `sorted_keys` are the codes of keys whose
    events are sorted, which are all when `batches` yields its first batch.
    """

    layout: Layout
    group_columns: int
    orders: Sequence[str] = ()
    memory: int = MEMORY
    batch_rows: int = BATCH_ROWS
    shared: KeyCodes | None = None
    codes: KeyCodes = field(init=False)
    sorted_keys: Codes = field(init=False, default_factory=lambda: np.zeros(0, dtype=np.int32))
    rows: int = field(init=False, default=0)  # number of events added
    _blobs: list[Blob] = field(init=False, default_factory=list)
    _bytes: int = field(init=False, default=0)
    _disk: Runs = field(init=False)

    def __post_init__(self) -> None:
        self.codes = self.shared or KeyCodes(self.layout, self.group_columns)
        self._disk = Runs(self.layout)

    @property
    def spilled_bytes(self) -> int:
        """The number of bytes written to disk."""
        return sum(run.size for run in self._disk.runs)

    def add(self, column: pa.Array) -> None:
        """Add blobs. Raises InputError if they do not fit in memory and the disk is full."""
        for blob in decode(self.layout, column):
            if self._bytes and self._bytes + blob.events.nbytes > self.memory:
                self._spill()
            self._blobs.append(blob)
            self.rows += blob.events.num_rows
            self._bytes += blob.events.nbytes + blob.keys.nbytes

    def batches(self) -> Iterator[SortedEvents]:
        """Yield all events in order."""
        if self._disk.runs:
            if self._blobs:
                self._spill()
            for block in self._merged_blocks():
                yield from self._split(block)
        elif self._blobs:
            ordering = self._sort_pending()
            yield from ordering.batches(self.batch_rows)

    def _split(self, block: SortedEvents) -> Iterator[SortedEvents]:
        for start in range(0, len(block.key), self.batch_rows):
            yield block.slice(start, min(start + self.batch_rows, len(block.key)))

    def _sort_pending(self) -> _Ordering:
        """Return the sorted events of the pending blobs, and clear these."""
        # In the order of their first times: then most keys' stretches need no merging.
        blobs = [blob for blob in self._blobs if blob.events.num_rows]
        blobs.sort(key=lambda blob: int(blob.events.column("time")[0].as_py()))
        codes = self.codes.number(blobs)
        self.sorted_keys = np.union1d(self.sorted_keys, codes)
        lengths = np.concatenate([blob.keys.column(-1).to_numpy() for blob in blobs])
        columns = [
            pa.concat_arrays([blob.events.column(n) for blob in blobs])
            for n in range(len(self.layout.events))
        ]
        self._blobs, self._bytes = [], 0
        del blobs  # and the memory that Spark passed
        events = pa.RecordBatch.from_arrays(columns, schema=self.layout.events)
        return _sort_order(
            events, codes, lengths.astype(np.int64), self.codes.group_codes, self.orders
        )

    def _merged_blocks(self) -> Iterator[SortedEvents]:
        """Yield the runs' events in order, block by block."""
        width = max(1, self.spilled_bytes // sum(run.rows for run in self._disk.runs))
        rows = max(1, int(self.memory * BLOCK_SHARE) // width)
        while parts := self._disk.next(rows):
            yield self._block(parts)

    def _block(self, parts: list[SortedEvents]) -> SortedEvents:
        """Return parts of runs as one block."""
        keys = np.concatenate([part.key for part in parts])
        borders = np.cumsum([0, *(len(part.key) for part in parts)])
        starts = np.union1d(np.flatnonzero(np.diff(keys, prepend=-1)), borders[:-1])
        lengths = np.diff(np.append(starts, len(keys)))
        columns = [
            pa.concat_arrays([part.events.column(n) for part in parts])
            for n in range(len(self.layout.events))
        ]
        events = pa.RecordBatch.from_arrays(columns, schema=self.layout.events)
        ordering = _sort_order(events, keys[starts], lengths, self.codes.group_codes, self.orders)
        return ordering.take(0, len(keys))

    def _spill(self) -> None:
        """Sort the pending blobs and write them as a run."""
        ordering = self._sort_pending()
        size = max(LEAST_CHUNK, int(self.memory * CHUNK_SHARE))
        width = max(1, ordering.events.nbytes // len(ordering.rows))
        self._disk.add(ordering.batches(max(1, size // width)))
        pa.default_memory_pool().release_unused()


def paired_batches(first: Merging, second: Merging) -> Iterator[tuple[SortedEvents, SortedEvents]]:
    """Yield the sorted events of two `Merging` with shared codes, in pairs of the same keys."""
    first_batches, second_batches = first.batches(), second.batches()
    nothing = SortedEvents.empty(first.layout), SortedEvents.empty(second.layout)
    left, right = next(first_batches, None), next(second_batches, None)
    while left is not None and right is not None:
        end = min(left.place(-1), right.place(-1))
        rows = left.search(end, 0, side="right"), right.search(end, 0, side="right")
        yield left.slice(0, rows[0]), right.slice(0, rows[1])
        left, right = left.slice(rows[0], len(left.key)), right.slice(rows[1], len(right.key))
        left = left if len(left.key) else next(first_batches, None)
        right = right if len(right.key) else next(second_batches, None)
    while left is not None:
        yield left, nothing[1]
        left = next(first_batches, None)
    while right is not None:
        yield nothing[0], right
        right = next(second_batches, None)


@dataclass(slots=True)
class _Ordering:
    """Events and their sort order, as row numbers."""

    events: pa.RecordBatch
    rows: Ints
    group: Codes  # of the rows, in order
    key: Codes

    def take(self, start: int, stop: int) -> SortedEvents:
        rows = pa.array(self.rows[start:stop])
        return SortedEvents(self.group[start:stop], self.key[start:stop], self.events.take(rows))

    def batches(self, rows: int) -> Iterator[SortedEvents]:
        for start in range(0, len(self.rows), rows):
            yield self.take(start, min(start + rows, len(self.rows)))


def _sort_order(
    events: pa.RecordBatch, codes: Codes, lengths: Ints, group_codes: Codes, orders: Sequence[str]
) -> _Ordering:
    """Return the order of events that lie as stretches of one key each.

    codes, lengths: [stretch] -> its key, and its number of events.
    """
    present = np.unique(codes)
    by_group = present[np.argsort(group_codes[present], kind="stable")]
    ranks = np.empty(len(group_codes), dtype=np.int32)
    ranks[by_group] = np.arange(len(by_group), dtype=np.int32)
    times = events.column("time").to_numpy()
    stretch_ranks = ranks[codes]
    rows = merged_order(stretch_ranks, lengths, len(by_group), times)
    counts = np.bincount(stretch_ranks, weights=lengths, minlength=len(by_group)).astype(np.int64)
    key = np.repeat(by_group, counts)
    if orders:
        rows = with_sorted_ties(rows, key, times[rows], [events.column(name) for name in orders])
    return _Ordering(events, rows, group_codes[key], key)
