"""Sorted events, in memory or as *runs*: files on local disk, mapped into memory, read once.

A run takes none of a process's own memory: its pages are the file's, and those that have been read
are given back.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.spark.columnar.blobs import Layout

LOCAL_DIRECTORIES = "SPARK_LOCAL_DIRS"  # what Spark tells its Python workers
PAGE = mmap.ALLOCATIONGRANULARITY

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Place = tuple[int, int, int]  # of an event in the order: its group, key and time


@dataclass(frozen=True)
class Sorted:
    """Events in order: by group, key and time; `events` has a row for each of `group`."""

    group: Codes
    key: Codes
    events: pa.RecordBatch

    @cached_property
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

    def place(self, row: int) -> Place:
        """Return what an event's place in the order depends on."""
        return int(self.group[row]), int(self.key[row]), int(self.times[row])

    def search(self, place: Place, start: int, *, side: str) -> int:
        """Return where, from row `start` on, events of a place begin or end."""
        low, high = start, len(self.key)
        columns: tuple[NDArray[Any], ...] = (self.group, self.key, self.times)
        for values, wanted in zip(columns, place, strict=True):
            # of the column's own type: for another NumPy would copy all of it
            one = values.dtype.type(wanted)
            low, high = (
                low + int(np.searchsorted(values[low:high], one, side=s)) for s in ("left", "right")
            )
        return low if side == "left" else high


@dataclass(slots=True)
class Run:
    """Sorted events in a file, of which those before row `read` have been read."""

    rows: Sorted
    size: int  # of the file, in bytes
    _pages: mmap.mmap
    read: int = 0
    head: Place = field(init=False)  # of the first that has not been read

    def __post_init__(self) -> None:
        self.head = self.rows.place(0)

    @property
    def left(self) -> int:
        """How many rows have not been read."""
        return len(self.rows.key) - self.read

    def taken(self, end: int) -> Sorted:
        """Return the rows before `end` that have not been read, as views of the file."""
        taken = self.rows.slice(self.read, end)
        self.read = end
        if self.left:
            self.head = self.rows.place(end)
        return taken

    def give_back(self) -> None:
        """Let go of the pages that were read; whatever is read again comes from the file."""
        self._pages.madvise(mmap.MADV_DONTNEED)


def write_run(layout: Layout, columns: Iterator[Callable[[], pa.Array]]) -> Run:
    """Write a run: codes of groups, codes of keys, and the columns of events, one at a time.

    Each column is made when it is written, so that memory holds one of them. Raises InputError
    where the disk is full.
    """
    where = local_directory()
    places = []
    names = ["group", "key", *layout.events.names]
    kinds = [pa.int32(), pa.int32(), *layout.events.types]
    schemas = [pa.schema([pair]) for pair in zip(names, kinds, strict=True)]
    try:
        with tempfile.TemporaryFile(dir=where) as file:  # without a name: it goes when we do
            for schema, made in zip(schemas, columns, strict=True):
                message = pa.RecordBatch.from_arrays([made()], schema=schema).serialize()
                places.append((file.tell(), message.size))
                file.write(message)
                file.write(bytes(-message.size % PAGE))
                del message
            file.flush()
            size = file.tell()
            pages = mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)
    except OSError as error:
        raise InputError(
            f"Events of a partition that do not fit in memory cannot be kept in '{where}': "
            f"{error.strerror or error}. Make room there, name another disk with Spark's "
            "spark.local.dir, use more partitions (spark.sql.shuffle.partitions), or allow "
            "more memory (spark.elsinore.taskMemory)."
        ) from error
    whole = pa.py_buffer(pages)
    group, key, *events = (
        pa.ipc.read_record_batch(whole.slice(*place), schema).column(0)
        for place, schema in zip(places, schemas, strict=True)
    )
    batch = pa.RecordBatch.from_arrays(events, schema=layout.events)
    return Run(Sorted(group.to_numpy(), key.to_numpy(), batch), size, pages)


def next_of(runs: list[Run], rows: int) -> list[Sorted]:
    """Take about `rows` rows at most of some runs: those that come before all that is left.

    The pivot is the least of the runs' events a block on, a block being so many rows over the runs
    that have any of them; what is before it is taken. Where nothing is, its moment is longer than
    a block, and is taken whole. Nothing is left of no runs.
    """
    runs = sorted((run for run in runs if run.left), key=lambda run: run.head)
    _, near = _pivot(runs, rows)
    pivot, near = _pivot(near, max(1, rows // max(1, len(near))))
    if pivot is None:
        return [run.taken(len(run.rows.key)) for run in near]
    side = "left" if any(run.head < pivot for run in near) else "right"
    ends = [run.rows.search(pivot, run.read, side=side) for run in near]
    return [run.taken(end) for run, end in zip(near, ends, strict=True) if end > run.read]


def _pivot(runs: list[Run], block: int) -> tuple[Place | None, list[Run]]:
    """Return the least of runs' events a block on, None if all end before; and who has any by then.

    runs: in the order of their heads.
    """
    pivot: Place | None = None
    for number, run in enumerate(runs):
        if pivot is not None and run.head > pivot:
            return pivot, runs[:number]
        if run.left > block:
            place = run.rows.place(run.read + block)
            pivot = place if pivot is None else min(pivot, place)
    return pivot, runs


def local_directory() -> str:
    """Return a folder on a disk of this machine: one of Spark's, else the system's."""
    named = [name for name in os.environ.get(LOCAL_DIRECTORIES, "").split(",") if name]
    named = [name for name in named if os.path.isdir(name)]
    return named[os.getpid() % len(named)] if named else tempfile.gettempdir()
