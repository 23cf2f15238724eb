"""What the operators that keep events count of their own work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Path, Sharing
from elsinore.trends.kind import operator_class
from support.units import UnitInput, unit_inputs

RISING = "QUERY {} RETURN COUNT(*) PATTERN SEQ({} x, B+ b) WHERE b[i].v > b[i-1].v{};"
SHARED = RISING.format("q1", "A", "") + RISING.format("q2", "C", " AND b.v < 0.5")
TEXTS = {
    "comparisons": SHARED,
    "lists": "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(C c, A d), B+ b);",
    "sets": "EXACT; QUERY q RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(C c, A d), B+ b);",
}


def stream(events: int) -> pa.Table:
    chosen = np.random.default_rng(7).integers(0, 4, events)
    return pa.table(
        {
            "type": pa.array(np.array(list("ABCZ"))[chosen]),
            "time": pa.array(np.arange(events)),
            "v": pa.array(np.random.default_rng(8).random(events)),
        }
    )


def given(text: str, events: int) -> UnitInput:
    (unit,) = unit_inputs(plan(parse_workload(text)), stream(events), exact=text.startswith("EX"))
    return unit


@pytest.mark.parametrize("kind", TEXTS)
def test_classes_are_those_of_events_that_occurred_and_are_taken(kind: str) -> None:
    unit = given(TEXTS[kind], 40)
    assert unit.unit.path is (Path.SETS if kind == "sets" else Path.GRAPH)
    operator = unit.operator()
    assert operator.statistics.classes == 0
    codes = unit.batch.column("class").to_numpy()
    for start in range(0, 40, 8):
        operator.process(unit.batch.slice(start, 8))
        operator = unit.stopped(operator)
        seen = codes[: start + 8]
        assert operator.statistics.classes == len(set(seen[seen >= 0].tolist()))
    assert operator.statistics.classes >= 3


def test_what_was_shared_is_counted_on_after_a_stop() -> None:
    unit = given(SHARED, 40)
    bounds = list(range(0, 40_000_001, 10_000_000))
    operators = [
        operator_class(unit.unit)(unit.unit, sharing=Sharing.ALWAYS, record=True) for _ in range(2)
    ]
    for start, bound in enumerate(bounds[1:]):
        for number, one in enumerate(operators):
            one.process(unit.batch.slice(10 * start, 10))
            one.close(bound)
            if number:
                operators[1] = unit.stopped(one)
                found, kept = operators[1].statistics, one.statistics
                for told, expected in zip(found.sharing, kept.sharing, strict=True):
                    told.decision_seconds = expected.decision_seconds
                assert found == kept
    for one in operators:
        one.close()
    (told,), (expected,) = (one.statistics.sharing for one in reversed(operators))
    told.decision_seconds = expected.decision_seconds
    assert told == expected
    assert told.bursts == len(told.records) > 0


def test_memory_is_that_of_rows_too() -> None:
    wide = "".join(RISING.format(f"q{number}", "A", "") for number in range(50))
    wide = wide.replace("SEQ(A", "SEQ(A{}").format(*range(50))
    unit = given(wide, 4000)
    operator = unit.operator(sharing=Sharing.NEVER)
    operator.process(unit.batch)
    operator.close()
    # each of the 1,000 B events keeps a number of trends, 8 bytes, for each query
    assert operator.statistics.state_bytes > 1000 * 50 * 8


@pytest.mark.parametrize("kind", ["lists", "comparisons"])
def test_memory_grows_with_the_largest_window(kind: str) -> None:
    sizes = []
    for seconds in (10, 1000):
        unit = given(TEXTS[kind].replace(";", f" WITHIN {seconds} seconds;"), 2000)
        operator = unit.operator()
        operator.process(unit.batch)
        operator.close()
        sizes.append(operator.statistics.state_bytes)
    assert sizes[1] > sizes[0]
