"""Quantiles by sketches stay within their bound, also over windows, joined, saved and on Spark."""

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import elsinore.quantitative as qre
from elsinore.errors import InputError, QuerySemanticError
from elsinore.quantitative.sketches import SketchedWindow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = ("random", "rising", "falling", "sawtooth", "equal", "heavy")
SLACK = 2  # the bound holds with 99 % probability: twice of it, as good as always


def stream(order: str, count: int) -> list[float]:
    random = np.random.default_rng(3)
    rising = np.arange(count, dtype=float)
    orders = {
        "random": random.random(count),
        "rising": rising,
        "falling": rising[::-1],
        "sawtooth": np.where(rising % 2 == 0, rising, -rising),
        "equal": np.full(count, 7.0),
        "heavy": random.pareto(0.7, count),
    }
    return orders[order].tolist()  # type: ignore[no-any-return]


def rank_error(values: list[float], value: float, fraction: float) -> float:
    """Return how far off the ranks are at which a value would be exact."""
    below, upto = sum(v < value for v in values), sum(v <= value for v in values)
    wanted = fraction * len(values)
    return max(below - wanted, wanted - upto, 0) / len(values)


@pytest.mark.parametrize("order", ORDERS)
def test_quantiles_of_the_last_values_are_within_the_error(order: str) -> None:
    size, error = 1500, 0.05
    values = stream(order, 4000)
    for fraction in (0.5, 0.95):
        query = qre.approx_quantile_in_window(qre.atom(), size, fraction, error)
        estimates = query.start().extend(values)[1]
        assert len(estimates) == len(values)
        for place in (1, 10, 700, 1499, 1500, 2222, 3999):
            window = values[max(0, place + 1 - size) : place + 1]
            assert rank_error(window, estimates[place], fraction) <= SLACK * error + 1 / len(window)


def test_sketches_of_parts_are_merged_into_one_of_the_whole() -> None:
    values = stream("heavy", 20_000)
    fold = qre.sketch(0.01)
    parts = []
    for part in range(7):
        state = fold.init
        for value in values[part::7]:
            state = fold.step(state, value)
        assert fold.finish is not None
        parts.append(fold.finish(state))
    joined = qre.sketched_quantile(parts, 0.9)
    assert joined is not None
    assert rank_error(values, joined, 0.9) <= SLACK * 0.01
    assert qre.sketched_quantile([], 0.5) is None


def test_the_space_of_a_window_hardly_grows_with_its_length() -> None:
    sizes = []
    for size in (10_000, 80_000):
        window = SketchedWindow(size, 0.5, 0.1)
        state = window.empty
        for value in stream("random", size + size // 2):
            state = window.push(state, value)
        sizes.append(len(pickle.dumps(state)))
    assert sizes[1] < 2 * sizes[0]
    assert sizes[1] < 8 * 80_000 / 5


def test_a_loaded_window_stays_within_the_error() -> None:
    query = qre.approx_quantile_in_window(qre.atom(), 800, 0.5, 0.1)
    values = stream("rising", 2000)
    before = query.start()
    before.extend(values[:1100])
    after = query.load(before.save())
    estimates = after.extend(values[1100:])[1][-1]
    assert rank_error(values[-800:], estimates, 0.5) <= SLACK * 0.1


def test_a_state_that_is_continued_twice_does_not_change() -> None:
    fold = qre.sketch_quantile(0.5, 0.01)
    base = fold.init
    for value in range(100):
        base = fold.step(base, value)
    high = fold.step(fold.step(base, 1000), 1000)
    low = fold.step(base, -1000)
    assert (len(base), len(high), len(low)) == (100, 102, 101)
    assert fold.finish is not None
    assert fold.finish(low) in {49, 50}


@pytest.mark.parametrize("data", [b"", b"no sketch at all", b"\x05\x01\x0f"])
def test_bytes_other_than_sketches_are_rejected(data: bytes) -> None:
    with pytest.raises(InputError, match="not the bytes of a sketch"):
        qre.sketched_quantile([data], 0.5)


def test_nan_and_impossible_errors_are_rejected() -> None:
    with pytest.raises(qre.OperationError, match="NaN has no place"):
        qre.approx_quantile_in_window(qre.atom(), 5, 0.5).start().push(float("nan"))
    with pytest.raises(QuerySemanticError, match="error is between 0 and 1"):
        qre.sketch(1.5)
    with pytest.raises(QuerySemanticError, match="from 0 to 1"):
        qre.sketch_quantile(1.5)
    with pytest.raises(QuerySemanticError, match="at least one value"):
        qre.approx_quantile_in_window(qre.atom(), 0, 0.5)


def test_sketches_of_keys_are_merged_after_a_run_on_spark(spark: "SparkSession") -> None:
    values = stream("random", 3000)
    kinds = ["E" if n >= 2994 else "M" for n in range(3000)]
    rows = [(n, kinds[n], n % 6, values[n]) for n in range(3000)]
    frame = spark.createDataFrame(rows, "time long, type string, key long, v double")
    sketched = qre.split(
        qre.iterate(qre.atom(qre.event("M"), lambda m: m.v), qre.sketch(0.05)),
        qre.atom(qre.event("E")),
        qre.left,
    )
    estimates: Any = sketched.by("key").run(frame, value="binary").toArrow()["value"].to_pylist()
    assert len(estimates) == 6
    joined = qre.sketched_quantile(estimates, 0.25)
    assert joined is not None
    assert rank_error(values[:2994], joined, 0.25) <= SLACK * 0.05
