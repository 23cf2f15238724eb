"""Live runs as users handle them: events of all kinds in, time, marks, errors, asyncio."""

from __future__ import annotations

import asyncio
import datetime as dt
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import elsinore.quantitative as qre
from elsinore import Workload
from elsinore.errors import (
    InputError,
    InvalidWorkloadError,
    QuerySemanticError,
    StateError,
)
from elsinore.local.live import AsyncLive, Live
from elsinore.runtime.warnings import SimultaneousEventsWarning

SCHEMA = pa.schema({"time": pa.int64(), "type": pa.string(), "v": pa.float64()})
PAIRS = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 10 seconds;")


def event(time: Any, kind: Any, v: float = 0.0) -> dict[str, Any]:
    return {"time": time, "type": kind, "v": v}


def counts(rows: list[tuple[str, pa.Table]]) -> list[tuple[str, Any, float]]:
    """Return the beginning of each window, and the count there."""
    return [
        (name, row["window_start"], row["count(*)"])
        for name, table in rows
        for row in table.to_pylist()
    ]


def test_rows_are_returned_as_soon_as_the_watermark_allows() -> None:
    live = PAIRS.live(SCHEMA, lateness="2 seconds")
    assert live.watermark is None
    assert live.push([event(3, "B"), event(1, "A"), event(11, "A")]) == []
    assert live.watermark == 9
    assert counts(live.push([event(12, "B")])) == [("q", 0, 1.0)]
    assert live.watermark == 10
    assert counts(live.end()) == [("q", 10, 1.0)]


def test_a_match_does_not_wait_for_a_later_event() -> None:
    workload = Workload.parse("QUERY m RETURN a.v, b.v PATTERN SEQ(A a, B b) WITHIN 10 seconds;")
    live = workload.live(SCHEMA)
    live.push([event(1, "A", 1.0)])
    ((name, rows),) = live.push([event(2, "B", 2.0)])
    assert (name, rows.to_pylist()) == ("m", [{"a.v": 1.0, "b.v": 2.0}])
    assert len(live.push([event(2, "B", 3.0)])) == 1  # nor for one at another time
    ordered = workload.live(SCHEMA, order_by="v")  # an event at 2 with a lesser v may follow
    ordered.push([event(1, "A", 1.0)])
    assert ordered.push([event(2, "B", 2.0)]) == []
    assert len(ordered.push([event(3, "Z")])) == 1


@pytest.mark.parametrize(
    "convert",
    [
        lambda table: table,
        lambda table: table.to_batches()[0],
        lambda table: pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        lambda table: table.to_pandas(),
        pl.from_arrow,
        lambda table: table.to_pydict(),
        lambda table: table.to_pylist(),
        lambda table: table.select(["v", "type", "time"]),
        lambda table: table.cast(
            pa.schema({**dict(zip(SCHEMA.names, SCHEMA.types, strict=True)), "time": pa.int32()})
        ),
    ],
)
def test_a_batch_may_be_in_any_container(convert: Any) -> None:
    live = PAIRS.live(SCHEMA)
    table = pa.Table.from_pylist([event(1, "A"), event(3, "B"), event(10, "A")], SCHEMA)
    assert counts(live.push(convert(table))) == [("q", 0, 1.0)]


def test_the_schema_may_be_given_in_several_forms() -> None:
    for schema in (SCHEMA, dict(zip(SCHEMA.names, SCHEMA.types, strict=True)), [event(0, "A")]):
        assert PAIRS.live(schema).push([]) == []
    frame = pd.DataFrame([event(0, "A")])
    assert PAIRS.live(frame).push(pl.DataFrame([event(0, "A")])) == []


def test_attributes_that_rows_lack_are_null_and_columns_that_tables_lack_an_error() -> None:
    live = PAIRS.live(SCHEMA)
    live.push([{"time": 1, "type": "A"}])
    with pytest.raises(InputError, match=r"lacks the column 'v'. The stream's columns are time,"):
        live.push(pa.table({"time": [2], "type": ["B"]}))
    with pytest.raises(InputError, match="'time' of a batch has the type string"):
        live.push(pa.table({"time": ["soon"], "type": ["B"], "v": [1.0]}))
    assert counts(live.push([event(2, "B")]) + live.end()) == [("q", 0, 1.0)]


