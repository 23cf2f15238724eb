"""The reduce side: a partition's blobs in, its events key after key in time order out.

What exceeds the memory allowed is ordered in parts; each part becomes a *run*, a sorted file on
local disk that is mapped into memory, and the runs are merged block by block.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.runtime.keys import encode_keys
from elsinore.spark.columnar.blobs import Blob, Layout, decode
from elsinore.spark.columnar.segments import merged_order, with_ties_ordered

MEMORY = 1 << 26  # bytes of blobs that are ordered at once; ordering takes about twice as much more
BATCH_ROWS = 1 << 17  # events in a batch for the operator
BLOCK_ROWS = 1 << 18  # events of each run that are merged at once
LOCAL_DIRECTORIES = "SPARK_LOCAL_DIRS"  # what Spark tells its Python workers

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(slots=True)
class KeyCodes:
    """Numbers a partition's keys, and their groups, as they are seen: 0, 1, ..."""

    layout: Layout
    group_columns: int  # the first columns of a key, which its group is told by
    keys: list[pa.Array] = field(default_factory=list)  # the values of each key
    groups: list[pa.Array] = field(default_factory=list)  # those of each group
    group_of: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))

    def number(self, blobs: Sequence[Blob]) -> Codes:
        """Return the code of each key of some blobs, one blob after another."""
        columns = [
            pa.concat_arrays([blob.keys.column(n) for blob in blobs])
            for n in range(len(self.layout.keys))
        ]
        count = sum(blob.keys.num_rows for blob in blobs)
        before = len(self.group_of)
        codes, self.keys = _extended(self.keys, columns, before, count)
        fresh = [column.slice(before) for column in self.keys[: self.group_columns]]
        new = (int(codes.max()) + 1 if count else 0) - before
        if new > 0 and self.group_columns == len(self.layout.keys):  # a group is a key
            self.groups = self.keys
            self.group_of = np.arange(before + new, dtype=np.int32)
        elif new > 0:
            known = len(self.groups[0]) if self.groups else 0
            groups, self.groups = _extended(self.groups, fresh, known, new)
            self.group_of = np.concatenate((self.group_of, groups))
        return codes


def _extended(
    known: list[pa.Array], columns: list[pa.Array], before: int, rows: int
) -> tuple[Codes, list[pa.Array]]:
    """Return codes of rows, continuing `before` codes of `known` values, and all codes' values."""
    if not columns:
        return np.zeros(rows, dtype=np.int32), []
    if before:
        columns = [pa.concat_arrays(both) for both in zip(known, columns, strict=True)]
    coded = encode_keys(columns, [], [], before + rows)
    # example: the first row of each code, so that known values keep their codes
    codes = np.flatnonzero(coded.example >= 0)
    by_first = codes[np.argsort(coded.example[codes], kind="stable")]
    places = np.empty(len(coded.example), dtype=np.int32)
    places[by_first] = np.arange(len(by_first), dtype=np.int32)
    examples = pa.array(coded.example[by_first])
    return places[coded.group[before:]], [column.take(examples) for column in columns]


@dataclass(slots=True)
class Sorted:
    """Events in order: by group, key and time; `events` has a row for each of `group`."""

    group: Codes
    key: Codes
    events: pa.RecordBatch

    @property
    def times(self) -> Ints:
        """The events' times."""
        return np.asarray(self.events.column("time").to_numpy())

    @classmethod
    def none(cls, layout: Layout) -> Sorted:
        """Return no rows."""
        codes = np.zeros(0, np.int32)
        columns = [pa.array([], field.type) for field in layout.events]
        return cls(codes, codes, pa.RecordBatch.from_arrays(columns, schema=layout.events))

    def slice(self, start: int, stop: int) -> Sorted:
        """Return some of the rows, as views."""
        return Sorted(
            self.group[start:stop], self.key[start:stop], self.events.slice(start, stop - start)
        )


