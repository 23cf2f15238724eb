"""Blobs: some keys' events as bytes, without a schema, which sender and receiver share.

A blob is two messages of Arrow's IPC format one after the other: the keys, each with how many
events it has, and the events, key after key, each key's in time order.

Spark gives a task so many rows at once, however large they are where nobody limits their bytes (to
add them up takes it as long as all else). So that a partition's blobs do not come all at once, each
is followed by empty rows, as many as its share of what a task is to be given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

GIVEN_BYTES = 1 << 25  # of blobs that Spark gives a task at once, about
EVENTS_OF_KEY = "events"  # the column of a blob's keys that says how many events each has
# What Spark shuffles; `acted`: the blob holds actions of events (`elsinore.operators.panes`).
TRAVELS = pa.schema([("pid", pa.int32()), ("blob", pa.binary()), ("acted", pa.bool_())])


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of keys, and those of events, which begin with `time` (int64)."""

    keys: pa.Schema
    events: pa.Schema

    @property
    def counted(self) -> pa.Schema:
        """The columns of a blob's keys: theirs, and how many events each has."""
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
    given_rows: int = 0,
) -> pa.RecordBatch:
    """Return rows that travel; each blob is (partition, keys with counts, events or actions).

    given_rows: how many rows Spark gives a task at once; 0 where it heeds their size.
    """
    sink = pa.BufferOutputStream()
    ends, targets = [0], []
    for target, keys, events in blobs:
        sink.write(keys.serialize())
        sink.write(events.serialize())
        end = sink.tell()
        rows = 1 + rows_beside(end - ends[-1], given_rows)
        ends += [end] * rows
        targets += [target] * rows
    offsets = pa.py_buffer(np.array(ends, dtype=np.int32))
    column = pa.Array.from_buffers(pa.binary(), len(targets), [None, offsets, sink.getvalue()])
    flags = pa.array(np.full(len(targets), acted))
    columns = [pa.array(targets, pa.int32()), column, flags]
    return pa.RecordBatch.from_arrays(columns, schema=TRAVELS)


def rows_beside(size: int, given_rows: int) -> int:
    """Return how many empty rows follow a blob of so many bytes.

    given_rows: how many rows Spark gives a task at once; 0 where it heeds their size.

    >>> rows_beside(GIVEN_BYTES // 4, 1000)
    250
    """
    return size * given_rows // GIVEN_BYTES


def decode(layout: Layout, column: pa.Array) -> Iterator[Blob]:
    """Yield the blobs of a binary column; their columns are views of its bytes."""
    _, starts, data = column.buffers()
    width = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    offsets = np.frombuffer(starts, dtype=width)[column.offset : column.offset + len(column) + 1]
    there = np.flatnonzero(np.diff(offsets))
    for first, last in zip(offsets[there].tolist(), offsets[there + 1].tolist(), strict=True):
        source = pa.BufferReader(data.slice(first, last - first))
        keys, events = pa.ipc.read_message(source), pa.ipc.read_message(source)
        yield Blob(
            pa.ipc.read_record_batch(keys, layout.counted),
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
