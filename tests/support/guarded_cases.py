"""Drawn tests of guarded queries with all features, for each way to compute their totals."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.model import Query
from elsinore.model.window import SECOND
from support.trends import Feature, streams_for, trend_cases, trend_queries

ALL = frozenset(Feature)
often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "25")),
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)
Test = Callable[[], None]


def drawn_tests(check: Callable[..., Any], is_for: Callable[[Query], bool]) -> tuple[Test, ...]:
    """Return three drawn tests: of workloads, of one query, and of windows closed at drawn times.

    `check(query, events, ordered=, cuts=)` compares results with the reference's; `is_for` returns
    whether it supports a query.
    """

    @often
    @given(trend_cases(features=ALL), st.booleans())
    def totals_are_those_of_every_trend_built(case: Any, ordered: bool) -> None:
        workload, events = case
        queries = [query for query in workload if is_for(query)]
        assume(queries)
        for query in queries:
            check(query, events, ordered=ordered)

    @often
    @given(st.data())
    def one_query_with_every_feature(data: st.DataObject) -> None:
        types = data.draw(st.sampled_from((("A", "B", "C", "D"), ("A", "B"), ("A",))))
        query = data.draw(trend_queries(types=types, variables=True, features=ALL).filter(is_for))
        events = data.draw(streams_for(query))
        try:
            check(query, events, ordered=data.draw(st.booleans()))
        except InputError:
            assume(False)

    @often
    @given(trend_cases(features=ALL), st.lists(st.integers(-20, 40), max_size=4))
    def each_window_is_given_out_once(case: Any, cuts: list[int]) -> None:
        workload, events = case
        queries = [query for query in workload if is_for(query)]
        assume(queries)
        for query in queries:
            check(query, events, cuts=[cut * SECOND for cut in cuts])

    return (
        totals_are_those_of_every_trend_built,
        one_query_with_every_feature,
        each_window_is_given_out_once,
    )
