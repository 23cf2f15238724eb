"""A NOT inside a NOT counts at the beginning, in the middle and at the end of its pattern."""

from __future__ import annotations

from typing import Any

import pytest

import elsinore as el
from elsinore.matches.operator import MatchOperator
from elsinore.operators import OperatorOptions
from oracles.matches import Happening
from support.matches import batch_of, parsed, units_of

BEGINNING = "SEQ(B b, NOT SEQ(NOT C e, D d), F f)"
MIDDLE = "SEQ(B b, NOT SEQ(D d, NOT C e, D g), F f)"
END = "SEQ(B b, NOT SEQ(D d, NOT C e), F f)"
DEEPER = "SEQ(B b, NOT SEQ(D d, NOT SEQ(C e, NOT A a)), F f)"


def events(types: str) -> list[dict[str, Any]]:
    """Return one event of a type each second; a point stands for a second without an event."""
    return [
        {"time": float(second), "type": kind, "n": second}
        for second, kind in enumerate(types)
        if kind != "."
    ]


def matched(pattern: str, types: str, window: str = "", **options: Any) -> list[tuple[int, int]]:
    """Return the seconds of the first and the last event of each match."""
    text = f"QUERY q RETURN b.n AS b, f.n AS f PATTERN {pattern} {window}"
    rows = el.Workload.parse(text).run(events(types), **options)["q"].to_pylist()
    return [(row["b"], row["f"]) for row in rows]


@pytest.mark.parametrize("window", ["", "WITHIN 9 seconds", "WITHIN 40 seconds SLIDE 40 seconds"])
@pytest.mark.parametrize("strategy", ["SKIP TILL ANY MATCH", "SKIP TILL NEXT MATCH"])
@pytest.mark.parametrize(
    ("pattern", "types", "is_match"),
    [
        (BEGINNING, "BF", True),
        (BEGINNING, "BDF", False),
        (BEGINNING, "BCDF", True),
        (BEGINNING, "CBDF", True),
        (BEGINNING, "BDCF", False),
        (MIDDLE, "BDDF", False),
        (MIDDLE, "BDCDF", True),
        (MIDDLE, "BCDDF", False),
        (END, "BDF", False),
        (END, "BDCF", True),
        (END, "BDFC", True),
        (END, "BCDF", False),
        (DEEPER, "BDF", False),
        (DEEPER, "BDFC", True),
        (DEEPER, "BDFCA", False),
        (DEEPER, "BDFCAC", True),
    ],
)
def test_it_counts_in_every_position_as_in_trend_queries(
    pattern: str, types: str, is_match: bool, strategy: str, window: str
) -> None:
    clauses = f"STRATEGY {strategy} {window}"
    assert len(matched(pattern, types, clauses)) == is_match
    if "WITHIN 9" not in window:  # trends have no windows relative to them
        trends = f"QUERY q RETURN COUNT(*) AS n PATTERN {pattern} {clauses}"
        rows = el.Workload.parse(trends).run(events(types))["q"].to_pylist()
        assert len(rows) == is_match


def test_the_window_of_the_match_bounds_where_it_is_looked_for() -> None:
    window = "WITHIN 5 seconds"
    assert matched(END, "B.DF.C.", window) == [(0, 3)]  # 5 seconds after the first event
    assert matched(END, "B.DF..C", window) == []
    assert matched(BEGINNING, "C..BDF", window) == [(3, 5)]  # 5 seconds before the last event
    assert matched(BEGINNING, "C..BD.F", window) == []
    sliding = "WITHIN 5 seconds SLIDE 5 seconds"
    assert matched(END, "BDF.C", sliding) == [(0, 2)]
    assert matched(END, "BDF..C", sliding) == []
    assert matched(BEGINNING, "....CBDF", sliding) == []
    assert matched(BEGINNING, "....CCBDF", sliding) == [(6, 8)]


def test_it_counts_under_a_not_at_the_beginning_and_at_the_end_of_the_whole() -> None:
    first, last = "SEQ(NOT SEQ(D d, NOT C e), B b, F f)", "SEQ(B b, F f, NOT SEQ(NOT C e, D d))"
    assert [len(matched(first, types)) for types in ("BF", "DBF", "DBFC", "DCBF")] == [1, 0, 1, 1]
    assert [len(matched(last, types)) for types in ("BF", "BFD", "BFCD", "CBFD")] == [1, 0, 1, 1]


def test_a_match_is_returned_as_soon_as_the_window_has_passed() -> None:
    text = f"QUERY q RETURN b.n AS b PATTERN {END} WITHIN 5 seconds;"
    assert "NOT inside NOT depends on all of it" in str(el.Workload.parse(text).explain())
    (unit,) = units_of(parsed(text))
    happenings = [
        Happening(int(e["time"]) * 1_000_000, e["type"], {"n": e["n"]}) for e in events("BDF.C")
    ]
    batch, _ = batch_of(unit, happenings)
    operator = MatchOperator(unit, OperatorOptions())
    assert list(operator.process(batch)) == []
    deadline = operator.deadline()
    assert deadline is not None
    assert list(operator.close(deadline - 1)) == []
    assert [row["c0"] for piece in operator.close(deadline) for row in piece.to_pylist()] == [0]


def test_collapsed_rows_are_refused_with_the_reason() -> None:
    text = f"QUERY q RETURN b.n, f[].n PATTERN {END.replace('F f', 'F+ f')} COLLAPSED"
    with pytest.raises(el.UnsupportedError, match="COLLAPSED: a pattern under NOT that begins"):
        _ = el.Workload.parse(text).plan


def test_a_text_that_an_aggregate_chooses_is_of_its_event_in_each_window() -> None:
    """Windows are copied to be searched: the row of the chosen text is one of the copy."""
    workload = el.Workload.parse(
        "RETURN a.time AS a, MEDIAN(b[].s) AS s "
        "PATTERN SEQ(A a, B+ b, NOT SEQ(NOT C c, D d), E e) WITHIN 9 SECONDS"
    )
    events = [
        {"time": n, "type": kind, "s": text}
        for n, (kind, text) in enumerate(zip("AABBE", "pqxyz", strict=True))
    ]
    (table,) = workload.run(events).values()
    found = sorted((row["a"], row["s"]) for row in table.to_pylist())
    assert found == sorted((a, s) for a in (0, 1) for s in ("x", "y", "x"))
