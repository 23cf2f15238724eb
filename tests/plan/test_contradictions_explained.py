"""Whatever conditions contradict one another, `explain` says so, in every format."""

import itertools

import pytest

import elsinore as el

NEVER = {
    "a": "a.v > 1 AND a.v < 0",
    "b": "b.v > 1 AND b.v < 0",
    "both": "a.v > 1 AND a.v < 0 AND b.v > 1 AND b.v < 0",
    "neighbours": "a.v > b.v AND a.v < b.v",
    "constants": "1 > 2",
    "equal": "a.v = 1 AND a.v = 2",
    "lists": "b.v IN (1) AND b.v IN (2)",
}
PATTERNS = (
    "A a AND B b",
    "A a OR B b",
    "SEQ(A a, B b)",
    "SEQ(A a, B+ b)",
    "SEQ(A a, B? b)",
    "(SEQ(A a, B b))+",
    "SEQ(A a, NOT B b, C c)",
    "SEQ(NOT B b, A a)",
    "SEQ(A a, B b) AND SEQ(A c, C d)",
)
RETURNS = ("COUNT(*)", "a.v")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("strategy", ["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH", "CONTIGUOUS"])
def test_contradictory_conditions_are_explained_and_run(pattern: str, strategy: str) -> None:
    events = [{"time": n, "type": "ABC"[n % 3], "v": n % 2} for n in range(6)]
    explained = 0
    for condition, values in itertools.product(NEVER.values(), RETURNS):
        text = f"QUERY q RETURN {values} PATTERN {pattern} WHERE {condition} STRATEGY {strategy}"
        try:
            workload = el.Workload.parse(text)
            lines = workload.explain()
        except el.QueryError:
            continue  # such conditions are not for this pattern
        explained += 1
        for picture in ("json", "mermaid", "svg"):
            workload.explain(picture)
        if "matches nothing" in lines:
            assert workload.run(events)["q"].num_rows == 0
    assert explained


@pytest.mark.parametrize("side", ["a", "b", "both"])
def test_an_and_with_a_side_that_never_matches_matches_nothing(side: str) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN A a AND B b WHERE {NEVER[side]}"
    assert "matches nothing: its conditions contradict" in el.Workload.parse(text).explain()
