"""The path of sets: against the reference engine, and examples that can be checked by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

from elsinore.errors import InputError, QuerySemanticError
from elsinore.language import parse_workload
from elsinore.model import Conjunction, Kleene, Negation, Query, Strategy
from elsinore.model import pattern as pt
from elsinore.model.window import SECOND
from elsinore.operators.ranks import from_ranks, to_ranks
from elsinore.plan import TrendUnit, Unit, partition_of
from elsinore.plan.aggregates import SPREAD, Outcome
from elsinore.plan.assembly import guarded_template
from elsinore.plan.classes import classes_of
from elsinore.plan.merged import merge_templates
from elsinore.plan.paths import Path, Way
from elsinore.plan.template import Template
from elsinore.plan.trends import unit_of as as_unit
from elsinore.runtime.chunks import whole
from elsinore.runtime.classify import classify, type_numbers
from elsinore.trends.exact import ExactEvaluator, ExactEvents, ExactTotal
from elsinore.trends.exact_sums import EventValues
from elsinore.trends.kind import spec_of
from elsinore.trends.values import FOREVER, NEVER
from oracles.reference import ReferenceEvent, reference, root
from support.guarded_cases import drawn_tests
from support.trends import table_of


def unit_of(query: Query) -> Unit:
    """Return a unit of one query, whichever path it would be given otherwise."""
    template = guarded_template(query)
    local = ((name, sorted(held, key=repr)) for name, held in sorted(template.predicates.items()))
    spec = TrendUnit(
        path=Path.SETS,
        why=(Way("", ""),),
        members=(template,),
        templates=(),
        classes=classes_of(local),
        merged=merge_templates(()),
    )
    return as_unit("elsinore.trends.kind", partition_of(query), [0], spec)


def evaluated(
    unit: Unit,
    table: pa.Table,
    *,
    by_time: bool = True,
    cuts: Iterable[int] = (),
    searched: bool = False,
) -> list[tuple[tuple[Any, ...], ExactTotal]]:
    """Return a unit's totals with the keys they are of; `cuts`: times of calls before the last.

    searched: pair by pair, even where sums per state, or of ranges, do.
    """
    by_key: dict[tuple[Any, ...], list[int]] = {}
    for row, values in enumerate(table.to_pylist()):
        if all(values[name] is not None for name in unit.required):
            by_key.setdefault(tuple(values[name] for name in unit.key), []).append(row)
    table = table.take(pa.array([row for rows in by_key.values() for row in rows], pa.int64()))
    numbers = type_numbers(whole(table.column("type")), unit.types)
    read = {name: whole(table.column(name)) for name in unit.classes.attributes}
    rows = {
        name: [None if is_nan(value) else value for value in table.column(name).to_pylist()]
        for name in unit.carried
    }
    ranks = {name: to_ranks(whole(table.column(name))).to_pylist() for name in spec_of(unit).ranked}
    events = ExactEvents(
        starts=np.cumsum([0, *map(len, by_key.values())]),
        times=table.column("time").to_numpy() * SECOND,
        codes=classify(unit.classes, numbers, unit.types, read),
        values=EventValues(rows, rows, ranks),
    )
    is_pairwise = property(lambda _: False) if searched else Template.is_pairwise
    with patch.object(Template, "is_pairwise", is_pairwise):
        evaluator = ExactEvaluator(spec_of(unit), by_time=by_time)
    edges = [NEVER, *sorted(cuts), FOREVER]
    found: list[ExactTotal] = []
    for done, until in itertools.pairwise(edges):
        found += evaluator.evaluate(events, int(done), int(until))
    names = list(by_key)
    return [(names[total.key], total) for total in found]


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def results(
    query: Query,
    events: Sequence[ReferenceEvent],
    *,
    ordered: bool = False,
    cuts: Iterable[int] = (),
    searched: bool = False,
) -> dict[tuple[Any, Any], dict[str, Any]]:
    """Return the columns of a query's result by group and window."""
    unit = unit_of(query)
    table = table_of(events)
    sums: dict[tuple[Any, Any], tuple[list[Any], list[int]]] = {}
    seen = set()
    for key, total in evaluated(unit, table, by_time=not ordered, cuts=cuts, searched=searched):
        assert (key, total.window) not in seen, "given out twice"
        assert total.sums.linear[0] > 0
        seen.add((key, total.window))
        bounds = None if query.window is None else query.window.bounds(total.window)
        group = dict(zip(unit.key, key, strict=True))
        place = (tuple(group[name] for name in query.group_by), bounds)
        if place in sums:
            cells, extremes = sums[place]
            cells[:] = [a + b for a, b in zip(cells, total.sums.linear, strict=True)]
            extremes[:] = [min(a, b) for a, b in zip(extremes, total.sums.extremes, strict=True)]
        else:
            sums[place] = (list(total.sums.linear), list(total.sums.extremes))
    return {place: columns(unit, table, *found) for place, found in sums.items()}


