"""Windows, against their definition: `[origin + k*slide, origin + k*slide + within)`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from elsinore.model import Window

lengths = st.integers(1, 50)
windows = st.builds(Window, lengths, st.none() | lengths, st.integers(-30, 30))


@given(windows, st.integers(-100, 100))
def test_first_and_last_are_the_windows_that_hold_a_moment(window: Window, time: int) -> None:
    holding = [
        index
        for index in range(-200, 200)
        if window.bounds(index)[0] <= time < window.bounds(index)[1]
    ]
    between = range(window.first(time), window.last(time) + 1)
    assert holding == list(between)
    assert len(holding) <= window.overlap


@given(windows, st.integers(-20, 20))
def test_no_windows_edge_lies_inside_a_pane(window: Window, index: int) -> None:
    start, end = window.bounds(index)
    assert (start - window.origin) % window.pane == 0
    assert (end - window.origin) % window.pane == 0


def test_the_designs_panes() -> None:
    minute = 60_000_000
    assert Window(10 * minute, 5 * minute).pane == 5 * minute
    assert Window(15 * minute, 5 * minute).pane == 5 * minute
