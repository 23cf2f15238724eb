"""What the operators that keep events count of their own work."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Path, Sharing
from elsinore.plan.sharing import sharing_sets
from elsinore.trends import operator_of
from support.units import UnitInput, unit_inputs

RISING = "QUERY {} RETURN COUNT(*) PATTERN SEQ({} x, B+ b) WHERE b[i].v > b[i-1].v{};"
SHARED = RISING.format("q1", "A", "") + RISING.format("q2", "C", " AND b.v < 0.5")
PATHS = {
    Path.SHARED: SHARED,
    Path.GRAPH: "QUERY q RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(C c, A d), B+ b);",
    Path.SETS: "EXACT; QUERY q RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(C c, A d), B+ b);",
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


@pytest.mark.parametrize("path", PATHS)
def test_classes_are_those_of_events_that_occurred_and_are_taken(path: Path) -> None:
    unit = given(PATHS[path], 40)
    assert unit.unit.path is path
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
    operators = [operator_of(unit.unit, sharing=Sharing.ALWAYS, record=True) for _ in range(2)]
    for start, bound in enumerate(bounds[1:]):
        for number, one in enumerate(operators):
            one.process(unit.batch.slice(10 * start, 10))
            one.close(bound)
            if number:
                operators[1] = unit.stopped(one)
                assert operators[1].statistics == one.statistics
    for one in operators:
        one.close()
    (told,), (expected,) = (one.statistics.sharing for one in reversed(operators))
    told.decision_seconds = expected.decision_seconds
    assert told == expected
    assert told.bursts == len(told.records) > 0


def test_memory_is_that_of_the_graph_too() -> None:
    wide = "".join(RISING.format(f"q{number}", "A", "") for number in range(50))
    sizes = {}
    for text in (SHARED, wide):
        unit = given(text, 4000)
        operator = unit.operator(sharing=Sharing.NEVER)
        operator.process(unit.batch)
        operator.close()
        sizes[text] = operator.statistics.state_bytes
        assert sizes[text] > unit.batch.nbytes
    # each of the 1,000 B events keeps a number of trends, 12 bytes, for each query
    assert sizes[wide] > 1000 * 50 * 12
    assert sizes[wide] > 5 * sizes[SHARED]


def test_the_sets_that_are_counted_are_those_that_the_plan_tells() -> None:
    text = (
        SHARED
        + """
        QUERY q3 RETURN SUM(b.v) PATTERN B+ b WHERE b[i].v > b[i-1].v;
        QUERY q4 RETURN COUNT(*) PATTERN SEQ(A a, B+ b, C c+) WHERE b[i].v < b[i-1].v;
        QUERY q5 RETURN COUNT(*) PATTERN SEQ(A+ a, C+ c) WHERE c[i].v < c[i-1].v;
        QUERY q6 RETURN COUNT(*) PATTERN SEQ(A+ a, B b, C+ c) WHERE c[i].v < c[i-1].v;
    """
    )
    unit = given(text, 200)
    names = [one.query.name for one in unit.unit.templates]
    told = {
        (one.type, tuple(names[q] for q in one.queries))
        for one in sharing_sets(unit.unit.templates)
    }
    assert told == {("B", ("q1", "q2")), ("A", ("q5", "q6")), ("C", ("q5", "q6"))}
    whatever_they_compare = {
        ("B", ("q1", "q2", "q4")),
        ("A", ("q5", "q6")),
        ("C", ("q4", "q5", "q6")),
    }
    for sharing, sets in ((Sharing.DYNAMIC, told), (Sharing.ALWAYS, whatever_they_compare)):
        operator = operator_of(unit.unit, sharing=sharing, record=True)
        operator.process(unit.batch)
        operator.close()
        assert {
            (one.name.split("+")[0], one.queries) for one in operator.statistics.sharing
        } == sets
    assert all(one.bursts == len(one.records) > 0 for one in operator.statistics.sharing)


@pytest.mark.parametrize("path", [Path.GRAPH, Path.SHARED])
def test_memory_grows_with_the_largest_window(path: Path) -> None:
    sizes = []
    for seconds in (10, 1000):
        unit = given(PATHS[path].replace(";", f" WITHIN {seconds} seconds;"), 2000)
        operator = unit.operator()
        operator.process(unit.batch)
        operator.close()
        sizes.append(operator.statistics.state_bytes)
    assert sizes[1] > sizes[0]
