"""NEXT and CONTIGUOUS: against every trend built, and on long streams exact integers."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.exact import assert_as_exact
from support.trends import table_of
from support.units import assert_close, unit_inputs
from trends.hamlet.test_against_reference import long_stream, streams
from trends.test_against_reference import check
from trends.test_closing import drawn_cuts, in_pieces, many_events

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


@often
@given(
    queries() | with_one_beginning(),
    streams(),
    st.booleans(),
)
def test_trends_are_summed_up_as_if_each_were_built(
    workload: Workload, events: list[ReferenceEvent], ordered: bool
) -> None:
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    options = RunOptions(order_by=("seq",)) if ordered else RunOptions()
    results = run(plan(workload), table, options)
    for query in workload:
        check(query, events, results[query.name], exact=False, ordered=ordered)


@often
@given(beside_and(), streams(), st.booleans())
def test_patterns_of_and_are_lanes_beside_queries_that_add_up_other_things(
    workload: Workload, events: list[ReferenceEvent], ordered: bool
) -> None:
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    options = RunOptions(order_by=("seq",)) if ordered else RunOptions()
    results = run(plan(workload), table, options)
    for query in workload:
        check(query, events, results[query.name], exact=False, ordered=ordered)


@often
@given(
    queries() | with_one_beginning() | beside_and(),
    st.integers(0, 2**32 - 1),
    st.integers(50, 120),
    st.sampled_from((1, 4, 12)),
)
def test_long_streams_come_out_as_in_exact_integers(
    workload: Workload, seed: int, size: int, apart: int
) -> None:
    assert_as_exact(workload, table_of(long_stream(seed, size, apart)))


@often
@given(
    queries(" GROUP BY k") | with_one_beginning(" GROUP BY k"),
    st.integers(0, 2**32 - 1),
    st.sampled_from((40, 200)),
    st.sampled_from((1, 3)),
    st.data(),
)
def test_events_in_pieces_with_stops_and_come_out_as_in_one(
    workload: Workload, seed: int, size: int, keys: int, data: st.DataObject
) -> None:
    events = many_events(seed, size, keys)
    cuts = data.draw(drawn_cuts(size, 6))
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=False):
        whole = given_unit.results(in_pieces(given_unit, events, []))
        cut = given_unit.results(in_pieces(given_unit, events, cuts))
        for name, found in cut.items():
            order = [("k", "ascending")]
            order += [(n, "ascending") for n in ("window_start",) if n in found.column_names]
            assert_close(found.sort_by(order), whole[name].sort_by(order), name)


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


def test_numbers_too_large_for_doubles() -> None:
    moments = 1_100  # of two events each: each trend goes on in two ways
    table = pa.table({"type": ["B"] * 2 * moments, "time": np.repeat(np.arange(moments), 2)})
    text = "QUERY q RETURN LOG2(COUNT(*)) AS log PATTERN B+ b STRATEGY CONTIGUOUS;"
    result = run(plan(parse_workload(text)), table, RunOptions())["q"]
    # 2 + 4 + ... trends begin with the first moment, and so on
    expected = math.log2(sum(2 ** (k + 1) * (moments - k) for k in range(moments)))
    assert result.column("log").to_pylist() == [pytest.approx(expected)]
