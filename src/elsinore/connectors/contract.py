"""The contract of sources of live events: offsets, micro-batches, splits, and reading them.

A driver repeats, from an offset that it keeps in its checkpoint:

    end = source.advance(start, limit)        # admission control; durable on return
    for split in source.splits(start, end):   # may be sent to other processes
        part = source.reader.read(split)      # an Arrow table, and the records that are rejected
    start = end                               # after the batch's results were written

Offsets are small dicts that JSON can represent. `splits(start, end)` and reading them return the
same rows each time, in any process and after any crash, so a batch can be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

Offset: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Limit:
    """The maximum size of a micro-batch; None means no limit.

    At least one indivisible unit (a row group, a text file, a message) is admitted. A source
    ignores limits that do not apply: Kafka has no files.
    """

    files: int | None = None
    rows: int | None = None


NO_LIMIT = Limit()


class Split(Protocol):
    """One piece of a micro-batch, which one task reads; it can be pickled."""

    @property
    def partition(self) -> str:
        """The source's partition of the rows; each has a separate watermark."""

    @property
    def rows(self) -> int:
        """The number of rows, possibly an estimate before reading."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The result of reading a split.

    `rejects` has the columns of `rejects.REJECTS`; `tombstones` counts Kafka messages without a
    value, which mark a deletion and are not events.
    """

    events: pa.Table
    rejects: pa.Table
    tombstones: int = 0


class Reader(Protocol):
    """Reads splits; it can be pickled, and opens connections where it reads."""

    def read(self, split: Any) -> Part:
        """Return the rows of a split. Raise InputError if they are no longer available."""

    def close(self) -> None:
        """Close the connections."""


class StreamSource(Protocol):
    """A source of live events, for the process that plans micro-batches."""

    @property
    def name(self) -> str:
        """The source's name in messages."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of all tables that the reader returns."""

    @property
    def reader(self) -> Reader:
        """The reader of splits."""

    def first(self) -> Offset:
        """Return the offset at which a new stream begins."""

    def available(self) -> Offset:
        """Return the offset after everything that can be read now."""

    def advance(
        self, start: Offset, limit: Limit = NO_LIMIT, until: Offset | None = None
    ) -> Offset:
        """Return the end of the micro-batch that begins at `start`; `start` if it is empty.

        The batch ends at `until`, an offset that `available` returned, at the latest.
        """

    def splits(self, start: Offset, end: Offset) -> Sequence[Split]:
        """Return the splits between two offsets."""

    def lag(self, start: Offset) -> Mapping[str, int]:
        """Return the number of unread rows of each partition (of text files: an estimate).

        A partition with lag 0 is idle.
        """

    def close(self) -> None:
        """Close the connections."""


class Sink(Protocol):
    """A destination of results; writing a micro-batch again replaces its rows."""

    def write(self, query: str, batch: int, rows: pa.Table) -> object:
        """Write the rows of a query, at least one."""

    def discard(self, query: str, batch: int) -> object:
        """Remove a query's rows of an earlier attempt at a micro-batch in which it has no rows."""

    def flush(self) -> None:
        """Wait until everything is written durably."""

    def close(self) -> None:
        """Release open files and connections."""


def balance(splits: Sequence[Any], tasks: int) -> list[list[Any]]:
    """Distribute splits to at most `tasks` nonempty lists with similar numbers of rows.

    >>> from elsinore.connectors.folder import FileSplit
    >>> sizes = [5, 1, 1, 1, 1, 1]
    >>> files = [FileSplit(path=str(n), size=0, modified=0, rows=n) for n in sizes]
    >>> [[file.rows for file in task] for task in balance(files, 2)]
    [[5], [1, 1, 1, 1, 1]]
    """
    loads = [0] * max(1, min(tasks, len(splits)))
    lists: list[list[Any]] = [[] for _ in loads]
    places = sorted(range(len(splits)), key=lambda place: -splits[place].rows)
    chosen: list[list[int]] = [[] for _ in loads]
    for place in places:
        task = loads.index(min(loads))
        loads[task] += max(1, splits[place].rows)
        chosen[task].append(place)
    for task, members in enumerate(chosen):
        lists[task] = [splits[place] for place in sorted(members)]
    return [members for members in lists if members]
