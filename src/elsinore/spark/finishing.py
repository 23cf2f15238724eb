"""Finishing queries in Spark's Python workers: partial outputs in, rows of results out.

A pass of one query gives its rows out as Spark's. Of several queries, each task packs the rows of
all into blobs: one job over the events finishes all of them, whoever reads which.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.operators import kind_for
from elsinore.plan import Unit
from elsinore.runtime.keys import encode_keys
from elsinore.spark.columnar import MEMORY, rows_beside
from elsinore.spark.partition import Outputs, without_codes
from elsinore.spark.waiting import Waiting

BLOB_BYTES = 1 << 22  # of a result's rows, about
PIECE_ROWS = 1 << 16  # partial outputs that are finished at once, where groups need not be whole
# Rows of results as they lie in a data frame: whose, whether the driver may fetch them, and they.
ANSWERS = pa.schema([("query", pa.int32()), ("small", pa.bool_()), ("blob", pa.binary())])


@dataclass(frozen=True, slots=True)
class Finish:
    """Makes one query's result of a partition's partial outputs.

    In: the group's attributes `g0`, ..., and the query's fields `f0`, ... Out: the result's
    columns, times as int64. Where the unit's kind adds up, each group is complete in its
    partition.
    """

    unit: Unit
    query: int  # its place in the unit
    types: dict[str, pa.DataType]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's partial outputs; yield the result's rows."""
        filled = (batch for batch in batches if batch.num_rows)
        if not kind_for(self.unit).adds_up(self.unit):
            for batch in filled:
                yield from self.finished(pa.Table.from_batches([batch])).to_batches()
        elif whole := list(filled):
            yield from self.finished(pa.Table.from_batches(whole).combine_chunks()).to_batches()

    def finished(self, rows: pa.Table) -> pa.Table:
        """Return the result of partial outputs."""
        kind = kind_for(self.unit)
        names = [f"g{n}" for n in range(len(self.unit.group_by))]
        columns = [rows.column(name).combine_chunks() for name in names]
        keys = encode_keys(columns, [], [], rows.num_rows)
        groups = [keys.of_groups(column) for column in columns]
        schema = kind.partials(self.unit, self.types)[self.query]
        fields = iter(without_codes(schema).names)
        made = {name: rows.column(f"f{n}") for n, name in enumerate(fields)}
        made["query"] = pa.array(np.full(rows.num_rows, self.query, dtype=np.int32))
        made["group"] = pa.array(keys.group)
        partials = pa.table([made[name] for name in schema.names], names=schema.names)
        return kind.finish(self.unit, self.query, partials, groups, self.types)


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishAll:
    """Makes the results of a pass's queries of a partition's partial outputs: `mapInArrow`.

    In: see `Outputs`. Out: `ANSWERS`; a blob is rows as one message of Arrow's IPC format, of the
    query's schema in `schemas`. Of results beyond `inline` bytes the driver may fetch no more.
    Partial outputs of more than `memory` bytes wait on local disk. Each blob is followed by empty
    rows, its share of the `given_rows` that Spark gives a task at once (see `columnar.blobs`).
    """

    outputs: Outputs
    queries: dict[int, Finish]  # by number in the workload
    schemas: dict[int, pa.Schema]
    inline: int
    memory: int = MEMORY
    given_rows: int = 0

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take a partition's partial outputs; yield blobs of all queries' rows."""
        left = self.inline  # bytes that may be fetched
        with closing(Waiting(memory=self.memory)) as waiting:
            for batch in batches:
                for query, rows in self._split(batch):
                    waiting.add(query, rows)
                    if not self._adds_up(query) and waiting.rows(query) >= PIECE_ROWS:
                        left = yield from self._answer(query, waiting.taken(query), left)
            for query in waiting.queries:
                left = yield from self._answer(query, waiting.taken(query), left)

    def _adds_up(self, query: int) -> bool:
        unit = self.queries[query].unit
        return kind_for(unit).adds_up(unit)

    def _split(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield each query's rows, as `Finish` takes them."""
        numbers = batch.column("query").to_numpy()
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
            batch, numbers = batch.take(pa.array(order)), numbers[order]
        edges = np.flatnonzero(np.diff(numbers, prepend=-1, append=-1))
        for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            query = int(numbers[first])
            yield query, self.outputs.of_query(query, batch.slice(first, last - first))

    def _answer(
        self, query: int, rows: pa.Table, left: int
    ) -> Generator[pa.RecordBatch, None, int]:
        """Yield the blobs of a query's partial outputs; return what is left to fetch."""
        found = self.queries[query].finished(rows)
        schema = self.schemas[query]
        found = (found if found.schema == schema else found.cast(schema)).combine_chunks()
        width = max(1, found.nbytes // max(1, found.num_rows))
        for batch in found.to_batches(max_chunksize=max(1, BLOB_BYTES // width)):
            blob = batch.serialize()
            left -= blob.size
            empty = rows_beside(blob.size, self.given_rows)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([query] * (1 + empty), pa.int32()),
                    pa.array([left >= 0] * (1 + empty)),
                    pa.array([blob.to_pybytes(), *[b""] * empty], pa.binary()),
                ],
                schema=ANSWERS,
            )
        return left


@dataclass(frozen=True, slots=True)
class Unpack:
    """Gives out the rows of one query's blobs: `mapInArrow` calls it with their column."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows; empty blobs have none."""
        for batch in batches:
            blobs = batch.column(0)
            places = np.flatnonzero(pc.binary_length(blobs).to_numpy())
            yield from unpacked((blobs[place] for place in places.tolist()), self.schema)


def unpacked(blobs: Iterable[pa.Scalar], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows that blobs hold, those of each as a batch."""
    for blob in blobs:
        yield pa.ipc.read_record_batch(blob.as_buffer(), schema)
