"""Numbers beyond a double: counts have thousands of digits and nothing is wrapped or lost."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from elsinore import Workload as Elsinore
from elsinore.local import run
from elsinore.model import (
    Attribute,
    Call,
    Event,
    Kleene,
    Pattern,
    Query,
    ReturnItem,
    Sequence,
    Workload,
)
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from elsinore.workload import GranularityName

MANY = 20_000
COUNT = Call("COUNT", ())


def row_of(table: pa.Table, pattern: Pattern, *returns: Call, exact: bool = False) -> dict:
    query = Query(name="q", returns=tuple(map(ReturnItem, returns)), pattern=pattern)
    (row,) = run(plan(Workload((query,), exact=exact)), table, RunOptions())["q"].to_pylist()
    return row


def over(function: str, variable: str, attribute: str | None = None) -> Call:
    return Call(function, (Attribute(variable, attribute),))


@pytest.fixture(scope="module")
def many() -> pa.Table:
    """Events of one type, at distinct times; v is 0, 1, ..., 99 and again."""
    return pa.table(
        {
            "time": pa.array(range(MANY), pa.int64()),
            "type": pa.array(["A"] * MANY),
            "v": pa.array([number % 100 for number in range(MANY)], pa.int64()),
        }
    )


ONE_OR_MORE = Kleene(Event("A", "a"), 1, None)
ALL = (
    COUNT,
    Call("LOG2", (COUNT,)),
    over("COUNT", "a"),
    over("SUM", "a", "v"),
    over("AVG", "a", "v"),
    over("MIN", "a", "v"),
    over("MAX", "a", "v"),
)


def test_a_count_beyond_a_double_is_infinite_and_has_a_logarithm(many: pa.Table) -> None:
    row = row_of(many, ONE_OR_MORE, *ALL)
    assert row["count(*)"] == math.inf
    assert row["log2(count(*))"] == pytest.approx(MANY, rel=1e-9)
    assert row["count(a)"] == math.inf
    assert row["sum(a.v)"] == math.inf
    assert row["avg(a.v)"] == pytest.approx(49.5, rel=1e-9)
    assert (row["min(a.v)"], row["max(a.v)"]) == (0, 99)


def test_exact_gives_every_digit(many: pa.Table) -> None:
    row = row_of(many, ONE_OR_MORE, *ALL, exact=True)
    assert row["count(*)"] is None
    assert len(row["count(*)_digits"]) == 6_021
    # of 2**n sets of events all but the empty one are trends, and an event is in half of them
    assert row["count(*)_digits"] == _text(2**MANY - 1)
    assert row["count(a)_digits"] == _text(MANY * 2 ** (MANY - 1))
    assert row["sum(a.v)_digits"] == _text(MANY // 100 * 4950 * 2 ** (MANY - 1))
    assert row["log2(count(*))"] == pytest.approx(MANY, rel=1e-12)
    assert row["avg(a.v)"] == 49.5
    assert (row["min(a.v)"], row["max(a.v)"]) == (0, 99)


def _text(number: int) -> str:
    """Return a number's digits; `str` refuses numbers of so many."""
    digits = []
    while number:
        number, rest = divmod(number, 10**4000)
        digits.append(f"{rest:04000d}")
    return "".join(reversed(digits)).lstrip("0")


@pytest.mark.parametrize("exact", [False, True], ids=["doubles", "exact"])
def test_a_small_count_stays_exact_beside_great_ones(exact: bool) -> None:
    # a trend needs a B after its A's: thousands of A's later, the sums of A's are beyond a double
    # and those that ended with the early B are still 7
    types = ["A"] * 3 + ["B"] + ["A"] * 5_000
    table = pa.table(
        {
            "time": pa.array(range(len(types)), pa.int64()),
            "type": pa.array(types),
            "v": pa.array(range(len(types)), pa.int64()),
        }
    )
    pattern = Sequence((Kleene(Event("A", "a"), 1, None), Event("B", "b")))
    row = row_of(
        table,
        pattern,
        COUNT,
        over("COUNT", "a"),
        over("SUM", "a", "v"),
        over("MAX", "a", "v"),
        exact=exact,
    )
    assert row["count(*)"] == 7
    assert row["count(a)"] == 12
    assert row["sum(a.v)"] == 4 * (0 + 1 + 2)
    assert row["max(a.v)"] == 2