def columns(
    unit: Unit, table: pa.Table, cells: Sequence[Any], extremes: Sequence[int]
) -> dict[str, Any]:
    aggregation = spec_of(unit).members[0].aggregation
    found: dict[str, Any] = {}
    for column in aggregation.columns:
        first = column.fields[0]
        match column.outcome:
            case Outcome.COUNT:
                found[column.name] = cells[first]
            case Outcome.LOG2:
                found[column.name] = math.log2(cells[first])
            case Outcome.EXTREME:
                field, rank = aggregation.extremes[first], extremes[first]
                missing = rank == extremes[column.fields[1]] == FOREVER
                rank = rank if field.kind.value == "least" or missing else ~rank
                ranks = np.array([rank]), np.array([missing])
                kind = table.schema.field(column.attribute).type
                found[column.name] = from_ranks(*ranks, kind).to_pylist()[0]
            case outcome if outcome.is_spread:
                own = column.fields[: len(SPREAD)]  # of one turn, as nothing is rounded
                squares, total, number = (cells[place] for place in own)
                under = number * (number - outcome.of_sample)
                value = Fraction(number * squares - total**2, under) if under else None
                known = value is not None and outcome.is_root
                found[column.name] = root(value) if known else value
            case outcome:
                total, number = (cells[place] for place in column.fields)
                value = Fraction(total) / number if number else None
                found[column.name] = total if number and outcome is Outcome.SUM else value
    return found


def check(
    query: Query,
    events: Sequence[ReferenceEvent],
    *,
    ordered: bool = False,
    cuts: Iterable[int] = (),
) -> bool:
    """Compare a query's results with the reference's; return whether there are any."""
    expected = reference(query, events, ordered=ordered)
    for searched in (False, True):
        found = results(query, events, ordered=ordered, cuts=cuts, searched=searched)
        assert found == {(row.group, row.window): dict(row.values) for row in expected}
    return bool(expected)


def checkable(query: Query) -> bool:
    """Return whether a query can be planned, and is one the reference reads as we do.

    It takes a variable for single in both patterns that AND joins if it is in one. Under NEXT it
    lets a run take an event that NOT forbids, or one that no events can complete, and does not
    tell the rounds apart that events of a repetition in a repetition may be in.
    """
    whole = query.pattern
    if isinstance(whole, Conjunction):
        ones, others = ({event.variable for event in pt.events(part)} for part in whole.parts)
        loops, other_loops = map(pt.kleene_variables, whole.parts)
        if (ones & others) & (set(loops) ^ set(other_loops)):
            return False
    try:
        template = guarded_template(query)
    except QuerySemanticError:
        return False
    if query.strategy is not Strategy.NEXT:
        return True
    repeated = [node for node in pt.walk(whole) if isinstance(node, Kleene) and node.most != 1]
    return (
        not any(isinstance(node, Negation) for node in pt.walk(whole))
        and not any(isinstance(n, Kleene) for outer in repeated for n in pt.walk(outer.pattern))
        and {state.variable for state in template.states}
        == {event.variable for event in pt.events(whole)}
    )


