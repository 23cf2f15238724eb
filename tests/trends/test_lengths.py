"""SUM and AVG of lengths of time over all trends are lengths of time, exact or rejected."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import types as T  # noqa: N812

import elsinore as el
from elsinore.errors import InputError

PATTERN = "PATTERN SEQ(A, B+)"
RETURNS = "RETURN g, SUM(B.d) AS s, AVG(B.d) AS m"
WHERE = {
    "": lambda _before, _after: True,
    " WHERE B[i].d > B[i-1].d": lambda before, after: (
        None not in (before, after) and before < after
    ),
}
TICKS = {"s": 10**6, "ms": 10**3, "us": 1, "ns": 1}  # of a result to one of the column


def events_of(kinds: list[str], values: list[int | None], unit: str) -> pa.Table:
    return pa.table(
        {
            "time": list(range(len(kinds))),
            "type": kinds,
            "g": ["x", "y"] * (len(kinds) // 2) + ["x"] * (len(kinds) % 2),
            "d": pa.array(values, pa.duration(unit)),
        }
    )


def brute_force(table: pa.Table, follows, factor: int) -> dict[str, tuple[int | None, int | None]]:
    """Return SUM and AVG, in ticks of the result, of each group that has trends."""
    kinds, groups = table["type"].to_pylist(), table["g"].to_pylist()
    values = table["d"].cast(pa.int64()).to_pylist()
    found: dict[str, list[int]] = {}
    for group in sorted(set(groups)):
        of_group = [n for n in range(len(kinds)) if groups[n] == group]
        for first in (n for n in of_group if kinds[n] == "A"):
            later = [n for n in of_group if n > first and kinds[n] == "B"]
            for size in range(1, len(later) + 1):
                for trend in itertools.combinations(later, size):
                    pairs = itertools.pairwise(trend)
                    if all(follows(values[p], values[q]) for p, q in pairs):
                        added = [values[n] * factor for n in trend if values[n] is not None]
                        found.setdefault(group, []).extend(added)
    return {
        group: (sum(added), nearest(sum(added), len(added))) if added else (None, None)
        for group, added in found.items()
    }


def nearest(over: int, under: int) -> int:
    size = floor(abs(Fraction(over, under)) + Fraction(1, 2))
    return size if over >= 0 else -size


def ticks(result: pa.Table, unit: str) -> dict[str, tuple[int | None, int | None]]:
    kind = pa.duration("ns" if unit == "ns" else "us")
    assert (result.schema.field("s").type, result.schema.field("m").type) == (kind, kind)
    columns = (result.column(name).cast(pa.int64()).to_pylist() for name in ("s", "m"))
    return dict(zip(result.column("g").to_pylist(), zip(*columns, strict=True), strict=True))


@settings(max_examples=30)
@given(
    events=st.lists(
        st.tuples(st.sampled_from("ABBB"), st.none() | st.integers(-(10**5), 10**5)), max_size=12
    ),
    unit=st.sampled_from(sorted(TICKS)),
    where=st.sampled_from(sorted(WHERE)),
    exact=st.booleans(),
)
def test_sums_and_averages_are_those_of_brute_force(events, unit, where, exact) -> None:
    table = events_of([kind for kind, _ in events], [value for _, value in events], unit)
    workload = el.Workload.parse(f"QUERY q {RETURNS} {PATTERN}{where} GROUP BY g", exact=exact)
    expected = brute_force(table, WHERE[where], TICKS[unit])
    assert ticks(workload.run(table)["q"], unit) == expected


@pytest.mark.parametrize("exact", [False, True])
def test_spark_gives_the_same_lengths(exact: bool, spark: SparkSession) -> None:
    random = np.random.default_rng(7)
    table = events_of(
        random.choice(list("ABBB"), 16).tolist(),
        [None if n % 5 == 0 else int(n) for n in random.integers(-(10**9), 10**9, 16)],
        "us",
    )
    fields = [
        T.StructField("time", T.LongType()),
        T.StructField("type", T.StringType()),
        T.StructField("g", T.StringType()),
        T.StructField("d", T.DayTimeIntervalType()),
    ]
    rows = [tuple(row.values()) for row in table.to_pylist()]
    frame = spark.createDataFrame(rows, T.StructType(fields))
    text = "; ".join(
        f"QUERY q{n} {RETURNS} {PATTERN}{where} GROUP BY g" for n, where in enumerate(sorted(WHERE))
    )
    workload = el.Workload.parse(text, exact=exact)
    results = workload.run(frame)
    for number, where in enumerate(sorted(WHERE)):
        found = ticks(results[f"q{number}"].to_arrow(), "us")
        assert found == brute_force(table, WHERE[where], 1), where


def test_a_sum_that_is_not_exact_is_rejected_and_exact_gives_its_digits() -> None:
    table = events_of(["A", "A", *"BBBB"], [None, None, *[2**58] * 4], "us")
    table = table.set_column(2, "g", pa.array(["x"] * 6))
    text = f"QUERY q {RETURNS} {PATTERN} GROUP BY g"
    with pytest.raises(InputError, match=r"'s': a sum of lengths of time.*Add EXACT"):
        el.Workload.parse(text).run(table)
    average = el.Workload.parse(text.replace("SUM(B.d) AS s, ", "")).run(table)["q"]
    assert average.column("m").cast(pa.int64()).to_pylist() == [2**58]
    (row,) = el.Workload.parse(text, exact=True).run(table)["q"].to_pylist()
    added = 2 * 4 * 2**3 * 2**58  # two A, and each B in half of the 16 sets
    assert added >= 2**63
    assert (row["s"], row["s_digits"]) == (None, str(added))
