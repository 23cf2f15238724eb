"""Conditions between events that compute with times: the engine counts what brute force counts."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.language import parse_workload
from support.templates import template

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
MINUTE = 60 * 10**9

Event = tuple[int | None, int | None, int | None]  # t and d in nanoseconds, and v


def rounded(number: Fraction, tick: int) -> int:
    """Return a length rounded to ticks, halves away from zero."""
    size = int(abs(number) / tick + Fraction(1, 2)) * tick
    return -size if number < 0 else size


# conditions, and what they say of an event, its predecessor and the tick of results
CONDITIONS: dict[str, Callable[[Event, Event, int], bool]] = {
    "T[i].t - T[i-1].t <= 5 minutes": lambda i, p, _: i[0] - p[0] <= 5 * MINUTE,
    "T[i].t >= T[i-1].t + 90 seconds": lambda i, p, _: i[0] >= p[0] + 3 * MINUTE // 2,
    "ABS(T[i].d - T[i-1].d) <= T[i].d": lambda i, p, _: abs(i[1] - p[1]) <= i[1],
    "-T[i].d < T[i-1].d": lambda i, p, _: -i[1] < p[1],
    "-(T[i].t - T[i-1].t) >= -ABS(T[i-1].d)": lambda i, p, _: p[0] - i[0] >= -abs(p[1]),
    "T[i].t - T[i-1].t < T[i].d": lambda i, p, _: i[0] - p[0] < i[1],
    "T[i-1].t + T[i-1].d * 2 > T[i].t": lambda i, p, _: p[0] + p[1] * 2 > i[0],
    "(T[i].t - T[i-1].t) / 7 > 20 seconds": lambda i, p, tick: (
        rounded(Fraction(i[0] - p[0], 7), tick) > MINUTE // 3
    ),
    "(T[i].t - T[i-1].t) * 1.5 <= 4.5 minutes": lambda i, p, tick: (
        rounded(Fraction(i[0] - p[0]) * Fraction(3, 2), tick) <= 9 * MINUTE // 2
    ),
    "T[i].d / T[i].v < T[i-1].d": lambda i, p, tick: (
        i[2] != 0 and rounded(Fraction(i[1]) / i[2], tick) < p[1]
    ),
    "(T[i].t - T[i-1].t) / 1 minute > 2": lambda i, p, _: i[0] - p[0] > 2 * MINUTE,
    "NOT (T[i].t - T[i-1].t <= 3 minutes)": lambda i, p, _: i[0] - p[0] > 3 * MINUTE,
    "T[i].t - T[i-1].t BETWEEN 1 minute AND 3 minutes": lambda i, p, _: (
        MINUTE <= i[0] - p[0] <= 3 * MINUTE
    ),
    "T[i].t - T[i-1].t != 2 minutes": lambda i, p, _: i[0] - p[0] != 2 * MINUTE,
    "ABS(T[i].t - T[i-1].t) < 2 minutes": lambda i, p, _: abs(i[0] - p[0]) < 2 * MINUTE,
    "T[i].t - T[i-1].t < 1 minute OR T[i].t - 4 minutes > T[i-1].t": lambda i, p, _: (
        i[0] - p[0] < MINUTE or i[0] - p[0] > 4 * MINUTE
    ),
    "T[i].d + T[i-1].d <= 1 minute": lambda i, p, _: i[1] + p[1] <= MINUTE,
    # constants with parts of a microsecond, beside columns without any
    "T[i].t - T[i-1].t < 60000001500 ns": lambda i, p, _: i[0] - p[0] < MINUTE + 1_500,
    "T[i].t - T[i-1].t >= 59999999500 ns": lambda i, p, _: i[0] - p[0] >= MINUTE - 500,
    "T[i-1].d + 500 ns < T[i].d": lambda i, p, _: p[1] + 500 < i[1],
    "T[i].v - T[i-1].v = 1": lambda i, p, _: i[2] - p[2] == 1,
}


def scaled(number: int | None, factor: int) -> int | None:
    """Return a number times a factor, null as null."""
    return None if number is None else number * factor


def holds(condition: str, later: Event, earlier: Event, tick: int) -> bool:
    """Return whether a condition is true; with a null that it reads it is not."""
    try:
        return CONDITIONS[condition](later, earlier, tick)
    except TypeError:
        return False


def totals_of(condition: str, events: list[Event], tick: int) -> tuple[int, int]:
    """Return the number of sequences in which all neighbours fit, and the sum of d over them."""
    counts: list[int] = []
    sums: list[int] = []
    for number, event in enumerate(events):
        before = [n for n in range(number) if holds(condition, event, events[n], tick)]
        counts.append(1 + sum(counts[n] for n in before))
        sums.append(counts[-1] * (event[1] or 0) + sum(sums[n] for n in before))
    return sum(counts), sum(sums)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(sorted(NANOSECONDS)),
    st.sampled_from(sorted(CONDITIONS)),
    st.lists(
        st.tuples(
            st.none() | st.integers(-2, 8) | st.sampled_from([2**31]),
            st.none() | st.integers(-3, 3),
            st.none() | st.integers(-2, 3) | st.sampled_from([2**53, 2**53 + 1]),
        ),
        min_size=1,
        max_size=9,
    ),
)
def test_trends_are_those_of_brute_force(unit: str, condition: str, minutes: list[Event]) -> None:
    scale = MINUTE // NANOSECONDS[unit]
    if unit == "ns" or " ns" in condition:  # nanoseconds do not reach so far
        minutes = [(None if t == 2**31 else t, d, v) for t, d, v in minutes]
    events = [(scaled(t, MINUTE), scaled(d, MINUTE), v) for t, d, v in minutes]
    table = pa.table(
        {
            "time": range(len(events)),
            "type": ["T"] * len(events),
            "t": pa.array(
                [None if t is None else t * scale for t, _, _ in minutes], pa.timestamp(unit)
            ),
            "d": pa.array(
                [None if d is None else d * scale for _, d, _ in minutes], pa.duration(unit)
            ),
            "v": pa.array([v for _, _, v in minutes], pa.int64()),
        }
    )
    count, total = totals_of(condition, events, 1 if unit == "ns" else 1_000)
    for exact, summed in itertools.product((False, True), repeat=2):
        columns = "COUNT(*) AS n" + ", SUM(T.d) AS s, SUM(T.v) AS w" * summed
        text = f"{'EXACT; ' * exact}QUERY q RETURN {columns} PATTERN T+ WHERE {condition}"
        result = el.Workload.parse(text).run(table)["q"]
        assert [int(number) for number in result.column("n").to_pylist()] == [count], text
        if summed and any(d is not None for _, d, _ in events):
            sums = result.column("s").cast(pa.duration("ns")).cast("int64")
            assert sums.to_pylist() == [total], text


FAR = pa.table(
    {
        "time": [0, 1],
        "type": ["T", "T"],
        "t": pa.array([-(2**62) - 1, 2**62], pa.timestamp("ns")),
    }
)


def test_times_too_far_apart_for_nanoseconds_are_compared_but_not_computed_with() -> None:
    query = "QUERY q RETURN COUNT(*) AS n PATTERN T{{2}} WHERE {} > 1 hour"
    result = el.Workload.parse(query.format("T[i].t - T[i-1].t")).run(FAR)["q"]
    assert result["n"].to_pylist() == [1]
    with pytest.raises(
        el.InputError, match="a time or a length of time in a condition goes beyond 64 bits"
    ):
        el.Workload.parse(query.format("(T[i].t - T[i-1].t) * 1")).run(FAR)


@pytest.mark.parametrize(
    "condition",
    [
        "T[i].t - T[i-1].t <= 5 minutes",
        "T[i].t >= T[i-1].t + 90 seconds",
        "T[i].t - T[i-1].t BETWEEN 1 minute AND 3 minutes AND ABS(T[i].t - T[i-1].t) != 2 minutes",
        "T[i].d + T[i-1].d <= 1 minute - 500 ns",
    ],
)
def test_a_sum_of_two_attributes_and_constants_is_looked_up_in_an_index(condition: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN T+ WHERE {condition}"
    (query,) = parse_workload(text).queries
    assert template(query).is_pairwise
