"""Tasks that read row groups with Arrow, and classify, filter and pack the events.

They replace Spark's evaluation of columns (`elsinore.spark.passes.selected_events`), with equal
events, classes and values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import whole
from elsinore.errors import InputError
from elsinore.plan import Unit
from elsinore.runtime.columnar import Packing
from elsinore.runtime.options import RunOptions
from elsinore.runtime.times import to_ticks
from elsinore.runtime.travelling import ClassFilter, as_text, refuse_unusable, select_events
from elsinore.spark.combining import CombineEvents
from elsinore.spark.scan.computed import NOTHING_COMPUTED, ComputedColumns
from elsinore.spark.scan.conditions import NotSimpleError
from elsinore.spark.scan.files import HERE, FileColumn, RowGroup, open_file, read
from elsinore.spark.scan.ranges import MOST_ROWS, PIECE_ROWS, pieces_of
from elsinore.spark.scan.storage import Storage
from elsinore.spark.statistics import (
    StatisticsAccumulator,
    TypesAccumulator,
    count,
    partition,
)


@dataclass(frozen=True, slots=True)
class Opens:
    """Opens a file in a task and yields the error, if there is one."""

    file: str
    storage: Storage

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row with the reason, if there is one."""
        for _ in batches:
            try:
                open_file(self.file, self.storage).close()
            except (InputError, NotSimpleError) as error:
                yield pa.RecordBatch.from_pydict({"reason": [str(error)]})


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanAndPack:
    """Reads row groups and packs their events: `mapInArrow` calls it with numbers of `splits`.

    `columns` are read from the files, `computed` are added to them; `names` maps the events' names
    of both to those in the table. With `combine`, the events of each of a split's `pieces` are
    combined separately; `statistics` receives their number, `types` the number of events by type.
    """

    splits: tuple[tuple[RowGroup, ...], ...]
    columns: tuple[FileColumn, ...]
    names: Mapping[str, str]
    dictionary_columns: frozenset[str]  # text columns that remain dictionaries
    condition: Any
    units: tuple[Unit, ...]
    options: RunOptions
    packing: Packing
    storage: Storage = HERE
    computed: ComputedColumns = NOTHING_COMPUTED
    combine: CombineEvents | None = None
    statistics: StatisticsAccumulator | None = None
    types: TypesAccumulator | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of the splits with the given numbers."""
        self.computed.prepare()
        seen: Counter[str] | None = None if self.types is None else Counter()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if self.combine is None:
                    yield from self.packing(self.selected(self.splits[number], seen))
                else:
                    yield from self._combined(number, self.combine, seen)
        if self.types is not None and seen is not None:
            self.types.add({partition(): dict(seen)})
        if self.combine is not None and self.statistics is not None:
            count(self.statistics, self.combine.statistics, mapping=True)

    def _combined(
        self, number: int, combine: CombineEvents, seen: Counter[str] | None
    ) -> Iterator[pa.RecordBatch]:
        for piece in pieces_of(self.splits[number]):
            for events, whole_moments in self._chunks(piece, seen):
                if whole_moments:
                    yield from self.packing.combined(events, combine)
                else:
                    yield from self.packing(events)

    def _chunks(
        self, piece: Sequence[RowGroup], seen: Counter[str] | None
    ) -> Iterator[tuple[list[pa.RecordBatch], bool]]:
        """Yield the events of a piece in chunks, and whether a chunk is complete at its times.

        Complete means that it has all of the piece's events at these times, so it can be combined.
        A piece that does not fit in memory is cut in time.
        """
        large = sum(group.rows for group in piece) > MOST_ROWS
        cuts = self._cuts(piece) if large else np.zeros(0, np.int64)
        waiting: list[pa.RecordBatch] = []
        chunk, rows = 0, 0
        for batch in self.selected(piece, seen):
            chunks = np.searchsorted(cuts, batch.column("time").to_numpy(), side="right")
            starts = np.flatnonzero(np.diff(chunks, prepend=-1)).tolist()
            for start, stop in pairwise([*starts, batch.num_rows]):
                if chunks[start] != chunk:
                    if waiting:
                        yield waiting, rows <= MOST_ROWS
                    chunk, rows, waiting = int(chunks[start]), 0, []
                waiting.append(batch.slice(start, stop - start))
                rows += stop - start
                if large and rows > MOST_ROWS:  # and more of them are to come
                    yield waiting, False
                    waiting = []
        if waiting:
            yield waiting, rows <= MOST_ROWS or not large

    def _cuts(self, piece: Sequence[RowGroup]) -> NDArray[np.int64]:
        """Return times at which a piece can be cut: earlier rows are before them, later not.

        If batches are in time order, there is one about every `PIECE_ROWS` events.
        """
        options = self.options
        name = self.names[options.time]
        column = next(column for column in self.columns if column.name == name)
        bounds = []
        for table in read(piece, (column,), frozenset(), None, self.storage):
            ticks, _ = to_ticks(
                whole(table.column(name)),
                options.time_unit,
                options.clock.per_microsecond,
                options.largest_time,
            )
            ends = pc.min_max(ticks)
            if ends["min"].is_valid:
                bounds.append((ends["min"].as_py(), ends["max"].as_py(), table.num_rows))
        first, last, rows = np.array(bounds, np.int64).reshape(len(bounds), 3).T
        before = np.maximum.accumulate(last)
        after = np.minimum.accumulate(first[::-1])[::-1]
        cuts, waiting = [], 0
        for number in range(1, len(bounds)):
            waiting += int(rows[number - 1])
            if waiting + rows[number] > PIECE_ROWS and before[number - 1] < after[number]:
                cuts.append(int(after[number]))
                waiting = 0
        return np.array(cuts, np.int64)

    def again(self, partitions: Sequence[int]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of some partitions, of all splits, without combining events."""
        alone = replace(self, combine=None, statistics=None, types=None)
        partition_numbers = pa.array(partitions, pa.int32())
        numbers = pa.RecordBatch.from_pydict({"id": pa.array(range(len(self.splits)), pa.int64())})
        for blobs in alone([numbers]):
            yield blobs.filter(pc.is_in(blobs.column("pid"), partition_numbers))

    def selected(
        self, groups: Sequence[RowGroup], seen: Counter[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the travelling events of row groups; `seen` counts all events by type."""
        interests = [ClassFilter(unit) for unit in self.units]
        for table in read(
            groups, self.columns, self.dictionary_columns, self.condition, self.storage
        ):
            if table.num_rows:
                if seen is not None:
                    types = whole(table.column(self.names[self.options.type]))
                    type_counts = pc.value_counts(as_text(types))
                    pairs = zip(*(part.to_pylist() for part in type_counts.flatten()), strict=True)
                    seen.update({name: rows for name, rows in pairs if name is not None})
                events = self.computed.added_to(table)
                yield from self._travelling(events, interests).to_batches()

    def _travelling(self, table: pa.Table, interests: Sequence[ClassFilter]) -> pa.Table:
        """Return the travelling events of a table. Raises InputError for unusable events."""
        options = self.options

        def read(name: str) -> pa.Array:
            return whole(table.column(self.names[name]))

        time, types = read(options.time), read(options.type)
        ticks, _ = to_ticks(
            time, options.time_unit, options.clock.per_microsecond, options.largest_time
        )
        if not options.allow_rejects:
            refuse_unusable(time, ticks, types)
        orders = [read(name) for name in options.order_by]
        return select_events(self.units, interests, read, ticks, types, orders)
