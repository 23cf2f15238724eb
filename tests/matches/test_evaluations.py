"""However a query is evaluated, its matches are those of brute force."""

import gc
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.evaluations import EVALUATIONS, run_by, run_search
from benchmarks.evaluations.reproduced import ReproducedMatches
from benchmarks.evaluations.statistics import QueryStatistics
from hypothesis import HealthCheck, assume, given, settings

from elsinore.errors import ElsinoreError, InputError
from elsinore.matches.engine import pattern
from elsinore.matches.spec import spec_of
from elsinore.operators import kind_for
from elsinore.workload import Workload
from oracles.matches import Happening, TooMany, brute_force
from support.drawn import CASES
from support.matches import (
    USERS,
    check_against_brute_force,
    engine_rows,
    oracle_rows,
    parsed,
    streams,
    units_of,
)
from support.small_arrays import EVALUATION_KERNELS, interpret_evaluations

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "15"))
SETTINGS = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@pytest.fixture(autouse=True, scope="module")
def interpreted() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        interpret_evaluations(patch)
        yield


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@SETTINGS
@given(CASES)
def test_an_evaluation_gives_the_matches_of_brute_force(evaluation, drawn):
    check_against_brute_force(drawn, evaluation)


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_functions_of_aggregates_are_kept_while_their_addresses_are_called(
    evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in EVALUATION_KERNELS:
        kernel = getattr(module, name)

        def after_collection(*arguments: Any, kernel: Any = kernel) -> Any:
            gc.collect()
            return kernel(*arguments)

        monkeypatch.setattr(module, name, after_collection)
    workload = Workload.parse("QUERY q RETURN MEDIAN(b[].s) AS s PATTERN B{3} b WITHIN 9 seconds")
    rows = [{"time": n, "type": "B", "s": "xyw"[n]} for n in range(3)]
    assert run_by(evaluation, workload, rows)["q"].to_pylist() == [{"s": "x"}]


FILTERED = (
    "b[i].v > MAX(b[1..i-1].v)",
    "b[i].v <= MIN(b[1..i-1].v) + 1",
    "b[i].v < MAX(b[1..i-1].v)",
    "COUNT(b[1..i-1]) < 2",
    "COUNT(b[1..i-1].v) >= 1",
    "c.v < MAX(b[].v)",
    "c.v >= MIN(b[].v) AND c.n < 3",
    "COUNT(b[]) >= 2 OR c.n = 1",
    "NOT c.v > MAX(b[].v)",
    "b[i].v > a.v",
    "b[i].v > a.v OR b[i].n > MAX(b[1..i-1].n)",
    "NOT b[i].v > MIN(b[1..i-1].v)",
    "SPREAD(b[1..i-1].v) <= 1",
    "SPREAD(b[].v) > 1",
    "b[i].v > AVG(b[1..i-1].v)",
    "b[i].v > b[1].v",
    "b[i].v >= b[i-1].v",
    "c.v - a.v < MAX(b[].v) - MIN(b[].v)",
    "c.n > b[b.LEN].n",
    "b[i].v < MAX(b[i-2..i-1].v)",
    "b[i].v > MIN(b[i-3..i-1].v)",
    "b[i].n <= MAX(b[i-3..i-2].n)",
)
FILTERED_PATTERNS = (
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a, B* b, C c)",
    "SEQ(A a, B+ b, NOT D d, C c)",
    "SEQ(A a, B{2} b, C c)",
    "SEQ(A a, (SEQ(D d, B b))+, C c)",
)


