"""Searches find the same matches when their arrays are full after every few events.

Kernels run as plain Python, which refuses to write beyond the end of an array; compiled modules do
so with ELSINORE_BOUNDSCHECK=1.
"""

from __future__ import annotations

import os
from itertools import product

import pytest
from benchmarks.evaluations import ENGINE, EVALUATIONS
from hypothesis import HealthCheck, given, settings

from oracles.matches import brute_force
from support.drawn import CASES, Drawn
from support.matches import (
    STRATEGIES,
    check_against_brute_force,
    engine_rows,
    oracle_rows,
    parsed,
    streams,
    units_of,
)
from support.small_arrays import with_small_arrays

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))


SETTINGS = settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("evaluation", [ENGINE, *EVALUATIONS])
@SETTINGS
@given(CASES)
def test_matches_are_the_same_however_little_room_there_is(evaluation: str, drawn: Drawn) -> None:
    with pytest.MonkeyPatch.context() as patch:
        with_small_arrays(patch, drawn)
        check_against_brute_force(drawn, evaluation)


SIMPLE = (
    "SEQ(A a, B* b, B c)",
    "SEQ(A a, B+ b)",
    "SEQ(A+ a, B+ b, C c)",
    "SEQ(A a, (B b OR C c)+)",
    "(SEQ(A a, B+ b))+",
    "SEQ(B+ b, C c OR A a)",
)
CHOICES = tuple(product(SIMPLE, ("SKIP TILL ANY MATCH", *STRATEGIES)))


@settings(SETTINGS, max_examples=3 * EXAMPLES)
@given(CASES)
def test_so_are_those_of_patterns_without_conditions(drawn: Drawn) -> None:
    """Queries answered together, and matches whose last events are added many at a time."""
    columns = drawn.one(["b[1].n AS b", "b[].n AS b", "EVENT_IDS(n) AS ids", "COUNT(b[]) AS b"])
    (pattern, strategy), window = drawn.one(CHOICES), drawn.one(["", "WITHIN 4"])
    workload = parsed(f"QUERY q RETURN {columns} PATTERN {pattern} STRATEGY {strategy} {window};")
    events, ordered = streams(drawn, pattern=workload.queries[0].pattern), drawn.whether()
    (unit,) = units_of(workload)
    with pytest.MonkeyPatch.context() as patch:
        with_small_arrays(patch, drawn)
        (rows,) = engine_rows(unit, events, ordered=ordered)
    assert rows == oracle_rows(brute_force(workload.queries[0], events, ordered=ordered))
