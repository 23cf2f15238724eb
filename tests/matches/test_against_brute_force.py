"""Drawn match queries over drawn streams: the engine gives the matches of brute force."""

import os

from hypothesis import HealthCheck, given, settings

from support.drawn import CASES
from support.matches import check_against_brute_force

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "50"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@SETTINGS
@given(CASES)
def test_the_engine_gives_the_matches_of_brute_force(drawn):
    check_against_brute_force(drawn)
