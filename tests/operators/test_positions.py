"""Windows that count events or calendar days, compared with their definitions."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.errors import ElsinoreError
from elsinore.language import parse_workload
from elsinore.model import Query, Window
from elsinore.model.kinds import Kind
from elsinore.model.window import SECOND
from elsinore.operators import kind_in
from elsinore.operators.positions.calendar import CalendarDays
from elsinore.operators.positions.counting import Counters
from elsinore.operators.registry import module_for
from elsinore.plan import PlanOptions, Sharing
from support.drawn import CASES, Drawn
from support.live import assert_same_rows, check_live_is_batch, match_table
from support.matches import USERS, queries
from support.trends import Feature, table_of, trend_cases

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TRENDS = trend_cases(exact=None, features=(Feature.NEGATION, Feature.STRATEGIES, Feature.ADJACENT))


def with_positions(query: Query, table: pa.Table, *, ordered: bool) -> pa.Table:
    """Return events with `position`: how many events of the same key are before each of them."""
    rows = table.to_pylist()
    names = sorted({*query.group_by, *query.equivalence})
    keys = [tuple(row[name] for name in names) for row in rows]
    times = [row["time"] for row in rows]
    positions = [
        sum(
            key == keys[row] and (place < row if ordered else time < times[row])
            for place, (key, time) in enumerate(zip(keys, times, strict=True))
        )
        for row in range(len(rows))
    ]
    return table.append_column("position", pa.array(positions, pa.int64()))


def without_positions(value: Any) -> Any:
    """Return rows without the attribute that the stream of positions has."""
    if isinstance(value, dict):
        return {k: without_positions(part) for k, part in value.items() if k != "position"}
    return [without_positions(part) for part in value] if isinstance(value, list) else value


def checked_in_events(query: Query, table: pa.Table, within: int, slide: int | None) -> None:
    """Compare windows of events with windows of time over a stream timed by positions."""
    counted = replace(query, window=Window(within, slide, events=True), limit=None)
    is_relative = slide is None and query.kind is Kind.MATCHES
    scale = 2 if is_relative else 1  # n events: positions differ by less than n
    window = Window(2 * within - 1 if is_relative else within, slide)
    by_position = with_positions(query, table, ordered=False)
    doubled = pa.array(np.asarray(by_position.column("position")) * scale)
    by_position = by_position.set_column(by_position.num_columns - 1, "position", doubled)
    by_position = by_position.sort_by([("position", "ascending"), ("time", "ascending")])
    try:
        (expected,) = (
            el.Workload(replace(counted, window=window), aggregates=USERS)
            .run(by_position, time="position", time_unit="us")
            .values()
        )
    except ElsinoreError:
        assume(False)
        raise
    (result,) = el.Workload(counted, aggregates=USERS).run(table).values()
    rows = without_positions(expected.to_pylist())
    if "window_start" in expected.column_names:
        rows = [row for row in rows if row["window_start"] >= 0]
    assert_same_rows(result.to_pylist(), rows, str(counted))


def drawn_query(drawn: Drawn) -> Query:
    """Return a drawn match query without the clauses that no window of events goes with."""
    text = queries(drawn)
    assume("MATCH_NUMBER" not in text)
    try:
        return replace(parse_workload(text).queries[0], suppress=None, limit=None)
    except ElsinoreError:
        assume(False)
        raise


@often
@given(TRENDS, st.integers(1, 6), st.none() | st.integers(1, 4))
def test_trends_in_windows_of_events(case: Any, within: int, slide: int | None) -> None:
    workload, events = case
    for query in workload:
        checked_in_events(query, table_of(events), within, slide)


@often
@given(CASES, st.integers(1, 7), st.none() | st.integers(1, 4))
def test_matches_in_windows_of_events(drawn: Drawn, within: int, slide: int | None) -> None:
    query = drawn_query(drawn)
    if slide is not None:
        query = replace(query, after_match=None)
    checked_in_events(query, match_table(drawn), within, slide)


@often
@given(CASES, st.integers(1, 7))
def test_live_matches_in_windows_of_events(drawn: Drawn, within: int) -> None:
    query = replace(drawn_query(drawn), window=Window(within, events=True), distinct=False)
    try:
        workload = el.Workload(query, aggregates=USERS)
        workload.explain()
    except ElsinoreError:
        assume(False)
        raise
    check_live_is_batch(workload, match_table(drawn), drawn)


def test_positions_do_not_depend_on_batches() -> None:
    draw = random.Random(5)
    for ordered in (False, True):
        keys = np.array([draw.randrange(-1, 3) for _ in range(200)])
        times = np.sort([draw.randrange(60) for _ in range(200)])
        whole = Counters(ordered=ordered).positions(keys, times)
        counters, pieces, begin = Counters(ordered=ordered), [], 0
        while begin < len(keys):
            end = begin + draw.randrange(1, 9)
            pieces.append(counters.positions(keys[begin:end], times[begin:end]))
            table, counters = counters.table(), Counters(ordered=ordered)
            counters.load(table)
            begin = end
        assert np.concatenate(pieces).tolist() == whole.tolist()
        for row, (key, time) in enumerate(zip(keys, times, strict=True)):
            before = row if ordered else np.searchsorted(times, time)
            expected = -1 if key < 0 else np.count_nonzero(keys[:before] == key)
            assert whole[row] == expected


def test_an_open_stream_returns_windows_that_are_full() -> None:
    events = [{"time": n, "type": "A", "k": n % 2} for n in range(7)]
    query = "QUERY q RETURN k, COUNT(*) AS n PATTERN A a GROUP BY k WITHIN 2 EVENTS"
    rows = el.Workload.parse(query).run(events, end="open")["q"].to_pylist()
    actual = [(row["k"], row["window_start"], row["n"]) for row in rows]
    assert actual == [(0, 0, 2.0), (1, 0, 2.0)]  # of key 0 the second window may get a tied event
    absent = "QUERY q RETURN a.time AS t PATTERN SEQ(A a, NOT B b) WHERE [k] WITHIN 2 EVENTS"
    rows = el.Workload.parse(absent).run(events, end="open")["q"].to_pylist()
    assert sorted(row["t"] for row in rows) == [0, 1, 2]


ZONES = ("America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Tokyo")


@st.composite
def calendars(draw: st.DrawFn) -> tuple[str, datetime, list[datetime]]:
    """Draw a zone, a day's beginning, and times, many of them near changes of clocks."""
    zone = draw(st.sampled_from(ZONES))
    begin = datetime(2011, 12, 27) if zone == "Pacific/Apia" else datetime(2024, 3, 8)
    hour = draw(st.sampled_from((0, 0, 2, 6)))
    origin = (begin + timedelta(hours=hour)).replace(tzinfo=ZoneInfo(zone))
    minutes = st.integers(-2_000, 12_000) | st.integers(318_000, 345_000)
    times = [begin + timedelta(minutes=minute) for minute in draw(st.lists(minutes, max_size=20))]
    return zone, origin, sorted(times)


