"""The engine against brute force, and on longer streams against the engine it replaces."""

from __future__ import annotations

import os
import subprocess
import sys
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import ElsinoreError
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Query, Workload
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.exact import assert_as_exact
from support.trends import Feature, table_of, trend_cases
from support.units import unit_inputs
from trends.test_against_reference import check

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "20"))
often = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)
FEATURES = frozenset({Feature.NEGATION, Feature.ADJACENT, Feature.STRATEGIES})
Case = tuple[Workload, list[ReferenceEvent]]


def accepted(workload: Workload) -> Workload:
    """Return the drawn queries that are not refused."""
    kept: list[Query] = []
    for query in workload:
        try:
            plan(Workload((query,)))
        except ElsinoreError:
            continue
        kept.append(query)
    assume(kept)
    return Workload(tuple(kept))


@often
@given(trend_cases(features=FEATURES))
def test_results_are_those_of_every_trend_built(case: Case) -> None:
    workload, events = accepted(case[0]), case[1]
    results = run(plan(workload), table_of(events), RunOptions())
    for query in workload:
        check(query, events, results[query.name], exact=False)


@often
@given(trend_cases(features=FEATURES), st.data())
def test_pieces_and_stops_change_no_result(case: Case, data: st.DataObject) -> None:
    workload, events = accepted(case[0]), case[1]
    edges = sorted(data.draw(st.lists(st.integers(0, len(events)), max_size=4)))
    edges = [0, *edges, len(events)]
    stops = data.draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges)))
    times = [event.time for event in events] if data.draw(st.booleans()) else []
    for unit in unit_inputs(plan(workload), table_of(events), exact=False):
        results = unit.results(unit.in_pieces(edges, stops, times))
        for member in unit.unit.members:
            name = member.query.name
            check(member.query, events, results[name], exact=False, unit=1)


CONDITIONS = (
    "",
    "b[i].v >= b[i-1].v",
    "b[i].w < b[i-1].w",
    "b[i].v <= b[i-1].v",
    "b[i].w > b[i-1].w",
    "b[i].v = b[i-1].v",
    "b[i].v != b[i-1].v",
    "b[i].v >= b[i-1].v AND b[i].v < b[i-1].u",
    "(b[i].v > b[i-1].v OR b[i].u < b[i-1].v)",
    "b[i].v >= b[i-1].v - 5",
    "b[i].w <= b[i-1].w + 0.125",
    "ABS(b[i].v - b[i-1].v) <= 3",
    "ABS(b[i].w - b[i-1].w) < 0.2",
    "b[i].w > 2 * b[i-1].w - 0.3",
    "b[i].w + b[i].w > b[i-1].w",
    "b[i].v BETWEEN b[i-1].v - 4 AND b[i-1].v + 2",
    "b[i].w < 1 - b[i-1].w",
)
PATTERNS = (
    "SEQ({} x, B b+)",
    "SEQ({} x, B b+, C c)",
    "SEQ({} x, NOT D d, B b+)",
    "SEQ({} x, B b+, NOT D d)",
    "SEQ({} x, B b+, NOT D d, C c)",
    "SEQ(B b+, C c)",
    "B b+",
    "(SEQ({} x, B b+))+",
)
RETURNS = (
    "COUNT(*)",
    "COUNT(*), SUM(b.v), AVG(b.w)",
    "COUNT(*), MIN(b.v), MAX(b.w), COUNT(b)",
    "VARIANCE(b.w), COUNT(*)",
)
WINDOWS = (
    "",
    "WITHIN 50 seconds",
    "WITHIN 40 seconds SLIDE 10 seconds",
    "WITHIN 20 seconds SLIDE 30 seconds",
    "WITHIN 37 seconds SLIDE 5 seconds",
)
STRATEGIES = ("", "", "", "STRATEGY SKIP TILL NEXT MATCH", "STRATEGY CONTIGUOUS")


