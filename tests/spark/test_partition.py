from __future__ import annotations

import math

import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.model.window import SECOND
from elsinore.operators import OperatorOptions, plan
from elsinore.plan import Sharing
from elsinore.spark.partition import Numbering, RunOperators
from oracles.reference import ReferenceEvent
from support.trends import table_of
from support.units import unit_inputs


def batch(g: list[str | None], w: list[float | None]) -> pa.RecordBatch:
    return pa.record_batch({"g": pa.array(g, pa.string()), "w": pa.array(w, pa.float64())})


def test_a_run_goes_on_over_batches_and_null_and_nan_are_values() -> None:
    numbers = Numbering(["g", "w"])
    found = numbers.number(batch(["a", "a", "b", None], [1.0, 1.0, 1.0, math.nan])).tolist()
    found += numbers.number(
        batch([None, None, None, "c"], [math.nan, math.nan, None, None])
    ).tolist()
    assert found == [0, 0, 1, 2, 2, 2, 3, 4]


def test_values_of_a_group_that_goes_on_are_kept() -> None:
    numbers = Numbering(["g"])
    numbers.number(batch(["a", "b", "c"], [0.0] * 3))
    numbers.forget(1)
    numbers.number(batch(["c", "d"], [0.0] * 2))
    assert numbers.values(pa.array([1, 3, 2], pa.int32()))["g"].to_pylist() == ["b", "d", "c"]
    assert numbers.earliest([3, 1, 7]) == 1
    numbers.forget()
    assert numbers.values(pa.array([3], pa.int32()))["g"].to_pylist() == ["d"]
    assert numbers.earliest([1]) == -1


WORKLOAD = """
    QUERY ab RETURN g, COUNT(*), SUM(B.w), MAX(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g;
    QUERY cb RETURN g, COUNT(*), SUM(B.w) PATTERN SEQ(C, B+) WHERE [k] GROUP BY g;
"""


@pytest.mark.parametrize("tie", [None, 1, 5, 6, 7, 11], ids=lambda tie: f"tie {tie}")
def test_batches_may_be_cut_anywhere_with_simultaneous_events_and_without(tie: int | None) -> None:
    events = [
        ReferenceEvent(
            (n - (tie is not None and n % 12 >= tie)) * SECOND,
            "ACBBBBCBABBB"[n % 12],
            {"g": (None, "x", "y")[n // 24], "k": n // 12 % 2, "v": n % 5, "w": n / 4},
        )
        for n in range(72)
    ]
    (unit,) = unit_inputs(plan(parse_workload(WORKLOAD)), table_of(events), exact=False)
    rows = unit.by_key()
    batch = pa.record_batch(
        {
            "g0": unit.groups[0].take(rows.column("group")),
            "k0": rows.column("key"),
            "time": rows.column("time"),
            "class0": rows.column("class"),
            "c0": rows.column("sum:w"),
            "c1": pa.array([event.attributes["v"] for event in events]),
        }
    )
    found = []
    for size in (72, 1, 5, 6, 7, 12, 24):
        batches = [batch.slice(start, size) for start in range(0, 72, size)]
        options = OperatorOptions(one_slot=True, sharing=Sharing.ALWAYS)
        totals = RunOperators((unit.planned,), options, (None,))(batches)
        rows_out = [tuple(row.values()) for one in totals for row in one.to_pylist()]
        found.append(sorted(rows_out, key=repr))
    assert len(found[0]) == 6
    assert all(one == found[0] for one in found)
    operator = unit.operator(one_slot=True, sharing=Sharing.NEVER)
    whole = [operator.process(rows), operator.close()]
    assert found[0] == sorted(
        (
            (unit.groups[0][row.pop("group")].as_py(), *row.values())
            for one in whole
            for row in one.to_pylist()
        ),
        key=repr,
    )
