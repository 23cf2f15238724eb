"""Storing partial outputs in a worker until their groups are complete."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

import pyarrow as pa

from elsinore.errors import InputError
from elsinore.runtime.columnar import local_directory


@dataclass(slots=True, kw_only=True)
class Waiting:
    """Partial outputs of incomplete groups, by query; on disk beyond a memory limit."""

    memory: int
    _batches: dict[int, list[pa.RecordBatch]] = field(default_factory=dict)
    _bytes: int = 0  # in memory
    _file: IO[bytes] | None = None
    _spilled: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    _schemas: dict[int, pa.Schema] = field(default_factory=dict)

    @property
    def queries(self) -> Sequence[int]:
        """The queries with partial outputs, in order."""
        return sorted(self._batches.keys() | self._spilled.keys())

    def close(self) -> None:
        """Delete the file on disk."""
        if self._file is not None:
            self._file.close()

    def add(self, query: int, batch: pa.RecordBatch) -> None:
        """Add partial outputs of a query. Raises InputError if the disk is full."""
        self._batches.setdefault(query, []).append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self.memory:
            self._spill()

    def rows(self, query: int) -> int:
        """Return the number of a query's rows in memory."""
        return sum(batch.num_rows for batch in self._batches.get(query, ()))

    def take(self, query: int) -> pa.Table:
        """Remove and return all partial outputs of a query."""
        return pa.Table.from_batches(list(self.batches(query))).combine_chunks()

    def batches(self, query: int) -> Iterator[pa.RecordBatch]:
        """Remove and yield all partial outputs of a query, batch by batch."""
        for place, size in self._spilled.pop(query, []):
            assert self._file is not None
            self._file.seek(place)
            message = pa.py_buffer(self._file.read(size))
            yield pa.ipc.read_record_batch(message, self._schemas[query])
        for batch in self._batches.pop(query, []):
            self._bytes -= batch.nbytes
            yield batch

    def _spill(self) -> None:
        """Write all partial outputs in memory to the file; raise InputError on a full disk."""
        where = local_directory()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=where)  # noqa: SIM115 - goes with us
            self._file.seek(0, 2)
            for query, batches in self._batches.items():
                self._schemas[query] = batches[0].schema
                for batch in pa.Table.from_batches(batches).combine_chunks().to_batches():
                    message = batch.serialize()
                    self._spilled.setdefault(query, []).append((self._file.tell(), message.size))
                    self._file.write(message)
        except OSError as error:
            raise InputError(
                "Partial outputs of a partition that do not fit in memory cannot be written to "
                f"'{where}': {error.strerror or error}. Make room there, name another disk with "
                "Spark's spark.local.dir, or use more partitions (spark.sql.shuffle.partitions)."
            ) from error
        self._batches, self._bytes = {}, 0
