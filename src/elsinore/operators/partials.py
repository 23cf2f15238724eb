"""Partial outputs: what operators give out, sorted by the queries that it is for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from elsinore.operators.kind import ResultForm
from elsinore.operators.registry import kind_for
from elsinore.plan import Unit


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


def results_of(
    unit: Unit,
    outputs: Iterable[pa.RecordBatch],
    groups: Sequence[pa.Array],
    types: Mapping[str, pa.DataType],
) -> list[tuple[pa.Table, ResultForm]]:
    """Return the results of a unit's queries, made of all that its operator gave out, by place.

    `groups` holds the values of the unit's `group_by`, each by group code; `types` are those of the
    attributes that it carries. Times and rows are yet to be presented as the forms say.
    """
    kind = kind_for(unit)
    group_types = [values.type for values in groups]
    return [
        (
            kind.finish(unit, query, partials, groups, types),
            kind.result(unit, query, group_types, types),
        )
        for query, partials in enumerate(by_query(kind.partials(unit, types), outputs))
    ]
