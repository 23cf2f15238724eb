"""However a query is evaluated, its matches are those of brute force."""

import os

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import ElsinoreError
from elsinore.matches.spec import spec_of
from elsinore.plan.modes import Evaluation
from oracles.matches import TooMany, brute_force
from support.matches import USERS, engine_rows, oracle_rows, parsed, queries, streams, units_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "25"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
NAMED = [e for e in Evaluation if e not in {Evaluation.AUTO, Evaluation.PATHS}]


@pytest.mark.parametrize("evaluation", NAMED, ids=lambda e: e.value)
@SETTINGS
@given(queries(), streams(), st.data())
def test_an_evaluation_gives_the_matches_of_brute_force(evaluation, text, events, data):
    workload = parsed(text)
    try:
        (unit,) = units_of(workload, evaluation=evaluation)
    except ElsinoreError:
        assume(False)
    assume(spec_of(unit).evaluations[0].evaluation is evaluation)
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
