"""NEXT and CONTIGUOUS step by step: against every trend built, and against the graph."""

from __future__ import annotations

import math
import os
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.kernels import uncompiled
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan.assembly import guarded_template
from elsinore.plan.paths import goes_in_steps
from elsinore.plan.sinks import with_sinks
from elsinore.runtime.options import RunOptions
from elsinore.trends.graph import evaluator, lanes, memory, stepped
from oracles.reference import ReferenceEvent
from support.trends import table_of
from support.units import assert_close, unit_inputs
from trends.hamlet.test_against_reference import long_stream, streams
from trends.test_against_reference import check
from trends.test_closing import drawn_cuts, in_pieces, many_events
from trends.test_everything import assert_same_rows

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "20")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
PATTERNS = (
    "B+ b",
    "SEQ(A a, B+ b)",
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a+, B+ b, C c)",
    "(SEQ(A a, B+ b))+",
    "SEQ(A a?, B+ b, D d)",
    "SEQ(A a, (B b OR C c)+)",
)
CONDITIONS = (
    "",
    "b[i].v >= b[i-1].v",
    "b[i].w < b[i-1].v",
    "b[i].v != b[i-1].v AND b[i].w >= b[i-1].w",
    "b.v > 0",
    "b.v > 0 AND b[i].v <= b[i-1].w AND [k]",
)
AGGREGATES = (
    "COUNT(*)",
    "COUNT(b)",
    "SUM(b.v)",
    "AVG(b.w)",
    "MIN(b.v)",
    "MAX(b.w)",
    "VARIANCE(b.v)",
)
TYPES = ("ABCD", "ABCD", "CBAD", "BACD", "DBCA")
ENDINGS = ("", "", ", C c", ", D d", ", D d+", ", A z", ", D d, C c", ", SEQ(C c, D d)+")
WINDOWS = ("", "", " WITHIN 4 seconds", " WITHIN 6 seconds SLIDE 2 seconds", " WITHIN 2 SLIDE 3")


@st.composite
def queries(draw: Any, group: str = "") -> Workload:
    """Draw queries that go step by step, some of one shape: these may be lanes of one sweep."""
    texts: list[str] = []
    aggregates = st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True)
    for number in range(draw(st.integers(1, 3))):
        if number == 0 or draw(st.booleans()):
            columns = draw(aggregates)
        if number == 0 or draw(st.integers(0, 2)) == 0:
            pattern = draw(st.sampled_from(PATTERNS))
            where = draw(st.sampled_from(CONDITIONS))
            strategy = draw(st.sampled_from(("SKIP TILL NEXT MATCH", "CONTIGUOUS")))
            window = draw(st.sampled_from(WINDOWS))
        types = str.maketrans("ABCD", draw(st.sampled_from(TYPES)))
        asked = where.replace("> 0", f"> {draw(st.sampled_from((-2, 0, 1)))}")
        texts.append(
            f"QUERY q{number} RETURN {', '.join(columns)} PATTERN {pattern.translate(types)}"
            f"{' WHERE ' * bool(where)}{asked} STRATEGY {strategy}{group}{window};"
        )
    return parse_workload("\n".join(texts))


