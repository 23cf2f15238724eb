"""Drawn match queries over drawn streams: the engine gives the matches of brute force."""

import os

from hypothesis import HealthCheck, assume, given, settings

from elsinore.errors import ElsinoreError
from oracles.matches import TooMany, brute_force
from support.drawn import CASES
from support.matches import USERS, engine_rows, oracle_rows, parsed, queries, streams, units_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "80"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@SETTINGS
@given(CASES)
def test_the_engine_gives_the_matches_of_brute_force(drawn):
    events, workload = streams(drawn), parsed(queries(drawn))
    try:
        (unit,) = units_of(workload)
    except ElsinoreError:
        assume(False)
    ordered, saves, cuts = drawn.whether(), drawn.whether(), drawn.cuts(len(events), 3)
    try:
        found = brute_force(workload.queries[0], events, ordered=ordered, users=USERS)
        expected = oracle_rows(found)
    except TooMany:
        assume(False)
    (rows,) = engine_rows(unit, events, cuts=cuts, ordered=ordered, saves=saves)
    assert rows == expected
