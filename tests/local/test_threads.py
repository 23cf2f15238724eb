"""Keys spread over threads: results are those of one thread, and of every trend built."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from threading import get_ident
from time import sleep
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.local import run, shares, threads
from elsinore.local.events import Events
from elsinore.model import Workload
from elsinore.model.window import Window
from elsinore.operators import OperatorOptions, kind_for, plan
from elsinore.runtime.keys import NumberedKeys
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.trends import Feature, column_names, table_of, trend_cases
from trends.test_everything import assert_same_rows, check, planned

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
    deadline=None,
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
        mock.patch.object(threads, "WORTH", 1),  # else so few events go to one thread
        mock.patch.object(shares, "STRETCH", cut),  # rows that are made ready at once
        mock.patch.object(shares, "KEPT", cut),
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
    count = 3 * threads.WORTH
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
                found, expected = several[name][column], one[name][column]
                assert found.to_pylist() == pytest.approx(expected.to_pylist(), rel=1e-9)
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
        threads.run_in_threads([share(), share()], operator, 12)


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
        threads.run_in_threads([batches, batches], lambda: operator, 2000)
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
            Numbering.of(keys, 10), Numbering.of(keys + 7, 17), np.arange(17), incomplete=True
        ),
        np.arange(len(rows)),
        Numbering.of(numbers, 3),
        ["A", "B", "C"],  # of no interest: C, -1, and what has no key
        lambda _: values,
    )
    begin = min(begin, len(rows) - 1)
    every = events.batch(begin, len(rows))
    kinds, owners = every.column("class").to_pylist(), events.owners(number)
    for thread in range(number):
        places = [
            row
            for row, key in enumerate(keys[begin:].tolist())
            if max(key, 0) % number == thread and (keeps_all or kinds[row] >= 0)
        ]
        expected = every.take(pa.array(places, pa.int64())).to_pydict()
        expected["key"] = [key // number if key >= 0 else -1 for key in expected["key"]]
        share = events.share(owners, number, thread, begin, len(rows))
        assert share.to_pydict() == expected


@often
@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=40).map(sorted),
    st.lists(
        st.builds(Window, st.integers(1, 12), st.none() | st.integers(1, 12), st.integers(-9, 9)),
        min_size=1,
        max_size=3,
    ),
    st.integers(2, 5),
)
def test_no_window_crosses_the_shares_of_threads(
    instants: list[int], windows: list[Window], number: int
) -> None:
    times = np.array(instants)
    with mock.patch.object(shares, "EVEN", number):
        spans = shares.whole_windows(times, windows, number)
    rows = [row for begin, end in spans for row in range(begin, end)]
    assert rows == list(range(len(times)))
    assert len(spans) in (1, number)
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
    count = 2 * threads.WORTH
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
    in_threads, share = "elsinore.local.driver.run_in_threads", Events.share
    with (
        mock.patch.object(Events, "share", autospec=True, side_effect=share) as own,
        mock.patch(in_threads, side_effect=threads.run_in_threads) as several,
    ):
        two = workload.run(table, threads=2)
    assert own.called == (spread == "keys")
    assert several.called == (spread != "nothing")
    one = workload.run(table, threads=1)
    for column in one["q"].column_names:
        assert two["q"][column].to_pylist() == one["q"][column].to_pylist()  # to the last bit


def test_few_events_go_to_one_thread() -> None:
    assert threads.threads_for(threads.WORTH, 8) == 1
    assert threads.threads_for(3 * threads.WORTH, 8) == 3
    assert threads.threads_for(100 * threads.WORTH, None) == min(100, threads.cores())


@pytest.mark.parametrize("wrong", [0, -1, True, "two", 1.5])
def test_threads_are_a_whole_number_above_0(wrong: object) -> None:
    with pytest.raises(TypeError, match="threads is a whole number above 0, or None for all cores"):
        replace(RunOptions(), threads=wrong)
