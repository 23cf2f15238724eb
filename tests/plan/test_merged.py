"""The merged template: states kept once, and nothing lost by it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_query
from elsinore.model import Call, Pattern, Query, ReturnItem, Window
from elsinore.model import pattern as pt
from elsinore.plan import MergedTemplate, Template
from elsinore.plan.aggregates import FieldKind
from elsinore.plan.merged import TRENDS, ancestors, merge_templates
from elsinore.plan.template import START
from support.regular import patterns
from support.templates import template

often = settings(max_examples=60)
several = st.lists(
    st.tuples(
        patterns().filter(lambda pattern: not pt.nullable(pattern)),
        st.sampled_from([None, Window(10), Window(10, 5)]),
    ),
    min_size=1,
    max_size=4,
)
streams = st.lists(st.sampled_from("ABC"), max_size=7)


def of(*texts: str) -> tuple[MergedTemplate, list[Template]]:
    """Merge the templates of queries written as `PATTERN ...`."""
    templates = [template(parse_query(text)) for text in texts]
    return merge_templates(templates), templates


def built(several: list[tuple[Pattern, Window | None]]) -> list[Template]:
    """Return the templates of count queries."""
    count = (ReturnItem(Call("COUNT", ())),)
    return [
        template(Query(name=f"q{n}", returns=count, pattern=pattern, window=window))
        for n, (pattern, window) in enumerate(several)
    ]


def trends_of(one: Template, stream: list[str]) -> int:
    """Count the trends of a template in a stream, state by state."""
    counts = [0] * len(one.states)
    for name in stream:
        more = [0] * len(one.states)
        for move in one.moves:
            if not one.states[move.target].takes(name, frozenset()):
                continue
            more[move.target] += 1 if move.source == START else counts[move.source]
        counts = [count + added for count, added in zip(counts, more, strict=True)]
    return sum(counts[state] for state in one.accepting)


def trends_of_merged(merged: MergedTemplate, stream: list[str]) -> list[int]:
    """Count the trends of all queries of a merged template, node by node."""
    counts = [0] * len(merged.nodes)
    for name in stream:
        more = [
            sum(
                1 if edge.source == START else counts[edge.source]
                for edge in node.edges
                if edge.takes(name, frozenset())
            )
            for node in merged.nodes
        ]
        counts = [count + added for count, added in zip(counts, more, strict=True)]
    return [sum(counts[node] for node, _ in ends.linear[0]) for ends in merged.ends]


@often
@given(several, streams)
def test_merged_queries_count_what_each_counts_alone(
    several: list[tuple[Pattern, Window | None]], stream: list[str]
) -> None:
    templates = built(several)
    merged = merge_templates(templates)
    assert trends_of_merged(merged, stream) == [trends_of(one, stream) for one in templates]


@often
@given(several)
def test_there_are_never_more_nodes_than_states(
    several: list[tuple[Pattern, Window | None]],
) -> None:
    templates = built(several)
    merged = merge_templates(templates)
    assert len(merged.nodes) <= sum(len(one.states) for one in templates)
    assert len(merge_templates(templates + templates).nodes) == len(merged.nodes)
    for one, ends in zip(templates, merged.ends, strict=True):
        assert all(merged.nodes[node].window == one.query.window for node, _ in ends.linear[0])
        assert all(merged.nodes[node].linear[number] == TRENDS for node, number in ends.linear[0])


@often
@given(several)
def test_edges_stay_within_a_window_and_nodes_are_sorted_by_it(
    several: list[tuple[Pattern, Window | None]],
) -> None:
    merged = merge_templates(built(several))
    places = [merged.windows.index(node.window) for node in merged.nodes]
    assert places == sorted(places)
    for node in merged.nodes:
        for edge in node.edges:
            assert edge.source == START or merged.nodes[edge.source].window == node.window


def test_queries_that_differ_in_their_names_only_are_one() -> None:
    merged, _ = of("RETURN COUNT(*) PATTERN SEQ(A a, B b+)", "RETURN COUNT(*) PATTERN SEQ(A, B+)")
    assert len(merged.nodes) == 2
    assert merged.ends[0] == merged.ends[1]


def test_queries_with_a_common_prefix_share_its_nodes() -> None:
    merged, templates = of(
        "RETURN COUNT(*) PATTERN SEQ(A, B+, C)", "RETURN COUNT(*) PATTERN SEQ(A, B+, D)"
    )
    assert sum(len(one.states) for one in templates) == 6
    assert len(merged.nodes) == 4
    (one,), (other,) = merged.ends[0].linear[0], merged.ends[1].linear[0]
    assert one != other
    before = ancestors(merged.nodes)
    assert len(before[one[0]] & before[other[0]]) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SEQ(A, B+) WITHIN 5 min", "SEQ(A, B+) WITHIN 6 min"),
        ("SEQ(A, B+) WHERE A.v < 3", "SEQ(A, B+) WHERE A.v < 4"),
        ("SEQ(A, B+)", "SEQ(C, B+)"),
        ("A", "A+"),
    ],
)
def test_states_in_which_other_trends_end_are_kept_apart(one: str, other: str) -> None:
    merged, templates = of(*(f"RETURN COUNT(*) PATTERN {text}" for text in (one, other)))
    assert len(merged.nodes) == sum(len(one.states) for one in templates)


def test_a_sum_that_two_queries_ask_for_is_kept_once() -> None:
    merged, _ = of(
        "RETURN SUM(A.v) PATTERN SEQ(A, B+)",
        "RETURN SUM(A.v) AS s, COUNT(B) PATTERN SEQ(A, B+)",
    )
    first, last = merged.nodes
    assert len(first.linear) == 3  # trends; the sum and the count of v that is not null
    assert len(last.linear) == 4
    assert merged.ends[0].linear == merged.ends[1].linear[:3]


def test_a_sum_is_not_kept_where_nothing_before_adds_to_it() -> None:
    merged, _ = of("RETURN SUM(B.v), MAX(B.v) PATTERN SEQ(A, B+)")
    first, last = merged.nodes
    assert first.linear == (TRENDS,)
    assert first.extremes == ()
    assert len(last.linear) == 3
    kinds = [extreme.kind for extreme in last.extremes]
    assert kinds == [FieldKind.GREATEST, FieldKind.GREATEST_EDGE]


def test_the_figures_of_the_paper_come_out_of_the_merged_template() -> None:
    # Figures 4 and 5: SEQ(A, B+) and SEQ(C, B+) over a1 a2 c1 b3 b4 b5 b6 a a c c c, then one b
    merged, templates = of(
        "RETURN COUNT(*) PATTERN SEQ(A, B+)", "RETURN COUNT(*) PATTERN SEQ(C, B+)"
    )
    stream = list("AACBBBBAACCC")
    assert trends_of_merged(merged, stream) == [30, 15]  # 15x with x = 2 and x = 1
    after = trends_of_merged(merged, [*stream, "B"])
    assert [Fraction(more - before) for more, before in zip(after, (30, 15), strict=True)] == [
        34,
        19,
    ]
    assert len(merged.nodes) == sum(len(one.states) for one in templates)