@often
@given(calendars(), st.integers(1, 3), st.integers(1, 3))
def test_windows_of_calendar_days(
    case: tuple[str, datetime, list[datetime]], within: int, slide: int
) -> None:
    zone, origin, times = case
    events = pa.table({"time": pa.array(times, pa.timestamp("us")), "type": ["A"] * len(times)})
    query = (
        el.query("q")
        .match(el.event("A").plus())
        .within(timedelta(days=within), slide=timedelta(days=slide), origin=origin)
        .select(el.count().alias("n"))
    )
    assert el.Workload.parse(str(el.Workload(query)))["q"] == query
    place = ZoneInfo(zone)

    def beginning(day: date) -> datetime:
        local = datetime.combine(day, origin.time(), place)
        return local.astimezone(UTC).replace(tzinfo=None)

    expected: dict[tuple[datetime, datetime], int] = {}
    first = origin.date() - timedelta(days=slide * 5)
    for number in range(400 // slide):
        start = first + timedelta(days=slide * number)
        bounds = beginning(start), beginning(start + timedelta(days=within))
        inside = {time for time in times if bounds[0] <= time < bounds[1]}
        # one trend for each choice of distinct times, and of one event of each of them
        trends = 1
        for time in inside:
            trends *= 1 + times.count(time)
        if trends > 1:
            expected[bounds] = trends - 1
    rows = el.Workload(query).run(events)["q"].to_pylist()
    assert {(row["window_start"], row["window_end"]): row["n"] for row in rows} == expected
    live = el.Workload(query).live(events.schema)
    pieces = [*live.push(events[:7]), *live.push(events[7:]), *live.end()]
    actual = [row for _, rows in pieces for row in rows.to_pylist()]
    assert Counter(map(str, actual)) == Counter(map(str, rows))


@given(st.sampled_from(ZONES), st.lists(st.integers(-(10**15), 2 * 10**15), min_size=1))
def test_positions_of_days_rise_with_times(zone: str, times: list[int]) -> None:
    days = CalendarDays(zone, 1_700_000_000 * SECOND)
    given_times = np.unique(np.array(times, np.int64))
    positions = days.positions(given_times)
    assert (np.diff(positions) > 0).all()
    assert days.times(positions).tolist() == given_times.tolist()
    later = days.times(positions + 1)  # the first time that is not before
    assert (days.positions(later) >= positions + 1).all()
    assert (days.positions(later - 1) <= positions).all()


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("WITHIN 12 hours ORIGIN '2024-01-01T00:00:00 Europe/Berlin'", "whole days"),
        ("WITHIN 1 day ORIGIN '2024-01-01T00:00:00 Europe/Berln'", "Did you mean 'Europe/Berlin'"),
        ("WITHIN 1 day ORIGIN '2024-01-01T00:00:00+01:00 Europe/Berlin'", "Leave one"),
        ("WITHIN 5 EVENTS ORIGIN '2024-01-01'", "Leave ORIGIN out"),
        ("WITHIN 5 EVENTS SLIDE 2 seconds", "both numbers of events"),
        ("WITHIN 0 EVENTS", "longer than 0"),
    ],
)
def test_bad_windows_are_explained(clauses: str, message: str) -> None:
    with pytest.raises(ElsinoreError, match=message):
        el.Workload.parse(f"RETURN COUNT(*) PATTERN A {clauses}")