def test_late_events_are_counted_and_kept_on_request() -> None:
    for rejects in (False, True):
        live = PAIRS.live(SCHEMA, rejects=rejects)
        live.push([event(12, "A")])
        live.push([event(11, "A"), event(13, "B"), event(3, "B")])
        assert (live.late, live.rejected) == (2, 0)
        rejected = live.take_rejected()
        assert (rejected is not None) is rejects
        if rejected is not None:
            assert rejected["time"].to_pylist() == [11, 3]
            assert set(rejected["reject_reason"].to_pylist()) == {"late: before the watermark"}
        assert live.take_rejected() is None
        assert counts(live.end()) == [("q", 10, 1.0)]


def test_unusable_events_stop_a_batch_or_are_set_aside() -> None:
    live = PAIRS.live(SCHEMA)
    with pytest.raises(InputError, match="2 events of 3 cannot be used"):
        live.push([event(None, "A"), event(1, None), event(1, "A")])
    assert live.watermark is None  # nothing of the batch was added
    live = PAIRS.live(SCHEMA, rejects=True)
    live.push([event(None, "A"), event(1, None), event(1, "A")])
    assert live.rejected == 2
    rejected = live.take_rejected()
    assert rejected is not None
    assert rejected["reject_reason"].to_pylist() == ["null time", "null type"]


def test_events_too_far_ahead_of_the_clock_are_rejected() -> None:
    schema = pa.schema({"time": pa.timestamp("us", "UTC"), "type": pa.string()})
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    good, wrong = ({"time": now + dt.timedelta(days=days), "type": "A"} for days in (-1, 300))
    live = PAIRS.live(schema, ahead="1 hour")
    with pytest.raises(
        InputError, match=r"1 event of 2 cannot be used .1 with time too far ahead of the clock"
    ):
        live.push([good, wrong])
    live = PAIRS.live(schema, ahead="1 hour", rejects=True)
    live.push([good, wrong])
    assert live.watermark == good["time"]
    rejected = live.take_rejected()
    assert rejected is not None
    assert rejected.to_pylist() == [wrong | {"reject_reason": "time too far ahead of the clock"}]
    assert (live.late, live.rejected) == (0, 1)


