"""The number of matches under SKIP TILL ANY MATCH, counted in long windows without making any."""

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from elsinore.errors import InputError
from elsinore.workload import Workload

EVENTS = 130
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def column(kind: str) -> list[Any]:
    drawn = np.random.default_rng(5)
    values: list[Any] = drawn.integers(0, 70, EVENTS).tolist()
    if kind == "text":
        values = [f"{value:03}" for value in values]
    elif kind == "double":
        values = [value / 4 for value in values]
    return [None if number % 9 == 4 else value for number, value in enumerate(values)]


def count(values: list[Any], holds: Callable[[Any, Any], bool]) -> int:
    """Count the paths over neighbours that compare, of at least one event, one by one."""
    ways = [0] * len(values)
    for at in reversed(range(len(values))):
        ways[at] = 1 + sum(
            ways[later]
            for later in range(at + 1, len(values))
            if None not in (values[at], values[later]) and holds(values[later], values[at])
        )
    return sum(ways)


@pytest.mark.parametrize("kind", ["double", "whole", "text"])
@pytest.mark.parametrize("comparison", COMPARISONS)
def test_matches_of_a_long_window_are_counted_exactly(kind: str, comparison: str) -> None:
    values = column(kind)
    expected = count(values, COMPARISONS[comparison])
    assert 10**7 < expected < 2**53
    table = pa.table({"time": range(EVENTS), "type": ["B"] * EVENTS, "v": values})
    query = f"RETURN COUNT(b[]) PATTERN B+ b WHERE b[i].v {comparison} b[i-1].v;"
    with pytest.raises(InputError) as refusal:
        Workload.parse(query).run(table)
    told = re.search(r"a window has ([\d,]+) matches", str(refusal.value))
    assert told is not None
    assert int(told[1].replace(",", "")) == expected


def test_a_number_that_no_integer_holds_is_told_as_a_bound() -> None:
    events = [{"time": n, "type": "B"} for n in range(2_000)]
    with pytest.raises(InputError, match=r"has more than 9,000,000,000,000,000,000 matches"):
        Workload.parse("RETURN COUNT(b[]) PATTERN B+ b;").run(events)
