"""Where an event leads to one state, matches are those that the search for any pattern finds."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.kernels import compiling
from elsinore.matches import chains, linked, operator, query
from elsinore.matches.operator import MatchOperator
from elsinore.operators import OperatorOptions
from oracles.matches import Happening
from support.matches import batch_of, parsed, streams_apart, units_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "40"))
PATTERNS = (
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a, B* b, C c)",
    "SEQ(A+ a, B+ b)",
    "SEQ(A a, A d, B+ b)",
    "(SEQ(A a, B+ b))+",
    "SEQ(A a, (B b OR C c)+)",
    "SEQ(B+ b, C{2} c)",
)
WHERE = ("[k]", "[k] AND b[i].v > b[i-1].v", "[k] AND b[i].s <= b[i-1].s AND b[i].v >= b[i-1].v")
RETURNS = (
    "k, b[1].v, COUNT(b[]), SUM(b[].v)",
    "b[].v, MAX(b[].v) - MIN(b[].v) AS spread",
    "k, MAX(b[].n), b[b.LEN].s, EVENT_IDS(n)",
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    within = draw(st.sampled_from(["", "WITHIN 3", "WITHIN 10", "WITHIN 200"]))
    strategy = draw(st.sampled_from(["CONTIGUOUS", "SKIP TILL NEXT MATCH", "SKIP TILL ANY MATCH"]))
    where = draw(st.sampled_from(WHERE if strategy != "SKIP TILL ANY MATCH" else WHERE[:1]))
    limit = draw(st.sampled_from(["", "", "LIMIT 3"]))
    return (
        f"RETURN {draw(st.sampled_from(RETURNS))} PATTERN {draw(st.sampled_from(PATTERNS))} "
        f"WHERE {where} STRATEGY {strategy} {within} {limit};"
    )


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    texts(),
    streams_apart(),
    st.integers(0, 60),
    st.sampled_from([0, chains.LOOKS_EACH]),
    st.sampled_from([3, 1000]),
    st.sampled_from([1, 3, 30, 1 << 12]),
)
def test_where_an_event_leads_to_one_state_the_search_finds_the_same(
    text, events, cut, looks, room, spread
):
    events = events[:20] if "ANY" in text else events  # all of their subsets are matches
    found = []
    for one_way in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(query, "ROOM", room)
            patch.setattr(query, "WIDEST", 2 * room)
            patch.setattr(chains, "LOOKS_EACH", looks)
            patch.setattr(linked, "SPREAD", spread)
            seen = _no_search if one_way else _no_chains
            seen(patch)
            found.append(rows(text, events, cut))
    if "LIMIT" in text and "ANY" in text:  # any so many of them
        every = rows(text.replace("LIMIT 3", ""), events, cut)
        assert len(found[0]) == len(found[1])
        assert all(row in every for row in found[0])
    elif "ANY" in text:  # in any order
        assert sorted(map(repr, found[0])) == sorted(map(repr, found[1]))
    else:
        assert found[0] == found[1]


def _no_chains(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(query, "is_chained", lambda *_: False)
    patch.setattr(operator, "goes_back", lambda *_: False)


def _no_search(patch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("the pattern is for the search for any pattern")

    patch.setattr(query, "_search", refused)


def rows(text: str, events: list[Happening], cut: int) -> list[dict[str, object]]:
    (unit,) = units_of(parsed(text))
    batch, _ = batch_of(unit, events)
    operator = MatchOperator(unit, OperatorOptions())
    pieces = [*operator.process(batch.slice(0, cut)), *operator.process(batch.slice(cut))]
    return [row for piece in [*pieces, *operator.close()] for row in piece.to_pylist()]


def test_compiling_ahead_makes_the_search_for_any_pattern_ready_too(monkeypatch):
    searched = []
    monkeypatch.setattr(query, "_search", lambda *given: searched.append(len(given[4])))
    events = [Happening(n * 1_000_000, kind, {"k": 0}) for n, kind in enumerate("ABC")]
    with compiling():
        rows("RETURN a.n PATTERN SEQ(A a, B b, C c) WITHIN 10;", events, 0)
    assert set(searched) == {0}  # over no keys: events to come may be simultaneous
