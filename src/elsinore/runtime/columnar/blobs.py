"""Encoding some keys' events as bytes (blobs) without a schema, which both sides know.

A blob is two consecutive messages of Arrow's IPC format: the keys with their numbers of events, and
the events, key after key, each key's in time order.

Spark passes a fixed number of rows to a task at once, whatever their size (its limit by bytes would
double the time). So that a partition's blobs do not all arrive at once, each is followed by empty
rows in proportion to its size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

TASK_BYTES = 1 << 25  # approximate bytes of blobs that Spark passes to a task at once
EVENTS_OF_KEY = "events"  # the column of a blob's keys with their numbers of events
# The columns of shuffled rows; `acted`: the blob has actions (`elsinore.operators.panes`).
TRAVELS = pa.schema([("pid", pa.int32()), ("blob", pa.binary()), ("acted", pa.bool_())])


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of keys, and those of events, which begin with `time` (int64)."""

    keys: pa.Schema
    events: pa.Schema

    @property
    def keys_with_counts(self) -> pa.Schema:
        """The columns of a blob's keys, and the column of their numbers of events."""
        return self.keys.append(pa.field(EVENTS_OF_KEY, pa.int32()))


@dataclass(frozen=True, slots=True)
class Blob:
    """The decoded messages of a blob."""

    keys: pa.RecordBatch
    events: pa.RecordBatch


def encode(
    blobs: Sequence[tuple[int, pa.RecordBatch, pa.RecordBatch]],
    *,
    acted: bool = False,
    rows_per_task: int = 0,
) -> pa.RecordBatch:
    """Return the rows to shuffle; each blob is (partition, keys with counts, events or actions).

    rows_per_task: the rows that Spark passes to a task at once; 0 if it limits their bytes instead.
    """
    sink = pa.BufferOutputStream()
    ends, targets = [0], []
    for target, keys, events in blobs:
        sink.write(keys.serialize())
        sink.write(events.serialize())
        end = sink.tell()
        rows = 1 + padding_rows(end - ends[-1], rows_per_task)
        ends += [end] * rows
        targets += [target] * rows
    offsets = pa.py_buffer(np.array(ends, dtype=np.int32))
    column = pa.Array.from_buffers(pa.binary(), len(targets), [None, offsets, sink.getvalue()])
    flags = pa.array(np.full(len(targets), acted))
    columns = [pa.array(targets, pa.int32()), column, flags]
    return pa.RecordBatch.from_arrays(columns, schema=TRAVELS)


def padding_rows(size: int, rows_per_task: int) -> int:
    """Return the number of empty rows that follow a blob of `size` bytes.

    rows_per_task: the rows that Spark passes to a task at once; 0 if it limits their bytes instead.

    >>> padding_rows(TASK_BYTES // 4, 1000)
    250
    """
    return size * rows_per_task // TASK_BYTES


def decode(layout: Layout, column: pa.Array) -> Iterator[Blob]:
    """Yield the blobs of a binary column; their columns are views of its bytes."""
    _, starts, data = column.buffers()
    width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    offsets = np.frombuffer(starts, dtype=width)[column.offset : column.offset + len(column) + 1]
    nonempty = np.flatnonzero(np.diff(offsets))
    for begin, end in zip(offsets[nonempty].tolist(), offsets[nonempty + 1].tolist(), strict=True):
        source = pa.BufferReader(data.slice(begin, end - begin))
        keys, events = pa.ipc.read_message(source), pa.ipc.read_message(source)
        yield Blob(
            pa.ipc.read_record_batch(keys, layout.keys_with_counts),
            pa.ipc.read_record_batch(events, layout.events),
        )


def unpacked_events(layout: Layout, column: pa.Array) -> pa.Table:
    """Return the events of a binary column of blobs, with the columns of their keys."""
    schema = pa.schema([*layout.keys, *layout.events])
    tables = [schema.empty_table()]
    for blob in decode(layout, column):
        counts = blob.keys.column(EVENTS_OF_KEY).to_numpy()
        rows = pa.array(np.repeat(np.arange(len(counts)), counts))
        keys = [blob.keys.column(name).take(rows) for name in layout.keys.names]
        tables.append(pa.table([*keys, *blob.events.columns], schema=schema))
    return pa.concat_tables(tables)