@settings(SETTINGS, max_examples=2 * EXAMPLES)
@given(CASES)
def test_early_filters_leave_the_matches_of_brute_force(drawn):
    shape, conditions = drawn.one(FILTERED_PATTERNS), drawn.some(FILTERED, 3, least=1)
    window, events = drawn.one(["", "WITHIN 6", "WITHIN 6 SLIDE 3"]), streams(drawn, most=12)
    if drawn.whether():
        events = [
            replace(e, attributes=e.attributes | {n: e.attributes[n] or 1 for n in ("v", "n")})
            for e in events
        ]
    where = " AND ".join(f"({condition})" for condition in conditions)
    text = f"QUERY q RETURN a.n AS a, b[].n AS b, c.n AS c PATTERN {shape} WHERE {where} {window};"
    workload = parsed(text)
    try:
        (unit,) = units_of(workload)
    except ElsinoreError:
        assume(False)
    try:
        expected = oracle_rows(brute_force(workload.queries[0], events, ordered=False, users=USERS))
    except TooMany:
        assume(False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern, "MANY", -1.0)  # a main run for each beginning
        assert engine_rows(unit, events) == [expected]


def test_aggregates_of_the_latest_events_are_no_early_filters():
    """A match that skips the latest events of the main run has others, which may be greater."""
    events = [
        Happening(n, kind, {"n": n, "v": v, "g": "x", "k": 1})
        for n, (kind, v) in enumerate(zip("ABBBBC", (0.0, 9.0, 1.0, 1.0, 5.0, 0.0), strict=True))
    ]
    text = "QUERY q RETURN b[].n AS b PATTERN SEQ(A a, B{2} b, C c)"
    workload = parsed(f"{text} WHERE b[i].v < MAX(b[i-2..i-1].v);")
    (unit,) = units_of(workload)
    expected = oracle_rows(brute_force(workload.queries[0], events, ordered=False, users=USERS))
    assert ((1, 4),) in {values for _, _, values in expected}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern, "MANY", -1.0)  # a main run for each beginning
        assert engine_rows(unit, events) == [expected]


def counted(condition: str, evaluation: str, stream: list[dict], **given) -> QueryStatistics:
    """Return what an evaluation counts of SEQ(A a, B+ b, C c) under a condition."""
    text = f"RETURN b[].v AS b PATTERN SEQ(A a, B+ b, C c) WHERE {condition};"
    results = run_by(evaluation, Workload.parse(text, **given), stream)
    expected = Workload.parse(text, **given).run(stream)
    assert sorted(results["query"]["b"].to_pylist()) == sorted(expected["query"]["b"].to_pylist())
    (statistics,) = results.statistics[0].queries
    return statistics


def stream_of(*values: float, end: float) -> list[dict]:
    """Return an A, Bs with these values, and a C."""
    rows = [("A", 0.0), *(("B", value) for value in values), ("C", end)]
    return [{"time": n, "type": kind, "v": v} for n, (kind, v) in enumerate(rows)]


@pytest.mark.parametrize("evaluation", EVALUATIONS)
def test_aggregates_of_the_latest_events_are_left_to_the_engine(evaluation):
    """The last value is less than the mean of the two before it, not than that of all three."""
    counted("b[i].v >= AVG(b[i-2..i-1].v)", evaluation, stream_of(1, 6, 8, 6, end=0))


def test_what_is_true_of_all_events_is_not_looked_at_again():
    rising = stream_of(1, 2, 3, 4, 5, end=0)
    condition = "b[i].v > MAX(b[1..i-1].v)"
    safe = counted(condition, "on-the-fly", rising)
    looked_at = counted(condition, "postponing", rising)
    assert safe.candidates == looked_at.candidates == 31
    assert safe.predicates == 9  # by each event, behind the A and behind the Bs before it
    assert looked_at.predicates == 31  # by the last event of each match so far


def test_what_is_false_of_all_events_is_not_taken():
    great = stream_of(1, 2, 3, end=9)
    condition = "c.v < MAX(b[].v)"
    assert counted(condition, "on-the-fly", great).candidates == 0
    assert counted(condition, "postponing", great).candidates == 7
    assert counted(condition, "runs", great).candidates == 7


def test_a_condition_on_the_first_event_rules_others_out_at_once():
    mixed = stream_of(-1, 2, -3, 4, end=0)
    found = counted("b[i].v > a.v", "on-the-fly", mixed)
    assert found.stored == 4
    assert found.predicates == 6  # behind the A, and from the third on behind the Bs, never again
    assert counted("b[i].v > a.v", "postponing", mixed).stored == 6


