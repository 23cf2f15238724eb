"""COLLAPSED: one row for all matches that begin with an event; expanding it gives the matches."""

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import UnsupportedError
from elsinore.workload import Workload
from oracles.matches import Happening, brute_force
from support.matches import engine_rows, parsed, streams, units_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "25"))
# pattern -> its variables
PATTERNS = {
    "SEQ(A a, B+ b, C c)": "abc",
    "SEQ(A+ a, B+ b)": "ab",
    "SEQ(A a, B* b, C c)": "abc",
    "SEQ(A a, B{2,3} b)": "ab",
    "(SEQ(A a, B+ b))+": "ab",
    "SEQ(A a, (B b OR C c)+)": "abc",
    "SEQ(B+ b, C? c, B+ d)": "bcd",
    "(SEQ(A a, B b)){2}": "ab",
    "SEQ(A a, B b) OR SEQ(C c, B+ d)": "abcd",
}
LOCAL = ("", "b.v < 3", "b.v IS NOT NULL")


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(PATTERNS)),
    st.sampled_from(LOCAL),
    st.sampled_from(["", "WITHIN 3", "WITHIN 5"]),
    streams(most=8),
    st.data(),
)
def test_expanding_the_rows_gives_the_matches(
    pattern: str, condition: str, window: str, events: list[Happening], data: st.DataObject
) -> None:
    for number, event in enumerate(events):
        dict.update(event.attributes, n=number)
    names = PATTERNS[pattern]
    lists = ", ".join(f"{name}[].n AS {name}ns" for name in names)
    counts = ", ".join(f"COUNT({name}[]) AS {name}count" for name in names)
    body = f"PATTERN {pattern} WHERE [k]{f' AND {condition}' if condition else ''} {window}"
    cuts = data.draw(st.lists(st.integers(0, len(events)), max_size=2), label="cuts")
    saves = data.draw(st.booleans(), label="saves")
    (unit,) = units_of(parsed(f"RETURN {lists}, {counts} {body} COLLAPSED;"))
    (rows,) = engine_rows(unit, events, cuts=cuts, saves=saves)
    matches = brute_force(parsed(f"RETURN {lists} {body};").queries[0], events)
    expected = {match.steps for match in matches}
    beginnings = Counter(steps[0] for steps in expected)
    assert sum(rows.values()) == len(beginnings)
    expanded: Counter[Any] = Counter()
    for (_, _, values), times in rows.items():
        assert times == 1
        sets = dict(zip(names, values, strict=False))
        assert tuple(map(len, sets.values())) == values[len(names) :]
        mine = [s for s in expected if s[0] == _beginning(sets)]
        bound = {(event, name) for steps in mine for event, name in steps}
        # no event is in a set that no match needs, and every way to take events is a match
        assert bound == {(event, name) for name, found in sets.items() for event in found}
        expanded.update(_expanded(pattern, sets, events))
    assert expanded == Counter(expected)


def _beginning(sets: dict[str, Sequence[int]]) -> tuple[int, str]:
    return min((event, name) for name, found in sets.items() for event in found)


def _expanded(
    pattern: str, sets: dict[str, Sequence[int]], events: list[Happening]
) -> list[tuple[tuple[int, str], ...]]:
    """Return the ways to take events from sets in the pattern's order, the first one among them."""
    inside = sorted({event for found in sets.values() for event in found})
    query = parsed(f"RETURN {next(iter(sets))}[].n PATTERN {pattern};").queries[0]
    ways = [
        tuple((inside[event], name) for event, name in match.steps)
        for match in brute_force(query, [events[event] for event in inside])
    ]
    return [
        way
        for way in ways
        if way[0] == _beginning(sets) and all(event in sets[name] for event, name in way)
    ]


def test_aggregates_are_over_the_sets() -> None:
    rows = [
        {"time": time, "type": kind, "v": value}
        for time, kind, value in [(1, "A", 9), (2, "B", 4), (3, "B", 7), (4, "C", 5), (6, "B", 1)]
    ]
    query = """QUERY q RETURN a.v, b[].v AS b, SUM(b[].v) AS total, MIN(b[].v) AS least,
    MAX(b[].v) AS most, AVG(b[].v) AS mean, b[1].v AS one, b[b.LEN].v AS latest, COUNT(c[]) AS c
    PATTERN SEQ(A a, B+ b, C c) WITHIN 10 COLLAPSED;"""
    assert Workload.parse(query).run(rows)["q"].to_pylist() == [
        {
            "a.v": 9, "b": [4, 7], "total": 11, "least": 4, "most": 7, "mean": 5.5, "one": 4,
            "latest": 7, "c": 1,
        }
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("RETURN b[].v PATTERN SEQ(A a, B+ b) WHERE b[i].v > b[i-1].v", "single events only"),
        ("RETURN b[].v PATTERN SEQ(A a, B+ b) STRATEGY CONTIGUOUS", "SKIP TILL ANY MATCH"),
        ("RETURN b[].v PATTERN SEQ(A a, NOT C c, B+ b)", "NOT between events"),
        ("RETURN b[].v PATTERN SEQ(A a, B+ b) WITHIN 4 SLIDE 2", "SLIDE"),
        ("RETURN c.v PATTERN SEQ(A a, B+ b, C c)", r"return c\[\].v, c\[1\].v or an aggregate"),
        ("RETURN a.v PATTERN (A a OR A a)", "in several ways"),
    ],
)
def test_what_has_no_collapsed_form_is_refused(query: str, told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        units_of(parsed(f"{query} COLLAPSED;"))
