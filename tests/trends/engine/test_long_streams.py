"""Streams with more events than one piece of memory has rows for, against exact numbers.

Brute force goes no further than ten events; plain Python over sets of runs does.
"""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.operators.conditions import ranked
from elsinore.runtime.options import RunOptions
from elsinore.trends.engine import conditions
from support.units import unit_inputs

CONDITIONS = {
    "a product": "b[i].v * b[i-1].v > 50",
    "a range and a product": "b[i].v >= b[i-1].v AND b[i].w * b[i-1].w > 0.2",
    "two ranges": "b[i].v >= b[i-1].v AND b[i].w < b[i-1].w",
    "rising texts": "b[i].s > b[i-1].s",
    "falling texts": "b[i].s <= b[i-1].s",
    "equal texts": "b[i].s = b[i-1].s",
    "other texts": "b[i].s != b[i-1].s",
    "texts and a product": "b[i].s >= b[i-1].s AND b[i].v * b[i-1].v > 50",
    "decimals": "b[i].d >= b[i-1].d",
    "decimals beside integers": "b[i].d >= b[i-1].v",
    "without a sign": "b[i].z > b[i-1].z",
    "integers beside doubles": "b[i].v > b[i-1].w * 20",
    "an anchor": "b[i].w > x.w",
    "an anchor and neighbours": "b[i].v > x.v AND b[i].w > b[i-1].w",
}
PATTERNS = {
    "an end": "SEQ(A x, B b+, C c)",
    "NOT of two in between": "SEQ(A x, NOT SEQ(D d, C e), B b+)",
    "NOT of two at the end": "SEQ(A x, B b+, NOT SEQ(D d, C e))",
    "NOT of two at the start": "SEQ(NOT SEQ(D d, C e), A x, B b+)",
    "NOT inside NOT": "SEQ(A x, NOT SEQ(D d, NOT A f, C e), B b+)",
    "NOT of many": "SEQ(A x, B b+, NOT SEQ(D d+, C e), C c)",
}
WINDOWS = ("", "WITHIN 40 seconds SLIDE 10 seconds")
STRATEGIES = ("", "STRATEGY SKIP TILL NEXT MATCH", "STRATEGY CONTIGUOUS")


def stream(seed: int, count: int = 70) -> pa.Table:
    """Return events of two groups, some simultaneous, some values null."""
    random, numbers = Random(seed), np.random.default_rng(seed)

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if random.random() < 0.05 else value for value in values], kind)

    letters = "abcdefg"
    return pa.table(
        {
            "time": np.sort(numbers.integers(0, int(0.9 * count), count)),
            "type": random.choices("ABBBBBCD", k=count),
            "g": numbers.integers(0, 2, count),
            "v": some(numbers.integers(0, 30, count).tolist(), pa.int64()),
            "w": some(np.round(numbers.random(count), 2).tolist(), pa.float64()),
            "s": some([random.choice(letters) + random.choice(letters) for _ in range(count)],
                      pa.string()),
            "d": some([Decimal(n) / 2 for n in numbers.integers(0, 60, count).tolist()],
                      pa.decimal128(30, 2)),
            "z": some(numbers.integers(0, 30, count).tolist(), pa.uint64()),
        }
    )  # fmt: skip


def value_of(row: dict[str, Any], name: str) -> float | None:
    """Return a value of a result, from its digits if it is exact and great."""
    value = row[name] if row.get(f"{name}_digits") is None else row[f"{name}_digits"]
    return None if value is None else float(value)


def assert_same(found: list[dict[str, Any]], exact: list[dict[str, Any]]) -> None:
    place = ("g", "window_start", "window_end")
    rows = {tuple(row.get(name) for name in place): row for row in found}
    assert len(rows) == len(exact)
    for row in exact:
        other = rows[tuple(row.get(name) for name in place)]
        for name in other:
            if name in place:
                continue
            value, expected = value_of(other, name), value_of(row, name)
            assert (value is None) == (expected is None), (name, value, expected)
            if value is not None and expected is not None:
                assert math.isclose(value, expected, rel_tol=1e-9, abs_tol=1e-9), name


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_results_are_the_exact_ones(pattern: str, condition: str, strategy: str) -> None:
    seed = Random(f"{pattern} {condition} {strategy}").randrange(2**32)
    table, window = stream(seed), WINDOWS[seed % len(WINDOWS)]
    query = (
        f"QUERY q RETURN COUNT(*), SUM(b.v), VARIANCE(b.w), MIN(b.w) PATTERN {PATTERNS[pattern]} "
        f"WHERE {CONDITIONS[condition]} {strategy} GROUP BY g {window};"
    ).replace(f"{strategy} GROUP BY g {window}", f"GROUP BY g {window} {strategy}")
    found = run(plan(parse_workload(query)), table, RunOptions())["q"].to_pylist()
    exact = run(plan(parse_workload(f"EXACT; {query}")), table, RunOptions())["q"].to_pylist()
    assert_same(found, exact)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_pieces_and_stops_change_no_result(condition: str) -> None:
    table = stream(7, 90)
    query = (
        f"QUERY q RETURN COUNT(*), MAX(b.v) PATTERN SEQ(A x, NOT SEQ(D d, C e), B b+) "
        f"WHERE {CONDITIONS[condition]} GROUP BY g WITHIN 30 seconds SLIDE 10 seconds;"
    )
    ready = plan(parse_workload(query))
    (unit,) = unit_inputs(ready, table, exact=False)
    edges = [0, 5, 6, 40, 41, 77, 90]
    times = [time * 1_000_000 for time in table.column("time").to_pylist()]
    whole = unit.results(unit.in_pieces([0, 90], [False]))["q"].sort_by("window_start")
    pieces = unit.results(unit.in_pieces(edges, [True] * 6, times))["q"].sort_by("window_start")
    order = [("g", "ascending"), ("window_start", "ascending")]
    assert_same(pieces.sort_by(order).to_pylist(), whole.sort_by(order).to_pylist())


@pytest.mark.parametrize("condition", [name for name in CONDITIONS if "text" in name])
def test_texts_come_and_go_with_windows(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers that stand for texts change with each piece, and are forgotten."""
    monkeypatch.setattr(ranked, "STEP", 2)
    monkeypatch.setattr(ranked, "FEW", 1)
    monkeypatch.setattr(conditions, "FEW", 8)
    test_pieces_and_stops_change_no_result(condition)


def test_two_queries_look_at_one_state_by_different_attributes() -> None:
    text = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE b.{name} > a.{name} GROUP BY g;"
        for n, name in enumerate("vws")
    )
    table = stream(3)
    found = run(plan(parse_workload(text)), table, RunOptions())
    exact = run(plan(parse_workload(f"EXACT; {text}")), table, RunOptions())
    for name in found:
        assert_same(found[name].to_pylist(), exact[name].to_pylist())


def test_rows_get_room_at_an_event_of_no_class() -> None:
    """An event that no state takes comes between those of CONTIGUOUS trends, and is looked at."""
    text = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A a, B b+, D? d) WHERE b[i].v * b[i-1].v > {n} "
        "STRATEGY CONTIGUOUS;"
        for n in range(40)
    )
    table = pa.table({"time": range(4), "type": ["Z", "A", "B", "B"], "v": [9] * 4})
    found = run(plan(parse_workload(text)), table, RunOptions())
    assert [rows.to_pylist()[0]["count(*)"] for rows in found.values()] == [2] * 40