@st.composite
def with_one_beginning(draw: Any, group: str = "") -> Workload:
    """Draw queries that begin alike, most of them, and end in their own ways."""
    strategy = draw(st.sampled_from(("SKIP TILL NEXT MATCH", "CONTIGUOUS")))
    where, window = draw(st.sampled_from(CONDITIONS)), draw(st.sampled_from(WINDOWS))
    several = ("COUNT(*)", "COUNT(*)", "SUM(b.v)", "MAX(b.w), COUNT(b)", "MIN(b.v), AVG(b.v)")
    wanted = st.just(draw(st.sampled_from(several)))
    if draw(st.booleans()):  # of each its own
        wanted = st.sampled_from(several)
    first = draw(st.sampled_from(("A a", "A a+", "A a, A y")))
    texts = []
    for number in range(draw(st.integers(2, 5))):
        begins = draw(st.sampled_from((first, first, first, "C x")))
        repeated = draw(st.sampled_from(("B+ b", "B+ b", "B+ b", "B b")))
        asked = where.replace("> 0", f"> {draw(st.sampled_from((0, 0, 1)))}")
        if repeated == "B b" and "[i" in where:
            asked = ""
        ending = draw(st.sampled_from(ENDINGS))
        forbidden = ["", "", "NOT D, ", "NOT C n, ", "NOT (C n | D m), "]
        if strategy == "CONTIGUOUS":  # NOT between neighbours forbids nothing
            forbidden.append("NOT SEQ(C, D), ")
            ending = draw(st.sampled_from(("", "", ", NOT A" * bool(ending)))) + ending
        if strategy == "CONTIGUOUS" or first == "A a":
            repeated = draw(st.sampled_from(forbidden)) + repeated
        texts.append(
            f"QUERY q{number} RETURN {draw(wanted)} PATTERN SEQ({begins}, {repeated}{ending})"
            f"{' WHERE ' * bool(asked)}{asked} STRATEGY {strategy}{group}{window};"
        )
    return parse_workload("\n".join(texts))


@st.composite
def beside_and(draw: Any, group: str = "") -> Workload:
    """Draw queries of AND of two patterns, and others of one of these that add up other things."""
    strategy = draw(st.sampled_from(("SKIP TILL NEXT MATCH", "CONTIGUOUS")))
    window = draw(st.sampled_from(WINDOWS))
    parts = ("SEQ(A a, B+ b)", "SEQ(C c, D+ d)", "SEQ(C c, B+ b)", "SEQ(A a, NOT C, B+ b)")
    one, other = draw(st.sampled_from(((0, 1), (1, 3), (2, 1))))
    texts = [("COUNT(*)", f"{parts[one]} AND {parts[other]}")]
    for _ in range(draw(st.integers(1, 3))):
        ending = draw(st.sampled_from(("", ", C z", ", D z", ", A z")))
        pattern = draw(st.sampled_from((parts[0], parts[2], parts[3]))).replace("b)", f"b{ending})")
        texts.append((draw(st.sampled_from(AGGREGATES)), pattern))
    told = (
        f"QUERY q{number} RETURN {columns} PATTERN {pattern} STRATEGY {strategy}{group}{window};"
        for number, (columns, pattern) in enumerate(texts)
    )
    return parse_workload("\n".join(told))


def always(willing: bool) -> Any:
    """Have queries that add up different things go side by side wherever they can, or as it pays.

    They have an event of one type in common.
    """
    return mock.patch.object(lanes, "PASSED", 10**6 if willing else lanes.PASSED)


def never(*given: Any) -> bool:
    """Stand for `can_step`: have all done by the graph."""
    return False


def refused(*given: Any) -> int:
    """Stand for the graph where nothing may come to it."""
    raise AssertionError("by the graph")


@often
@given(
    queries() | with_one_beginning(),
    streams(),
    st.booleans(),
    st.sampled_from((1, 3, 2**17)),
    st.booleans(),
)
def test_trends_are_summed_up_as_if_each_were_built(
    workload: Workload, events: list[ReferenceEvent], ordered: bool, stretch: int, willing: bool
) -> None:
    """Whatever is read at once of the columns."""
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    options = RunOptions(order_by=("seq",)) if ordered else RunOptions()
    with mock.patch.object(stepped, "STRETCH", stretch), always(willing):
        results = run(plan(workload), table, options)
    for query in workload:
        assert goes_in_steps(with_sinks(guarded_template(query)))  # as explain tells
        check(query, events, results[query.name], exact=False, ordered=ordered)


