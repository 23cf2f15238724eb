"""Keys in turn: events that act when they come give what exact numbers give, small or great."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions

KEYS = 3
QUERIES = "\n".join(
    f"QUERY q{place} RETURN k, LOG2(COUNT(*)) AS trends, AVG(b.v) AS mean, MAX(b.v) AS most "
    f"PATTERN SEQ({first} a, B b+, C c) GROUP BY k WITHIN 4000 seconds{slide};"
    for place, (first, slide) in enumerate(
        [("A", ""), ("C", ""), ("D", ""), ("A", " SLIDE 1000 seconds")]
    )
)


@pytest.mark.parametrize("great", [4.0, 1e300])  # 1e300 times a number may be beyond a double
@pytest.mark.parametrize("events", [600, 6_000])  # 100 B of a key, or 1,000: past 2**512
def test_sums_of_keys_in_turn_are_those_of_exact_numbers(great: float, events: int) -> None:
    random = np.random.default_rng(5)
    values = random.choice([0.5, 2.0, 3.25], events)
    values[events // 2] = great
    table = pa.table(
        {
            "time": np.arange(events),
            "type": random.choice(list("ABBBCD"), events).tolist(),
            "k": np.arange(events) % KEYS,
            "v": values,
        }
    )
    found, exact = (
        run(plan(parse_workload(text)), table, RunOptions(threads=1))
        for text in (QUERIES, "EXACT;\n" + QUERIES)
    )
    for name in ("q0", "q1", "q2", "q3"):
        one, other = found[name].frame, exact[name].frame
        assert one.num_rows == other.num_rows > 0
        for column in ("trends", "mean", "most"):
            expected = other.column(column).to_numpy()
            np.testing.assert_allclose(one.column(column).to_numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("length", [510, 511, 512])
def test_totals_may_be_greater_than_each_number_that_they_are_added_up_from(length: int) -> None:
    text = "QUERY q RETURN LOG2(COUNT(*)) AS trends PATTERN B+ OR C+ WITHIN 4000 seconds;"
    table = pa.table({"time": np.arange(2 * length), "type": ["B", "C"] * length})
    found, exact = (
        run(plan(parse_workload(told)), table, RunOptions(threads=1))["q"].to_pylist()
        for told in (text, "EXACT;\n" + text)
    )
    assert found == exact
    assert found[0]["trends"] == length + 1
