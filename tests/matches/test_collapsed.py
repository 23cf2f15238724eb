"""COLLAPSED: one row for all matches that begin with an event; expanding it gives the matches."""

import os
import re
from collections import defaultdict
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings

from elsinore.errors import UnsupportedError
from elsinore.matches.dependence import needs_paths, postponed
from elsinore.matches.spec import spec_of
from elsinore.workload import Workload
from oracles.matches import Happening, brute_force
from support.drawn import CASES, Drawn
from support.matches import USERS, engine_rows, parsed, streams, units_of

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
    "SEQ(A a, B b) OR SEQ(A a, C c, B+ b)": "abc",
    "SEQ(A a, NOT C x, B+ b)": "ab",
    "SEQ(NOT C x, A a, B+ b, NOT A y)": "ab",
    "SEQ(A a, (SEQ(NOT C x, B b))+)": "ab",
    "SEQ(A a, B+ b, NOT SEQ(C x, A y))": "ab",
    "B+ b": "b",
}
LOCAL = ("", "", "b.v < 3")
COMPARED = ("b[i].v >= b[i-1].v", "b[i].n > b[i-1].n", "b[i].v < b[i-1].v", "b[i].n <= b[i-1].n")
PATHS = ("", "", *COMPARED, "b[i].v <= b[i-1].v + b[i].n")
# conditions that are not looked at along a path, but where the first event alone is read
FARTHER = ("b[i].v > b[1].v", "b[i].v > MAX(b[1..i-1].v)", "COUNT(b[]) >= 2", "b[1].v < 3")
ANCHORED = ("a.v <= b.v", "b.n + a.n > 2")


def _aggregates(found: Sequence[int], events: Sequence[Happening]) -> list[float | None]:
    """Return COUNT(*), SUM(v) and MAX(n) of some events; the last two null without values."""
    known = {
        name: [value for n in found if (value := events[n].attributes[name]) is not None]
        for name in ("v", "n")
    }
    return [len(found), sum(known["v"]) if known["v"] else None, max(known["n"], default=None)]


