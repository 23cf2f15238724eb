"""Open streams: what is returned is final, and is what closing at the last event's time returns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore import quantitative as qre
from elsinore.errors import ElsinoreError, InputError, InvalidWorkloadError, QueryError
from elsinore.local import run
from elsinore.model import Query, Workload
from elsinore.operators import OperatorOptions, kind_for, plan
from elsinore.plan import Plan
from elsinore.plan.modes import End
from elsinore.runtime.options import RunOptions
from oracles.matches import Happening
from oracles.reference import ReferenceEvent, ReferenceRow, reference
from support.drawn import CASES, Drawn
from support.matches import engine_rows, parsed, queries, streams, units_of
from support.trends import Feature, table_of, trend_cases
from support.units import unit_inputs
from trends.test_against_reference import compare
from trends.test_everything import settled

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TrendCase = tuple[Workload, list[ReferenceEvent]]
TREND_CASES = trend_cases(exact=None, features=tuple(Feature)) | trend_cases(exact=None)


def planned(workload: Workload) -> Plan:
    """Plan a drawn workload; give up one that is rejected or has two meanings."""
    assume(all(settled(query) for query in workload))
    try:
        return plan(workload)
    except (QueryError, InvalidWorkloadError):
        assume(False)
        raise


def final_rows(
    query: Query, events: Sequence[ReferenceEvent], last_time: int
) -> list[ReferenceRow]:
    """Return the rows of brute force whose windows are over at a time."""
    try:
        rows = reference(query, events)
    except InputError as error:
        assume("one by one" not in str(error))  # it would take minutes
        raise
    return [row for row in rows if row.window is not None and row.window[1] <= last_time]


@often
@given(TREND_CASES, st.integers(1, 9))
def test_open_trends_are_those_of_windows_that_later_events_cannot_change(
    case: TrendCase, cut: int
) -> None:
    workload, events = case
    ready, so_far = planned(workload), events[:cut]
    assume(so_far)
    last_time = so_far[-1].time
    options = RunOptions(end=End.OPEN)
    results = run(ready, table_of(so_far), options)
    for query in workload:
        for known in (so_far, events):  # later events change nothing
            expected = final_rows(query, known, last_time)
            compare(query, expected, results[query.name].to_pylist(), exact=workload.exact)


@often
@given(TREND_CASES, st.booleans())
def test_operators_of_trends_close_an_open_stream_at_its_last_event(
    case: TrendCase, one_slot: bool
) -> None:
    workload, events = case
    assume(events)
    last_time = events[-1].time
    for unit_input in unit_inputs(planned(workload), table_of(events), exact=workload.exact):
        unit = unit_input.planned
        batch = unit_input.by_key() if one_slot else unit_input.batch
        options = OperatorOptions(one_slot=one_slot, last_time=last_time)
        operator = kind_for(unit).operator(unit, options)
        found = unit_input.results([*operator.process(batch), *operator.close()])
        closed = kind_for(unit).operator(unit, OperatorOptions())
        outputs = [*closed.process(unit_input.batch), *closed.close(last_time)]
        expected = unit_input.results(outputs)
        for name in unit.names:
            assert found[name].num_rows == expected[name].num_rows
        assert operator.statistics.totals == closed.statistics.totals or one_slot


@often
@given(CASES)
def test_open_matches_are_those_that_closing_at_the_last_event_returns(drawn: Drawn) -> None:
    events, workload = streams(drawn), parsed(queries(drawn))
    try:
        (unit,) = units_of(workload)
    except ElsinoreError:
        assume(False)
    so_far = events[: drawn.number(1, len(events))]
    last_time = so_far[-1].time
    ordered = drawn.whether()

    def rows(known: Sequence[Happening], **options: Any) -> Counter[Any]:
        (found,) = engine_rows(unit, known, ordered=ordered, **options)
        return found

    cuts = drawn.cuts(len(so_far), 3)
    is_open = rows(so_far, last_time=last_time, cuts=cuts)
    assert is_open == rows(so_far, until=last_time)
    assert is_open == rows(so_far, last_time=last_time, one_slot=True, cuts=cuts)
    assert is_open <= rows(so_far)
    assert is_open <= rows(events)  # later events change nothing


TEXT = """
QUERY pairs RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g
    WITHIN 10 seconds SLIDE 5 seconds;
