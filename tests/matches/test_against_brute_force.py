"""Drawn match queries over drawn streams: the engine gives the matches of brute force."""

import os

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import ElsinoreError
from oracles.matches import TooMany, brute_force
from support.matches import USERS, engine_rows, oracle_rows, parsed, queries, streams, units_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "80"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@SETTINGS
@given(queries(), streams(), st.data())
def test_the_engine_gives_the_matches_of_brute_force(text, events, data):
    workload = parsed(text)
    try:
        (unit,) = units_of(workload)
    except ElsinoreError:
        assume(False)
    ordered = data.draw(st.booleans(), label="ordered")
    cuts = data.draw(st.lists(st.integers(0, len(events)), max_size=3), label="cuts")
    saves = data.draw(st.booleans(), label="saves")
    try:
        found = brute_force(workload.queries[0], events, ordered=ordered, users=USERS)
        expected = oracle_rows(found)
    except TooMany:
        assume(False)
    (rows,) = engine_rows(unit, events, cuts=cuts, ordered=ordered, saves=saves)
    assert rows == expected
