"""The map side of the shuffle: packing events into blobs by key and partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.numeric.sorting import rows_by_code
from elsinore.runtime.chunks import same_floats
from elsinore.runtime.columnar.blobs import Layout, encode
from elsinore.runtime.columnar.hashing import hash_rows
from elsinore.runtime.columnar.stretches import Stretches
from elsinore.runtime.keys import encode_keys
from elsinore.runtime.simultaneous import DISORDERED, order_of

CHUNK_ROWS = 1 << 20  # events that are sorted at once; with more, each key has longer runs
CHUNK_BYTES = 1 << 25  # as above, of their columns; a task holds about four times as much
BLOB_BYTES = 1 << 22  # a blob's events; Spark copies whole rows


class CombinedChunk(NamedTuple):
    """The events of a chunk that are sent one by one, and the actions that replace the others."""

    remaining: NDArray[np.bool_]  # [row] -> whether the event travels
    events: pa.RecordBatch  # those that do
    key: NDArray[np.int64]  # [action] -> the place of its key
    actions: pa.RecordBatch


class CombinesEvents(Protocol):
    """Replaces events by actions if that is cheaper than sending the events."""

    @property
    def layout(self) -> pa.Schema:
        """The columns of actions, which begin with `time`."""

    def __call__(self, starts: NDArray[np.int64], events: pa.RecordBatch) -> CombinedChunk:
        """Combine events; rows starts[key] to starts[key + 1] - 1 are a key's, in time order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """Splits events by key into blobs, each bound for one partition.

    Calling it with batches that have the layout's columns of keys and events yields rows
    (`pid`, `blob`): all events of a key have one `pid`, below `partitions`, whichever task packs
    them. A blob's events are key after key, each key's in time order; simultaneous ones keep
    their order. Memory is that of a few chunks, however many events come. rows_per_task: the number
    of rows that Spark gives a task at once, whatever their size.

    With `stretches`, a key's events have one `pid` for each of its stretches of time, and events
    in windows of two stretches travel twice.
    """

    layout: Layout
    partitions: int
    stretches: Stretches | None = None
    chunk_rows: int = CHUNK_ROWS
    chunk_bytes: int = CHUNK_BYTES
    blob_bytes: int = BLOB_BYTES
    rows_per_task: int = 0

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of batches of events."""
        for chunk in self._chunks(batches):
            yield encode(list(self._blobs(*self._by_key(chunk))), rows_per_task=self.rows_per_task)

    def _chunks(self, batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        for whole in batches:
            for start in range(0, whole.num_rows, self.chunk_rows):
                batch = whole.slice(start, self.chunk_rows)
                waiting.append(batch)
                rows += batch.num_rows
                size += batch.nbytes
                if rows >= self.chunk_rows or size >= self.chunk_bytes:
                    yield waiting
                    waiting, rows, size = [], 0, 0
        if rows:
            yield waiting

    def combined(
        self, chunk: list[pa.RecordBatch], combine: CombinesEvents
    ) -> Iterator[pa.RecordBatch]:
        """Yield the blobs of a chunk, combining events where that is cheaper; empties the chunk."""
        targets, starts, keys, events = self._by_key(chunk)
        combined_rows = combine(starts, events)
        remaining = np.concatenate(([0], np.cumsum(combined_rows.remaining)))[starts]
        counts = np.bincount(combined_rows.key, minlength=len(keys[0]) if keys else 1)
        action_starts = np.concatenate(([0], np.cumsum(counts)))
        for is_of_actions, bounds, rows in (
            (False, remaining, combined_rows.events),
            (True, action_starts, combined_rows.actions),
        ):
            if rows.num_rows:
                nonempty = np.flatnonzero(np.diff(bounds))
                some = [column.take(pa.array(nonempty)) for column in keys]
                begins = np.append(bounds[nonempty], rows.num_rows)
                blobs = list(self._blobs(targets[nonempty], begins, some, rows))
                yield encode(blobs, acted=is_of_actions, rows_per_task=self.rows_per_task)

    def _by_key(
        self, chunk: list[pa.RecordBatch]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[pa.Array], pa.RecordBatch]:
        """Return each key's partition, first row and values; and the events.

        Memory holds the events twice, so the chunk is emptied before and dropped after.
        """
        table = pa.Table.from_batches(chunk)
        chunk.clear()
        table = table.combine_chunks()
        values = [same_floats(_whole(table.column(name))) for name in self.layout.keys.names]
        key_codes = encode_keys(values, [], [], table.num_rows)
        codes = np.flatnonzero(key_codes.example >= 0)
        distinct = [column.take(pa.array(key_codes.example[codes])) for column in values]
        hashes = (hash_rows(distinct, len(codes)) % np.uint64(self.partitions)).astype(np.int64)
        places = np.argsort(hashes, kind="stable")
        ranks = np.full(len(key_codes.example), -1, dtype=np.int32)
        ranks[codes[places]] = np.arange(len(codes), dtype=np.int32)
        key, targets = ranks[key_codes.group], hashes[places]
        times = table.column("time").to_numpy()
        order, starts = _by_key_and_time(key, len(codes), times)
        if self.stretches is not None and self.partitions > 1 and len(order):
            parts = self.stretches.parts(starts, times[order])
            order, starts, key_of_part, targets = self._spread(order, targets, *parts)
            places = places[key_of_part]
        rows = pa.array(order)
        events = pa.RecordBatch.from_arrays(
            [
                _plain(_whole(table.column(field.name)), field.type).take(rows)
                for field in self.layout.events
            ],
            schema=self.layout.events,
        )
        keys = [
            _plain(column, field.type).take(pa.array(places))
            for column, field in zip(distinct, self.layout.keys, strict=True)
        ]
        return targets, starts, keys, events

    def _spread(
        self,
        order: NDArray[np.int64],
        targets: NDArray[np.int64],
        firsts: NDArray[np.int64],
        lengths: NDArray[np.int64],
        key: NDArray[np.int64],
        stretch: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return rows by partition, key and time, and the parts' starts, keys and targets.

        order: rows by key and time; targets: [key] -> the partition of its first stretch; the
        rest: of parts of the rows, see `Stretches.parts`.
        """
        bound_for = (targets[key] + stretch) % self.partitions
        by = np.lexsort((firsts, key, bound_for))
        bound_for, key, lengths = bound_for[by], key[by], lengths[by]
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1]) + np.repeat(firsts[by] - ends + lengths, lengths)
        new_parts = np.flatnonzero(np.diff(bound_for, prepend=-1) | np.diff(key, prepend=-1))
        starts = np.append((ends - lengths)[new_parts], ends[-1])
        return order[places], starts, key[new_parts], bound_for[new_parts]

    def _blobs(
        self,
        targets: NDArray[np.int64],
        starts: NDArray[np.int64],
        keys: list[pa.Array],
        events: pa.RecordBatch,
    ) -> Iterator[tuple[int, pa.RecordBatch, pa.RecordBatch]]:
        """Yield each partition's blobs; a long one is cut, within a key if need be."""
        width = max(1, events.nbytes // max(1, events.num_rows))
        max_rows = max(1, self.blob_bytes // width)
        edges = np.flatnonzero(np.diff(targets, prepend=-1, append=-1))
        for first_key, end_key in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            target = int(targets[first_key])
            end = int(starts[end_key])
            for start in range(int(starts[first_key]), end, max_rows):
                stop = min(start + max_rows, end)
                first = int(np.searchsorted(starts, start, side="right")) - 1
                last = int(np.searchsorted(starts, stop, side="left"))
                bounds = np.clip(starts[first : last + 1], start, stop)
                counts = pa.array(np.diff(bounds).astype(np.int32))
                columns = [column.slice(first, last - first) for column in keys]
                keys_of_blob = pa.RecordBatch.from_arrays(
                    [*columns, counts], schema=self.layout.keys_with_counts
                )
                yield target, keys_of_blob, events.slice(start, stop - start)


def _by_key_and_time(
    ranks: NDArray[np.int32], keys: int, times: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows ordered by key and time, and the first row of each key; [key + 1]."""
    times = np.ascontiguousarray(times)
    if order_of(times) != DISORDERED:
        return rows_by_code(ranks, keys)
    by_time = np.argsort(times, kind="stable")
    order, starts = rows_by_code(ranks[by_time], keys)
    return by_time[order], starts


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _plain(column: pa.Array, kind: Any) -> pa.Array:
    """Return a column as the type in which it is shuffled."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return column if column.type == kind else column.cast(kind)
