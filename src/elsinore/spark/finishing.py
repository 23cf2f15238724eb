"""Computing results from partial outputs in Spark's Python workers.

A pass with one query yields its rows in Spark's columns. For several queries, each task packs the
rows of all into blobs, so that one job over the events computes all results.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.operators import kind_for
from elsinore.runtime.columnar import MEMORY, padding_rows
from elsinore.runtime.finishing import Finish, Outputs
from elsinore.spark.waiting import Waiting

BLOB_BYTES = 1 << 22  # of a result's rows, about
PIECE_ROWS = 1 << 16  # partial outputs per call of `Finish`, if groups may be divided
# Packed results in a data frame: the query, whether the driver may fetch the rows, and the rows.
ANSWERS = pa.schema([("query", pa.int32()), ("small", pa.bool_()), ("blob", pa.binary())])


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishAll:
    """Computes results of all queries of a pass from a partition's partial outputs (`mapInArrow`).

    Its input has the columns of `Outputs`, its output those of `ANSWERS`: a blob is one Arrow IPC
    message of the query's schema in `schemas`. The driver may fetch up to `inline` bytes of results
    together. Partial outputs beyond `memory` bytes are spilled to local disk. Each blob is followed
    by empty rows, its share of the `rows_per_task` of Spark (see `columnar.blobs`).
    """

    outputs: Outputs
    finishes: tuple[Finish, ...]  # of families
    schemas: dict[int, pa.Schema]  # by number in the workload
    inline: int
    memory: int = MEMORY
    rows_per_task: int = 0

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield blobs of all queries' rows, from a partition's partial outputs."""
        bytes_left = self.inline  # bytes that may still be fetched
        piecewise = {
            number: finish
            for finish in self.finishes
            if not kind_for(finish.unit).adds_up(finish.unit)
            for number in finish.numbers
        }
        with closing(Waiting(memory=self.memory)) as waiting:
            for batch in batches:
                for query, rows in self._split(batch):
                    waiting.add(query, rows)
                    if query in piecewise and waiting.rows(query) >= PIECE_ROWS:
                        results = piecewise[query].finished(waiting.take(query))
                        bytes_left = yield from self._answers(results, bytes_left)
            for finish in self.finishes:
                for rows in self._family_rows(finish, waiting):
                    bytes_left = yield from self._answers(finish.finished(rows), bytes_left)

    def _split(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield each query's rows in the columns for `Finish`."""
        numbers = batch.column("query").to_numpy()
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
            batch, numbers = batch.take(pa.array(order)), numbers[order]
        edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
        for begin, end in pairwise(edges.tolist()):
            query = int(numbers[begin])
            yield query, self.outputs.fields_of(query, batch.slice(begin, end - begin))

    def _family_rows(self, finish: Finish, waiting: Waiting) -> Iterator[pa.Table]:
        """Yield the waiting rows of a family, combining queries with few rows."""
        some: list[pa.Table] = []
        rows = 0
        for query in sorted({*finish.numbers}.intersection(waiting.queries)):
            some.append(waiting.take(query))
            rows += some[-1].num_rows
            if rows >= PIECE_ROWS:
                yield pa.concat_tables(some).combine_chunks()
                some, rows = [], 0
        if some:
            yield pa.concat_tables(some).combine_chunks()

    def _answers(
        self, results: Mapping[int, pa.Table], bytes_left: int
    ) -> Generator[pa.RecordBatch, None, int]:
        """Yield the blobs of queries' rows; return the remaining bytes that may be fetched."""
        for query, table in results.items():
            if table.num_rows:
                bytes_left = yield from self._answer(query, table, bytes_left)
        return bytes_left

    def _answer(
        self, query: int, table: pa.Table, bytes_left: int
    ) -> Generator[pa.RecordBatch, None, int]:
        """Yield the blobs of a query's rows; return the remaining bytes that may be fetched."""
        schema = self.schemas[query]
        table = (table if table.schema == schema else table.cast(schema)).combine_chunks()
        width = max(1, table.nbytes // max(1, table.num_rows))
        for batch in table.to_batches(max_chunksize=max(1, BLOB_BYTES // width)):
            blob = batch.serialize()
            bytes_left -= blob.size
            empty = padding_rows(blob.size, self.rows_per_task)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([query] * (1 + empty), pa.int32()),
                    pa.array([bytes_left >= 0] * (1 + empty)),
                    pa.array([blob.to_pybytes(), *[b""] * empty], pa.binary()),
                ],
                schema=ANSWERS,
            )
        return bytes_left


@dataclass(frozen=True, slots=True)
class Unpack:
    """Unpacks the rows of one query's blobs; called by `mapInArrow` with their column."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows; empty blobs have none."""
        for batch in batches:
            blobs = batch.column(0)
            places = np.flatnonzero(pc.binary_length(blobs).to_numpy())
            yield from unpacked((blobs[place] for place in places.tolist()), self.schema)


def unpacked(blobs: Iterable[pa.Scalar], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of blobs, a batch for each."""
    for blob in blobs:
        yield pa.ipc.read_record_batch(blob.as_buffer(), schema)
