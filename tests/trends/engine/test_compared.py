"""Bursts whose events are compared with those before them: shared by snapshots at both levels."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from elsinore.plan import Granularity, Sharing
from elsinore.trends.engine.operator import EngineOperator
from elsinore.trends.kind import TrendsOperator, operator_class
from elsinore.trends.statistics import SharingStatistics
from trends.engine.test_bursts import assert_alike, given, inputs, run

SHARED = [Sharing.ALWAYS, Sharing.DYNAMIC]
SEEDS = int(os.environ.get("ELSINORE_EXAMPLES", "25"))
CONDITIONS = (
    "b[i].v >= b[i-1].v",
    "b[i].v < b[i-1].v",
    "ABS(b[i].v - b[i-1].v) <= 2",
    "b[i].v != b[i-1].v",
    "b[i].v * b[i-1].v > 0",
    "",
)
WINDOWS = (
    "",
    "WITHIN 20 seconds",
    "WITHIN 20 seconds SLIDE 7 seconds",
    "WITHIN 30 seconds SLIDE 10 seconds",
)
RETURNS = ("COUNT(*)", "COUNT(*), SUM(b.w)", "AVG(b.w), SUM(b.v)", "COUNT(b), SUM(a.w)", "MIN(b.v)")
PATTERNS = ("SEQ({} a, B b+)", "SEQ({} a, B b+, D d)", "SEQ({} a+, B b+)", "SEQ({} a, B b+, C c)")


def rising(queries: int, window: str = "", returns: str = "COUNT(*), SUM(b.w)") -> str:
    """Return queries of one edge condition that begin with different types."""
    return "\n".join(
        f"QUERY q{n} RETURN {returns} PATTERN SEQ({first} a, B b+) "
        f"WHERE b[i].v >= b[i-1].v {window};"
        for n, first in enumerate("ACDEFGHI"[:queries])
    )


def drawn(chance: random.Random) -> str:
    """Draw queries that compare events alike, or each in a way of its own."""
    condition = chance.choice(CONDITIONS[:-1])
    window, returns = chance.choice(WINDOWS), chance.choice(RETURNS)
    alike, aligned = chance.random() < 0.5, chance.random() < 0.5
    lines = []
    for number in range(chance.randint(2, 6)):
        where = [condition if alike else chance.choice(CONDITIONS)]
        if chance.random() < 0.2:
            where.append(f"b.v < {chance.randint(1, 9)}")
        told = " AND ".join(filter(None, where))
        pattern = chance.choice(PATTERNS).format(chance.choice("ACE"))
        within = window if aligned else chance.choice(WINDOWS)
        own = returns if chance.random() < 0.8 else chance.choice(RETURNS)
        lines.append(
            f"QUERY q{number} RETURN {own} PATTERN {pattern} "
            f"{'WHERE ' + told if told else ''} {within};"
        )
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_edges_and_windows_give_what_single_queries_give(seed: int) -> None:
    chance = random.Random(seed)
    text, longest = drawn(chance), chance.choice((2, 8, 40, 200))
    types = ""
    while len(types) < chance.choice((30, 100, 400)):
        types += chance.choice("ACDE") + "B" * chance.randint(1, longest)
    times, rises, ties = [0], chance.random() < 0.4, chance.random() < 0.3
    for _ in types[1:]:
        times.append(times[-1] + (not ties or chance.random() < 0.7))
    values = [float(n // 5 if rises else chance.randint(-3, 10)) for n in range(len(types))]
    for unit in inputs(text, types, values, times):
        expected, _ = run(unit, Sharing.NEVER, ordered=False)
        for sharing in SHARED:
            assert_alike(run(unit, sharing, chance.choice((1, 4)), ordered=False)[0], expected)


def compared(operator: TrendsOperator) -> SharingStatistics:
    """Return what became of the bursts of compared events."""
    (one,) = (one for one in operator.statistics.sharing if "[i-1]" in one.name)
    return one


def bursts(count: int, length: int, firsts: str = "ACDE") -> str:
    """Return the types of bursts of B events, each after an event of another type in turn."""
    return "".join(firsts[n % len(firsts)] + "B" * length for n in range(count))


def values_of(count: int) -> list[float]:
    """Return values that rise and fall."""
    return [float(n * 7919 % 1009) for n in range(count)]


@pytest.mark.parametrize(
    "window", ["", "WITHIN 200 seconds", "WITHIN 200 seconds SLIDE 50 seconds"]
)
def test_queries_of_one_condition_share_their_bursts_by_default(window: str) -> None:
    types = bursts(20, 40)
    unit = given(rising(4, window), types, values_of(len(types)))
    expected, _ = run(unit, Sharing.NEVER)
    found, operator = run(unit, Sharing.DYNAMIC, 3)
    assert_alike(found, expected)
    shared = compared(operator)
    assert shared.name == "B+ [i].v >= [i-1].v"
    assert shared.shared_graphlets > shared.bursts / 2 if window else shared.shared_graphlets > 0
    assert shared.graphlet_snapshots > 0
    assert shared.event_snapshots == 0
    assert {record.shared for record in shared.records} <= {0, 4}


def test_queries_with_windows_of_their_own_share_events_that_they_compare_alike() -> None:
    queries = [rising(4, f"WITHIN {n}00 seconds") for n in (1, 2, 3)]
    text = "\n".join(one.replace("q", "pqr"[n], 4) for n, one in enumerate(queries))
    types = bursts(12, 60)
    unit = given(text, types, values_of(len(types)))
    expected, _ = run(unit, Sharing.NEVER)
    found, operator = run(unit, Sharing.DYNAMIC)
    assert_alike(found, expected)
    assert compared(operator).records[0].shared == 12


def test_more_snapshots_than_lanes_split_the_queries() -> None:
    types = bursts(100, 1)
    unit = given(rising(3), types, values_of(len(types)))
    expected, _ = run(unit, Sharing.NEVER)
    for sharing in SHARED:
        found, operator = run(unit, sharing, 4)
        assert_alike(found, expected)
        shared = compared(operator)
        assert shared.splits == 1
        assert 0 < shared.shared_graphlets < 10


@pytest.mark.parametrize("ends", ["", "A" + "B" * 900])
def test_numbers_beyond_doubles_are_not_shared(ends: str) -> None:
    types = "ACDE" + "B" * 900 + ends
    unit = given(rising(4, returns="LOG2(COUNT(*)) AS log, SUM(b.w)"), types, [1.0] * len(types))
    expected, _ = run(unit, Sharing.NEVER)
    for sharing in SHARED:
        found, operator = run(unit, sharing)
        assert_alike(found, expected)
        assert compared(operator).splits == 1


def test_where_edges_differ_an_event_is_a_snapshot_by_definition_9() -> None:
    """Table 5: the engine keeps 4x + z for b6, and the values of x and z."""
    text = """
        QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B+ b);
        QUERY q2 RETURN COUNT(*) PATTERN SEQ(C, B+ b) WHERE b[i].v >= b[i-1].v;
    """
    values = [0, 0, 0, 1, 3, 2, 4]
    (unit,) = inputs(text, "AACBBBB", values, granularity=Granularity.FINE)
    operator = operator_class(unit.unit)(unit.unit, sharing=Sharing.ALWAYS)
    assert isinstance(operator, EngineOperator)
    operator.process(unit.batch)
    program, store = operator._program, operator._store
    shared = next(one for one in np.asarray(program.sets) if one["columns"])
    reader = np.asarray(program.readers)[shared["readers"]]
    leaf = np.asarray(store.leaves)[0, np.asarray(program.blocks)[reader["block"]]["rows"]]
    rows = range(leaf["begin"], leaf["begin"] + leaf["count"] + leaf["arriving"])
    cells = np.asarray(store.rows.cells)
    forms = [cells[row, : store.row_columns[row]].tolist() for row in rows]
    assert forms == [[1.0], [2.0], [0.0, 1.0], [4.0, 1.0]]
    values = np.asarray(store.snapshots)[0][: 2 * shared["cells"]].reshape(2, -1)
    assert [sorted(one[:-1].tolist(), reverse=True) for one in values] == [[2.0, 1.0], [8.0, 2.0]]
    counted = compared(operator)
    assert counted.name == "B+ [i].v >= [i-1].v / B+"
    assert (counted.graphlet_snapshots, counted.event_snapshots) == (1, 1)
