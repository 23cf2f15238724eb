"""Conditions that are ranges: against every trend built, and on long streams exact integers."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.exact import assert_as_exact
from support.trends import table_of
from trends.hamlet.test_against_reference import LOCALS, PATTERNS, streams
from trends.test_against_reference import check

SECOND = 1_000_000
often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
WINDOWS = (
    "",
    " WITHIN 6 seconds SLIDE 2 seconds",
    " WITHIN 4 seconds",
    " WITHIN 5 seconds SLIDE 3 seconds",
    " WITHIN 2 seconds SLIDE 5 seconds",
    " WITHIN 90 seconds SLIDE 45 seconds",
)


@st.composite
def queries(draw: Any) -> Workload:
    """Draw a query that counts trends whose events are compared with those before them."""
    operator = draw(st.sampled_from(("<", "<=", ">", ">=", "=")))
    of, before = draw(st.sampled_from(("vv", "vv", "ww", "wv")))
    pattern, local = draw(st.sampled_from(PATTERNS)), draw(st.sampled_from(LOCALS))
    where = " AND ".join([f"b[i].{of} {operator} b[i-1].{before}", *([local] if local else [])])
    key = draw(st.sampled_from(("", " AND [k]")))
    return parse_workload(
        f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE {where}{key}"
        f"{draw(st.sampled_from(WINDOWS))};"
    )


@often
@given(queries(), streams(), st.booleans())
def test_trends_are_counted_as_if_each_were_built(
    workload: Workload, events: list[ReferenceEvent], ordered: bool
) -> None:
    (query,) = workload.queries
    table = table_of(events).append_column("seq", pa.array(range(len(events)), pa.int64()))
    options = RunOptions(order_by=("seq",)) if ordered else RunOptions()
    check(query, events, run(plan(workload), table, options)["q"], exact=False, ordered=ordered)


@often
@given(
    queries(),
    st.integers(0, 2**32 - 1),
    st.sampled_from((30, 200)),
    st.sampled_from(("few", "many", "rising", "falling", "far")),
)
def test_long_streams_come_out_as_in_exact_integers(
    workload: Workload, seed: int, size: int, values: str
) -> None:
    random = np.random.default_rng(seed)
    drawn = random.integers(0, 4 if values == "few" else 10**6, (2, size))
    if values in {"rising", "falling"}:
        drawn = np.sort(drawn, axis=1)[:, :: 1 if values == "rising" else -1]
    if values == "far":  # most differ in their last bits only
        drawn[:, 1:-1] %= 1_000
        drawn[:, 0] = 2**60
    seconds = np.cumsum(random.random(size) < 0.8).tolist()
    table = table_of(
        [
            ReferenceEvent(
                second * SECOND,
                str(random.choice(list("ABBBBBBBCD"))),
                {
                    "v": None if random.random() < 0.05 else int(drawn[0, place]),
                    "w": None if random.random() < 0.05 else float(drawn[1, place]) / 4,
                    "k": int(random.integers(0, 3)),
                },
            )
            for place, second in enumerate(seconds)
        ]
    )
    assert_as_exact(workload, table)


RANGES = (
    "b[i].v >= b[i-1].v - 2 AND b[i].v <= b[i-1].v + 2",
    "b[i].v BETWEEN b[i-1].v AND b[i-1].w",
    "b[i].v BETWEEN b[i-1].v * 0.5 AND 2 * b[i-1].v + 1",
    "ABS(b[i].v - b[i-1].v) < 2",
    "1 >= ABS(b[i-1].w - b[i].v)",
    "b[i].v - b[i-1].v > 0 AND b[i].v + b[i-1].v <= 3",
    "b[i].v = b[i-1].v AND b[i].w > -b[i-1].w",
    "b[i].w < b[i-1].w AND b[i].w > -2 * b[i-1].w + 1 - 1",
    "NOT b[i].v <= b[i-1].w",
    "b[i].v != b[i-1].v AND b[i].v >= b[i-1].v - 1",
    "ABS(b[i-1].v) <= b[i].v % 3 + b[i].w / 0.5",
    "b[i-1].v + b[i-1].w < b[i].v AND b[i].w > b[i-1].v + b[i-1].w",
    "b[i].s >= b[i-1].s",
    "b[i].v = b[i-1].v",
    "b[i].v < b[i-1].v",
    "b[i].v != b[i-1].v",
    "b[i].s != b[i-1].s",
    "(b[i].v > b[i-1].v + 1 OR b[i].v < b[i-1].v OR b[i].w = b[i-1].v)",
    "ABS(b[i].v - b[i-1].v) >= 2",
    "NOT b[i].w BETWEEN b[i-1].w AND b[i-1].w + 1",
    "b[i].v != b[i-1].v AND (b[i].w > b[i-1].v OR b[i].v <= b[i-1].v - 1)",
)
GUARDED = (
    "SEQ(A a, B b+)",
    "SEQ(A a, NOT C c, B b+)",
    "SEQ(A a, B b+, NOT C c)",
    "SEQ(NOT C c, B b+)",
    "SEQ(NOT C c, A a, NOT D d, B b+, NOT C c2, A a2)",
    "SEQ(A a, SEQ(B b, NOT C c)+)",
    "SEQ(A a, SEQ(NOT C c, B b)+, D d)",
    "SEQ(SEQ(A a, NOT D d, B b+)+, NOT (C c OR A a2))",
    "SEQ(A a, B b{2,})",
)
VALUES = (None, -2, -1, 0, 1, 2, 3)


@st.composite
def ranged(draw: Any) -> Workload:
    """Draw a query of which an index may find the predecessors by ranges, with NOT or without."""
    where = [draw(st.sampled_from(RANGES)), *draw(st.sampled_from(((), ("C.v > 0",), ("[k]",))))]
    pattern = draw(st.sampled_from(GUARDED))
    if "C.v" in where[-1] and "C c" not in pattern:
        where.pop()
    fields = draw(st.sampled_from(("", ", SUM(b.v), AVG(b.w)", ", MIN(b.v), MAX(b.w), COUNT(b)")))
    return parse_workload(
        f"QUERY q RETURN COUNT(*){fields} PATTERN {pattern} WHERE {' AND '.join(where)}"
        f"{draw(st.sampled_from(WINDOWS))};"
    )


@st.composite
def few_events(draw: Any) -> list[ReferenceEvent]:
    """Draw a short stream, some events at one time."""
    time, found = 0, []
    for _ in range(draw(st.integers(0, 11))):
        time += draw(st.integers(0, 2))
        row: dict[str, Any] = {name: draw(st.sampled_from(VALUES)) for name in "vw"}
        row["w"] = None if row["w"] is None else row["w"] / 2
        row |= {"k": draw(st.integers(0, 1)), "s": draw(st.sampled_from(("p", "q", None)))}
        found.append(ReferenceEvent(time * SECOND, draw(st.sampled_from("ABBBBCD")), row))
    return found


@often
@given(ranged(), few_events(), st.booleans())
def test_ranges_and_what_not_forbids_are_as_if_each_trend_were_built(
    workload: Workload, events: list[ReferenceEvent], ordered: bool
) -> None:
    (query,) = workload.queries
    table = table_of(events)
    options = RunOptions(order_by=("seq",)) if ordered else RunOptions()
    table = table.append_column("seq", pa.array(range(len(events)), pa.int64()))
    found = run(plan(workload), table, options)
    check(query, events, found["q"], exact=False, ordered=ordered)


@often
@given(ranged(), st.integers(0, 2**32 - 1), st.sampled_from((40, 150)))
def test_long_streams_with_ranges_come_out_as_in_exact_integers(
    workload: Workload, seed: int, size: int
) -> None:
    random = np.random.default_rng(seed)
    seconds = np.cumsum(random.random(size) < 0.8).tolist()
    wide = bool(random.integers(0, 2))
    table = table_of(
        [
            ReferenceEvent(
                second * SECOND,
                str(random.choice(list("ABBBBBBBBBBBCD"))),
                {
                    "v": None if random.random() < 0.05 else int(random.integers(-50, 50)),
                    "w": None if random.random() < 0.05 else float(random.integers(-9, 200)) / 4,
                    "k": int(random.integers(0, 1 + wide)),
                    "s": "pqr"[random.integers(0, 3)],
                },
            )
            for second in seconds
        ]
    )
    assert_as_exact(workload, table)


@pytest.mark.parametrize("forbidden", [False, True])
@pytest.mark.parametrize(
    "where",
    [
        "ABS(b[i].v - b[i-1].v) <= 5",
        "b[i].v >= b[i-1].v",
        "b[i].v BETWEEN b[i-1].v AND b[i-1].v + 1",
        "b[i].v = b[i-1].v",
    ],
)
def test_numbers_of_trends_pass_the_largest_double(where: str, forbidden: bool) -> None:
    rows = [ReferenceEvent(0, "A", {"v": 0})]
    rows += [ReferenceEvent(2 * time * SECOND, "B", {"v": 7}) for time in range(1, 1_501)]
    if forbidden:  # what came before is gone, and all begins anew
        rows.insert(701, ReferenceEvent(1_401 * SECOND, "C", {"v": 0}))
        rows.insert(702, ReferenceEvent(1_401 * SECOND, "A", {"v": 0}))
    pattern = "SEQ(A a, SEQ(NOT C c, B b)+, NOT C c2)"
    workload = parse_workload(
        f"QUERY q RETURN LOG2(COUNT(*)) AS trends, COUNT(b), AVG(b.v) PATTERN {pattern} "
        f"WHERE {where};"
    )
    found = run(plan(workload), table_of(rows), RunOptions())["q"]
    assert math.isclose(found["trends"][0].as_py(), 800 if forbidden else 1_500, rel_tol=1e-12)
    assert found["avg(b.v)"][0].as_py() == 7.0


def test_infinite_values_that_are_shifted_go_by_pairs() -> None:
    values = (1.0, math.inf, 2.0, -math.inf, math.inf, 1.5)
    rows = [ReferenceEvent(0, "A", {"w": 0.0})]
    rows += [ReferenceEvent(n * SECOND, "B", {"w": w}) for n, w in enumerate(values, 1)]
    for where in ("ABS(b[i].w - b[i-1].w) <= 5", "b[i].w - b[i-1].w >= -1", "b[i].w >= b[i-1].w"):
        workload = parse_workload(f"QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE {where};")
        found = run(plan(workload), table_of(rows), RunOptions())["q"]
        check(workload.queries[0], rows, found, exact=False)
