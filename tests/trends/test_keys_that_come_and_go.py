"""Windows closed while the stream runs: results, deadlines, and the slots of keys that are over."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest

import elsinore as el
from elsinore.language import parse_workload
from elsinore.operators import Operator, OperatorOptions, kind_for, plan
from elsinore.plan import Unit
from elsinore.runtime.classify import classify, type_numbers
from elsinore.trends.engine import operator as engine
from elsinore.trends.kind import KeyedOperator

SECOND = 1_000_000
PATTERNS = {
    "sums per state": "SEQ(A, B+)",
    "sums with NOT": "SEQ(NOT C, A, B+)",
    "compared neighbours": "SEQ(A, B+ b) WHERE b[i].v > b[i-1].v",
    "NOT of a sequence": "SEQ(A, NOT SEQ(C, D), B+ b)",
}


def unit_for(pattern: str, windows: str = "WITHIN 10 seconds SLIDE 5 seconds") -> Unit:
    head, _, where = pattern.partition(" WHERE ")
    where = f"WHERE [k] AND {where}" if where else "WHERE [k]"
    text = f"QUERY q RETURN COUNT(*) PATTERN {head} {where} {windows}"
    (unit,) = plan(parse_workload(text)).units
    return unit


def batch_for(unit: Unit, rows: list[tuple[int, str, int, float]]) -> pa.RecordBatch:
    """Return events, given as (seconds, type, key, v)."""
    times, types, keys, values = (list(column) for column in zip(*rows, strict=True))
    v = pa.array(values, pa.float64())
    numbers = type_numbers(pa.array(types), unit.types)
    columns: dict[str, Any] = {
        "key": pa.array(keys, pa.int32()),
        "group": pa.array([0] * len(rows), pa.int32()),
        "time": pa.array([SECOND * time for time in times], pa.int64()),
        "class": pa.array(classify(unit.classes, numbers, unit.types, {"v": v})),
    }
    return pa.record_batch(columns | {column.name: v for column in unit.columns})


def stream(keys: int) -> list[tuple[int, str, int, float]]:
    """Return a key's four seconds of events each two seconds; each key comes once."""
    rows = [
        (2 * key + step, letter, key, float(step))
        for key in range(keys)
        for step, letter in enumerate("AABB")
    ]
    return sorted(rows)


def totals(outputs: list[pa.RecordBatch]) -> dict[int, float]:
    found: dict[int, float] = {}
    for batch in outputs:
        for row in batch.to_pylist():
            number = row["cell0"] * 2.0 ** row["power0"]
            found[row["window"]] = found.get(row["window"], 0.0) + number
    return found


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_results_are_the_same_however_often_windows_are_closed(pattern: str) -> None:
    unit = unit_for(pattern)
    rows = stream(30)
    at_once = kind_for(unit).operator(unit, OperatorOptions())
    expected = totals([*at_once.process(batch_for(unit, rows)), *at_once.close()])
    assert len(expected) > 5
    for every, saved, told in ((1, False, False), (7, True, False), (1, False, True)):
        operator = kind_for(unit).operator(unit, OperatorOptions())
        outputs: list[pa.RecordBatch] = []
        for start in range(0, len(rows), every):
            some = rows[start : start + every]
            until = SECOND * some[-1][0]
            if told:
                outputs += operator.process(batch_for(unit, some), until)
            else:
                outputs += operator.process(batch_for(unit, some))
                outputs += operator.close(until)
            if saved:
                operator = kind_for(unit).load(unit, operator.save())
        assert totals([*outputs, *operator.close()]) == expected


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_deadline_is_the_end_of_the_first_window_with_something_in_it(pattern: str) -> None:
    unit = unit_for(pattern)
    operator = kind_for(unit).operator(unit, OperatorOptions())
    assert operator.deadline() is None
    drained(operator, batch_for(unit, [(11, "A", 3, 0.0), (12, "B", 3, 1.0)]))
    assert operator.deadline() == 15 * SECOND  # of the window from 5
    assert totals(list(operator.close(14 * SECOND))) == {}
    assert totals(list(operator.close(15 * SECOND))) == {1: 1.0}
    assert operator.deadline() == 20 * SECOND
    assert totals(list(operator.close(20 * SECOND))) == {2: 1.0}
    assert operator.deadline() is None


def test_without_windows_there_is_no_deadline() -> None:
    unit = unit_for(PATTERNS["sums per state"], windows="")
    operator = kind_for(unit).operator(unit, OperatorOptions())
    drained(operator, batch_for(unit, [(1, "A", 0, 0.0), (2, "B", 0, 1.0)]))
    assert operator.deadline() is None
    assert totals(list(operator.close(100 * SECOND))) == {}
    assert totals(list(operator.close())) == {0: 1.0}


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_memory_is_that_of_the_keys_which_are_open(pattern: str) -> None:
    sizes = {}
    for keys in (200, 2_000):
        unit = unit_for(pattern)
        operator = kind_for(unit).operator(unit, OperatorOptions())
        assert isinstance(operator, KeyedOperator)
        rows = stream(keys)
        for start in range(0, len(rows), 80):
            some = rows[start : start + 80]
            drained(operator, batch_for(unit, some))
            list(operator.close(SECOND * some[-1][0]))
        sizes[keys] = operator.statistics.state_bytes, len(operator.save())
    assert sizes[2_000][0] <= 1.5 * sizes[200][0]
    assert sizes[2_000][1] <= 1.5 * sizes[200][1]


def drained(operator: Operator, batch: pa.RecordBatch) -> None:
    assert list(operator.process(batch)) == []


def test_room_for_totals_is_made_once_where_many_keys_are_open() -> None:
    keys = 40_000
    events = pa.table({"time": range(2 * keys), "type": list("AB") * keys})
    events = events.append_column("k", pa.array([place // 2 for place in range(2 * keys)]))
    workload = el.Workload.parse("QUERY q RETURN k, COUNT(*) AS n PATTERN SEQ(A, B+) GROUP BY k")
    with patch.object(engine, "rebuild", side_effect=engine.rebuild) as rebuilt:
        rows = workload.run(events, threads=1)["q"]
    assert rows["n"].to_pylist() == [1.0] * keys
    assert 1 <= rebuilt.call_count <= 4