@often
@given(beside_and(), streams(), st.booleans(), st.booleans())
def test_patterns_of_and_are_lanes_beside_queries_that_add_up_other_things(
    workload: Workload, events: list[ReferenceEvent], ordered: bool, willing: bool
) -> None:
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    options = RunOptions(order_by=("seq",)) if ordered else RunOptions()
    with always(willing):
        results = run(plan(workload), table, options)
    for query in workload:
        check(query, events, results[query.name], exact=False, ordered=ordered)


@often
@given(
    queries() | with_one_beginning() | beside_and(),
    st.integers(0, 2**32 - 1),
    st.integers(50, 300),
    st.sampled_from((1, 4, 12)),
    st.booleans(),
)
def test_long_streams_come_out_as_by_the_graph(
    workload: Workload, seed: int, size: int, apart: int, willing: bool
) -> None:
    table = table_of(long_stream(seed, size, apart))
    with always(willing):
        found = run(plan(workload), table, RunOptions())
    tables = {query.name: found[query.name] for query in workload}
    with mock.patch.object(stepped, "can_step", never):
        by_graph = run(plan(workload), table, RunOptions())
        for query in workload:
            assert_same_rows(tables[query.name], by_graph[query.name], {})


@often
@given(
    st.sampled_from(("<", "<=", ">", ">=", "=", "!=")),
    st.sampled_from(("", ", C c")),
    st.lists(st.tuples(st.sampled_from("ABBBC"), st.none() | st.integers(0, 4)), max_size=40),
)
def test_what_is_left_of_events_in_order_is_what_a_scan_of_all_finds(
    operator: str, ending: str, drawn: list[tuple[str, int | None]]
) -> None:
    """Nulls among them."""
    events = [
        ReferenceEvent(second * 1_000_000, name, {"v": value})
        for second, (name, value) in enumerate(drawn)
    ]
    workload = parse_workload(
        f"QUERY q RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B+ b{ending}) "
        f"WHERE b[i].v {operator} b[i-1].v STRATEGY SKIP TILL NEXT MATCH;"
    )
    found = run(plan(workload), table_of(events), RunOptions())
    with mock.patch.object(stepped, "can_step", never):
        by_graph = run(plan(workload), table_of(events), RunOptions())
    assert_same_rows(found["q"], by_graph["q"], {})


@often
@given(
    queries(" GROUP BY k") | with_one_beginning(" GROUP BY k"),
    st.integers(0, 2**32 - 1),
    st.sampled_from((40, 200)),
    st.sampled_from((1, 3)),
    st.data(),
)
def test_events_in_pieces_with_stops_and_in_several_sweeps_come_out_as_in_one(
    workload: Workload, seed: int, size: int, keys: int, data: st.DataObject
) -> None:
    events = many_events(seed, size, keys)
    cuts, willing = data.draw(drawn_cuts(size, 6)), data.draw(st.booleans())
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=False):
        whole = given_unit.results(in_pieces(given_unit, events, []))
        # of each key in a sweep of its own
        with always(willing), mock.patch.object(memory, "MOST_BYTES", 1):
            cut = given_unit.results(in_pieces(given_unit, events, cuts))
        for name, found in cut.items():
            order = [("k", "ascending")]
            order += [(n, "ascending") for n in ("window_start",) if n in found.column_names]
            assert_close(found.sort_by(order), whole[name].sort_by(order), name)


@pytest.mark.parametrize("strategy", ["SKIP TILL NEXT MATCH", "CONTIGUOUS"])
@pytest.mark.parametrize(
    "where", ["", "WHERE b.v >= 0", "WHERE b[i].v >= b[i-1].v", "WHERE b[i].v = b[i-1].w"]
)
def test_the_frequent_queries_go_step_by_step(strategy: str, where: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B+ b, C c) {where} STRATEGY {strategy};"
    events = [
        ReferenceEvent(second * 1_000_000, name, {"v": second, "w": second + 1.0})
        for second, name in enumerate("ABBC")
    ]
    workload = parse_workload(text)
    with mock.patch.object(evaluator, "evaluate_runs", refused):
        result = run(plan(workload), table_of(events), RunOptions())["q"]
    assert goes_in_steps(guarded_template(workload.queries[0]))
    assert result.column("count(*)").to_pylist() == [1]


