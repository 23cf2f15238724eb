"""A run over an open stream returns what a live run has returned by the same events."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings

from elsinore import Workload
from elsinore.errors import ElsinoreError
from oracles.reference import ReferenceEvent
from support.drawn import CASES, Drawn
from support.live import batches_of, comparable, match_table
from support.matches import USERS, queries
from support.trends import Feature, table_of, trend_cases

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "25"))
RELAXED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
Rows = dict[str, Counter[str]]


def rows_of(tables: Iterable[tuple[str, pa.Table]]) -> Rows:
    """Return the rows of each query that has some."""
    rows: Rows = {}
    for name, table in tables:
        if table.num_rows:
            rows.setdefault(name, Counter()).update(map(comparable, table.to_pylist()))
    return rows


def live_rows(workload: Workload, table: pa.Table, drawn: Drawn) -> Rows:
    """Return what a live run without disorder returns when the last event has come."""
    live = workload.live(table.schema)
    return rows_of(rows for batch in batches_of(table, drawn) for rows in live.push(batch))


def open_rows(workload: Workload, table: pa.Table) -> Rows:
    """Return what a run over an open stream returns."""
    return rows_of((n, r.to_arrow()) for n, r in workload.run(table, end="open").items())


@RELAXED
@given(trend_cases(exact=None) | trend_cases(exact=None, features=tuple(Feature), most=12), CASES)
def test_of_drawn_trend_queries(case: tuple[Workload, list[ReferenceEvent]], drawn: Drawn) -> None:
    drawn_queries, events = case
    windowed = [query for query in drawn_queries if query.window is not None]
    assume(windowed and events)
    workload = Workload(*windowed, exact=drawn_queries.exact)
    try:
        workload.planned()
    except ElsinoreError:
        assume(False)
    table = table_of(events)
    assert open_rows(workload, table) == live_rows(workload, table, drawn)


@RELAXED
@given(CASES)
def test_of_drawn_match_queries(drawn: Drawn) -> None:
    text = queries(drawn)
    assume("WITHIN" in text)
    table = match_table(drawn)
    try:
        workload = Workload.parse(text, aggregates=USERS)
        workload.run(table)
    except ElsinoreError:
        assume(False)
    assert open_rows(workload, table) == live_rows(workload, table, drawn)