QUERY rising RETURN g, COUNT(*), SUM(b.v) PATTERN B+ b WHERE b[i].v > b[i-1].v
    GROUP BY g WITHIN 10 seconds;
QUERY never_over RETURN COUNT(*) PATTERN SEQ(A, B);
QUERY found RETURN a.v, b.v AS later PATTERN SEQ(A a, B b) WHERE [k] WITHIN 7 seconds;
QUERY alone RETURN a.v, b.v AS later PATTERN SEQ(A a, B b, NOT C c) WHERE [k] WITHIN 7 seconds;
QUERY last_of_all RETURN a.v, b.v AS later PATTERN SEQ(A a, B b, NOT C c) WHERE [k];
"""
EVENTS = pa.table(
    {
        "time": [n // 2 for n in range(120)],
        "type": ["ABBCAB"[(n * 7 + n // 5) % 6] for n in range(120)],
        "g": ["xy"[n % 2] if n < 80 else "x" for n in range(120)],  # y ends early
        "k": [n % 3 for n in range(120)],
        "v": [float(n * 13 % 31) for n in range(120)],
    }
)


def rows_of(results: el.Results[Any]) -> dict[str, Counter[Any]]:
    tables = {name: found.to_arrow() for name, found in results.items()}
    return {
        name: Counter(tuple(row.values()) for row in table.to_pylist())
        for name, table in tables.items()
    }


def test_an_open_run_reports_the_windows_that_it_leaves_open() -> None:
    results = el.Workload.parse(TEXT).run(EVENTS, end="open")
    begins = [  # A's whose window of seven seconds may still get events at the last one's time, 59
        time
        for time, kind in zip(*EVENTS.select(["time", "type"]).to_pydict().values(), strict=True)
        if kind == "A" and time + 7 >= 59
    ]
    assert dict(results.open_windows) == {
        "pairs": 2,  # [50, 60) and [55, 65)
        "rising": 1,
        "never_over": 1,
        "found": len(begins),
        "alone": len(begins),
        "last_of_all": 1,
    }
    assert not el.Workload.parse(TEXT).run(EVENTS).open_windows
    empty = el.Workload.parse(TEXT).run(EVENTS.slice(0, 0), end="open")
    assert not empty.open_windows


def test_an_open_run_in_pieces_returns_the_same() -> None:
    workload = el.Workload.parse(TEXT)
    expected = rows_of(workload.run(EVENTS, end="open"))
    found: dict[str, Counter[Any]] = {name: Counter() for name in expected}
    for name, piece in workload.batches(EVENTS, end="open"):
        found[name] += Counter(tuple(row.values()) for row in piece.to_pylist())
    assert found == expected


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_close_the_last_share_of_windows_at_the_last_event(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from elsinore.local import shares
    from elsinore.local import threads as spread

    monkeypatch.setattr(spread, "LEAST_EVENTS", 10)
    monkeypatch.setattr(shares, "LAST", 10)
    workload = el.Workload.parse(TEXT)
    alone = rows_of(workload.run(EVENTS, end="open", threads=1))
    assert rows_of(workload.run(EVENTS, end="open", threads=threads)) == alone
    closed = rows_of(workload.run(EVENTS, threads=threads))
    assert all(alone[name] <= closed[name] for name in alone)
    assert sum(alone["pairs"].values()) == sum(closed["pairs"].values()) - 2 * 1


def test_values_of_quantitative_queries_are_final_at_their_events() -> None:
    total = qre.iterate1(qre.atom(qre.any, lambda event: event.v), qre.sum())
    workload = el.Workload(el.query("days").from_python(total.by("g")))
    closed, is_open = workload.run(EVENTS), workload.run(EVENTS, end="open")
    assert rows_of(is_open) == rows_of(closed)
    assert sum(rows_of(closed)["days"].values())
    assert dict(is_open.open_windows) == {"days": 0}


def test_an_unknown_end_is_rejected_with_the_choices() -> None:
    with pytest.raises(el.ElsinoreError, match="Unknown end 'opn'"):
        el.Workload.parse(TEXT).run(EVENTS, end="opn")  # type: ignore[arg-type]
