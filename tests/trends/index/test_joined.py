"""Queries of which an index keeps together what they have in common: states, orders and ranges."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Path, Sharing
from elsinore.runtime.options import RunOptions
from elsinore.trends.explain import sharing_text
from elsinore.trends.kind import spec_of, trend_units
from elsinore.trends.shared import apart
from oracles.reference import ReferenceEvent
from support.trends import table_of
from trends.index.test_index import RANGES, SECOND, WINDOWS, few_events, often
from trends.test_against_reference import check

PATTERNS = (
    "SEQ(A a, B b+)",
    "SEQ(A a, B b+, C c)",
    "SEQ(A a, B b+, D d)",
    "SEQ(A a, B b+, D d, A a2)",
    "SEQ(D a, B b+)",
    "SEQ(A a, NOT C c, B b+)",
    "SEQ(A a, NOT C c, B b+, NOT D d)",
    "SEQ(A a, SEQ(NOT C c, B b)+, D d)",
    "SEQ(A a, B b+, NOT C c)",
    "(SEQ(A a, B b+) OR SEQ(A x, B b+, D d))",
)
RISING = ("b[i].v >= b[i-1].v", "b[i].v < b[i-1].v", "b[i].w = b[i-1].v", "b[i].w <= b[i-1].w")
FIELDS = ("", "", ", SUM(b.v), AVG(b.w)", ", MIN(b.v), COUNT(b)", ", VARIANCE(b.v)")


@st.composite
def several(draw: Any) -> Workload:
    """Draw queries that differ in what comes before or after their neighbours, or between them."""
    some = draw(st.sampled_from((RANGES, RISING)))
    conditions = draw(st.lists(st.sampled_from(some), min_size=1, max_size=2))
    fields = draw(st.sampled_from((FIELDS, FIELDS[:1])))
    windows = draw(st.lists(st.sampled_from(WINDOWS), min_size=1, max_size=2))
    texts = []
    for number in range(draw(st.integers(2, 4))):
        local = draw(st.sampled_from(("", "", " AND b.v > 0", " AND b.w < 1")))
        texts.append(
            f"QUERY q{number} RETURN COUNT(*){draw(st.sampled_from(fields))} "
            f"PATTERN {draw(st.sampled_from(PATTERNS))} "
            f"WHERE {draw(st.sampled_from(conditions))}{local}"
            f"{draw(st.sampled_from(windows))};"
        )
    return parse_workload("\n".join(texts))


@often
@given(several(), few_events(), st.booleans(), st.sampled_from((Sharing.DYNAMIC, Sharing.NEVER)))
def test_queries_kept_together_find_what_every_trend_built_does(
    workload: Workload, events: list[ReferenceEvent], ordered: bool, sharing: Sharing
) -> None:
    options = RunOptions(order_by=("seq",) if ordered else (), sharing=sharing)
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    found = run(plan(workload), table, options)
    for query in workload.queries:
        check(query, events, found[query.name], exact=False, ordered=ordered)


def asked(name: str, pattern: str, where: str, rest: str = "") -> str:
    return f"QUERY {name} RETURN COUNT(*) PATTERN {pattern} WHERE {where}{rest};"


NEAR = "ABS(b[i].v - b[i-1].v) <= 2"


OWN = (
    "each keeps an index over its own events, because a condition compares events with one another"
)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (asked("q2", "SEQ(A a, B b+)", NEAR, " WITHIN 9 seconds"), "their windows differ"),
        (
            asked("q2", "SEQ(A a, B b+)", "ABS(b[i].v - b[i-1].v) <= 3"),
            "they compare B events with preceding ones in different ways",
        ),
        (
            asked("q2", "B b+", f"{NEAR} AND b.w > 1"),
            "they have different conditions on single B events",
        ),
    ],
)
def test_queries_with_sums_of_their_own_are_told_why(other: str, why: str) -> None:
    text = asked("q1", "SEQ(A a, B b+)", NEAR) + other
    (found,) = apart(trend_units(plan(parse_workload(text.replace("COUNT(*)", "MIN(b.v)"))).units))
    assert found.why.startswith(OWN)
    assert found.why.endswith(f"; {why}")


def test_explain_names_the_states_that_queries_have_in_common() -> None:
    texts = (asked("q1", "SEQ(A a, B b+)", NEAR), asked("q2", "SEQ(A a, B b+, C c)", NEAR))
    units = trend_units(plan(parse_workload("\n".join(texts))).units)
    assert apart(units) == ()
    assert "  SEQ(A, B+) of q1 and q2, kept once for all of them" in sharing_text(units, None)


def test_what_no_index_takes_for_its_values_is_worked_on_query_by_query() -> None:
    near = NEAR.replace("v", "w")
    texts = (asked("q1", "SEQ(A a, B b+)", near), asked("q2", "SEQ(A a, B b+, C c)", near))
    workload = parse_workload("\n".join(texts))
    ready = plan(workload)
    assert all(spec_of(unit).path is Path.GRAPH for unit in ready.units)
    values = (1.0, math.inf, 2.0, -math.inf, 1.5)
    rows = [ReferenceEvent(0, "A", {"w": None})]
    rows += [ReferenceEvent(n * SECOND, "B", {"w": v}) for n, v in enumerate(values, 1)]
    rows.append(ReferenceEvent(9 * SECOND, "C", {"w": None}))
    found = run(ready, table_of(rows), RunOptions())
    for query in workload.queries:
        check(query, rows, found[query.name], exact=False)


COUNTING = """
    QUERY short RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b[i].v >= b[i-1].v;
    QUERY long RETURN COUNT(*) PATTERN SEQ(A a, B b+, C c) WHERE b[i].v >= b[i-1].v;
    QUERY some RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b[i].v >= b[i-1].v AND b.w < 2;
    QUERY falling RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE b[i].v <= b[i-1].v;
"""


@pytest.mark.parametrize("record", [False, True])
def test_an_index_for_several_counts_as_the_shared_graph_does(record: bool) -> None:
    random = np.random.default_rng(5)
    rows = [
        ReferenceEvent(
            second * SECOND,
            str(random.choice(list("ABBBBBC"))),
            {"v": int(random.integers(9)), "w": float(random.integers(4))},
        )
        for second in range(300)
    ]
    ready = plan(parse_workload(COUNTING))
    found, *modes = (
        run(ready, table_of(rows), RunOptions(sharing=sharing, record=record))
        for sharing in (Sharing.DYNAMIC, Sharing.ALWAYS, Sharing.NEVER)
    )
    for query, mode in itertools.product(("short", "long", "some", "falling"), modes):
        (expected,), (count,) = (one[query]["count(*)"].to_pylist() for one in (mode, found))
        assert math.isclose(expected, count, rel_tol=1e-9)
