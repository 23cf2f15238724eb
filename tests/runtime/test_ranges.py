"""Passes over ranges of rows in threads: what one thread would give, and errors that end all."""

from __future__ import annotations

from functools import partial
from threading import active_count
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.runtime.ranges import by_ranges, ranges_of
from elsinore.threads import in_threads


@given(st.integers(0, 40), st.integers(1, 5))
def test_ranges_are_worked_on_once_each_and_come_in_their_order(rows: int, threads: int) -> None:
    taken: list[tuple[int, int]] = []

    def work(begin: int, end: int) -> list[int]:
        taken.append((begin, end))
        return list(range(begin, end))

    actual = by_ranges(work, rows, threads)
    assert [row for some in actual for row in some] == list(range(rows))
    assert sorted(taken) == ranges_of(rows, threads)


@given(st.sets(st.integers(0, 4), min_size=1), st.integers(5, 6))
def test_the_first_error_is_raised_when_all_have_ended(failing: set[int], count: int) -> None:
    ended: list[int] = []
    stopped: list[bool] = []
    before = active_count()

    def work(number: int) -> int:
        sleep(1e-4 * number)
        ended.append(number)
        if number in failing:
            raise ValueError(f"work {number}")
        return number

    works = [partial(work, number) for number in range(count)]
    with pytest.raises(ValueError, match=f"work {min(failing)}"):
        in_threads(works, lambda: stopped.append(True))
    assert sorted(ended) == list(range(count))
    assert len(stopped) == len(failing)
    assert active_count() == before
