"""Partial outputs of operators: dividing them by query, and finishing results."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from elsinore.arrow import no_table, to_arrow, to_numpy
from elsinore.operators.kind import QUERY, ResultForm
from elsinore.operators.registry import kind_for
from elsinore.plan import Unit
from elsinore.threads import in_threads

MANY = 2**16  # partial outputs from which another thread is worthwhile


def by_query(
    schemas: Sequence[pa.Schema],
    batches: Iterable[pa.RecordBatch],
    families: Sequence[Sequence[int]] | None = None,
) -> list[pa.Table]:
    """Divide partial outputs by query, or by family of queries.

    `schemas` are those that the queries' kind declares, by place in the unit; a batch may have rows
    of several queries whose schemas are equal. `families` are lists of such queries, by place.

    >>> schema = pa.schema([("query", pa.int32()), ("group", pa.int32())])
    >>> batch = pa.record_batch([pa.array([1, 0, 1], pa.int32())] * 2, schema=schema)
    >>> [table.num_rows for table in by_query([schema, schema], [batch])]
    [1, 2]
    >>> [table.num_rows for table in by_query([schema, schema], [batch], [[0, 1]])]
    [3]
    """
    if families is None:
        families = [[place] for place in range(len(schemas))]
    if len(families) == 1:  # nothing to divide
        some = [batch for batch in batches if batch.num_rows]
        return [pa.Table.from_batches(some) if some else no_table(schemas[0])]
    families_by_query = np.empty(len(schemas), dtype=np.int64)
    for number, family in enumerate(families):
        families_by_query[list(family)] = number
    pieces: list[list[pa.Table]] = [[] for _ in families]
    mixed: dict[int, list[pa.RecordBatch]] = {}  # by the first query with their schema
    for batch in batches:
        if batch.num_rows == 0:
            continue
        places = to_numpy(batch.column("query"))
        family = families_by_query[places[0]]
        if np.all(places == places[0]) or np.all(families_by_query[places] == family):
            pieces[family].append(pa.Table.from_batches([batch]))
        else:
            first = next(n for n, schema in enumerate(schemas) if schema == batch.schema)
            mixed.setdefault(first, []).append(batch)
    for batches_of_schema in mixed.values():
        table = pa.Table.from_batches(batches_of_schema).combine_chunks()
        numbers = families_by_query[to_numpy(table.column("query"))]
        if np.any(numbers[1:] < numbers[:-1]):
            order = np.argsort(numbers, kind="stable")
            table, numbers = table.take(to_arrow(order)), numbers[order]
        edges = np.searchsorted(numbers, np.arange(len(families) + 1))
        for place, parts in enumerate(pieces):
            if edges[place] < edges[place + 1]:
                parts.append(table.slice(edges[place], edges[place + 1] - edges[place]))
    return [
        pa.concat_tables(parts) if parts else no_table(schemas[family[0]])
        for parts, family in zip(pieces, families, strict=True)
    ]


def unchanged(table: pa.Table, _: ResultForm) -> pa.Table:
    """Return a result unchanged."""
    return table


def results_of(
    unit: Unit,
    outputs: Iterable[pa.RecordBatch],
    groups: Sequence[pa.Array],
    types: Mapping[str, pa.DataType],
    present: Callable[[pa.Table, ResultForm], pa.Table] = unchanged,
    threads: int = 1,
) -> list[tuple[pa.Table, ResultForm]]:
    """Return the results of a unit's queries, by place, from all outputs of its operator.

    `groups` has the values of the unit's `group_by`, each by group code; `types` are those of the
    attributes that it carries. `present` arranges rows and converts times as their forms require.
    Families with many rows are finished by several `threads`.
    """
    kind = kind_for(unit)
    families = kind.families(unit)
    group_types = [values.type for values in groups]
    parts = by_query(kind.partials(unit, types), outputs, families)

    def finish(family: Sequence[int], partials: pa.Table) -> dict[int, tuple[pa.Table, ResultForm]]:
        form = kind.result(unit, family[0], group_types, types)
        if len(family) == 1:
            table = kind.finish(unit, family[0], partials, groups, types)
            return {family[0]: (present(table, form), form)}
        table = kind.finish_family(unit, family, partials, groups, types)
        table = present(table, replace(form, order=(QUERY, *form.order))).combine_chunks()
        edges = np.searchsorted(to_numpy(table.column(QUERY)), [*family, len(unit.queries)])
        table = table.drop_columns([QUERY])
        return {
            query: (table.slice(edges[place], edges[place + 1] - edges[place]), form)
            for place, query in enumerate(family)
        }

    results: dict[int, tuple[pa.Table, ResultForm]] = {}
    for family, partials in zip(families, parts, strict=True):
        count = min(threads, len(family), partials.num_rows // MANY)
        if count < 2:
            results |= finish(family, partials)
            continue
        cuts = [len(family) * n // count for n in range(count + 1)]
        works = [
            partial(finish, family[begin:end], partials) for begin, end in itertools.pairwise(cuts)
        ]
        for finished in in_threads(works):
            results |= finished
    return [results[query] for query in range(len(unit.queries))]
