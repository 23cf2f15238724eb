"""Which way each kind of query is run, and the reason that is given."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import QuerySemanticError
from elsinore.language import parse_query
from elsinore.model import Attribute, Binary, Call, Operator, Query, Reference, ReturnItem
from elsinore.model import pattern as pt
from elsinore.model.evaluate import is_true
from elsinore.plan import Granularity, Path
from elsinore.plan.between import PREVIOUS
from elsinore.plan.paths import Routed, route
from elsinore.plan.template import START, Move, Template
from oracles.reference import ReferenceEvent, reference
from support.trends import TYPES, streams_for, trend_queries

ALL = (ReturnItem(Call("COUNT", ())),)


def of(text: str, *, fine: bool = False, exact: bool = False) -> Routed:
    granularity = Granularity.FINE if fine else Granularity.AUTO
    return route(parse_query(f"RETURN COUNT(*) PATTERN {text}"), granularity, exact=exact)


CASES = [
    ("SEQ(A, B+)", Path.COARSE, "no condition compares one event with another"),
    ("SEQ(A a+, A b+)", Path.COARSE, "no condition compares"),
    ("SEQ(A, B+) WHERE B.v < 3 AND [k]", Path.COARSE, "no condition compares"),
    ("SEQ(A, B+) WHERE B[i].v < B[i-1].v", Path.GRAPH, "a condition compares events"),
    (
        "SEQ(A, B+, C) WHERE 3 < A.v AND B[i].v < B[i-1].w",
        Path.GRAPH,
        "a condition compares events",
    ),
    ("SEQ(A, B+) WHERE B[i].v != B[i-1].v", Path.GRAPH, "a condition compares events"),
    ("SEQ(A, B+) WHERE B[i].v < B[i-1].v + 1", Path.GRAPH, "a condition compares events"),
    ("SEQ(A, B+) WHERE ABS(B[i].v - B[i-1].v) < 1", Path.GRAPH, "an index over its own events"),
    ("SEQ(A, NOT N, B+) WHERE B[i].v < B[i-1].v", Path.GRAPH, "an index over its own events"),
    ("SEQ(A, NOT SEQ(N, M), B+) WHERE B[i].v < B[i-1].v", Path.GRAPH, "its own list of events"),
    ("SEQ(A, B+) WHERE B[i].v % 2 < B[i-1].v % B[i].v", Path.GRAPH, "its own list of events"),
    ("SEQ(A, B+) WHERE B[i-1].v < B[i-1].w", Path.GRAPH, "a condition compares events"),
    ("SEQ(A, B+) WHERE B[i-1].v < 3", Path.GRAPH, "a condition compares events"),
    ("SEQ(A, B) WHERE A.v < B.v", Path.GRAPH, "a condition compares events"),
    ("SEQ(A, B+) WHERE A.v < B[i].v", Path.GRAPH, "a condition compares events"),
    ("SEQ(A, B+) WHERE A.v < B[1].v", Path.GRAPH, "a condition compares events"),
    ("SEQ(A+, B+) WHERE A.v < B.v", Path.GRAPH, "a condition compares events"),
    ("B b{3} WHERE b[i].v < b[i-1].v", Path.GRAPH, "a condition compares events"),
    (
        "B+ WHERE B[i].v < B[i-1].v AND B[i].w < B[i-1].w",
        Path.GRAPH,
        "a condition compares events",
    ),
    ("SEQ(A a+, A b+) WHERE a[i].v < a[i-1].v", Path.SETS, "ambiguous"),
    ("SEQ(A a, A b+) WHERE b[i].v < b[i-1].v", Path.GRAPH, "a condition compares events"),
    ("SEQ(A, NOT N, B)", Path.COARSE, "reset by what NOT forbids"),
    ("SEQ(NOT N, A+, NOT (M OR N n)) WHERE M.v > 3", Path.COARSE, "reset by what"),
    ("SEQ(A, NOT SEQ(M, N), B)", Path.GRAPH, "NOT forbids more than single events"),
    ("SEQ(A, NOT SEQ(NOT M, N), B)", Path.SETS, "a pattern under NOT begins or ends with NOT"),
    ("SEQ(A, NOT SEQ(N, NOT M), B)", Path.SETS, "a pattern under NOT begins or ends with NOT"),
    ("SEQ(A a+, NOT N, A b+)", Path.SETS, "ambiguous"),
    ("SEQ(A, (SEQ(NOT M, B))?, (SEQ(NOT N, C))?, D)", Path.COARSE, "reset by what"),
    ("SEQ(A, (B OR SEQ(NOT M, B b)), C)", Path.SETS, "ambiguous"),
    ("SEQ(A, NOT N, B) WHERE A.v < B.v", Path.GRAPH, "NOT depends on"),
    (
        "SEQ(A, NOT N, B) STRATEGY CONTIGUOUS",
        Path.GRAPH,
        "CONTIGUOUS restricts which events may be skipped",
    ),
    ("SEQ(NOT N, A, B) STRATEGY CONTIGUOUS", Path.GRAPH, "NOT depends on"),
    ("SEQ(A, NOT N, B) AND C", Path.COARSE, "each pattern and for both: AND counts pairs"),
    ("A+ AND SEQ(A a+, A a2+)", Path.COARSE, "each pattern and for both"),
    ("A+ AND B+ WHERE B[i].v < B[i-1].v", Path.GRAPH, "AND counts pairs"),
    ("A+ AND B+ STRATEGY CONTIGUOUS", Path.GRAPH, "AND counts pairs"),
    ("A+ AND SEQ(B, NOT SEQ(M, N), C)", Path.GRAPH, "AND counts pairs"),
    ("A{20} AND A{1,20} a2", Path.COARSE, "each pattern and for both"),
    ("A{1,200} AND A{1,201} a2", Path.COARSE, "each pattern and for both"),
    (
        "SEQ(A, B) STRATEGY SKIP TILL NEXT MATCH",
        Path.GRAPH,
        "restricts which events may be skipped",
    ),
    ("SEQ(A, B) STRATEGY CONTIGUOUS", Path.GRAPH, "restricts which events may be skipped"),
    (
        "SEQ(A, B+) WHERE B.v < 3 STRATEGY CONTIGUOUS",
        Path.GRAPH,
        "sums carried from event to event",
    ),
    (
        "SEQ(A, B+) WHERE B[i].v != B[i-1].w STRATEGY SKIP TILL NEXT MATCH",
        Path.GRAPH,
        "sums carried from event to event",
    ),
    (
        "SEQ(A, B+) WHERE B[i].v < 2 * B[i-1].v STRATEGY CONTIGUOUS",
        Path.GRAPH,
        "sums carried from event to event",
    ),
    ("SEQ(A, NOT N, B+) STRATEGY CONTIGUOUS", Path.GRAPH, "sums carried from event to event"),
    (
        "SEQ(A, B+) WHERE A.v < B.v STRATEGY CONTIGUOUS",
        Path.GRAPH,
        "sums carried from event to event",
    ),
    (
        "SEQ(A, B, C+, D+) WHERE A.v < C.v AND B.v < D.v AND B.v < C.v",
        Path.SETS,
        "compared with several that need not precede",
    ),
    ("SEQ(A a, A b?, A c+) WHERE a.v < c.v", Path.SETS, "the pattern is ambiguous"),
    ("SEQ(A, NOT SEQ(N, M+), B) WHERE N.v < M[i].v", Path.SETS, "compared with several that need"),
    ("SEQ(A, NOT SEQ(M, N), B{70})", Path.GRAPH, "NOT forbids more than single events"),
    ("SEQ(A, NOT N{70}, B)", Path.GRAPH, "NOT forbids more than single events"),
]


@pytest.mark.parametrize(("text", "path", "why"), CASES, ids=[case[0] for case in CASES])
def test_a_query_takes_the_cheapest_way_that_is_right(text: str, path: Path, why: str) -> None:
    routed = of(text)
    assert routed.path is path
    assert why in ": ".join(routed.why)
    assert (routed.template is None) == (path is Path.SETS)


@pytest.mark.parametrize(
    ("text", "path", "why"),
    [
        ("SEQ(A, B+)", Path.GRAPH, "fine granularity was requested"),
        ("SEQ(A, B+) WHERE B[i].v < B[i-1].v", Path.GRAPH, "compares events"),
        ("SEQ(A a+, A b+)", Path.COARSE, "no condition compares"),
        ("SEQ(B b1, B b2+)", Path.GRAPH, "fine"),
        ("SEQ(B b1, B b2)", Path.GRAPH, "fine"),
        ("SEQ(A, NOT N, B)", Path.GRAPH, "NOT depends"),
    ],
)
def test_fine_granularity_keeps_every_event(text: str, path: Path, why: str) -> None:
    routed = of(text, fine=True)
    assert routed.path is path
    assert why in ": ".join(routed.why)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("SEQ(A, B+)", Path.COARSE),
        ("SEQ(A, B+) WHERE B[i].v < B[i-1].v", Path.SETS),
        ("SEQ(A, NOT N, B)", Path.COARSE),
        ("SEQ(A, NOT SEQ(M, N), B)", Path.SETS),
        ("A AND B", Path.COARSE),
        ("A AND B+ WHERE B[i].v < B[i-1].v", Path.SETS),
        ("SEQ(A, B) STRATEGY CONTIGUOUS", Path.SETS),
    ],
)
def test_exact_numbers_are_computed_by_sums_or_one_by_one(text: str, path: Path) -> None:
    assert of(text, exact=True).path is path
    assert of(text, exact=True, fine=True).path is path


def test_no_predicate_is_lost_beside_one_that_a_loop_carries() -> None:
    loop = "WHERE B[i].v < B[i-1].v"
    assert of(f"SEQ(A, B+, C) {loop} AND A.v < C.v").path is Path.GRAPH
    assert of(f"SEQ(A+, B+, C) {loop} AND A.v < B.v").path is Path.GRAPH
    with pytest.raises(QuerySemanticError, match="Two events of C are never neighbours"):
        of(f"SEQ(B+, (SEQ(C, D))+) {loop} AND C[i].v < C[i-1].v")
    with pytest.raises(QuerySemanticError, match="about one event, about neighbours"):
        of(f"SEQ(A, B+, C, D) {loop} AND A.v + C.v < D.v")


# What a template with comparisons on its loops means


def trends_by(built: Template, events: list[ReferenceEvent]) -> Counter[tuple[int, ...]]:
    """Return the events of each accepted run; a trend must have one run only."""
    found: Counter[tuple[int, ...]] = Counter()

    def onward(state: int, taken: tuple[int, ...]) -> None:
        if state in built.accepting:
            found[taken] += 1
        for move in built.moves:
            for place in range(len(events)):
                if move.source == state and fits(move, taken, place):
                    onward(move.target, (*taken, place))

    def fits(move: Move, taken: tuple[int, ...], place: int) -> bool:
        event, before = events[place], events[taken[-1]] if taken else None
        target = built.states[move.target]
        if target.type != event.type or (before is not None and before.time >= event.time):
            return False
        if not all(is_true(need, lambda read: event.value(read.name)) for need in target.needs):
            return False
        if any(is_true(lack, lambda read: event.value(read.name)) for lack in target.lacks):
            return False
        if before is None or not move.reads.ranges:
            return True

        def value(read: Attribute) -> object:
            return (before if read.variable == PREVIOUS else event).value(read.name)

        ranges = move.reads.ranges
        return any(all(is_true(cut.condition(), value) for cut in cuts) for cuts in ranges)

    onward(START, ())
    return found


@st.composite
def cases(draw: st.DrawFn) -> tuple[Query, list[ReferenceEvent]]:
    """Draw a query that compares events of its loops with those before them, and a stream."""
    types = draw(st.sampled_from((TYPES, TYPES, ("A", "B"))))
    query = replace(
        draw(trend_queries("q", types)), window=None, group_by=(), equivalence=(), returns=ALL
    )
    loops = [
        node.pattern.variable
        for node in pt.walk(query.pattern)
        if isinstance(node, pt.Kleene) and isinstance(node.pattern, pt.Event) and node.most is None
    ]
    where = list(query.where)
    for name in draw(st.lists(st.sampled_from(loops), min_size=1, unique=True)) if loops else ():
        one = Attribute(name, draw(st.sampled_from("vw")), Reference.CURRENT)
        other = Attribute(name, draw(st.sampled_from("vw")), Reference.PREVIOUS)
        operator = draw(st.sampled_from((Operator.LT, Operator.GE, Operator.EQ)))
        where.append(Binary(operator, *draw(st.permutations((one, other)))))
    query = replace(query, where=tuple(where))
    return query, draw(streams_for(query, 8))


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(cases(), st.sampled_from(Granularity))
def test_a_template_has_each_trend_of_its_query_once(
    case: tuple[Query, list[ReferenceEvent]], granularity: Granularity
) -> None:
    query, events = case
    try:
        routed = route(query, granularity, exact=False)
    except QuerySemanticError as error:
        assert "would never be looked at" in error.message  # noqa: PT017 - nothing else is refused
        return
    if routed.template is not None and routed.template.is_pairwise:
        found = trends_by(routed.template, events)
        (row,) = reference(query, events) or [None]
        assert set(found.values()) <= {1}
        assert len(found) == (row.values["count(*)"] if row else 0)