def test_an_equality_is_no_key_of_windows_that_count_events() -> None:
    events = [{"time": n, "type": t, "k": k} for n, (t, k) in enumerate(["A1", "A2", "B2", "B1"])]
    text = "QUERY q RETURN a.time AS t PATTERN SEQ(A a, B b) WHERE {} WITHIN 3 EVENTS"
    by_key, tied = (
        el.Workload.parse(text.format(where)).run(events)["q"].to_pylist()
        for where in ("[k]", "a.k = b.k")
    )
    assert [row["t"] for row in by_key] == [0, 1]
    assert [row["t"] for row in tied] == [1]


def test_suppress_needs_a_length_of_time() -> None:
    text = "RETURN a.v PATTERN A a STRATEGY CONTIGUOUS WITHIN 5 EVENTS SUPPRESS 1 hour"
    with pytest.raises(ElsinoreError, match="SUPPRESS is a length of time"):
        el.Workload.parse(text)


def test_explain_counts_events_and_days() -> None:
    text = str(
        el.Workload.parse("""
            QUERY a RETURN x.v PATTERN A x WITHIN 5 EVENTS;
            QUERY b RETURN COUNT(*) PATTERN A WITHIN 4 EVENTS SLIDE 2 EVENTS;
            QUERY c RETURN COUNT(*) PATTERN A WITHIN 1 day ORIGIN '2024-01-01 Europe/Berlin';
        """).explain()
    )
    assert "windows of 5 events that begin with the match" in text
    assert "windows of 4 events, a new one every 2 events" in text
    assert "windows of 1 day in Europe/Berlin, one after another" in text
    assert "b cannot run live" in text


def test_what_positions_do_not_change_is_answered_by_the_inner_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its methods get inner units, alone or in a list; a new method needs no line for positions."""
    text = "QUERY q RETURN a.v PATTERN SEQ(A a, B b) WITHIN 3 EVENTS;"
    (query,) = parse_workload(text).queries
    inner = kind_in("elsinore.matches.kind")
    kind = kind_in(module_for(query))
    (unit,) = kind.plan([(0, query)], PlanOptions())
    assert kind.name == inner.name
    assert kind.facts(unit) == inner.facts(unit.spec.inner)
    monkeypatch.setattr(type(inner), "meaning", lambda _, query: query.name)
    monkeypatch.setattr(type(inner), "summary", lambda _, units, *_more: {"specs": units[0].spec})
    assert kind.meaning(query) == "q"
    summary = kind.summary([unit], None, Sharing.DYNAMIC)
    assert summary == {"specs": unit.spec.inner.spec}
