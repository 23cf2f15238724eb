"""A live run may be resumed with another workload: what each of its queries then returns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, assume, given, settings

import elsinore as el
import elsinore.quantitative as qre
from elsinore import Workload
from elsinore.errors import ElsinoreError, InputError, StateError
from elsinore.model import Query
from elsinore.runtime.live import Change
from oracles.reference import ReferenceEvent
from support.drawn import CASES, Drawn
from support.live import LATENESS, batches_of, comparable, disordered, match_table
from support.matches import USERS, queries
from support.trends import Feature, table_of, trend_cases

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "12"))
RELAXED = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "v": pa.int64()})
PHASES = 4


@dataclass
class Segment:
    """A query that is in the workload from an event on."""

    query: Query
    begin: int | None  # only events after this time count


def workload_of(queries: Sequence[Query], *, exact: bool) -> Workload:
    return Workload(*queries, exact=exact, aggregates=USERS)


def expected_rows(
    segment: Segment, pushed: pa.Table, *, exact: bool, end: str
) -> Counter[tuple[str, str]]:
    """Return what a query returns of the events that were pushed by now."""
    if segment.begin is not None:
        pushed = pushed.filter(pc.greater(pushed["time"], segment.begin))
    if not pushed.num_rows:
        return Counter()
    workload = workload_of([segment.query], exact=exact)
    table = workload.run(pushed, end=end)[segment.query.name].to_arrow()
    if segment.begin is not None and "window_start" in table.column_names:
        table = table.filter(pc.greater(table["window_start"], segment.begin))
    return Counter((segment.query.name, comparable(row)) for row in table.to_pylist())


def phase_of(
    pool: Sequence[Query], before: Sequence[Query], drawn: Drawn, *, removes: bool
) -> list[Query]:
    """Draw the queries of the next phase: most stay, some are changed, some come and go."""
    chosen = []
    for query in pool:
        stays = query.name in {q.name for q in before}
        if (stays and (not removes or drawn.number(0, 3))) or (not stays and drawn.whether()):
            same = next((q for q in before if q.name == query.name), query)
            chosen.append(same)
    if removes and chosen and drawn.number(0, 3) == 0:
        place = drawn.number(0, len(chosen) - 1)
        other = replace(drawn.one(pool), name=chosen[place].name)
        chosen[place] = other
    return chosen or [drawn.one(pool)]


def check_changes(pool: Sequence[Query], table: pa.Table, drawn: Drawn, *, exact: bool) -> None:
    """Push the events in phases, each with another workload; compare with batch runs."""
    lateness = drawn.one(LATENESS)
    table = disordered(table, lateness, drawn)
    phases = list(batches_of(table, drawn, PHASES - 1))
    current = phase_of(pool, [], drawn, removes=False)
    live = workload_of(current, exact=exact).live(table.schema, lateness=lateness)
    segments = {query.name: Segment(query, None) for query in current}
    rows: Counter[tuple[str, str]] = Counter()
    expected: Counter[tuple[str, str]] = Counter()
    pushed = table.slice(0, 0)
    for number, phase in enumerate(phases):
        for batch in batches_of(phase, drawn, 2):
            rows.update(count_rows(live.push(batch)))
        pushed = pa.concat_tables([pushed, phase])
        if number == len(phases) - 1:
            break
        current = phase_of(pool, current, drawn, removes=not lateness)
        live = workload_of(current, exact=exact).resume(live.save())
        greatest = pc.max(pushed["time"]).as_py()
        ended = [name for name, segment in segments.items() if segment.query not in current]
        for name in ended:
            expected += expected_rows(segments.pop(name), pushed, exact=exact, end="open")
        for query in current:
            segments.setdefault(query.name, Segment(query, greatest))
        if greatest is None:  # then there is nothing to end
            ended = []
        assert set(live.changes) >= {q.name for q in current} | set(ended)
    rows.update(count_rows(live.end()))
    for segment in segments.values():
        expected += expected_rows(segment, pushed, exact=exact, end="closed")
    assert rows == expected


def count_rows(rows: Sequence[tuple[str, pa.Table]]) -> Counter[tuple[str, str]]:
    return Counter((name, comparable(row)) for name, table in rows for row in table.to_pylist())


@RELAXED
@given(trend_cases(exact=None) | trend_cases(exact=None, features=tuple(Feature), most=12), CASES)
def test_of_drawn_trend_queries(case: tuple[Workload, list[ReferenceEvent]], drawn: Drawn) -> None:
    workload, events = case
    pool = [query for query in workload if query.window is not None]
    pool += [replace(query, name=f"{query.name}b") for query in pool[:1]]
    assume(pool)
    try:
        workload_of(pool, exact=workload.exact).planned()
    except ElsinoreError:
        assume(False)
    check_changes(pool, table_of(events), drawn, exact=workload.exact)


@settings(RELAXED, max_examples=EXAMPLES // 2)  # each is planned for several runs
@given(CASES)
def test_of_drawn_match_queries(drawn: Drawn) -> None:
    texts = [queries(drawn, f"q{number}") for number in range(3)]
    table = match_table(drawn)
    try:
        parsed = Workload.parse("\n".join(texts), aggregates=USERS)
        pool = [query for query in parsed if query.window is not None]
        workload_of(pool, exact=False).run(table)
    except ElsinoreError:
        assume(False)
    assume(pool)
    check_changes(pool, table, drawn, exact=False)


def rows_between(times: range) -> list[dict[str, object]]:
    return [{"time": time, "type": "AB"[time % 2], "v": time} for time in times]


COUNT = "QUERY {} RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 SLIDE 5;"
MATCH = "QUERY {} RETURN a.v, b.v PATTERN SEQ(A a, B b) STRATEGY SKIP TILL NEXT MATCH WITHIN 5;"
TOTAL = qre.iterate1(qre.atom(qre.any, lambda item: item.v), qre.sum(0))
PEAK = qre.iterate1(qre.atom(qre.any, lambda item: item.v), qre.max())


def test_each_query_is_reported_by_name() -> None:
    def build(total: qre.Query, *texts: str) -> Workload:
        parsed = Workload.parse("\n".join(texts))
        return Workload(*parsed, el.query("sum").from_python(lambda: total))

    first = build(TOTAL, COUNT.format("stays"), MATCH.format("other"), COUNT.format("goes"))
    live = first.live(SCHEMA)
    live.push(rows_between(range(12)))
    second = build(TOTAL, COUNT.format("stays"), COUNT.format("other"), MATCH.format("new"))
    live = second.resume(live.save())
    assert live.changes == {
        "stays": Change.UNCHANGED,
        "other": Change.CHANGED,
        "new": Change.ADDED,
        "sum": Change.UNCHANGED,
        "goes": Change.REMOVED,
    }
    assert len(live.generations) == 2
    tables: dict[str, list[int]] = {}
    for name, table in live.push(rows_between(range(12, 40))) + live.end():
        column = "value" if name == "sum" else table.column_names[0]
        tables.setdefault(name, []).extend(table[column].to_pylist())
    assert tables["stays"] == [5, 10, 15, 20, 25, 30, 35]
    assert tables["other"] == [15, 20, 25, 30, 35]
    assert tables["new"][0] == 12
    assert tables["sum"] == [sum(range(n + 1)) for n in range(12, 40)]
    assert "goes" not in tables


def test_the_old_plan_is_dropped_when_its_windows_have_ended() -> None:
    live = Workload.parse(COUNT.format("q")).live(SCHEMA)
    live.push(rows_between(range(12)))
    live = Workload.parse(COUNT.format("q") + MATCH.format("m")).resume(live.save())
    live.push(rows_between(range(12, 18)))
    assert len(live.generations) == 2
    live = Workload.parse(COUNT.format("q") + MATCH.format("m")).resume(live.save())
    live.push(rows_between(range(18, 25)))
    assert len(live.generations) == 1


def test_a_query_that_was_changed_is_planned_as_it_was_where_it_was() -> None:
    other = "QUERY other RETURN COUNT(*) PATTERN SEQ({}) WITHIN 10 SLIDE 5;"
    stays = MATCH.format("stays") + MATCH.format("changes")
    first = Workload.parse(stays + other.format("A, B"))
    live = first.live(SCHEMA)
    live.push(rows_between(range(12)))
    changed = MATCH.format("stays") + COUNT.format("changes") + other.format("B, A")
    second = Workload.parse(changed)
    live = second.resume(live.save())
    live.push(rows_between(range(12, 14)))
    live = second.resume(live.save())  # the first plan still has the former queries
    assert set(live.changes.values()) == {Change.UNCHANGED}
    rows = live.push(rows_between(range(14, 40)))
    assert {name for name, _ in rows} == {"stays", "changes", "other"}


def test_a_changed_query_of_python_starts_anew() -> None:
    def build(query: qre.Query) -> Workload:
        return Workload(el.query("q").from_python(lambda: query))

    live = build(TOTAL).live(SCHEMA)
    live.push(rows_between(range(5)))
    live = build(PEAK).resume(live.save())
    assert live.changes == {"q": Change.CHANGED}
    ((_, rows),) = live.push(rows_between(range(5, 8)))
    assert rows["value"].to_pylist() == [5, 6, 7]
    assert len(live.generations) == 1


def test_new_queries_may_read_further_columns() -> None:
    live = Workload.parse(COUNT.format("q")).live(SCHEMA)
    live.push(rows_between(range(12)))
    text = "QUERY w RETURN SUM(A.w) PATTERN A WITHIN 10;"
    both = Workload.parse(COUNT.format("q") + text)
    with pytest.raises(ElsinoreError, match="no attribute 'w'"):
        both.resume(live.save())
    wider = SCHEMA.append(pa.field("w", pa.float64()))
    live = both.resume(live.save(), schema=wider)
    rows = live.push([row | {"w": 1.0} for row in rows_between(range(12, 40))]) + live.end()
    sums = [table["sum(A.w)"].to_pylist() for name, table in rows if name == "w"]
    assert [value for some in sums for value in some] == [5.0, 5.0]
    live = Workload.parse(COUNT.format("q")).live(SCHEMA)
    live.push(rows_between(range(12)))
    with pytest.raises(StateError, match="no query has changed"):
        Workload.parse(COUNT.format("q")).resume(live.save(), schema=wider)


def test_options_that_say_how_events_are_read_cannot_be_changed() -> None:
    workload = Workload.parse(COUNT.format("q"))
    live = workload.live(SCHEMA, lateness=3)
    live.push(rows_between(range(12)))
    live = workload.resume(live.save(), lateness=0, marks=True, rejects=True)
    assert live.watermark == 8
    live.push(rows_between(range(12, 13)))
    assert live.watermark == 12
    with pytest.raises(InputError, match="time_unit= is part of the saved state"):
        workload.resume(live.save(), time_unit="ms")
    with pytest.raises(TypeError, match="have no option 'tardiness'"):
        workload.resume(live.save(), tardiness=3)


def test_windows_finer_than_the_times_of_a_saved_state_are_refused() -> None:
    workload = Workload.parse(COUNT.format("q"))
    live = workload.live(SCHEMA)
    live.push(rows_between(range(12)))
    finer = Workload.parse(COUNT.format("q") + COUNT.format("n").replace("10", "1.000000001"))
    with pytest.raises(StateError, match="needs nanoseconds"):
        finer.resume(live.save())
    live = finer.live(SCHEMA)
    live.push(rows_between(range(12)))
    live = workload.resume(live.save())
    rows = live.push(rows_between(range(12, 40))) + live.end()
    starts = [start for _, table in rows for start in table["window_start"].to_pylist()]
    assert starts == [5, 10, 15, 20, 25, 30, 35]


def test_what_is_no_state_of_a_live_run_is_refused() -> None:
    workload = Workload.parse(COUNT.format("q"))
    live = workload.live(SCHEMA)
    live.push(rows_between(range(12)))
    state = live.save()
    for bad in (b"", b"no state", state[:-1], state[:100] + b"x" + state[101:], "text"):
        with pytest.raises(StateError):
            workload.resume(bad)  # type: ignore[arg-type]


def test_a_removed_query_whose_aggregate_is_missing_is_reported() -> None:
    text = "QUERY m RETURN SPREAD(b[].v) PATTERN SEQ(A a, B b+) WITHIN 5;"
    both = Workload.parse(text + MATCH.format("n"), aggregates=USERS)
    live = both.live(SCHEMA)
    live.push(rows_between(range(12)))
    with pytest.raises(StateError, match=r"(?s)cannot be restored.*SPREAD"):
        Workload.parse(MATCH.format("n")).resume(live.save())
    live = Workload.parse(MATCH.format("n"), aggregates=USERS).resume(live.save())
    assert {name for name, _ in live.push(rows_between(range(12, 30)))} == {"n"}