def test_what_depends_on_the_events_selected_is_postponed():
    mixed = stream_of(1, 3, 2, 4, end=0)
    for condition in ("b[i].v > AVG(b[1..i-1].v)", "b[i].v > b[i-1].v"):
        early = counted(condition, "on-the-fly", mixed)
        late = counted(condition, "postponing", mixed)
        assert (early.stored, early.candidates) == (late.stored, late.candidates)
        assert early.predicates == late.predicates


@pytest.mark.parametrize(("monotone", "candidates"), [("increasing", 0), (None, 31)])
def test_an_aggregate_of_the_user_filters_if_it_is_declared_monotone(monotone, candidates):
    class Largest:
        def init(self):
            return (-1.0,)

        def step(self, state, value):
            return (max(state[0], value),)

        def value(self, state):
            return state[0]

    Largest.monotone = monotone
    low = stream_of(1, 2, 3, 4, 5, end=0)
    found = counted("LARGEST(b[].v) > 7", "on-the-fly", low, aggregates={"largest": Largest})
    assert found.candidates == candidates


@pytest.mark.parametrize(
    ("condition", "is_slow"),
    [("c.v < MAX(b[].v)", False), ("c.v < AVG(b[].v)", True)],
    ids=["filtered", "not filtered"],
)
def test_events_that_no_match_can_have_are_ruled_out_early(
    monkeypatch: pytest.MonkeyPatch, condition: str, is_slow: bool
) -> None:
    monkeypatch.setattr(pattern, "STEPS_AT_FIRST", 1_000)
    monkeypatch.setattr(pattern, "STEPS_EACH", 1_000)
    workload = Workload.parse(f"RETURN b[].v AS b PATTERN SEQ(A a, B+ b, C c) WHERE {condition};")
    events = stream_of(*range(24), end=99)
    if is_slow:  # 2**24 partial matches
        with pytest.raises(InputError, match="partial matches"):
            workload.run(events)
    else:
        assert workload.run(events)["query"].num_rows == 0


@pytest.mark.parametrize(
    ("clauses", "evaluation", "told"),
    [
        ("STRATEGY CONTIGUOUS", "postponing", "it requires SKIP TILL ANY MATCH, not CONTIGUOUS"),
        ("WITHIN 5 COLLAPSED", "runs", "COLLAPSED does not list single matches"),
    ],
)
def test_what_cannot_be_evaluated_as_requested_is_left_to_the_engine(clauses, evaluation, told):
    text = f"QUERY q RETURN b[].v AS b PATTERN SEQ(A a, B+ b) {clauses};"
    (unit,) = units_of(parsed(text), evaluation=evaluation)
    reproduced = kind_for(unit)
    assert isinstance(reproduced, ReproducedMatches)
    assert told in str(reproduced.why_not(spec_of(unit).templates[0]))
    events = stream_of(1, 2, end=0)
    found = run_by(evaluation, Workload.parse(text), events)["q"]
    assert found["b"].to_pylist() == Workload.parse(text).run(events)["q"]["b"].to_pylist()


def test_more_runs_than_there_is_room_for_are_refused(monkeypatch):
    monkeypatch.setattr(run_search, "MOST_RUNS", 128)
    with pytest.raises(InputError, match="more than 128 runs are open at once"):
        counted("b[i].v > 0", "runs", stream_of(*range(1, 12), end=0))


def test_buffers_are_pruned_of_what_no_run_leads_to():
    rows = [{"time": n, "type": "ABBC"[n % 4], "v": float(n % 7)} for n in range(1000)]
    text = "RETURN b[].v AS b PATTERN SEQ(A a, B+ b, C c) WITHIN 9;"
    for evaluation in ("runs", "zstream"):
        found = run_by(evaluation, Workload.parse(text), rows)
        assert found["query"].num_rows == Workload.parse(text).run(rows)["query"].num_rows
        assert found.statistics[0].queries[0].stored < 4 * len(rows)