(
    test_totals_are_those_of_every_trend_built,
    test_one_query_with_every_feature,
    test_each_window_is_given_out_once,
) = drawn_tests(check, checkable)


def count(text: str, *events: Any, **more: Any) -> int:
    """Return the number of trends of a pattern; events are (time, type) and values of v if any."""
    (query,) = parse_workload(f"QUERY q RETURN COUNT(*) {text}").queries
    stream = [
        ReferenceEvent(event[0] * SECOND, event[1], {"v": event[2]} if len(event) > 2 else {})
        for event in events
    ]
    found = results(query, stream, **more)
    return found[(), None]["count(*)"] if found else 0


def row_of(types: str) -> list[tuple[int, str]]:
    """Return events one after another: types are letters."""
    return list(enumerate(types))


@pytest.mark.parametrize(
    ("strategy", "number"),
    [("CONTIGUOUS", 1), ("SKIP TILL NEXT MATCH", 2), ("SKIP TILL ANY MATCH", 6)],
)
def test_strategies_of_figure_3(strategy: str, number: int) -> None:
    events = [(1, "A"), (2, "A"), (5, "B"), (6, "B"), (7, "C")]
    assert count(f"PATTERN SEQ(A a, B b+, C c) STRATEGY {strategy}", *events) == number


def test_next_cannot_skip_what_extends_and_any_can() -> None:
    events = [(n, "B", v) for n, v in enumerate((10, 20, 15, 19, 25))]
    pattern = "PATTERN B b+ WHERE b[i].v >= b[i-1].v"
    # 10, 10 20, 10 20 25; 20, 20 25; 15, 15 19, 15 19 25; 19, 19 25; 25
    assert count(f"{pattern} STRATEGY SKIP TILL NEXT MATCH", *events) == 11
    # by their last event: 1 ends with 10, 2 with 20, ...
    assert count(pattern, *events) == 1 + 2 + 2 + 4 + 10


def test_events_no_state_takes_break_contiguous_trends() -> None:
    contiguous = "PATTERN SEQ(A a, B b) STRATEGY CONTIGUOUS"
    assert count(contiguous, *row_of("AB")) == 1
    assert count(contiguous, *row_of("AZB")) == 0
    assert count(contiguous, (0, "A"), (1, "Z"), (1, "B")) == 1
    assert count(contiguous, (0, "A"), (1, "Z"), (1, "B"), ordered=True) == 0


def test_an_ambiguous_pattern_with_an_anchor_counts_sequences_once() -> None:
    pattern = "PATTERN SEQ(A p*, A r, A t+) WHERE t[i].v > r.v"
    assert count(pattern, (1, "A", 1), (2, "A", 2), (3, "A", 3)) == 4
    # 1 2, and 3 1 2 with 1 as r
    assert count(pattern, (1, "A", 3), (2, "A", 1), (3, "A", 2)) == 2


def test_many_events_that_may_be_the_anchor_are_no_matter() -> None:
    values = [n * 7 % 41 for n in range(40)]
    events = [(n, "A", v) for n, v in enumerate(values)]
    # the least event may as well be r, so it is no trend if and only if that is the last
    fails = sum(2 ** sum(v > w for v in values[:n]) for n, w in enumerate(values))
    number = 2 ** len(values) - 1 - fails
    assert count("PATTERN SEQ(A p*, A r, A t+) WHERE t[i].v > r.v", *events) == number


def test_sequences_of_two_anchors_are_told_apart() -> None:
    pattern = "PATTERN SEQ(A a, B b, C c+) WHERE c[i].v > a.v AND c[i].v < b.v"
    events = [(1, "A", 1), (2, "A", 4), (3, "B", 5), (4, "B", 9), (5, "C", 3), (6, "C", 7)]
    # 1 5: 3. 1 9: 3, 7, 3 7. 4 5: none. 4 9: 7
    assert count(pattern, *events) == 5


