"""Queries answered together, from the ends of their matches, find what each finds by itself."""

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.matches import searches
from elsinore.matches.merged import _in_turn
from elsinore.matches.operator import MatchOperator
from elsinore.operators import OperatorOptions
from oracles.matches import Happening
from support.matches import batch_of, streams_apart, units_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
RISING = "AND b[i].v > b[i-1].v"
SHIFTED = "AND b[i].n <= b[i-1].n + 2"
EQUAL = "AND b[i].s = b[i-1].s"
PATTERNS = {  # what is asked of them, and conditions
    "SEQ(A a, B+ b, C c)": ("k, a.v, COUNT(b[]) AS n", "AND a.n > 1", RISING, SHIFTED, EQUAL),
    "SEQ(D a, B+ b, C c)": ("k, a.v, COUNT(b[]) AS n", "AND a.n > 1", RISING),
    "SEQ(A a, B* b, C c)": ("k, b[1].n, b[b.LEN].s, COUNT(b[]) * 2 AS n", "AND c.v > 0", RISING),
    "SEQ(A a, B b, A d, B+ e, C c)": ("b.n, d.v, e[e.LEN].n", "AND b.v < 2", "AND b.v > a.v"),
    "SEQ(A+ a, (B b OR D d)+, C c)": ("a[1].n, COUNT(b[]) - COUNT(d[]) AS n", "AND c.n > 0"),
    "SEQ(A a, (SEQ(B b, B e))+, C c)": ("COUNT(b[]) AS n, c.v, e[e.LEN].s", "AND a.v > 0"),
    "SEQ(B+ b, C{2} c)": ("b[1].v, c[1].v, c[c.LEN].v, COUNT(b[]) AS n", RISING, SHIFTED),
}
WITHIN = ("", "WITHIN 4", "WITHIN 40")


@st.composite
def workloads(draw: st.DrawFn) -> str:
    """Draw up to six queries, some of which differ in little."""
    texts = []
    for number in range(draw(st.integers(1, 6))):
        pattern = draw(st.sampled_from(list(PATTERNS)))
        returned, *conditions = PATTERNS[pattern]
        texts.append(
            f"QUERY q{number} RETURN {returned} PATTERN {pattern} "
            f"WHERE [k] {draw(st.sampled_from(['', *conditions]))} "
            f"STRATEGY {draw(st.sampled_from(('CONTIGUOUS', 'SKIP TILL NEXT MATCH')))} "
            f"{draw(st.sampled_from(WITHIN))};"
        )
    return "\n".join(texts)


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    workloads(),
    streams_apart(),
    st.integers(0, 60),
    st.sampled_from([2, 7, 1000]),
)
def test_queries_answered_together_find_what_each_finds_alone(text, events, cut, rows):
    found = []
    for shared in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(searches, "ROWS", rows)  # keys alone, and many keys together
            if not shared:
                patch.setattr(searches, "is_mergeable", lambda *_: False)
            found.append(matches(text, events, cut))
    assert found[0] == found[1]


def matches(text: str, events: list[Happening], cut: int) -> dict[int, list[dict[str, object]]]:
    """Return the rows of each query, from two batches."""
    found: dict[int, list[dict[str, object]]] = {}
    for unit in units_of(parse_workload(text)):
        batch, _ = batch_of(unit, events)
        engine = MatchOperator(unit, OperatorOptions())
        pieces = [*engine.process(batch.slice(0, cut)), *engine.process(batch.slice(cut))]
        for piece in [*pieces, *engine.close()]:
            for row in piece.to_pylist():
                found.setdefault(unit.queries[row.pop("query")], []).append(row)
    return found


@pytest.fixture
def programs(monkeypatch):
    """List what is merged for queries that are answered together, None where nothing is."""
    merged = []
    merge = searches.merge
    monkeypatch.setattr(
        searches, "merge", lambda queries: merged.append(merge(queries)) or merged[-1]
    )
    return merged


def test_queries_that_continue_equally_share_slots(programs):
    text = "".join(
        f"QUERY q{n} RETURN COUNT(b[]) AS n PATTERN SEQ({first} a, B+ b, C c) WHERE [k] "
        "STRATEGY SKIP TILL NEXT MATCH WITHIN 9;"
        for n, first in enumerate("ADA")
    )
    events = [Happening(n * 1_000_000, kind, {"k": 0}) for n, kind in enumerate("ADBBCABC")]
    assert {n: [row["c0"] for row in rows] for n, rows in matches(text, events, 0).items()} == {
        0: [2, 1],
        1: [2],
        2: [2, 1],
    }
    program = programs[-1]
    assert program.lanes == ((0, 2), (1,))  # what the last finds, the first has found
    assert len(program.merged.slots) == 3  # after the first event, after b, and after the end


@pytest.mark.parametrize("condition", [RISING, SHIFTED, EQUAL, "AND b[i].v != b[i-1].v"])
def test_queries_that_compare_neighbours_in_any_way_are_answered_together(programs, condition):
    text = "".join(
        f"QUERY q{n} RETURN COUNT(b[]) AS n PATTERN SEQ({first} a, B+ b, C c) "
        f"WHERE [k] {condition} STRATEGY CONTIGUOUS;"
        for n, first in enumerate("AD")
    )
    values = {"v": 1.0, "n": 1, "s": "x"}
    events = [
        Happening(n * 1_000_000, kind, {"k": 0, **values, "v": float(n)})
        for n, kind in enumerate("ABBCDBC")
    ]
    found = matches(text, events, 0)
    assert {n: [row["c0"] for row in rows] for n, rows in found.items()} == {0: [2], 1: [1]}
    assert programs[-1] is not None


def test_an_event_that_goes_on_in_a_circle_is_for_the_search_one_by_one():
    with pytest.raises(ValueError, match="cycle"):
        _in_turn({1: 2, 2: 1})


def test_a_class_that_only_other_queries_read_is_known_to_those_answered_together(programs):
    """Classes are numbered as they come: D is the fourth, and no query of the two reads it."""
    text = "".join(
        f"QUERY q{n} RETURN COUNT(b[]) AS n PATTERN SEQ(A a, B+ b, C c) WHERE [k] "
        f"STRATEGY SKIP TILL NEXT MATCH WITHIN {9 + n};"
        for n in range(2)
    )
    text += "QUERY d RETURN COUNT(d[]) AS n PATTERN D+ d WHERE [k] WITHIN 2;"
    events = [Happening(n * 1_000_000, kind, {"k": 0}) for n, kind in enumerate("ABBCDABC")]
    matches(text, events, 4)
    assert [len(program.merged.classes) for program in programs if program] == [4, 5]
