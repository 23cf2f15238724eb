"""The graph of partial matches gives the matches of brute force, compiled and as plain Python."""

import os
import subprocess
import sys

from hypothesis import HealthCheck, assume, given, settings

from oracles.matches import TooMany, brute_force
from support.drawn import CASES
from support.matches import (
    STRATEGIES,
    engine_rows,
    looking_up,
    oracle_rows,
    parsed,
    streams,
    units_of,
)

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
PATTERNS = (
    "SEQ(A a, B* b, B c)",
    "SEQ(A a, B+ b)",
    "SEQ(A+ a, B+ b, C c)",
    "SEQ(A a, (B b OR C c)+)",
    "(SEQ(A a, B+ b))+",
    "SEQ(B+ b, C c OR A a)",
)


@SETTINGS
@given(CASES)
def test_patterns_whose_graphs_branch_have_the_matches_of_brute_force(drawn):
    columns = drawn.one(["b[1].n AS b", "b[].n AS b", "EVENT_IDS(n) AS ids", "COUNT(b[]) AS b"])
    pattern, strategy = drawn.one(PATTERNS), drawn.one(["SKIP TILL ANY MATCH", *STRATEGIES])
    window = drawn.one(["", "WITHIN 4", "WITHIN 6 SLIDE 3"])
    where = drawn.one(
        [
            "",
            "WHERE b[i].v >= b[i-1].v",
            "WHERE b[i].n >= 1 + b[i-1].n",
            "WHERE b[i].n = b[i-1].n AND b[i].t - b[i-1].t <= 2 seconds",
        ]
    )
    workload = parsed(
        f"QUERY q RETURN {columns} PATTERN {pattern} {where} STRATEGY {strategy} {window};"
    )
    events, ordered = streams(drawn, pattern=workload.queries[0].pattern), drawn.whether()
    (unit,) = units_of(workload)
    try:
        expected = oracle_rows(brute_force(workload.queries[0], events, ordered=ordered))
    except TooMany:
        assume(False)
    cuts = drawn.cuts(len(events), 3)
    with looking_up(drawn):
        (rows,) = engine_rows(unit, events, ordered=ordered, cuts=cuts)
    assert rows == expected


def test_uncompiled_modules_give_the_same_matches() -> None:
    test = (
        f"{__file__}::{test_patterns_whose_graphs_branch_have_the_matches_of_brute_force.__name__}"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test],
        env=os.environ | {"ELSINORE_PURE": "1", "ELSINORE_EXAMPLES": "20"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


COUNTING = """
import elsinore as el
from elsinore.matches.engine import graph

nodes = 0
complete = graph.complete


def counting(*arguments):
    global nodes
    nodes += 1
    complete(*arguments)


graph.complete = counting
text = "RETURN COUNT(b[]) AS n PATTERN SEQ(A a, B+ b, C c) WITHIN 6"
for size in (60, 240):
    nodes = 0
    events = [{"time": n, "type": "ABBC"[n % 4]} for n in range(size)]
    el.Workload.parse(text).run(events)
    print(nodes)
"""


def test_a_long_stream_is_not_built_anew_for_each_window() -> None:
    """Of 240 events there are 2**120 matches without a window: more than may be returned."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING],
        env=os.environ | {"ELSINORE_PURE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    few, many = map(int, done.stdout.split())
    assert 0 < many <= 5 * few