@pytest.mark.parametrize("late", ["D", "B"])
def test_only_events_that_a_state_takes_must_come_in_the_order_of_time(late: str) -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B+ b) STRATEGY SKIP TILL NEXT MATCH;"
    events = [
        ReferenceEvent(second * 1_000_000, name, {})
        for second, name in ((0, "A"), (2, "B"), (1, late), (3, "B"), (4, "B"))
    ]
    (given_unit,) = unit_inputs(plan(parse_workload(text)), table_of(events), exact=False)
    if late == "B":
        with pytest.raises(InputError, match="out of time order"):
            in_pieces(given_unit, events, [])
    else:
        results = given_unit.results(in_pieces(given_unit, events, []))
        assert results["q"].column("count(*)").to_pylist() == [3]


def test_numbers_too_large_for_doubles_are_left_to_the_graph() -> None:
    moments = 1_100  # of two events each: each trend goes on in two ways
    table = pa.table({"type": ["B"] * 2 * moments, "time": np.repeat(np.arange(moments), 2)})
    text = "QUERY q RETURN LOG2(COUNT(*)) AS log PATTERN B+ b STRATEGY CONTIGUOUS;"
    result = run(plan(parse_workload(text)), table, RunOptions())["q"]
    # 2 + 4 + ... trends begin with the first moment, and so on
    expected = math.log2(sum(2 ** (k + 1) * (moments - k) for k in range(moments)))
    assert result.column("log").to_pylist() == [pytest.approx(expected)]


def test_numbers_too_large_in_one_lane_leave_the_others_to_go_step_by_step() -> None:
    text = """
        QUERY one RETURN COUNT(*) PATTERN SEQ(A a, B+ b, C c) STRATEGY CONTIGUOUS;
        QUERY two RETURN SUM(b.w) PATTERN SEQ(A a, B+ b, D d) STRATEGY CONTIGUOUS;
    """
    events = [
        ReferenceEvent(second * 1_000_000, name, {"w": 1e300})
        for second, name in enumerate("ABCABD")
    ]
    workload = parse_workload(text)
    by_graph = mock.Mock(wraps=evaluator.conditions)
    with mock.patch.object(evaluator, "conditions", by_graph):
        results = run(plan(workload), table_of(events), RunOptions())
    assert by_graph.call_count == 1  # for one of the two
    assert results["one"].column("count(*)").to_pylist() == [1]
    assert results["two"].column("sum(b.w)").to_pylist() == [1e300]


def test_classes_of_large_numbers_are_numbered_anew() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A a?, B b+, D d) STRATEGY SKIP TILL NEXT MATCH;"
    events = [ReferenceEvent(n * 1_000_000, name, {}) for n, name in enumerate("BCBDCD")]
    workload = parse_workload(text)
    with mock.patch.object(stepped, "FEW_CLASSES", 1):  # of three, and there is no A
        result = run(plan(workload), table_of(events), RunOptions())["q"]
    check(workload.queries[0], events, result, exact=False)
    assert result.num_rows == 1


@pytest.mark.parametrize(("pattern", "trends"), [("SEQ(A a, B+ b)", 4), ("B b", 3), ("C c", 0)])
def test_kernels_run_as_plain_python_too(pattern: str, trends: int) -> None:
    """What ends in a state that nothing goes on from is not looked for among what is kept."""
    text = f"QUERY q RETURN COUNT(*) PATTERN {pattern} STRATEGY SKIP TILL NEXT MATCH;"
    events = [ReferenceEvent(n * 1_000_000, name, {}) for n, name in enumerate("ABBAB")]
    plain = uncompiled(stepped.sweep)
    with mock.patch.object(stepped, "sweep", plain):
        result = run(plan(parse_workload(text)), table_of(events), RunOptions())["q"]
    assert result.column("count(*)").to_pylist() == [trends] * (trends > 0)
