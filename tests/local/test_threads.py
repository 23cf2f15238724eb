"""Keys spread over threads: results are those of one thread, and of every trend built."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from random import Random
from threading import Thread, get_ident
from time import sleep
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.local import parting as parting_module
from elsinore.local import run, shares, threads
from elsinore.local.events import Events, split_by_thread
from elsinore.local.parting import Parting
from elsinore.local.shares import Shares
from elsinore.model import Workload
from elsinore.model.window import Window
from elsinore.operators import OperatorOptions, OperatorStatistics, kind_for, plan
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.options import RunOptions
from elsinore.threads import cores
from oracles.reference import ReferenceEvent
from support.trends import Feature, column_names, table_of, trend_cases
from trends.test_everything import assert_same_rows, check, planned

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@often
@given(
    trend_cases(exact=None, features=tuple(Feature)),
    st.booleans(),
    st.integers(2, 3),
    st.sampled_from((1, 2, 5, 1000)),
    st.sampled_from((0, 100)),
)
def test_one_thread_several_and_all_trends_built_give_the_same(
    case: tuple[Workload, list[ReferenceEvent]],
    one_after_another: bool,
    number: int,
    cut: int,
    even: int,
) -> None:
    workload, events = case
    ready = planned(workload)
    limit = 0 if one_after_another else 2**28
    with (
        mock.patch.object(threads, "LEAST_EVENTS", 1),  # else so few events go to one thread
        mock.patch.object(shares, "STRETCH", cut),  # rows that are made ready at once
        mock.patch.object(shares, "COMBINED_ROWS", cut),
        mock.patch.object(shares, "SHARE", 1),  # rows of a share of windows
        mock.patch.object(shares, "EVEN", even),  # whether windows of any length are spread
        mock.patch("elsinore.local.driver.STATE_LIMIT", limit),
        mock.patch("elsinore.operators.partials.MANY", 1),  # partial outputs of a thread
    ):
        one = run(ready, table_of(events), RunOptions(threads=1))
        two = run(ready, table_of(events), RunOptions(threads=number))
    for query in workload:
        assert_same_rows(one[query.name], two[query.name], column_names(query))
        check(query, events, two[query.name], exact=workload.exact)
    for alone, both in zip(one.statistics, two.statistics, strict=True):
        assert (alone.events, alone.matched) == (both.events, both.matched)


def test_many_keys_and_queries_are_spread_and_give_the_same() -> None:
    random = np.random.default_rng(3)
    count = 3 * threads.LEAST_EVENTS
    table = pa.table(
        {
            "time": np.arange(count),
            "type": np.array(["A", "B", "C"])[random.integers(0, 3, count)],
            "k": pa.array(random.integers(0, 500, count), mask=random.random(count) < 0.01),
            "g": random.integers(0, 7, count),
            "v": random.integers(0, 100, count),
        }
    )
    workload = el.Workload.parse("""
        QUERY a RETURN g, COUNT(*), AVG(B.v), MAX(B.v), STDDEV(B.v) PATTERN SEQ(A, B+)
            WHERE [k] GROUP BY g WITHIN 50000 SLIDE 25000;
        QUERY b RETURN g, COUNT(*) PATTERN SEQ(A, B+, NOT C) WHERE [k] GROUP BY g WITHIN 50000;
    """)
    in_pieces = pa.concat_tables([table.slice(0, 1000), table.slice(1000)])
    one = workload.run(table, threads=1)
    for number in (2, 3):
        with mock.patch.object(shares, "STRETCH", count // 16):  # memory serves several times
            several = workload.run(in_pieces, threads=number)
        for name in one:
            assert several[name].num_rows == one[name].num_rows > 0
            for column in one[name].column_names:
                actual, expected = several[name][column], one[name][column]
                assert actual.to_pylist() == pytest.approx(expected.to_pylist(), rel=1e-9)
        events = [statistics.events for statistics in several.statistics]
        assert events == [statistics.events for statistics in one.statistics]


def test_the_first_error_of_a_thread_ends_all() -> None:
    batch = pa.record_batch(
        {
            "key": pa.array([0, 1], pa.int32()),
            "group": pa.array([0, 1], pa.int32()),
            "time": [5, 5],
            "class": [0, 0],
        }
    )
    workload = el.Workload.parse("QUERY q RETURN COUNT(*) PATTERN A+ GROUP BY k;")
    ready = plan(workload)
    operator = partial(kind_for(ready.units[0]).operator, ready.units[0], OperatorOptions())

    def share() -> Iterator[pa.RecordBatch]:
        yield from [batch] * 3
        raise ValueError("rows from 6 on cannot be read")

    with pytest.raises(ValueError, match="rows from 6 on cannot be read"):
        threads.run_in_threads(Shares([[share()], [share()]]), operator, 12)


def test_a_thread_has_one_operator_closed_behind_each_of_its_shares() -> None:
    operators: list[mock.Mock] = []

    def new_operator() -> mock.Mock:
        operators.append(mock.Mock(statistics=OperatorStatistics(events=1, state_bytes=8)))
        operators[-1].process.return_value = operators[-1].close.return_value = []
        return operators[-1]

    left = iter([["batch"] * 3 for _ in range(5)])
    _, together = threads.run_in_threads(Shares([left, left]), new_operator, 15)
    assert len(operators) == 2
    assert sum(one.process.call_count for one in operators) == 15
    assert sum(one.close.call_count for one in operators) == 5
    assert (together.events, together.state_bytes) == (15, 16)


def test_a_thread_that_begins_after_a_failure_makes_no_operator() -> None:
    class AtOnce(Thread):
        def start(self) -> None:
            self.run()

        def join(self, timeout: float | None = None) -> None:
            pass

    operator = mock.Mock(side_effect=ValueError("no operator"))
    with (
        mock.patch("elsinore.threads.Thread", AtOnce),
        pytest.raises(ValueError, match="no operator"),
    ):
        threads.run_in_threads(Shares([[], [], []]), operator, 0)
    operator.assert_called_once()


def test_threads_end_with_the_range_that_they_are_at_where_they_are_interrupted() -> None:
    columns = {"key": pa.int32(), "group": pa.int32(), "time": pa.int64(), "class": pa.int64()}
    batch = pa.record_batch({name: pa.array([0, 1], kind) for name, kind in columns.items()})
    taken: list[pa.RecordBatch] = []
    operator, main, calls = mock.Mock(), get_ident(), itertools.count()

    def process(share: pa.RecordBatch) -> list[pa.RecordBatch]:
        if next(calls) == 0:
            signal.pthread_kill(main, signal.SIGINT)
        taken.append(share)
        sleep(0.01)
        return []

    operator.process = process
    batches = [batch] * 1000
    with pytest.raises(KeyboardInterrupt):
        threads.run_in_threads(Shares([[batches] * 2] * 2), lambda: operator, 4000)
    so_far = len(taken)
    sleep(0.1)
    assert len(taken) == so_far < len(batches)
    operator.close.assert_not_called()


@often
@given(
    st.lists(st.tuples(st.integers(-1, 9), st.integers(-1, 2)), min_size=1, max_size=12),
    st.integers(2, 5),
    st.booleans(),
    st.integers(0, 11),
)
def test_each_row_goes_to_the_thread_of_its_key(
    rows: list[tuple[int, int]], number: int, keeps_all: bool, begin: int
) -> None:
    keys, numbers = np.array(rows, dtype=np.int32).reshape(-1, 2).T.copy()
    values = pa.array(np.arange(len(rows)) / 2)
    ready = plan(
        el.Workload.parse("QUERY q RETURN SUM(B.v) PATTERN SEQ(A, B+) WHERE B.v < 4 GROUP BY k;")
    )
    events = Events(
        replace(ready.units[0], keeps_all=keeps_all),
        NumberedKeys(
            Numbering.from_codes(keys, 10),
            Numbering.from_codes(keys + 7, 17),
            np.arange(17),
            incomplete=True,
        ),
        np.arange(len(rows)),
        Numbering.from_codes(numbers, 3),
        ["A", "B", "C"],  # of no interest: C, -1, and what has no key
        lambda _: values,
    )
    begin = min(begin, len(rows) - 1)
    every = events.batch(begin, len(rows))
    kinds = every.column("class").to_pylist()
    for thread, share in enumerate(split_by_thread(every, number, keeps_all=keeps_all)):
        places = [
            row
            for row, key in enumerate(keys[begin:].tolist())
            if max(key, 0) % number == thread and (keeps_all or kinds[row] >= 0)
        ]
        expected = every.take(pa.array(places, pa.int64())).to_pydict()
        expected["key"] = [key // number if key >= 0 else -1 for key in expected["key"]]
        assert share.to_pydict() == expected


@often
@given(st.integers(0, 30), st.integers(2, 5), st.integers(0, 5), st.randoms(use_true_random=False))
def test_every_thread_is_given_its_part_of_each_range_in_turn(
    ranges: int, number: int, spare: int, random: Random
) -> None:
    waits = [random.choice((0, 0, 1e-4, 1e-3)) for _ in range(number)]
    taken, most = [0] * number, 0

    def part(begin: int, end: int) -> list[pa.RecordBatch]:
        nonlocal most
        most = max(most, end - min(taken))
        sleep(waits[begin % number])
        return [pa.record_batch({"row": [begin], "thread": [thread]}) for thread in range(number)]

    def take(thread: int) -> list[dict[str, list[int]]]:
        batches = []
        for batch in parting.parts(thread):
            taken[thread] += 1
            sleep(waits[thread])
            batches.append(batch.to_pydict())
        return batches

    with mock.patch.object(parting_module, "BATCHES_AHEAD", spare):
        parting = Parting(part, [(row, row + 1) for row in range(ranges)], number)
        with ThreadPoolExecutor(number) as pool:
            actual = list(pool.map(take, range(number)))
    for thread, batches in enumerate(actual):
        assert batches == [{"row": [row], "thread": [thread]} for row in range(ranges)]
    assert most <= number + spare + 1  # a thread may have taken one that it has not counted yet


@pytest.mark.parametrize("where", ["making", "taking", "starting"])
def test_nobody_waits_for_a_thread_that_failed(where: str) -> None:
    begun, failing = itertools.count(), itertools.count()
    nothing = pa.record_batch({"row": pa.array([], pa.int64())})

    def part(begin: int, end: int) -> list[pa.RecordBatch]:
        if where == "making" and next(begun) == 3:
            raise ValueError("no part")
        return [nothing] * 3

    def operator() -> mock.Mock:
        made, number = mock.Mock(), next(failing)
        if where == "starting" and number == 1:
            raise ValueError("no operator")
        made.process.return_value = []
        if where == "taking" and number == 1:
            made.process.side_effect = ValueError("no batch")
        return made

    parting = Parting(part, [(row, row + 1) for row in range(100)], 3)
    given_out = Shares([[parting.parts(thread)] for thread in range(3)], parting.stop)
    with pytest.raises(ValueError, match=r"no (part|operator|batch)"):
        threads.run_in_threads(given_out, operator, 100)


@often
@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=40).map(sorted),
    st.lists(
        st.builds(Window, st.integers(1, 12), st.none() | st.integers(1, 12), st.integers(-9, 9)),
        min_size=1,
        max_size=3,
    ),
    st.integers(2, 5),
    st.integers(1, 20),
)
def test_no_window_crosses_the_shares_of_threads(
    instants: list[int], windows: list[Window], number: int, least: int
) -> None:
    times = np.array(instants)
    with mock.patch.object(shares, "EVEN", number), mock.patch.object(shares, "SHARE", least):
        spans = shares.whole_windows(times, windows, number)
    rows = [row for begin, end in spans for row in range(begin, end)]
    assert rows == list(range(len(times)))
    assert len(spans) <= number * shares.TURNS
    assert all(begin < end for begin, end in spans)
    for window in windows:
        inside = [
            {
                index
                for instant in instants[begin:end]
                for index in range(window.first(instant), window.last(instant) + 1)
            }
            for begin, end in spans
        ]
        assert sum(map(len, inside)) == len(set().union(*inside))


@pytest.mark.parametrize(
    ("by", "windows", "spread"),
    [("", 64, "windows"), ("", 3, "nothing"), ("k", 64, "windows"), ("k", 3, "keys")],
)
def test_windows_are_spread_where_shares_are_even_else_keys(
    by: str, windows: int, spread: str
) -> None:
    count = 2 * threads.LEAST_EVENTS
    random = np.random.default_rng(5)
    table = pa.table(
        {
            "time": np.arange(count),
            "type": np.array(["A", "B"])[random.integers(0, 2, count)],
            "k": random.integers(0, 9, count),
            "v": random.random(count),
        }
    )
    group, returned = (f"GROUP BY {by}", f"{by}, ") if by else ("", "")
    workload = el.Workload.parse(
        f"QUERY q RETURN {returned}SUM(B.v) PATTERN SEQ(A, B) {group} WITHIN {count // windows};"
    )
    in_threads = "elsinore.local.driver.run_in_threads"
    with (
        mock.patch.object(shares, "split_by_thread", side_effect=split_by_thread) as own,
        mock.patch(in_threads, side_effect=threads.run_in_threads) as several,
    ):
        two = workload.run(table, threads=2)
    assert own.called == (spread == "keys")
    assert several.called == (spread != "nothing")
    one = workload.run(table, threads=1)
    for column in one["q"].column_names:
        assert two["q"][column].to_pylist() == one["q"][column].to_pylist()  # to the last bit


def test_few_events_go_to_one_thread() -> None:
    assert threads.threads_for(threads.LEAST_EVENTS, 8) == 1
    assert threads.threads_for(3 * threads.LEAST_EVENTS, 8) == 3
    assert threads.threads_for(100 * threads.LEAST_EVENTS, None) == min(100, cores())


@pytest.mark.parametrize("wrong", [0, -1, True, "two", 1.5])
def test_threads_are_a_whole_number_above_0(wrong: object) -> None:
    with pytest.raises(TypeError, match="threads is a whole number above 0, or None for all cores"):
        replace(RunOptions(), threads=wrong)
