"""Queries that share bursts against the reference, which builds every trend; in all modes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Granularity, Sharing
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.exact import assert_as_exact
from support.trends import ATTRIBUTES, event_streams, table_of, trend_cases
from trends.test_against_reference import check

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
AGGREGATES = ("COUNT(*)", "COUNT(b)", "SUM(b.v)", "AVG(b.w)", "MIN(b.v)", "MAX(b.w)", "MAX(b.v)")
OF_ALL = ("SUM(a.v)", "COUNT(a)", "MIN(a.w)")
PATTERNS = (
    "B+ b",
    "SEQ(A a, B+ b)",
    "SEQ(C a, B+ b)",
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a+, B+ b)",
    "(SEQ(A a, B+ b))+",
    "(SEQ(C a, B+ b))+",
    "SEQ(B+ b, C a)",
    "SEQ(A a?, B+ b, D d)",
    "SEQ(B+ b, B a)",
    "SEQ(A a, B+ b, C c, B+ d)",
)
ORDERS = (
    "",
    "b[i].v {} b[i-1].v",
    "b[i].w {} b[i-1].w",
    "b[i].w {} b[i-1].v",
    "ABS(b[i].v - b[i-1].v) <= 1",
    "b[i].v * b[i-1].v > 0",
)
LOCALS = ("", "", "b.v > 0", "b.v > 1", "b.v <= 2", "b.w < 1")
WINDOWS = (
    "",
    "",
    " WITHIN 6 seconds SLIDE 2 seconds",
    " WITHIN 4 seconds",
    " WITHIN 5 seconds SLIDE 3 seconds",
)


@st.composite
def workloads(draw: Any, among: Sequence[str] = WINDOWS) -> Workload:
    """Draw queries that share B+, with order predicates, local predicates and windows."""
    operators = st.sampled_from(("<", "<=", ">", ">=", "="))
    drawn = st.builds(str.format, st.sampled_from(ORDERS), operators)
    orders = draw(st.lists(drawn, min_size=1, max_size=draw(st.sampled_from((1, 3)))))
    locals_ = draw(st.lists(st.sampled_from(LOCALS), min_size=1, max_size=2))
    windows = draw(st.lists(st.sampled_from(among), min_size=1, max_size=2))
    kinds = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
    texts = []
    for number in range(draw(st.integers(1, 5))):
        pattern = draw(st.sampled_from(PATTERNS))
        columns = list(kinds) if draw(st.integers(0, 3)) else ["COUNT(*)"]
        if " a" in pattern:
            columns += draw(st.lists(st.sampled_from(OF_ALL), max_size=1))
        where = [
            w
            for w in (
                draw(st.sampled_from(orders)) if draw(st.integers(0, 4)) else "",
                draw(st.sampled_from(locals_)),
            )
            if w
        ]
        clause = " WHERE " + " AND ".join(where) if where else ""
        window = draw(st.sampled_from(windows))
        texts.append(
            f"QUERY q{number} RETURN {', '.join(columns)} PATTERN {pattern}{clause}{window};"
        )
    return parse_workload("\n".join(texts))


@st.composite
def streams(draw: Any) -> list[ReferenceEvent]:
    """Draw bursts of B events among others, some at one time."""
    size = draw(st.sampled_from((4, 6, 8, 10)))
    second = 0
    events = []
    for _ in range(size):
        second += draw(st.sampled_from((0, 1, 1, 1, 2)))
        name = draw(st.sampled_from("AABBBBBBCD"))
        attributes = draw(ATTRIBUTES) | {"g": "x", "k": 1}
        events.append(ReferenceEvent(second * 1_000_000, name, attributes))
    return events


def check_against_reference(workload: Workload, events: list[ReferenceEvent]) -> None:
    """Compare what a workload finds in each mode of sharing with the reference."""
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    ready = plan(workload, granularity=Granularity.FINE)
    for sharing in Sharing:
        for order_by in ((), ("seq",)):
            results = run(ready, table, RunOptions(sharing=sharing, order_by=order_by))
            for query in workload:
                check(query, events, results[query.name], exact=False, ordered=bool(order_by))


@often
@given(workloads(), streams())
def test_workloads_that_share_are_summed_up_as_trend_by_trend(
    workload: Workload, events: list[ReferenceEvent]
) -> None:
    check_against_reference(workload, events)


@often
@given(trend_cases())
def test_any_eligible_query_is_summed_up_as_trend_by_trend(
    case: tuple[Workload, list[ReferenceEvent]],
) -> None:
    check_against_reference(*case)


@often
@given(workloads(), event_streams())
def test_streams_that_know_nothing_of_the_queries(
    workload: Workload, events: list[ReferenceEvent]
) -> None:
    check_against_reference(workload, events)


@often
@given(
    workloads(),
    st.integers(0, 2**32 - 1),
    st.integers(50, 150),
    st.sampled_from((1, 4, 12)),
    st.sampled_from(Sharing),
)
def test_long_streams_come_out_as_in_exact_integers(
    workload: Workload, seed: int, size: int, apart: int, sharing: Sharing
) -> None:
    table = table_of(long_stream(seed, size, apart))
    assert_as_exact(workload, table, RunOptions(sharing=sharing), Granularity.FINE)


def long_stream(seed: int, size: int, apart: int) -> list[ReferenceEvent]:
    """Return many bursts, each `apart` events of B long on average; no trend can be built here."""
    random = np.random.default_rng(seed)
    events = []
    for second in np.cumsum(random.random(size) < 0.8).tolist():
        name = "B" if random.random() > 1 / (apart + 1) else str(random.choice(list("ACD")))
        attributes = {
            "v": None if random.random() < 0.05 else int(random.integers(0, 4)),
            "w": None if random.random() < 0.05 else float(random.integers(0, 4)) / 2,
            "s": None,
            "g": "x",
            "k": 1,
        }
        events.append(ReferenceEvent(second * 1_000_000, name, attributes))
    return events