class Clock:
    """A clock that is set by the test."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ticking(live: Live) -> Clock:
    live.now = clock = Clock()
    return clock


def test_the_watermark_is_the_least_of_the_partitions_unless_one_is_idle() -> None:
    live = PAIRS.live(SCHEMA, idle_timeout="30 seconds")
    clock = ticking(live)
    live.push([event(1, "A")], partition="slow")
    live.push([event(2, "B"), event(25, "A")], partition="fast")
    assert live.watermark == 1
    clock.now += 20
    live.push([event(26, "B")], partition="fast")
    assert live.watermark == 1
    clock.now += 11
    assert counts(live.poll()) == [("q", 0, 1.0)]
    assert live.watermark == 26
    live.push([event(24, "A"), event(27, "A")], partition="slow")
    assert live.late == 1


def test_while_the_source_is_idle_time_moves_on() -> None:
    live = PAIRS.live(SCHEMA, lateness=1, idle_timeout=5)
    clock = ticking(live)
    live.push([event(1, "A"), event(4, "B")])
    clock.now += 5
    assert live.poll() == []
    clock.now += 1.5
    assert live.poll() == []
    clock.now += 1
    assert counts(live.poll()) == [("q", 0, 1.0)]
    assert live.watermark == 10


def test_early_values_are_marked() -> None:
    live = PAIRS.live(SCHEMA, marks=True, lateness=5)
    live.push([event(1, "A"), event(2, "B"), event(8, "A")])
    ((_, early),) = live.early()
    assert early.select(["count(*)", "watermark", "early"]).to_pylist() == [
        {"count(*)": 1.0, "watermark": 3, "early": True}
    ]
    ((_, rows),) = live.push([event(9, "B"), event(16, "B")])
    assert rows.select(["count(*)", "watermark", "early"]).to_pylist() == [
        {"count(*)": 3.0, "watermark": 11, "early": False}
    ]
    named = Workload.parse("QUERY q RETURN COUNT(*) AS early PATTERN A WITHIN 10 seconds;")
    live = named.live(SCHEMA, marks=True)
    with pytest.raises(InputError, match="Give it another name with AS"):
        live.push([event(1, "A"), event(12, "A")])


def test_times_are_shown_as_in_batch_runs() -> None:
    for times in (
        pa.array([0, 12], pa.int32()),
        pa.array([0.5, 12.25]),
        pa.array([0, 12], pa.timestamp("s", "Europe/Berlin")),
        pa.array([0, 12], pa.timestamp("ns")),
        pa.array(["1970-01-01T00:00:00", "1970-01-01T00:00:12"]),
        pa.array(["1970-01-01T00:00:00Z", "1970-01-01T00:00:12Z"]),
        pa.array([0, 1], pa.date32()),
    ):
        table = pa.table({"time": times, "type": ["A", "A"]})
        workload = Workload.parse("QUERY q RETURN COUNT(*) PATTERN A WITHIN 10 seconds;")
        live = workload.live(table.schema)
        live = workload.resume(live.save())
        rows = live.push(table.slice(0, 1))
        live = workload.resume(live.save())
        rows += live.push(table.slice(1)) + live.end()
        assert pa.concat_tables([r for _, r in rows]).equals(workload.run(table)["q"].to_arrow())


def test_times_in_text_that_only_all_events_could_explain_are_refused() -> None:
    schema = pa.schema({"time": pa.string(), "type": pa.string()})
    live = PAIRS.live(schema)
    with pytest.raises(InputError, match=r"numbers in text.*CAST.time AS DOUBLE"):
        live.push([{"time": "12", "type": "A"}])
    with pytest.raises(InputError, match=r"have nanoseconds.*CAST.time AS TIMESTAMP_NS"):
        live.push([{"time": "2024-01-01T00:00:00.000000001", "type": "A"}])
    live = PAIRS.live(schema, time="CAST(time AS DOUBLE)")
    assert counts(live.push([{"time": "1.5", "type": "A"}]) + live.end()) == []


def test_options_that_are_wrong_are_told() -> None:
    with pytest.raises(InputError, match=r"lateness.*'ten' is not a length of time"):
        PAIRS.live(SCHEMA, lateness="ten")
    with pytest.raises(InputError, match="cannot be negative"):
        PAIRS.live(SCHEMA, lateness=-1)
    with pytest.raises(InputError, match="without a unit, and times are timestamps"):
        PAIRS.live({"time": pa.timestamp("us"), "type": pa.string()}, lateness=5)
    with pytest.raises(InputError, match="buckets"):
        PAIRS.live(SCHEMA, buckets=0)
    with pytest.raises(TypeError, match=r"no option 'late'\. Did you mean 'lateness'"):
        PAIRS.live(SCHEMA, late=5)
    with pytest.raises(QuerySemanticError, match="cannot run over a live stream"):
        Workload.parse("QUERY q RETURN COUNT(*) PATTERN A;").live(SCHEMA)
    with pytest.raises((QuerySemanticError, InvalidWorkloadError), match="no attribute 'w'"):
        Workload.parse("QUERY q RETURN SUM(A.w) PATTERN A WITHIN 5;").live(SCHEMA)
    with pytest.raises(InputError, match="cannot be a time"):
        PAIRS.live({"time": pa.bool_(), "type": pa.string()})


def test_a_run_that_has_ended_or_failed_takes_no_events() -> None:
    live = PAIRS.live(SCHEMA)
    live.end()
    with pytest.raises(InputError, match="has ended"):
        live.push([event(1, "A")])

    class Failing:
        def init(self) -> list[float]:
            return []

        def step(self, state: list[float], value: float) -> list[float]:
            raise ZeroDivisionError("no")

        def value(self, state: list[float]) -> float:
            return 0.0

    workload = Workload.parse(
        "QUERY q RETURN BAD(b[].v) PATTERN SEQ(A a, B b+) WITHIN 5 seconds;",
        aggregates={"BAD": Failing},
    )
    live = workload.live(SCHEMA)
    state = live.save()
    with pytest.raises(Exception, match="no"):
        live.push([event(1, "A"), event(2, "B")])
    with pytest.raises(StateError, match="Resume it from the state that was saved last"):
        live.push([event(3, "A")])
    assert workload.resume(state).push([event(3, "A")]) == []


def test_batches_are_followed_to_their_end() -> None:
    live = PAIRS.live(SCHEMA)
    batches = [[event(1, "A")], [event(2, "B"), event(11, "A")], [event(12, "B")]]
    assert counts(list(live.follow(batches))) == [("q", 0, 1.0), ("q", 10, 1.0)]


def test_asyncio_goes_on_while_batches_are_worked_on() -> None:
    async def source() -> AsyncIterator[Any]:
        for number in range(20):
            yield [event(number, "AB"[number % 2])]

    async def run() -> list[tuple[str, Any, float]]:
        live = AsyncLive(PAIRS.live(SCHEMA))
        rows = [rows async for rows in live.follow(source())]
        with pytest.raises(InputError, match="has ended"):
            await live.save()
        return counts(rows)

    async def together() -> None:
        live = AsyncLive(PAIRS.live(SCHEMA))
        pushed = await asyncio.gather(*(live.push([event(1, "A")]) for _ in range(10)))
        assert pushed == [[]] * 10
        assert PAIRS.resume(await live.save()).watermark == 1
        assert await live.poll() == []
        assert await live.early() == []
        await live.push([event(2, "B")])
        assert counts(await live.end()) == [("q", 0, 10.0)]

    expected = PAIRS.run(pa.Table.from_pylist([event(n, "AB"[n % 2]) for n in range(20)], SCHEMA))
    assert [count for _, _, count in asyncio.run(run())] == expected["q"]["count(*)"].to_pylist()
    asyncio.run(together())


TOTAL = qre.iterate1(qre.atom(qre.any, lambda item: item.v), qre.sum(0.0)).by("type")


@pytest.mark.parametrize("timed", [True, False])
def test_a_quantitative_query_runs_live_by_key(timed: bool) -> None:
    rows = [event(n, "AB"[n % 3 % 2], float(n)) for n in range(30)]
    table = pa.Table.from_pylist(rows, SCHEMA)
    table = table if timed else table.drop_columns("time")
    live = TOTAL.live(table.schema)
    pieces = [live.push(table.slice(0, 0))]
    for begin in range(0, 30, 7):
        pieces.append(live.push(table.slice(begin, 7)))
        live = TOTAL.resume(live.save())
    pieces.append(live.end())
    assert pa.concat_tables(pieces).equals(TOTAL.run(table))


def test_a_quantitative_query_awaits_events_out_of_order() -> None:
    live = TOTAL.live(SCHEMA, lateness=5)
    assert live.push([event(3, "A", 1.0), event(1, "A", 2.0)]).num_rows == 0
    assert live.push([event(8, "B", 4.0)]).to_pylist() == [
        {"type": "A", "time": 1, "value": 2.0},
        {"type": "A", "time": 3, "value": 3.0},
    ]
    assert live.end().to_pylist() == [{"type": "B", "time": 8, "value": 4.0}]
    with pytest.raises(InputError, match="no column 'when'"):
        TOTAL.live(SCHEMA, time="when")


def test_statistics_tell_what_a_run_has_done_and_holds() -> None:
    live = PAIRS.live(SCHEMA, lateness=3, buckets=3)
    assert live.statistics.events == live.statistics.open_keys == 0
    live.push([event(1, "A"), event(2, "B"), event(12, "A"), event(14, "Z")])
    live = PAIRS.resume(live.save())
    live.push([event(10, "A"), event(14, "B"), event(13, "B")])
    statistics = live.statistics
    assert (statistics.events, statistics.rows, statistics.late) == (6, 1, 1)
    assert (statistics.waiting, statistics.open_keys) == (3, 0)  # its only window is closed
    assert statistics.open_windows == {"q": 1}
    assert statistics.watermark == 11
    assert len(statistics.operators) == 1


def test_simultaneous_events_of_one_key_are_warned_of_once() -> None:
    workload = Workload.parse(
        "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B) WHERE [v] WITHIN 10 seconds;"
    )
    live = workload.live(SCHEMA)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live.push([event(1, "A", 1.0), event(1, "B", 2.0), event(2, "Z", 1.0), event(2, "A", 1.0)])
    with pytest.warns(SimultaneousEventsWarning, match="2 events of query q have the same time"):
        live.push([event(3, "A", 1.0), event(3, "B", 1.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        live.push([event(4, "A", 1.0), event(4, "B", 1.0)])
        ordered = workload.live(SCHEMA, order_by="v")
        ordered.push([event(3, "A", 1.0), event(3, "B", 1.0), event(9, "A", 1.0)])


def test_columns_can_be_declared_as_text() -> None:
    live = PAIRS.live("time BIGINT, type STRING, v DOUBLE")
    live.push([event(1, "A"), event(2, "B")])
    assert counts(live.end()) == [("q", 0, 1.0)]
    with pytest.raises(InputError, match="Columns are declared as in"):
        PAIRS.live("time BIGINT, type")
