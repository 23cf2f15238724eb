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
from elsinore.plan.assembly import guarded_template
from elsinore.plan.joined import MOST_TOGETHER, Joined, joined
from elsinore.runtime.options import RunOptions
from elsinore.trends.counted import MOST_LANES, is_counted
from elsinore.trends.explain.shared_text import sharing_facts, sharing_text
from elsinore.trends.explain.unshared import apart
from elsinore.trends.kind import spec_of, trend_units
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


def put_together(*texts: str) -> list[Joined]:
    return joined([guarded_template(one) for one in parse_workload("\n".join(texts)).queries])


NEAR = "ABS(b[i].v - b[i-1].v) <= 2"


def test_what_is_equal_up_to_a_state_is_one_state_and_ends_stay_apart() -> None:
    (found,) = put_together(
        asked("short", "SEQ(A a, B b+)", NEAR),
        asked("long", "SEQ(A x, B y+, C c)", NEAR.replace("b[", "y[")),
        asked("again", "SEQ(A a, B b+)", NEAR),
    )
    assert found.queries == (0, 1, 2)
    assert [state.type for state in found.template.states] == ["A", "B", "C"]
    assert found.finals == (0, 1, 0)
    assert found.common == (((0, 1, 2), (0, 1)),)


def test_states_of_one_query_are_never_one() -> None:
    (found,) = put_together(asked("q", "(SEQ(A a, B b+) OR SEQ(A x, B y+, C c))", NEAR))
    assert len(found.places[0]) == len(found.template.states) == 5


OWN = (
    "each keeps an index over its own events, "
    "because a condition does more than compare attributes of neighbouring events"
)
SORTED = "each keeps its own sums, over an order of events that both use"


@pytest.mark.parametrize(
    ("other", "begins", "why"),
    [
        (
            asked("q2", "SEQ(D d, B b+)", NEAR),
            SORTED,
            "they differ in what precedes B in a trend",
        ),
        (asked("q2", "SEQ(A a, B b+)", NEAR, " WITHIN 9 seconds"), OWN, "their windows differ"),
        (
            asked("q2", "SEQ(D d, B b+)", "ABS(b[i].v - b[i-1].v) <= 3"),
            SORTED,
            "they compare B events with preceding ones in different ways",
        ),
        (
            asked("q2", "SEQ(A a, B b+)", "ABS(b[i].v - b[i-1].v) <= 3"),
            SORTED,
            "they compare B events with preceding ones in different ways",
        ),
        (
            asked("q2", "SEQ(D d, B b+)", "ABS(b[i].w - b[i-1].w) <= 3"),
            OWN,
            "they compare B events with preceding ones in different ways",
        ),
        (
            asked("q2", "B b+", f"{NEAR} AND b.w > 1"),
            SORTED,
            "they have different conditions on single B events",
        ),
        (
            asked("q2", "SEQ(D d, E b+)", NEAR),
            OWN,
            "they have no type in common whose events both compare or repeat",
        ),
    ],
)
def test_queries_with_sums_of_their_own_are_told_why(other: str, begins: str, why: str) -> None:
    units = trend_units(plan(parse_workload(asked("q1", "SEQ(A a, B b+)", NEAR) + other)))
    (found,) = apart(units)
    assert found.why.startswith(begins)
    assert found.why.endswith(f"; {why}")


def test_queries_that_put_events_in_one_order_go_over_them_together_up_to_some() -> None:
    texts = [asked(f"q{n}", f"SEQ(A{n} a, B b+)", NEAR) for n in range(MOST_TOGETHER + 1)]
    summing = texts[0].replace("q0", "sums").replace("COUNT(*)", "SUM(b.v)").replace("A0", "C")
    found = put_together(*texts, summing)
    assert [len(one.queries) for one in found] == [MOST_TOGETHER, 1, 1]
    assert [one.queries for one in found[1:]] == [(MOST_TOGETHER,), (MOST_TOGETHER + 1,)]


def test_explain_names_the_states_that_queries_have_in_common() -> None:
    texts = (asked("q1", "SEQ(A a, B b+)", NEAR), asked("q2", "SEQ(A a, B b+, C c)", NEAR))
    units = trend_units(plan(parse_workload("\n".join(texts))))
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


def test_few_queries_that_count_go_by_an_index_unless_a_run_records_or_is_told_how_to_share() -> (
    None
):
    units = trend_units(plan(parse_workload(COUNTING)))
    ((_, unit),) = units
    assert unit.path is Path.SHARED
    assert is_counted(unit)
    assert not is_counted(unit, record=True)
    assert not any(is_counted(unit, sharing) for sharing in (Sharing.ALWAYS, Sharing.NEVER))
    lines = sharing_text(units, None)
    assert "  SEQ(A, B+) of short and long, kept once for all of them" in lines
    by_index = "  short, long, some and falling are few enough to use an index"
    assert any(line.startswith(by_index) for line in lines)
    why: dict[str, set[tuple[str, str]]] = {}
    for block in apart(units):
        why.setdefault(block.why.partition("; ")[0], set()).update(block.pairs())
    assert why == {
        SORTED: {("short", "some"), ("long", "some")},
        "each keeps an index over its own events, because each event of a repeated variable is "
        "compared with the preceding one": {
            ("short", "falling"),
            ("long", "falling"),
            ("some", "falling"),
        },
    }
    assert sharing_facts(units, None)["counted"] == [["short", "long", "some", "falling"]]
    with_sum = COUNTING.replace(
        "COUNT(*) PATTERN SEQ(A a, B b+, C", "SUM(b.v) PATTERN SEQ(A a, B b+, C"
    )
    ((_, unit),) = trend_units(plan(parse_workload(with_sum)))
    assert is_counted(unit)
    all_sums = COUNTING.replace("COUNT(*)", "MAX(b.v)")
    overlapping = with_sum.replace(";", " WITHIN 9 seconds SLIDE 1 second;")
    many = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A{n}, B b+) WHERE b[i].v > b[i-1].v;"
        for n in range(MOST_LANES + 1)
    )
    for text in (all_sums, overlapping, many):
        ((_, unit),) = trend_units(plan(parse_workload(text)))
        assert not is_counted(unit)


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