def test_counts_are_exact_up_to_two_to_the_53() -> None:
    table = pa.table({"time": pa.array(range(53), pa.int64()), "type": pa.array(["A"] * 53)})
    assert row_of(table, ONE_OR_MORE, COUNT)["count(*)"] == 2**53 - 1


def test_exact_whole_numbers_are_decimals_where_they_fit() -> None:
    table = pa.table({"time": pa.array(range(100), pa.int64()), "type": pa.array(["A"] * 100)})
    row = row_of(table, ONE_OR_MORE, COUNT, exact=True)
    assert row["count(*)"] == 2**100 - 1
    assert row["count(*)_digits"] is None


@pytest.mark.parametrize(
    "clauses", ["", "WHERE [k]", "WITHIN 100 SLIDE 50 ORIGIN 50", "GROUP BY g"]
)
@pytest.mark.parametrize("step", [0, 1])
@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([math.inf, -math.inf, 1.0], math.nan),
        ([-math.inf, 1.0, math.inf], math.nan),
        ([1.0, math.inf, 0.0, math.inf], math.inf),
        ([-math.inf, 2.0, -math.inf], -math.inf),
    ],
)
def test_infinities_of_both_signs_have_no_sum(
    values: list[float], total: float, step: int, clauses: str
) -> None:
    count = len(values)
    events = {
        "time": [0] + [1 + place * step for place in range(count)],
        "type": ["A"] + ["B"] * count,
        "v": [None, *values],
        "k": [1] * (1 + count),
        "g": [1] * (1 + count),
    }
    pattern = f"PATTERN SEQ(A, B+) {clauses}"
    query = f"QUERY q RETURN SUM(B.v) AS total, AVG(B.v) AS mean {pattern};"
    row = Elsinore.parse(query).run(events)["q"].to_pylist()[0]
    assert row["total"] == pytest.approx(total, nan_ok=True)
    assert row["mean"] == pytest.approx(total, nan_ok=True)


@pytest.mark.parametrize("granularity", ["auto", "fine"])
@pytest.mark.parametrize(
    "pattern",
    [
        "SEQ(A, B b+)",
        "SEQ(A, B b+) WITHIN 4000 SLIDE 2000",
        "SEQ(A a, B b+) WHERE b[i].w > a.w",
        "SEQ(A, B b+) WHERE b[i].w > b[i-1].w",
    ],
)
@pytest.mark.parametrize(
    ("infinite", "total"),
    [
        ({0: math.inf}, math.inf),
        ({0: -math.inf, 1500: math.inf}, math.nan),
        ({700: math.inf, 1500: -math.inf}, math.nan),
    ],
)
def test_infinities_are_added_whatever_the_number_of_trends(
    infinite: dict[int, float], total: float, pattern: str, granularity: GranularityName
) -> None:
    count = 1600
    events = {
        "time": range(count + 1),
        "type": ["A"] + ["B"] * count,
        "v": [0.0, *(infinite.get(place, 0.5) for place in range(count))],
        "w": range(count + 1),
    }
    query = f"QUERY q RETURN SUM(b.v) AS total, AVG(b.v) AS mean PATTERN {pattern};"
    rows = Elsinore.parse(query).run(events, granularity=granularity)["q"].to_pylist()
    assert rows[0]["total"] == pytest.approx(total, nan_ok=True)
    assert rows[0]["mean"] == pytest.approx(total, nan_ok=True)
