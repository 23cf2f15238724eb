"""Passes over rows have the same result in ranges as all at once."""

from __future__ import annotations

from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.runtime import ranges
from elsinore.runtime.numbering import Numbering
from elsinore.runtime.rows import has_ties, order_in_ranges, simultaneous
from elsinore.runtime.simultaneous import ASCENDING, DISORDERED, DISTINCT

often = settings(max_examples=60)
THREADS = st.integers(1, 4)


@often
@given(st.lists(st.integers(0, 12), max_size=8), st.booleans(), THREADS)
def test_ranges_tell_the_order_of_times(times: list[int], ascending: bool, threads: int) -> None:
    times = sorted(times) if ascending else times
    expected = DISORDERED
    if times == sorted(times):
        expected = DISTINCT if len(set(times)) == len(times) else ASCENDING
    assert order_in_ranges(np.array(times, dtype=np.int64), threads) == expected


@often
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3)), max_size=8), THREADS)
def test_ties_of_a_key_are_seen_where_ranges_meet(
    events: list[tuple[int, int]], threads: int
) -> None:
    events = sorted(events, key=lambda event: event[0])
    times = np.array([time for time, _ in events], dtype=np.int64)
    keys = np.array([key for _, key in events], dtype=np.int32)
    keyed = [event for event in events if event[1] >= 0]
    with mock.patch.object(ranges, "MOST_ROWS", 3):
        assert has_ties(times, Numbering.from_codes(keys, 4), threads) is (
            len(set(keyed)) < len(keyed)
        )


@often
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 3)), max_size=12), THREADS)
def test_rows_with_the_key_and_time_of_another_are_found(
    events: list[tuple[int, int]], threads: int
) -> None:
    events.sort(key=lambda event: event[0])
    times = np.array([time for time, _ in events], dtype=np.int64)
    keys = Numbering.from_codes(np.array([key for _, key in events], dtype=np.int32), 4)
    with mock.patch.object(ranges, "MOST_ROWS", 3):
        rows, moments = simultaneous(times, keys, threads)
    expected = {event for event in events if event[1] >= 0 and events.count(event) > 1}
    assert sorted(rows.tolist()) == [n for n, event in enumerate(events) if event in expected]
    by_moment: dict[int, set[tuple[int, int]]] = {}
    for row, moment in zip(rows.tolist(), moments.tolist(), strict=True):
        by_moment.setdefault(moment, set()).add(events[row])
    assert sorted(min(some) for some in by_moment.values()) == sorted(expected)
    assert all(len(some) == 1 for some in by_moment.values())
