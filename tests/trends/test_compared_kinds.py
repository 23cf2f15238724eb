"""Attributes of all kinds compared between events, by queries side by side and each alone."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent, reference
from support.units import unit_inputs

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
KEY = pa.decimal128(38, 0)
TYPES = {
    "text": pa.string(),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "flag": pa.bool_(),
    "id": pa.int64(),
    "small": pa.int64(),
    "unsigned": pa.uint64(),
    "key": KEY,
    "price": pa.decimal128(20, 2),
    "v": pa.float64(),
}
LARGE = (2**53, 2**53 + 1, 2**60, 2**60 + 1, 2**63 - 1, 0)
VALUES: Mapping[str, Sequence[Any]] = {
    "text": ("", "a", "b", "ab", "\uffff", "\U00010000"),
    "day": (date(2026, 3, 1), date(2026, 3, 2), date(1969, 1, 1)),
    "moment": tuple(datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (0, 1, 2)),
    "flag": (False, True),
    "id": (*LARGE, -(2**53) - 1, -(2**63)),
    "small": (-1, 0, 1, 2),
    "unsigned": (*LARGE, 2**64 - 1, 2**64 - 2, 2**63),
    "key": tuple(map(Decimal, (*LARGE, 2**63, 10**30, 10**30 + 1, -(10**30)))),
    "price": tuple(map(Decimal, ("0.10", "0.11", "-1.00", "123456789012345678.01", "1.00"))),
    "v": (0.5, 1.0, -0.0, 0.0, 2.0**53, 2.0**53 + 2, 2.0**60, 2.0**63, -(2.0**63), float("inf")),
}
OPERATORS = ("<", "<=", "=", ">=", ">", "!=")
PAIRS = [
    *((name, name) for name in TYPES),
    *(("id", "v"), ("v", "id"), ("small", "v"), ("v", "small"), ("id", "small")),
    *(("key", "id"), ("unsigned", "key"), ("id", "unsigned")),
]


def query(name: str, condition: str) -> str:
    return f"QUERY {name} RETURN COUNT(*) PATTERN B+ b WHERE {condition};"


def table_of(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    fixed = {
        "type": pa.array(["B"] * len(rows), pa.string()),
        "time": pa.array(range(len(rows)), pa.int64()),
    }
    return pa.table(
        fixed | {n: pa.array([row.get(n) for row in rows], kind) for n, kind in TYPES.items()}
    )


def counts(text: str, table: pa.Table) -> dict[str, int]:
    """Return the number of trends of each query, however it is given."""
    found = {}
    for name, result in run(plan(parse_workload(text)), table, RunOptions()).items():
        rows = result.to_pylist()
        found[name] = int(rows[0]["count(*)"]) if rows else 0
    return found


def expected(text: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return what the reference gives; whole decimals are integers to it."""
    plain = [
        {n: int(value) if n == "key" and value is not None else value for n, value in row.items()}
        for row in rows
    ]
    events = [ReferenceEvent(time * SECOND, "B", row) for time, row in enumerate(plain)]
    found = {}
    for one in parse_workload(text):
        (*_, total) = [0, *(row.values["count(*)"] for row in reference(one, events))]
        found[one.name] = int(total)
    return found


streams = st.lists(
    st.fixed_dictionaries({n: st.sampled_from((*values, None)) for n, values in VALUES.items()}),
    max_size=6,
)
comparisons = st.tuples(st.sampled_from(PAIRS), st.sampled_from(OPERATORS))


@often
@given(st.lists(comparisons, min_size=1, max_size=5), streams, st.booleans())
def test_a_comparison_is_exact_whatever_else_is_compared(
    asked: list[tuple[tuple[str, str], str]], rows: list[dict[str, Any]], exact: bool
) -> None:
    texts = [
        query(f"q{number}", f"b[i].{one} {operator} b[i-1].{other}")
        for number, ((one, other), operator) in enumerate(asked)
    ]
    text = ("EXACT;" if exact else "") + "".join(texts)
    assert counts(text, table_of(rows)) == expected(text, rows)


@pytest.mark.parametrize("exact", ["", "EXACT;"])
@pytest.mark.parametrize(
    ("name", "values", "trends"),
    [
        ("text", ("a", "b", "c"), 7),
        ("day", VALUES["day"][2:] + VALUES["day"][:2], 7),
        ("id", (2**60, 2**60 + 1, 2**60 + 2), 7),
        ("unsigned", (2**63, 2**63 + 1, 2**63 + 2), 7),
        ("key", (Decimal(10**30), Decimal(10**30 + 1), Decimal(10**30 + 2)), 7),
    ],
)
def test_queries_side_by_side_give_what_each_gives_alone(
    name: str, values: Sequence[Any], trends: int, exact: str
) -> None:
    table = table_of([{name: value, "small": 1, "v": 1.0} for value in values])
    rising = query("up", f"b[i].{name} > b[i-1].{name}")
    differing = query("ne", f"b[i].{name} != b[i-1].{name}")
    others = query("whole", "b[i].small > b[i-1].small") + query("double", "b[i].v > b[i-1].v")
    crossed = query("crossed", "b[i].small > b[i-1].v")
    assert counts(exact + rising + differing, table) == {"up": trends, "ne": trends}
    beside = counts(exact + others + rising + differing + crossed, table)
    assert (beside["up"], beside["ne"]) == (trends, trends)


@pytest.mark.parametrize("exact", ["", "EXACT;"])
def test_decimals_are_doubles_where_doubles_are(exact: str) -> None:
    table = table_of([{"v": 0.1}, {"v": 0.1}]).append_column(
        "fare", pa.array([Decimal("0.10"), Decimal("0.10")], pa.decimal128(10, 2))
    )
    text = query("same", "b[i].fare = b[i-1].v") + query("twice", "b[i].fare < 2 * b[i-1].fare")
    assert counts(exact + text, table) == {"same": 3, "twice": 3}


@pytest.mark.parametrize("exact", ["", "EXACT;"])
def test_whole_decimals_are_computed_with(exact: str) -> None:
    table = table_of([{"key": Decimal(2)}, {"key": Decimal(3)}])
    assert counts(exact + query("q", "b[i].key > b[i-1].key + 0.5"), table) == {"q": 3}


def test_ranks_hold_when_a_run_stops_between_batches() -> None:
    values = [Decimal(10**30 + n) for n in (3, 0, 2, 1, 4)]
    table = table_of([{"key": value} for value in values])
    ready = plan(parse_workload(query("q", "b[i].key > b[i-1].key")))
    (unit,) = unit_inputs(ready, table, exact=False)
    operator, totals = unit.operator(), []
    for start in range(len(values)):
        totals.append(operator.process(unit.batch.slice(start, 1)))
        operator = unit.stopped(operator)
    totals.append(operator.close())
    (row,) = unit.results(totals)["q"].to_pylist()
    assert row["count(*)"] == expected(query("q", "b[i].key > b[i-1].key"), table.to_pylist())["q"]