def conditions_of(drawn: Drawn, pattern: str) -> list[str]:
    """Draw conditions that go with a pattern."""
    repeated = any(f"{mark} b" in pattern for mark in "+*}") or "))+" in pattern
    found = [drawn.one(LOCAL)]
    if repeated and pattern.count(" b") == 1:
        found.append(drawn.one(PATHS))
        found.append(drawn.one(("", "", *FARTHER, *(ANCHORED if "A a" in pattern else ()))))
    return [condition for condition in found if condition]


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_expanding_the_rows_gives_the_matches(drawn: Drawn) -> None:
    events, pattern = streams(drawn), drawn.one(sorted(PATTERNS))
    window = drawn.one(["", "WITHIN 5", "WITHIN 3", "WITHIN 6 SLIDE 3", "WITHIN 3 SLIDE 5"])
    for number, event in enumerate(events):
        dict.update(event.attributes, g=str(number))
    conditions = conditions_of(drawn, pattern)
    names = PATTERNS[pattern]
    lists = ", ".join(f"{name}[].g AS {name}list" for name in names)
    counts = ", ".join(
        f"COUNT({name}[]) AS {name}1, SUM({name}[].v) AS {name}2, MAX({name}[].n) AS {name}3"
        for name in names
    )
    where = " AND ".join(["1 < 2", *(f"({condition})" for condition in conditions)])
    body = f"PATTERN {pattern} WHERE {where}"
    saves, cuts = drawn.whether(), drawn.cuts(len(events), 2)
    (unit,) = units_of(parsed(f"RETURN {lists}, {counts} {body} {window} COLLAPSED;"))
    (template,) = spec_of(unit).templates
    (rows,) = engine_rows(unit, events, cuts=cuts, saves=saves)
    query = parsed(f"RETURN {lists} {body} {window};").queries[0]
    expected = {(match.window, match.steps) for match in brute_force(query, events)}
    sets = {}
    for (_, bounds, values), times in rows.items():
        assert times == 1
        row = {name: tuple(map(int, found)) for name, found in zip(names, values, strict=False)}
        aggregates = [part for found in row.values() for part in _aggregates(found, events)]
        assert list(values[len(names) :]) == aggregates
        assert sets.setdefault((bounds, _beginning(row)), row) is row
    bound = defaultdict(set)
    for bounds, steps in expected:
        bound[bounds, steps[0]].update(steps)
    in_sets = {
        key: {(event, name) for name, found in row.items() for event in found}
        for key, row in sets.items()
    }
    if postponed(template):
        assert all(bound[key] <= in_sets[key] for key in bound)
    else:  # no event is in a set that no match needs
        assert in_sets == bound
    expanded = [
        (key[0], way)
        for key, row in sets.items()
        for way in _expanded(pattern, where, row, events)
        if way[0] == key[1]
    ]
    assert len(set(expanded)) == len(expanded)
    if "NOT" in pattern:  # what it forbids are no events of the row
        assert set(expanded) >= expected
    else:
        assert set(expanded) == expected


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(CASES)
def test_sets_of_other_strategies_are_those_of_their_matches(drawn: Drawn) -> None:
    events, pattern = streams(drawn), drawn.one(sorted(PATTERNS))
    window = drawn.one(["", "WITHIN 5", "WITHIN 3", "WITHIN 6 SLIDE 3", "WITHIN 3 SLIDE 5"])
    strategy = drawn.one(["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
    for number, event in enumerate(events):
        dict.update(event.attributes, g=str(number))
    names = PATTERNS[pattern]
    lists = ", ".join(f"{name}[].g AS {name}list" for name in names)
    where = " AND ".join(["1 < 2", *(f"({c})" for c in conditions_of(drawn, pattern))])
    text = f"RETURN {lists} PATTERN {pattern} WHERE {where} STRATEGY {strategy} {window}"
    saves, cuts = drawn.whether(), drawn.cuts(len(events), 2)
    (unit,) = units_of(parsed(f"{text} COLLAPSED;"))
    (rows,) = engine_rows(unit, events, cuts=cuts, saves=saves)
    bound = defaultdict(set)
    for match in brute_force(parsed(f"{text};").queries[0], events):
        bound[match.window, match.steps[0]].update(match.steps)
    given_out = {}
    for (_, bounds, values), times in rows.items():
        assert times == 1
        sets = {(int(n), name) for name, found in zip(names, values, strict=True) for n in found}
        given_out[bounds, min(sets)] = sets
    assert given_out == bound


@pytest.mark.parametrize(
    ("pattern", "where", "looked_for"),
    [
        ("SEQ(A a, B+ b, C c)", "b[i].v > b[i-1].v", False),
        ("SEQ(A a, B+ b)", "b[i].v > b[i-1].v", False),
        ("SEQ(B+ b, C c)", "b[i].v > b[i-1].v", True),
        ("SEQ(A a, B{2,3} b)", "b[i].v > b[i-1].v", True),
        ("SEQ(A a, B+ b, C c)", "b[i].v > b[i-1].v AND b.v > a.v", True),
        ("SEQ(A a, B+ b, C c)", "b[i].v > b[i-1].v AND c.v > a.v", True),
    ],
)
def test_paths_are_looked_for_where_a_comparison_rules_events_out(
    pattern: str, where: str, looked_for: bool
) -> None:
    (unit,) = units_of(parsed(f"RETURN b[].v PATTERN {pattern} WHERE {where} COLLAPSED;"))
    (template,) = spec_of(unit).templates
    assert needs_paths(template) is looked_for


def _beginning(sets: dict[str, Sequence[int]]) -> tuple[int, str]:
    return min((event, name) for name, found in sets.items() for event in found)


def _expanded(
    pattern: str, where: str, sets: dict[str, Sequence[int]], events: list[Happening]
) -> list[tuple[tuple[int, str], ...]]:
    """Return the ways to take events from sets in the pattern's order that satisfy conditions."""
    inside = sorted({event for found in sets.values() for event in found})
    pattern = re.sub(r"NOT (\w+ \w|SEQ\(.*?\)), ", "", pattern)
    pattern = re.sub(r", NOT (\w+ \w|SEQ\(.*?\))", "", pattern)
    query = parsed(f"RETURN {next(iter(sets))}[].g PATTERN {pattern} WHERE {where};").queries[0]
    ways = [
        tuple((inside[event], name) for event, name in match.steps)
        for match in brute_force(query, [events[event] for event in inside])
    ]
    return [way for way in ways if all(event in sets[name] for event, name in way)]


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
    ("query", "sets"),
    [
        ("SEQ(A a, B+ b) WHERE b.v > a.v", [[4, 3]]),
        ("SEQ(A a, B+ b, C c) WHERE b[i].v < b[i-1].v", [[4, 1, 3]]),
        ("SEQ(A a, B+ b, C c) WHERE b[i].v > b[i-1].v + 2", [[4, 1, 3]]),
        ("SEQ(A a, B{2} b, C c) WHERE b[i].v < b[i-1].v", [[4, 1, 3]]),
        ("SEQ(A a, B{2} b, C c) WHERE b[i].v > b[i-1].v + 1", [[1, 3]]),
        ("SEQ(A a, NOT C x, B b)", [[4, 1, 3]]),
        ("SEQ(A a, B b, NOT C x)", [[2]]),
        ("SEQ(A a, B b, NOT C x) WITHIN 3", [[4, 1, 3]]),
        ("SEQ(NOT A x, B b, C c)", []),
        ("SEQ(NOT A x, B b, C c) WITHIN 3", [[4], [1], [3]]),
        ("SEQ(A a, B+ b) WITHIN 3 SLIDE 1", [[4], [4, 1]]),
        ("SEQ(A a, B+ b) WHERE COUNT(b[]) > 9", [[4, 1, 3, 2]]),  # left to whoever expands it
    ],
)
def test_sets_hold_what_conditions_and_not_leave(query: str, sets: list[list[int]]) -> None:
    rows = [
        {"time": time, "type": kind, "v": value}
        for time, (kind, value) in enumerate(
            [("A", 2), ("B", 4), ("B", 1), ("B", 3), ("C", 5), ("B", 2)], start=1
        )
    ]
    (found,) = Workload.parse(f"RETURN b[].v AS b PATTERN {query} COLLAPSED;").run(rows).values()
    assert found["b"].to_pylist() == sets


def test_aggregates_of_the_user_are_over_the_sets() -> None:
    rows = [{"time": n, "type": "AABBB"[n], "v": v} for n, v in enumerate([0, 0, 4, 9, 7])]
    query = "RETURN SPREAD(b[].v) AS s, MIDDLE(b[].v) AS m PATTERN SEQ(A a, B+ b) COLLAPSED;"
    (found,) = Workload.parse(query, aggregates=USERS).run(rows).values()
    assert found.to_pylist() == [{"s": 5.0, "m": 7.0}] * 2


@pytest.mark.parametrize("where", ["", "WHERE b[i].v > a.v"])
def test_sums_of_doubles_are_over_the_sets(where: str) -> None:
    rows = [
        {"time": n, "type": "AABBB"[n], "v": v} for n, v in enumerate([0.5, 1.5, 4.5, 9.0, 7.25])
    ]
    query = f"RETURN SUM(b[].v) AS s, MIN(b[].v) AS m PATTERN SEQ(A a, B+ b) {where} COLLAPSED;"
    (sums,) = Workload.parse(query).run(rows).values()
    assert sums.to_pylist() == [{"s": 20.75, "m": 4.5}] * 2


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("RETURN CONFIDENCE() PATTERN SEQ(A a, B+ b)", r"a CONFIDENCE\(\) of its own"),
        ("RETURN c.v PATTERN SEQ(A a, B+ b, C c)", r"return c\[\].v, c\[1\].v or an aggregate"),
    ],
)
def test_what_has_no_collapsed_form_is_refused(query: str, told: str) -> None:
    with pytest.raises(UnsupportedError, match=told):
        units_of(parsed(f"{query} COLLAPSED;"))
