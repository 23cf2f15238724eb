"""Partial outputs: what operators give out, sorted by the queries that it is for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa


def by_query(schemas: Sequence[pa.Schema], batches: Iterable[pa.RecordBatch]) -> list[pa.Table]:
    """Return the partial outputs of each query, without the column `query`.

    `schemas` are those that the queries' kind declares, by place in the unit; a batch may hold rows
    of several queries whose schemas are equal.

    >>> schema = pa.schema([("query", pa.int32()), ("group", pa.int32())])
    >>> batch = pa.record_batch([pa.array([1, 0, 1], pa.int32())] * 2, schema=schema)
    >>> [table.num_rows for table in by_query([schema, schema], [batch])]
    [1, 2]
    """
    pieces: list[list[pa.Table]] = [[] for _ in schemas]
    mixed: dict[int, list[pa.RecordBatch]] = {}  # by the first query with their schema
    first = {schema: place for place, schema in reversed(list(enumerate(schemas)))}
    for batch in batches:
        if batch.num_rows == 0:
            continue
        queries = batch.column("query").to_numpy()
        if queries.min() == queries.max():
            pieces[queries[0]].append(pa.Table.from_batches([batch]))
        else:
            mixed.setdefault(first[batch.schema], []).append(batch)
    for several in mixed.values():
        table = pa.Table.from_batches(several).combine_chunks()
        queries = table.column("query").to_numpy()
        if np.any(queries[1:] < queries[:-1]):
            order = np.argsort(queries, kind="stable")
            table, queries = table.take(pa.array(order)), queries[order]
        edges = np.searchsorted(queries, np.arange(len(schemas) + 1))
        for place, parts in enumerate(pieces):
            if edges[place] < edges[place + 1]:
                parts.append(table.slice(edges[place], edges[place + 1] - edges[place]))
    return [
        pa.concat_tables(parts) if parts else schema.empty_table()
        for parts, schema in zip(pieces, schemas, strict=True)
    ]