@dataclass(slots=True)
class Merging:
    """Brings a partition's events in order.

    `add` all its blobs, then read `batches`, each (codes of groups, codes of keys, events); then,
    or as they come, `codes` tells what values they stand for. Keys of a group come one after
    another. Simultaneous events of a key are ordered by the columns `orders`, if there are any.

    Memory is about three times `memory`, and what the keys' values take. A moment of one key is
    never cut between runs: simultaneous events of one key have to fit in memory.

    Several may number their keys alike, by `shared` codes; `seen` are the codes of those whose
    events are in order, which are all when `batches` gives out the first.
    """

    layout: Layout
    group_columns: int
    orders: Sequence[str] = ()
    memory: int = MEMORY
    batch_rows: int = BATCH_ROWS
    block_rows: int = BLOCK_ROWS
    shared: KeyCodes | None = None
    codes: KeyCodes = field(init=False)
    seen: Codes = field(init=False, default_factory=lambda: np.zeros(0, dtype=np.int32))
    spilled_bytes: int = field(init=False, default=0)
    _blobs: list[Blob] = field(init=False, default_factory=list)
    _bytes: int = field(init=False, default=0)
    _runs: list[Sorted] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.codes = self.shared or KeyCodes(self.layout, self.group_columns)

    def add(self, column: pa.Array) -> None:
        """Take blobs. Raises InputError where they have to go to a disk that is full."""
        for blob in decode(self.layout, column):
            if self._bytes and self._bytes + blob.events.nbytes > self.memory:
                self._spill()
            self._blobs.append(blob)
            self._bytes += blob.events.nbytes + blob.keys.nbytes

    def batches(self) -> Iterator[Sorted]:
        """Yield all events in order."""
        if self._runs:
            if self._blobs:
                self._spill()
            for block in self._merged():
                yield from self._cut(block)
        elif self._blobs:
            ordering = self._ordering()
            self._blobs = []
            yield from ordering.batches(self.batch_rows)

    def _cut(self, block: Sorted) -> Iterator[Sorted]:
        for start in range(0, len(block.key), self.batch_rows):
            yield block.slice(start, min(start + self.batch_rows, len(block.key)))

    def _ordering(self) -> _Ordering:
        """Return the order of the blobs that wait."""
        # Blobs in the order of their first times: most keys' stretches then follow one another.
        blobs = [blob for blob in self._blobs if blob.events.num_rows]
        blobs.sort(key=lambda blob: int(blob.events.column("time")[0].as_py()))
        codes = self.codes.number(blobs)
        self.seen = np.union1d(self.seen, codes)
        lengths = np.concatenate([blob.keys.column(-1).to_numpy() for blob in blobs])
        columns = [
            pa.concat_arrays([blob.events.column(n) for blob in blobs])
            for n in range(len(self.layout.events))
        ]
        events = pa.RecordBatch.from_arrays(columns, schema=self.layout.events)
        return _ordered(events, codes, lengths.astype(np.int64), self.codes.group_of, self.orders)

    def _merged(self) -> Iterator[Sorted]:
        """Yield the runs' events in order, block by block."""
        places = [0] * len(self._runs)
        while True:
            open_runs = [n for n, run in enumerate(self._runs) if places[n] < len(run.key)]
            if not open_runs:
                return
            ends = self._ends(open_runs, places)
            parts = [self._runs[n].slice(places[n], ends[n]) for n in open_runs]
            for n in open_runs:
                places[n] = ends[n]
            yield self._block([part for part in parts if len(part.key)])

    def _ends(self, open_runs: list[int], places: list[int]) -> dict[int, int]:
        """Return how far each run can be read so that nothing that is left belongs before it.

        The pivot is the least of the runs' events one block on; all before it are read. Where none
        is before it, its moment is longer than a block, and is read whole.
        """
        far = [n for n in open_runs if places[n] + self.block_rows < len(self._runs[n].key)]
        if not far:
            return {n: len(self._runs[n].key) for n in open_runs}
        pivot = min(_place_of(self._runs[n], places[n] + self.block_rows) for n in far)
        ends = {n: _search(self._runs[n], pivot, places[n], side="left") for n in open_runs}
        if all(ends[n] == places[n] for n in open_runs):
            ends = {n: _search(self._runs[n], pivot, places[n], side="right") for n in open_runs}
        return ends

    def _block(self, parts: list[Sorted]) -> Sorted:
        """Return parts of runs as one."""
        keys = np.concatenate([part.key for part in parts])
        borders = np.cumsum([0, *(len(part.key) for part in parts)])
        starts = np.union1d(np.flatnonzero(np.diff(keys, prepend=-1)), borders[:-1])
        lengths = np.diff(np.append(starts, len(keys)))
        columns = [
            pa.concat_arrays([part.events.column(n) for part in parts])
            for n in range(len(self.layout.events))
        ]
        events = pa.RecordBatch.from_arrays(columns, schema=self.layout.events)
        ordering = _ordered(events, keys[starts], lengths, self.codes.group_of, self.orders)
        return ordering.take(0, len(keys))

    def _spill(self) -> None:
        """Order the blobs that wait, and write them as a run."""
        ordering = self._ordering()
        self._blobs, self._bytes = [], 0
        self._runs.append(self._written(ordering.take(0, len(ordering.rows))))

    def _written(self, run: Sorted) -> Sorted:
        """Return a run whose rows lie in a file."""
        schema = self.layout.events
        schema = schema.insert(0, pa.field("key", pa.int32()))
        schema = schema.insert(0, pa.field("group", pa.int32()))
        where = local_directory()
        try:
            with tempfile.TemporaryFile(dir=where) as file:  # without a name: it goes when we do
                columns = [pa.array(run.group), pa.array(run.key), *run.events.columns]
                sink = pa.PythonFile(file, "w")
                with pa.ipc.new_file(sink, schema) as writer:
                    # one batch a file, so that a column is one piece of memory
                    writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
                file.flush()
                size = file.tell()
                mapped = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
        except OSError as error:
            raise InputError(
                f"Events of a partition that do not fit in memory cannot be kept in '{where}': "
                f"{error.strerror or error}. Make room there, name another disk with Spark's "
                "spark.local.dir, use more partitions (spark.sql.shuffle.partitions), or allow "
                "more memory (spark.elsinore.taskMemory)."
            ) from error
        self.spilled_bytes += size
        batch = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))).get_batch(0)
        group, key, *columns = batch.columns
        events = pa.RecordBatch.from_arrays(columns, schema=self.layout.events)
        return Sorted(group.to_numpy(), key.to_numpy(), events)


