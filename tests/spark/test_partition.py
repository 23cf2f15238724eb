from __future__ import annotations

import math

import pyarrow as pa

from elsinore.spark.partition import Numbering


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
    totals = pa.record_batch({"group": pa.array([1, 3, 2], pa.int32())})
    assert numbers.named(totals).to_pydict() == {"g": ["b", "d", "c"]}
    numbers.forget()
    totals = pa.record_batch({"group": pa.array([3], pa.int32())})
    assert numbers.named(totals).to_pydict() == {"g": ["d"]}
