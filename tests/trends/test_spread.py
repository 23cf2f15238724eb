"""VARIANCE and its like keep what is small beside the values themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Granularity
from elsinore.runtime.options import RunOptions
from elsinore.trends.kind import spec_of
from elsinore.trends.values import Shifts, addend_columns
from oracles.reference import ReferenceEvent
from support.trends import table_of, trend_cases
from support.units import UnitInput
from trends.test_everything import SHARED, check, check_each, often, planned

NAMES = ("VARIANCE", "STDDEV", "VAR_POP", "STDDEV_POP")
RETURNED = ", ".join(f"{name}(A.v) AS {name.lower()}" for name in NAMES)
NEAR = 10**9  # values near it that differ by thirds of one: their squares differ in the 19th digit


def table(values: list[Any], **more: list[Any]) -> pa.Table:
    return pa.table({"time": range(len(values)), "type": ["A"] * len(values), "v": values} | more)


def rows_of(text: str, events: pa.Table, granularity: Granularity = Granularity.AUTO) -> Any:
    workload = parse_workload(text)
    return run(plan(workload, granularity=granularity), events, RunOptions())["q"].to_pylist()


@pytest.mark.parametrize("count", [5, 40, 3000])  # trends: some, all but as many as 2**53, 2**3000
def test_variances_of_great_values_are_those_of_exact_fractions(count: int) -> None:
    random = np.random.default_rng(count)
    values = (NEAR + random.random(count)).tolist()
    (row,) = rows_of(f"QUERY q RETURN {RETURNED} PATTERN A+", table(values))
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / count
    population = sum((value - mean) ** 2 for value in exact) / count
    pairs = count * 2 ** (count - 1)  # each event is in half of all sets of events
    sample = population * pairs / (pairs - 1)
    expected = [sample, sample, population, population]
    for name, variance in zip(NAMES, expected, strict=True):
        wanted = math.sqrt(variance) if name.startswith("STD") else float(variance)
        assert row[name.lower()] == pytest.approx(wanted, rel=1e-12), name


@pytest.mark.parametrize(
    ("granularity", "where"),
    [
        (Granularity.AUTO, ""),
        (Granularity.FINE, ""),
        (Granularity.AUTO, "WHERE A[i].v >= A[i-1].v"),  # an index over predecessors
        (Granularity.AUTO, "WHERE A[i].v * A[i-1].v > 0"),  # one pair of events after another
    ],
)
def test_every_path_keeps_small_differences(granularity: Granularity, where: str) -> None:
    random = np.random.default_rng(4)
    groups = random.integers(0, 3, 60)
    values = (np.array([NEAR, -3.0, 1e-3])[groups] + random.random(60) / 1024).tolist()
    text = f"QUERY q RETURN g, COUNT(*), {RETURNED} PATTERN A+ {where} GROUP BY g WITHIN 9 SLIDE 3"
    events = table(values, g=groups.tolist())
    found = rows_of(text, events, granularity)
    for row, exact in zip(found, rows_of(f"EXACT; {text}", events), strict=True):
        assert row["count(*)"] == exact["count(*)"]
        for name in map(str.lower, NAMES):
            if exact[name] is None:
                assert row[name] is None, name
            else:
                assert row[name] == pytest.approx(exact[name], rel=1e-9, abs=1e-15), name


@often
@given(trend_cases(features=SHARED), st.sampled_from(Granularity), st.data())
def test_great_values_that_differ_little_come_in_pieces(
    case: tuple[Workload, list[ReferenceEvent]], granularity: Granularity, data: st.DataObject
) -> None:
    workload, drawn = case
    ready = planned(workload, granularity)
    events = [
        replace(one, attributes=dict(one.attributes) | {"w": None if w is None else NEAR + w})
        for one in drawn
        for w in [one.value("w")]
    ]
    for query in workload:
        results = run(ready, table_of(events), RunOptions())
        check(query, events, results[query.name], exact=False)
    cut = data.draw(st.integers(0, len(events)))

    def in_pieces(given_unit: UnitInput) -> list[pa.RecordBatch]:
        operator = given_unit.operator()
        first = operator.process(given_unit.batch.slice(0, cut))
        operator = given_unit.stopped(operator)
        return [first, operator.process(given_unit.batch.slice(cut)), operator.close()]

    check_each(workload, ready, events, in_pieces)


@pytest.mark.parametrize("exact", ["", "EXACT; "], ids=["doubles", "exact"])
def test_too_few_values_have_no_variance(exact: str) -> None:
    text = f"{exact}QUERY q RETURN g, {RETURNED} PATTERN A GROUP BY g"
    none, one, two = rows_of(text, table([None, None, 7, 3, 3, None], g=[0, 0, 1, 2, 2, 2]))
    assert [none[name.lower()] for name in NAMES] == [None] * 4
    assert [one[name.lower()] for name in NAMES] == [None, None, 0.0, 0.0]
    assert [two[name.lower()] for name in NAMES] == [0.0] * 4


def test_infinite_values_and_values_whose_squares_are_too_great_give_no_error() -> None:
    rows = rows_of(
        f"QUERY q RETURN g, {RETURNED} PATTERN A GROUP BY g",
        table([1e200, -1e200, math.inf, 1.0, 5.0], g=[0, 0, 1, 1, 1]),
    )
    assert rows[0]["variance"] == math.inf
    assert math.isnan(rows[1]["variance"])


@pytest.mark.parametrize("granularity", Granularity)
def test_values_of_other_types_take_no_digits(granularity: Granularity) -> None:
    kinds = "BBBABBABCB"
    values = [float(NEAR) ** "ABC".index(kind) + n / 8 for n, kind in enumerate(kinds)]
    events = pa.table({"time": range(10), "type": list(kinds), "v": values})
    conditions = (
        "",
        "WHERE x[i].v <= x[i-1].v + 1",
        "WHERE x[i].v * x[i-1].v > 0",
        "STRATEGY SKIP TILL NEXT MATCH",
    )
    text = "; ".join(
        f"QUERY {kind}{n} RETURN VARIANCE(x.v), STDDEV_POP(x.v) PATTERN {kind} x+ {condition}"
        for kind in "ABC"
        for n, condition in enumerate(conditions)
    )
    text += "; QUERY ab RETURN VARIANCE(a.v), VARIANCE(B.v) PATTERN SEQ(B b+, A a+)"
    text += "; QUERY sets RETURN VARIANCE(A.v) PATTERN SEQ(A a+, A b+) WHERE a[i].v > a[i-1].v"
    found = run(plan(parse_workload(text), granularity=granularity), events, RunOptions())
    for name, exact in run(plan(parse_workload(f"EXACT; {text}")), events, RunOptions()).items():
        (row,), (wanted,) = found[name].to_pylist(), exact.to_pylist()
        for column, value in wanted.items():
            assert row[column] == (value and pytest.approx(value, rel=1e-12)), (name, column)


def test_values_of_other_types_take_no_digits_where_classes_are_numbered_anew() -> None:
    events = pa.table(
        {
            "time": range(40),
            "type": ["A", "B"] * 20,
            "v": [(NEAR if n % 2 else 1.0) + n / 8 for n in range(40)],
        }
    )
    text = "QUERY q RETURN VARIANCE(a.v), VARIANCE(b.v) PATTERN SEQ(A a+, B b+) WHERE a.v < 1000"
    (exact,) = run(plan(parse_workload(f"EXACT; {text}")), events, RunOptions())["q"].to_pylist()
    with patch("elsinore.trends.engine.program.TABLE_LIMIT", 0):
        (row,) = run(plan(parse_workload(text)), events, RunOptions())["q"].to_pylist()
    for column in ("variance(a.v)", "variance(b.v)"):
        assert row[column] == pytest.approx(exact[column], rel=1e-12)


def test_a_shift_is_the_median_of_the_first_values_of_its_group() -> None:
    (unit,) = plan(parse_workload("QUERY q RETURN VARIANCE(A.v) PATTERN A+")).units
    values = [0.0, 5.0, None, 6.0, 7.0, math.inf]
    batch = pa.table({"class": [0] * 6, "time": range(6), "sum:v": values})
    shifts = Shifts(spec_of(unit))
    addend_columns(spec_of(unit), batch, np.array([0, 1, 0, 1, 1, 2]), shifts)
    assert shifts.of_groups(2).tolist() == [[0.0], [6.0]]
    addends, present = addend_columns(spec_of(unit), batch, np.full(6, 1), shifts)
    assert shifts.of_groups(2).tolist() == [[0.0], [6.0]]
    assert sorted(addends[:, 1].tolist()) == [-1.0, 1.0]
    assert present[:, 2].tolist() == [0, 0]