@pytest.mark.parametrize(
    ("types", "number"),
    [("AB", 1), ("ANB", 0), ("NAB", 1), ("ABN", 1), ("AANB", 0), ("ANAB", 1), ("AMNB", 0)],
)
def test_not_in_the_middle(types: str, number: int) -> None:
    assert count("PATTERN SEQ(A a, NOT N n, B b)", *row_of(types)) == number


@pytest.mark.parametrize(("types", "number"), [("AB", 3), ("NAB", 0), ("ANB", 2), ("ABN", 3)])
def test_not_at_the_start(types: str, number: int) -> None:
    assert count("PATTERN SEQ(NOT N n, (A a | B b)+)", *row_of(types)) == number


@pytest.mark.parametrize(("types", "number"), [("AB", 3), ("NAB", 3), ("ANB", 2), ("ABN", 0)])
def test_not_at_the_end(types: str, number: int) -> None:
    assert count("PATTERN SEQ((A a | B b)+, NOT N n)", *row_of(types)) == number


def test_not_in_a_group_applies_to_each_round() -> None:
    pattern = "PATTERN (SEQ(A a, NOT N n, B b))+"
    assert count(pattern, *row_of("ABAB")) == 4
    assert count(pattern, *row_of("ABNAB")) == 3  # not the first A with the last B
    assert count(pattern, *row_of("ABANB")) == 1


def test_a_negative_sequence_lies_strictly_between_as_a_whole() -> None:
    pattern = "PATTERN SEQ(A a, NOT SEQ(M m, N n), B b)"
    assert count(pattern, *row_of("AMNB")) == 0
    assert count(pattern, *row_of("MANB")) == 1
    assert count(pattern, *row_of("AMBN")) == 1
    assert count(pattern, (1, "A"), (1, "M"), (2, "N"), (3, "B")) == 1
    assert count(pattern, (1, "A"), (1, "M"), (2, "N"), (3, "B"), ordered=True) == 0


def test_a_negative_pattern_has_guards_of_its_own() -> None:
    rising = "PATTERN SEQ(A a, NOT SEQ(M m, N n+), B b) WHERE n[i].v > m.v"
    assert count(rising, (1, "A"), (2, "M", 5), (3, "N", 6), (4, "B")) == 0
    assert count(rising, (1, "A"), (2, "M", 5), (3, "N", 5), (4, "B")) == 1
    nested = "PATTERN SEQ(A a, NOT SEQ(M m, NOT X x, N n), B b)"
    assert count(nested, *row_of("AMNB")) == 0
    assert count(nested, *row_of("AMXNB")) == 1


def test_and_counts_pairs_of_different_trends() -> None:
    # two are of A alone, one of B alone, and two of both
    assert count("PATTERN (A a1 | C c) AND (B b | C c)", *row_of("AABCC")) == 2 + 4 + 2 + 1
    assert count("PATTERN A a AND A a1", *row_of("A")) == 0
    assert count("PATTERN A a+ AND A a1+", *row_of("AAA")) == 7 * 6 // 2


def test_sums_of_doubles_are_exact() -> None:
    (query,) = parse_workload("QUERY q RETURN SUM(A.w), AVG(A.w), MAX(A.w) PATTERN A+").queries
    events = [ReferenceEvent(n * SECOND, "A", {"w": w}) for n, w in enumerate((1e300, 1.0, -1e300))]
    found = results(query, events)[(), None]
    assert found == {"sum(A.w)": 4, "avg(A.w)": Fraction(1, 3), "max(A.w)": 1e300}


def test_counts_are_as_large_as_they_are() -> None:
    events = [(n, "A", 0) for n in range(100)]
    assert count("PATTERN A a+ WHERE a[i].v <= a[i-1].v", *events) == 2**100 - 1


def test_what_is_infinite_cannot_be_added_up() -> None:
    (query,) = parse_workload("QUERY q RETURN SUM(A.w) PATTERN A+").queries
    with pytest.raises(InputError, match="not finite"):
        results(query, [ReferenceEvent(0, "A", {"w": math.inf})])