def together(first: Merging, second: Merging) -> Iterator[tuple[Sorted, Sorted]]:
    """Yield what two of one numbering have in order: pairs, all of one before all of the next."""
    one, other = first.batches(), second.batches()
    nothing = Sorted.none(first.layout), Sorted.none(second.layout)
    left, right = next(one, None), next(other, None)
    while left is not None and right is not None:
        left_end, right_end = _place_of(left, -1), _place_of(right, -1)
        end = min(left_end, right_end)
        rows = _search(left, end, 0, side="right"), _search(right, end, 0, side="right")
        yield left.slice(0, rows[0]), right.slice(0, rows[1])
        left, right = left.slice(rows[0], len(left.key)), right.slice(rows[1], len(right.key))
        left = left if len(left.key) else next(one, None)
        right = right if len(right.key) else next(other, None)
    while left is not None:
        yield left, nothing[1]
        left = next(one, None)
    while right is not None:
        yield nothing[0], right
        right = next(other, None)


def local_directory() -> str:
    """Return a folder on a disk of this machine: one of Spark's, else the system's."""
    named = [name for name in os.environ.get(LOCAL_DIRECTORIES, "").split(",") if name]
    named = [name for name in named if os.path.isdir(name)]
    return named[os.getpid() % len(named)] if named else tempfile.gettempdir()


@dataclass(slots=True)
class _Ordering:
    """Events and the order they are to have."""

    events: pa.RecordBatch
    rows: Ints
    group: Codes  # of the rows, in order
    key: Codes

    def take(self, start: int, stop: int) -> Sorted:
        rows = pa.array(self.rows[start:stop])
        return Sorted(self.group[start:stop], self.key[start:stop], self.events.take(rows))

    def batches(self, rows: int) -> Iterator[Sorted]:
        for start in range(0, len(self.rows), rows):
            yield self.take(start, min(start + rows, len(self.rows)))


def _ordered(
    events: pa.RecordBatch, codes: Codes, lengths: Ints, group_of: Codes, orders: Sequence[str]
) -> _Ordering:
    """Return the order of events that lie as stretches of one key each.

    codes, lengths: [stretch] -> its key, and how many events it has.
    """
    present = np.unique(codes)
    by_group = present[np.argsort(group_of[present], kind="stable")]
    ranks = np.empty(len(group_of), dtype=np.int32)
    ranks[by_group] = np.arange(len(by_group), dtype=np.int32)
    times = events.column("time").to_numpy()
    of_stretch = ranks[codes]
    rows = merged_order(of_stretch, lengths, len(by_group), times)
    counts = np.bincount(of_stretch, weights=lengths, minlength=len(by_group)).astype(np.int64)
    key = np.repeat(by_group, counts)
    if orders:
        rows = with_ties_ordered(rows, key, times[rows], [events.column(name) for name in orders])
    return _Ordering(events, rows, group_of[key], key)


def _place_of(run: Sorted, row: int) -> tuple[int, int, int]:
    """Return what an event's place in the order depends on."""
    return int(run.group[row]), int(run.key[row]), int(run.times[row])


def _search(run: Sorted, pivot: tuple[int, int, int], start: int, *, side: str) -> int:
    """Return where in a run, from `start` on, events of the pivot's place begin or end."""
    low, high = start, len(run.key)
    columns: tuple[NDArray[Any], ...] = (run.group, run.key, run.times)
    for values, wanted in zip(columns, pivot, strict=True):
        part = values[low:high]
        first, last = (low + int(np.searchsorted(part, wanted, side=s)) for s in ("left", "right"))
        low, high = first, last
    return low if side == "left" else high