def workload_text(random: Random) -> str:
    """Draw queries of one shape, some of them with conditions and keys."""
    returns, condition = random.choice(RETURNS), random.choice(CONDITIONS)
    pattern, window = random.choice(PATTERNS), random.choice(WINDOWS)
    strategy = random.choice(STRATEGIES)
    queries = []
    for number in range(random.choice((1, 2, 5))):
        conditions = [
            condition if random.random() < 0.9 else "",
            random.choice(("", "", f"b.u < {random.randint(2, 9)}")),
            "[k]" if random.random() < 0.3 else "",
        ]
        where = " AND ".join(filter(None, conditions))
        queries.append(
            f"QUERY q{number} RETURN {returns} PATTERN {pattern.format(random.choice('AEF'))} "
            f"{'WHERE ' + where if where else ''} GROUP BY g {window} {strategy};"
        )
    return "\n".join(queries)


def stream(random: Random, count: int) -> pa.Table:
    """Draw events, some of them simultaneous, some values null."""
    generator = np.random.default_rng(random.randint(0, 10**9))
    last = max(3, int(count * random.choice((0.3, 1))))

    def some(values: list[Any]) -> list[Any]:
        return [None if random.random() < 0.05 else value for value in values]

    return pa.table(
        {
            "time": np.sort(generator.integers(0, last, count)),
            "type": [random.choice("ABBBBBCDEFZ") for _ in range(count)],
            "g": generator.integers(0, 2, count),
            "k": generator.integers(0, 3, count),
            "v": pa.array(some(generator.integers(0, 30, count).tolist()), pa.int64()),
            "u": generator.integers(0, 12, count),
            "w": pa.array(some(np.round(generator.random(count), 2).tolist()), pa.float64()),
        }
    )


@pytest.mark.parametrize("seed", range(max(20, EXAMPLES // 2)))
def test_longer_streams_give_what_exact_integers_give(seed: int) -> None:
    random = Random(seed)
    workload, table = parse_workload(workload_text(random)), stream(random, 120)
    assert_as_exact(workload, table, RunOptions(sharing=random.choice(list(Sharing))))


UNCOMPILED = '''
import pyarrow as pa
from random import Random
from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions
from trends.engine.test_engine import stream, workload_text
import elsinore.trends.engine.process as process
print(process.__file__.endswith(".py"))
for seed in range(3):
    random = Random(seed)
    results = run(plan(parse_workload(workload_text(random))), stream(random, 30), RunOptions())
    print([table.to_pylist() for table in results.values()])
from trends.engine import test_long_streams as long
for condition in long.CONDITIONS.values():
    for pattern in list(long.PATTERNS.values())[:3]:
        text = f"QUERY q RETURN COUNT(*), SUM(b.v) PATTERN {pattern} WHERE {condition};"
        results = run(plan(parse_workload(text)), long.stream(1, 30), RunOptions())
        print(results["q"].to_pylist())
from elsinore.plan import Sharing
from trends.engine import test_compared as compared
types = compared.bursts(20, 1) + compared.bursts(4, 4)
for window in ("", "WITHIN 12 seconds SLIDE 6 seconds"):
    unit = compared.given(compared.rising(2, window), types, compared.values_of(len(types)))
    found, operator = compared.run(unit, Sharing.ALWAYS)
    print(found, compared.compared(operator).shared_graphlets)
text = """
QUERY q RETURN COUNT(*) PATTERN SEQ(NOT SEQ(A n, D m), A a, B b) WITHIN 20 seconds SLIDE 2 seconds;
QUERY r RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(B n, C m), D d) WITHIN 1 second;
"""  # what q reads is wider than the rows of r
events = pa.table({"time": pa.array(range(0, 30_000_000, 500_000), pa.timestamp("us")),
                   "type": [*"ABACDBAADB"] * 6})
results = run(plan(parse_workload(text)), events, RunOptions())
print([results[name].to_pylist() for name in ("q", "r")])
'''


def test_uncompiled_code_gives_the_same() -> None:
    found = []
    for pure in ("0", "1"):
        environment = os.environ | {"ELSINORE_PURE": pure, "PYTHONPATH": "tests"}
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", UNCOMPILED],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(ran.stdout.splitlines())
    assert [lines[0] for lines in found] == ["False", "True"]
    assert found[0][1:] == found[1][1:]
