"""Sorted events, in memory or as *runs*: stretches of a file on local disk, read chunk by chunk."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.runtime.columnar.blobs import Layout

LOCAL_DIRECTORIES = "SPARK_LOCAL_DIRS"  # set by Spark for its Python workers

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Place = tuple[int, int, int]  # of an event in the order: its group, key and time


@dataclass(frozen=True)
class SortedEvents:
    """Events in order: by group, key and time; `events` has a row for each of `group`."""

    group: Codes
    key: Codes
    events: pa.RecordBatch

    @cached_property
    def times(self) -> Ints:
        """The events' times."""
        return np.asarray(self.events.column("time").to_numpy())

    @classmethod
    def empty(cls, layout: Layout) -> SortedEvents:
        """Return a batch without events."""
        codes = np.zeros(0, np.int32)
        columns = [pa.array([], field.type) for field in layout.events]
        return cls(codes, codes, pa.RecordBatch.from_arrays(columns, schema=layout.events))

    def slice(self, start: int, stop: int) -> SortedEvents:
        """Return some of the rows, as views."""
        return SortedEvents(
            self.group[start:stop], self.key[start:stop], self.events.slice(start, stop - start)
        )

    def place(self, row: int) -> Place:
        """Return the sort key of an event: its group, key and time."""
        return int(self.group[row]), int(self.key[row]), int(self.times[row])

    def search(self, place: Place, start: int, *, side: str) -> int:
        """Return the first row from `start` on that is not before `place` (or is after it)."""
        low, high = start, len(self.key)
        columns: tuple[NDArray[Any], ...] = (self.group, self.key, self.times)
        for values, value in zip(columns, place, strict=True):
            # of the column's own type: for another NumPy would copy all of it
            needle = values.dtype.type(value)
            low, high = (
                low + int(np.searchsorted(values[low:high], needle, side=s))
                for s in ("left", "right")
            )
        return low if side == "left" else high


@dataclass(slots=True, kw_only=True)
class Run:
    """Sorted events in a file, as chunks; only the current chunk is in memory.

    The file is read, not memory-mapped: mapped pages count as the process's memory, and the kernel
    maps megabytes around each page.
    """

    schema: pa.Schema
    file: IO[bytes]
    places: list[tuple[int, int, int]]  # of each chunk in the file: where, how long, how many rows
    firsts: list[Place]  # the first event of each chunk
    _ahead: SortedEvents | None = None  # the remaining events of the chunk before `_next`
    _next: int = 0

    @property
    def size(self) -> int:
        """The number of bytes in the file."""
        return sum(size for _, size, _ in self.places)

    @property
    def rows(self) -> int:
        """The number of events in the file, including those that were removed."""
        return sum(rows for _, _, rows in self.places)

    @property
    def head(self) -> Place | None:
        """The sort key of the first remaining event; None if there is none."""
        if self._ahead is not None:
            return self._ahead.place(0)
        return self.firsts[self._next] if self._next < len(self.firsts) else None

    def later(self, block: int) -> Place | None:
        """Return the sort key of an event about `block` rows after the first, or None."""
        number, before = self._next, 0
        if self._ahead is not None:
            before = len(self._ahead.key)
        elif number < len(self.firsts):  # its chunk begins with the first event itself
            before, number = self.places[number][2], number + 1
        while number < len(self.firsts) and before < block:
            before += self.places[number][2]
            number += 1
        return self.firsts[number] if number < len(self.firsts) else None

    def take(self, pivot: Place | None, *, side: str) -> Iterator[SortedEvents]:
        """Take out the events before `pivot` (with side "right": also those at it), or all."""
        while self.head is not None:
            if self._ahead is None:
                if pivot is not None and not _precedes(self.firsts[self._next], pivot, side):
                    return
                self._ahead = self._read(*self.places[self._next][:2])
                self._next += 1
            count = len(self._ahead.key)
            end = count if pivot is None else self._ahead.search(pivot, 0, side=side)
            if end:
                yield self._ahead.slice(0, end)
            if end < count:
                self._ahead = self._ahead.slice(end, count)
                return
            self._ahead = None

    def _read(self, where: int, size: int) -> SortedEvents:
        message = pa.py_buffer(os.pread(self.file.fileno(), size, where))
        batch = pa.ipc.read_record_batch(message, self.schema)
        events = pa.RecordBatch.from_arrays(
            batch.columns[2:], schema=pa.schema(list(self.schema)[2:])
        )
        return SortedEvents(batch.column(0).to_numpy(), batch.column(1).to_numpy(), events)


def _precedes(place: Place, pivot: Place, side: str) -> bool:
    return place <= pivot if side == "right" else place < pivot


@dataclass(slots=True, weakref_slot=True, eq=False)
class Runs:
    """The runs of a partition in one temporary file, which the system deletes with the process."""

    layout: Layout
    runs: list[Run] = field(default_factory=list)
    _file: IO[bytes] | None = None

    def add(self, chunks: Iterable[SortedEvents]) -> None:
        """Write a run, given as chunks. Raises InputError if the disk is full."""
        where = local_directory()
        schema = pa.schema([("group", pa.int32()), ("key", pa.int32()), *self.layout.events])
        places, firsts = [], []
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=where)  # noqa: SIM115 - see below
                weakref.finalize(self, self._file.close)
            for chunk in chunks:
                columns = [pa.array(chunk.group), pa.array(chunk.key), *chunk.events.columns]
                message = pa.RecordBatch.from_arrays(columns, schema=schema).serialize()
                places.append((self._file.tell(), message.size, len(chunk.key)))
                firsts.append(chunk.place(0))
                self._file.write(message)
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"Events of a partition that do not fit in memory cannot be written to '{where}': "
                f"{error.strerror or error}. Make room there, name another disk with Spark's "
                "spark.local.dir, use more partitions (spark.sql.shuffle.partitions), or allow "
                "more memory (spark.elsinore.taskMemory)."
            ) from error
        self.runs.append(Run(schema=schema, file=self._file, places=places, firsts=firsts))

    def next(self, rows: int) -> list[SortedEvents]:
        """Take at most about `rows` rows: events that precede all remaining ones.

        A block is `rows` divided by the number of runs that contribute. The pivot is the least of
        the events one block further in each run; all events before it are taken. If there are
        none, the events at the pivot's time exceed a block and are taken together. An empty result
        means that no events remain.
        """
        heads = sorted(
            ((head, run) for run in self.runs if (head := run.head) is not None),
            key=itemgetter(0),
        )
        _, near = _pivot(heads, rows)
        pivot, near = _pivot(near, max(1, rows // max(1, len(near))))
        side = "left" if pivot is None or any(head < pivot for head, _ in near) else "right"
        return [part for _, run in near for part in run.take(pivot, side=side)]


def _pivot(
    heads: list[tuple[Place, Run]], block: int
) -> tuple[Place | None, list[tuple[Place, Run]]]:
    """Return the least event one block further in each run (None if all end), and its runs.

    heads: runs with their first events, in the order of these.
    """
    pivot: Place | None = None
    for number, (head, run) in enumerate(heads):
        if pivot is not None and head > pivot:
            return pivot, heads[:number]
        place = run.later(block)
        if place is not None:
            pivot = place if pivot is None else min(pivot, place)
    return pivot, heads


def local_directory() -> str:
    """Return a folder on a disk of this machine: one of Spark's, else the system's."""
    directories = [name for name in os.environ.get(LOCAL_DIRECTORIES, "").split(",") if name]
    directories = [name for name in directories if os.path.isdir(name)]
    return directories[os.getpid() % len(directories)] if directories else tempfile.gettempdir()
