"""Conditions on an event far before that follow from those on neighbours."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elsinore.errors import InvalidWorkloadError, QueryError
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan.assembly import guarded_template
from elsinore.plan.implied import without_implied
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.trends import table_of
from trends.index.test_index import WINDOWS, few_events, often
from trends.test_against_reference import check

OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
PATTERNS = (
    "SEQ(A a, B b+)",
    "SEQ(A a, B b+, C c)",
    "SEQ(A a, C c?, B b+)",
    "SEQ(A a?, B b+)",
    "SEQ(B b+, A a)",
    "SEQ(A a, NOT C c, B b+, NOT D d)",
    "SEQ(A a, (B b OR SEQ(C c, D d))+)",
    "SEQ(A x, B y, NOT SEQ(A a, B b+), D d)",
    "SEQ(A a, B b+) AND SEQ(A x, B y+)",
)
FAR = ("b[i].v {} a.v", "a.v {} b[i].v", "b[i].v {} a.v + 1", "b[i].v {} a.w", "b[i].w {} a.w")
STRATEGIES = ("", "", "STRATEGY SKIP TILL NEXT MATCH", "STRATEGY CONTIGUOUS")


@st.composite
def anchored(draw: Any) -> str:
    """Draw a query whose later events are compared with one far before them, and neighbours."""
    where = [draw(st.sampled_from(FAR)).format(draw(st.sampled_from(OPERATORS)))]
    where.append(f"b[i].v {draw(st.sampled_from(OPERATORS))} b[i-1].v")
    if draw(st.booleans()):
        where.append(draw(st.sampled_from(("b[i].w >= b[i-1].w", "b.v > 0", "[k]"))))
    return (
        f"QUERY q RETURN COUNT(*) PATTERN {draw(st.sampled_from(PATTERNS))} "
        f"WHERE {' AND '.join(where)} {draw(st.sampled_from(STRATEGIES))} "
        f"{draw(st.sampled_from(WINDOWS))};"
    )


@often
@given(anchored(), few_events(), st.booleans())
def test_trends_are_those_for_which_all_conditions_hold(
    text: str, events: list[ReferenceEvent], exact: bool
) -> None:
    try:
        workload = parse_workload(f"EXACT; {text}" if exact else text)
        ready = plan(workload)
    except (QueryError, InvalidWorkloadError):
        assume(False)
        raise
    (query,) = workload
    check(query, events, run(ready, table_of(events), RunOptions())["q"], exact=exact)


@pytest.mark.parametrize(
    ("where", "pattern", "anchors"),
    [
        ("b[i].v > a.v AND b[i].v >= b[i-1].v", "SEQ(A a, B b+)", ()),
        ("a.v * 2 < b[i].v AND b[i-1].v = b[i].v", "SEQ(A a, B b+)", ()),
        ("b[i].v = a.v AND b[i].v = b[i-1].v", "SEQ(A a, B b+)", ()),
        ("b[i].v = a.v AND b[i].v >= b[i-1].v", "SEQ(A a, B b+)", ("a",)),
        ("b[i].v > a.v AND b[i].v != b[i-1].v", "SEQ(A a, B b+)", ("a",)),
        ("b[i].v > a.v AND b[i].w >= b[i-1].w", "SEQ(A a, B b+)", ("a",)),
        ("b[i].v > a.w AND b[i].v >= b[i-1].v", "SEQ(A a, B b+)", ("a",)),  # another order, maybe
        ("b[i].v > a.v AND b[i].v >= b[i-1].v", "SEQ(A a, C?, B b+)", ("a",)),
    ],
)
def test_an_anchor_is_kept_where_neighbours_do_not_tell(
    where: str, pattern: str, anchors: tuple[str, ...]
) -> None:
    (query,) = parse_workload(f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE {where};")
    assert without_implied(guarded_template(query)).anchors == anchors
