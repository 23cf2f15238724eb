"""Variances of windows whose values lie far from those of other windows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model.window import Window
from elsinore.operators import plan
from elsinore.plan import Granularity
from elsinore.plan.epochs import TURNS, epoch_of, epochs_at, turn_of, turns_of
from elsinore.runtime.options import RunOptions
from elsinore.trends.kind import spec_of
from elsinore.trends.values import Rows, Shifts
from support.units import UnitInput, unit_inputs
from trends.test_actions import folded

RANDOM = np.random.default_rng(8)
EVENTS = 600
TIMES = np.sort(RANDOM.integers(0, 4 * EVENTS, EVENTS)) * 1.0
GROUPS = RANDOM.integers(0, 3, EVENTS)
NOISE = RANDOM.normal(size=EVENTS)
FINE = 2.0**-10  # so much values are multiples of: where they are great, too, nothing is rounded
SPREADS = ("VARIANCE", "STDDEV_POP")


def quantized(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.round(values / FINE) * FINE


STREAMS = {
    "drift": quantized(TIMES / TIMES[-1] * 1e12 + 100 * NOISE),
    "stairs": quantized(TIMES // 120 * 1e9 + NOISE),
    "clusters": quantized(np.where(TIMES // 240 % 2, 1e9, 0.0) + NOISE),
    "outliers": quantized(np.where(RANDOM.random(EVENTS) < 0.5, 1e9, 0.0) + NOISE),
    "far": quantized(1e9 + NOISE),
}
SHIFTS = "elsinore.trends.values"
TUMBLING = "WITHIN 40"
LENGTH = 40_000_000  # of these windows, in ticks
TWICE = "WITHIN 40 SLIDE 20"
OFTEN = "WITHIN 40 SLIDE 7"
MANY = "WITHIN 160 SLIDE 40"  # all of three have some events in common
APART = "WITHIN 20 SLIDE 40"
# where values jump, or a window has but two, windows of which many overlap may lose digits
CASES = [
    *itertools.product(STREAMS, [TUMBLING, TWICE, APART], [False, True]),
    *[("drift", OFTEN, False), ("far", OFTEN, False), ("far", OFTEN, True)],
]


def text_of(window: str, *, grouped: bool, condition: str = "") -> str:
    returned = ", ".join(f"{name}(A.v) AS {name.lower()}" for name in SPREADS)
    group = "GROUP BY g" if grouped else ""
    return f"QUERY q RETURN COUNT(*), {returned} PATTERN A+ {condition} {group} {window}"


def table(stream: str) -> pa.Table:
    columns = {"time": TIMES.astype(np.int64), "v": STREAMS[stream], "g": GROUPS}
    return pa.table(columns | {"type": pa.array(["A"] * EVENTS)})


def rows_of(text: str, events: pa.Table, **options: Any) -> list[dict[str, Any]]:
    planned = plan(parse_workload(text), **options)
    found: list[dict[str, Any]] = run(planned, events, RunOptions())["q"].to_pylist()
    return found


def check(found: list[dict[str, Any]], text: str, stream: str, digits: int = 7) -> None:
    expected = rows_of(f"EXACT; {text}", table(stream))
    assert len(found) == len(expected) > 20
    for row, exact in zip(found, expected, strict=True):
        for name in map(str.lower, SPREADS):
            wanted = exact[name]
            if wanted is not None:
                wanted = pytest.approx(wanted, rel=10.0**-digits, abs=1e-9)
            assert row[name] == wanted, (name, exact["window_start"])


@pytest.mark.parametrize(("stream", "window", "grouped"), CASES)
def test_values_far_from_those_of_other_windows_keep_their_digits(
    stream: str, window: str, grouped: bool
) -> None:
    text = text_of(window, grouped=grouped)
    check(rows_of(text, table(stream)), text, stream)


@pytest.mark.parametrize("stream", STREAMS)
def test_so_do_values_that_jump_while_many_windows_hold_them(stream: str) -> None:
    text = text_of(MANY, grouped=False)
    check(rows_of(text, table(stream)), text, stream)


@pytest.mark.parametrize("window", ["", TUMBLING, TWICE, MANY])
def test_equal_values_have_no_variance(window: str) -> None:
    levels = table("drift").set_column(1, "v", pa.array(25.3 + TIMES // 240 * 0.1))
    text = text_of(window, grouped=False).replace("COUNT(*)", "MIN(A.v), MAX(A.v)")
    rows = rows_of(text, levels)
    equal = [row["variance"] for row in rows if row["min(A.v)"] == row["max(A.v)"]]
    assert bool(equal) == bool(window)
    assert all(variance in {0.0, None} for variance in equal)


@pytest.mark.parametrize("stream", ["drift", "clusters"])
@pytest.mark.parametrize(
    ("granularity", "condition"),
    [
        (Granularity.FINE, ""),
        (Granularity.AUTO, "WHERE A[i].v >= A[i-1].v - 300"),
        (Granularity.AUTO, "WHERE A[i].v * A[i-1].v > -1"),
        (Granularity.AUTO, "STRATEGY CONTIGUOUS"),
    ],
)
@pytest.mark.parametrize("window", [TUMBLING, TWICE])
def test_so_they_do_on_every_path(
    stream: str, granularity: Granularity, condition: str, window: str
) -> None:
    text = text_of(window, grouped=True, condition=condition)
    check(rows_of(text, table(stream), granularity=granularity), text, stream)


def one_by_one(unit: UnitInput) -> list[pa.RecordBatch]:
    return unit.in_pieces(range(EVENTS + 1), [False] * EVENTS)


def closed_after_each(unit: UnitInput) -> list[pa.RecordBatch]:
    times = unit.batch.column("time").to_pylist()
    return unit.in_pieces(range(EVENTS + 1), [False] * EVENTS, times)


def stopped_and_gone_on(unit: UnitInput) -> list[pa.RecordBatch]:
    edges = [0, 37, 38, 150, 151, 420, EVENTS]
    return unit.in_pieces(edges, [True] * EVENTS, unit.batch.column("time").to_pylist())


def key_after_key(unit: UnitInput) -> list[pa.RecordBatch]:
    return unit.key_after_key(EVENTS // 2, stop=True)


@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize("window", [TUMBLING, TWICE])
@pytest.mark.parametrize("stream", ["drift", "clusters"])
@pytest.mark.parametrize(
    "totals", [one_by_one, closed_after_each, stopped_and_gone_on, key_after_key]
)
def test_so_they_do_however_events_come(
    totals: Callable[[UnitInput], list[pa.RecordBatch]],
    stream: str,
    window: str,
    granularity: Granularity,
) -> None:
    text = text_of(window, grouped=True)
    planned = plan(parse_workload(text), granularity=granularity)
    (unit,) = unit_inputs(planned, table(stream), exact=False)
    check(unit.results(totals(unit))["q"].to_pylist(), text, stream)


@pytest.mark.parametrize("window", [TUMBLING, TWICE])
@pytest.mark.parametrize("stream", ["drift", "clusters"])
def test_so_they_do_where_panes_are_folded(stream: str, window: str) -> None:
    text = text_of(window, grouped=True)
    (unit,) = unit_inputs(plan(parse_workload(text)), table(stream), exact=False)
    check(unit.results(folded(unit))["q"].to_pylist(), text, stream)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("window", [TUMBLING, TWICE])
def test_so_they_do_in_threads(window: str, grouped: bool) -> None:
    text = text_of(window, grouped=grouped)
    planned = plan(parse_workload(text))
    with patch("elsinore.local.threads.LEAST_EVENTS", 1):
        found = [
            run(planned, table("drift"), RunOptions(threads=threads))["q"].to_pylist()
            for threads in (1, 2)
        ]
    for rows in found:
        check(rows, text, "drift")


def test_queries_of_several_windows_have_their_own() -> None:
    windows = ("", TUMBLING, TWICE, OFTEN)
    several = "; ".join(
        text_of(window, grouped=False).replace("QUERY q", f"QUERY q{number}")
        for number, window in enumerate(windows)
    )
    found = run(plan(parse_workload(several)), table("drift"), RunOptions())
    for number, window in enumerate(windows[1:], start=1):
        check(found[f"q{number}"].to_pylist(), text_of(window, grouped=False), "drift")


def test_windows_of_any_distance_have_their_own() -> None:
    text = text_of("WITHIN 1", grouped=False, condition="WHERE [g] STRATEGY CONTIGUOUS")
    places = [(1, 0), (1, 2**32), (2, 2**32), (3, 2**32)]  # keys of one group, and their windows
    columns = {
        "time": [window for _, window in places for _ in range(3)],
        "type": ["A"] * 12,
        "v": [1e9 * key * (window > 0) + value for key, window in places for value in range(3)],
        "g": [key for key, _ in places for _ in range(3)],
    }
    found, exact = (rows_of(before + text, pa.table(columns)) for before in ("", "EXACT; "))
    assert [row["variance"] for row in found] == pytest.approx([row["variance"] for row in exact])


LENGTHS = st.integers(1, 40)


@given(LENGTHS, LENGTHS, st.integers(-5, 5), st.integers(-200, 200))
def test_an_event_is_in_the_epochs_of_its_windows_each_of_another_turn(
    within: int, slide: int, origin: int, time: int
) -> None:
    window = Window(within, slide, origin)
    indices = range(window.first(time), window.last(time) + 1)
    epochs = {epoch_of(window, index) for index in indices}
    turns = {turn_of(window, index): epoch_of(window, index) for index in indices}
    assert len(turns) == len(epochs) <= turns_of(window) <= TURNS
    for turn in range(turns_of(window)):
        (epoch,), (held,) = epochs_at(window, np.array([time]), turn)
        assert held == (turn in turns)
        assert not held or epoch == turns[turn]


def shifts_of(window: str) -> Shifts:
    (unit,) = plan(parse_workload(text_of(window, grouped=False))).units
    return Shifts(spec_of(unit))


def deviations(
    shifts: Shifts, text: str, groups: Any, times: Any, values: Any
) -> NDArray[np.float64]:
    """Return the deviation of each value in each turn, 0 where it is in no epoch of that."""
    (unit,) = plan(parse_workload(text_of(text, grouped=False))).units
    window, size = spec_of(unit).squared[0].window, len(values)
    cells = shifts.cells(0, np.array(groups, np.int64))
    times, values = np.array(times, np.int64), np.array(values, np.float64)
    rows = Rows(cells, times, values, np.ones(size, np.uint8))
    return np.array(shifts.deviations(rows, window))


def test_shifts_stay_as_they_are_chosen_and_are_forgotten_with_their_windows() -> None:
    shifts = shifts_of(TUMBLING)
    groups, epochs = np.array([7, 7, 8, 7, 2**31 - 1]), np.array([0, 0, 0, 1, -(2**30)])
    values = np.array([3.0, 1.0, 5.0, 9.0, -1.0])
    chosen = np.array([3.0, 3.0, 5.0, 9.0, -1.0])
    for signed in (values, -values):
        found = deviations(shifts, TUMBLING, groups, epochs * LENGTH, signed)
        assert found.tolist() == [(signed - chosen).tolist()]
    again = shifts_of(TUMBLING)
    again.load(*shifts.saved)
    none = np.zeros(5, np.int32)
    assert again.columns(none, groups, epochs).tolist() == [chosen.tolist()]
    again.forget(LENGTH)
    assert again.columns(none, groups, epochs).tolist() == [[0.0, 0.0, 0.0, 9.0, 0.0]]
    again.forget(None)
    assert again.saved[1].tolist() == []


CELLS = st.tuples(st.integers(0, 3), st.integers(0, 3) | st.just(2**32), st.floats(-9, 9))


@given(st.lists(st.lists(CELLS, max_size=9), max_size=4), st.sampled_from((1, 64)))
def test_each_group_and_epoch_has_a_shift_of_its_own(
    batches: list[list[tuple[int, int, float]]], room: int
) -> None:
    """Epochs that are 2**32 apart, too; and whatever has been made room for."""
    known: dict[tuple[int, int], float] = {}
    with patch(f"{SHIFTS}.ROOM", room), patch(f"{SHIFTS}.MEDIAN_OF", 0):
        shifts = shifts_of(TUMBLING)
        for rows in batches:
            groups = np.array([group for group, _, _ in rows], np.int64)
            epochs = np.array([epoch for _, epoch, _ in rows], np.int64)
            values = np.array([value for _, _, value in rows])
            place = np.zeros(len(rows), np.int64)
            (found,) = deviations(shifts, TUMBLING, groups, epochs * LENGTH, values)
            (chosen,) = shifts.columns(place, groups, epochs)
            for group, epoch, shift in zip(*map(list, (groups, epochs, chosen)), strict=True):
                assert known.setdefault((group, epoch), shift) == shift
            assert found.tolist() == (values - chosen).tolist()
        assert len(shifts.saved[1]) == len(known)


@pytest.mark.parametrize("window", [TUMBLING, TWICE, OFTEN])
def test_no_more_shifts_are_kept_than_windows_are_open(window: str) -> None:
    (unit,) = unit_inputs(
        plan(parse_workload(text_of(window, grouped=True))), table("drift"), exact=False
    )
    operator = unit.operator()
    times = unit.batch.column("time").to_pylist()
    for row, time in enumerate(times):
        operator.process(unit.batch.slice(row, 1), until=time)
        assert len(operator._shifts.saved[1]) <= 3 * 2  # of groups, and epochs that hold a moment
    operator.close()
    assert len(operator._shifts.saved[1]) == 0


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(-9, 9)), min_size=1), st.integers(1, 5))
def test_a_shift_is_a_median_of_the_first_values(rows: list[tuple[int, float]], few: int) -> None:
    groups, values = (np.array(column) for column in zip(*rows, strict=True))
    place = np.zeros(len(rows), np.int64)
    with patch(f"{SHIFTS}.MEDIAN_OF", 0), patch(f"{SHIFTS}.FEW", few):
        shifts = shifts_of("")
        (found,) = deviations(shifts, "", groups, place, values)
    (chosen,) = shifts.columns(place, groups, place)
    assert found.tolist() == (values - chosen).tolist()
    for group, shift in zip(groups.tolist(), chosen.tolist(), strict=True):
        first = [value for of, value in rows if of == group][:few]
        assert shift == sorted(first)[len(first) // 2]


@given(
    st.lists(st.tuples(st.integers(0, 200), st.floats(-9, 9)), min_size=1, max_size=30),
    st.sampled_from([(40, 20), (40, 7), (40, 5), (30, 40)]),
)
def test_a_shift_is_of_values_near_the_time_that_all_windows_of_its_epoch_hold(
    drawn: list[tuple[int, float]], lengths: tuple[int, int]
) -> None:
    within, slide = lengths
    times, values = (np.array(column) for column in zip(*sorted(drawn), strict=True))
    shifts, window = shifts_of(f"WITHIN {within} SLIDE {slide}"), Window(within, slide)
    with patch(f"{SHIFTS}.MEDIAN_OF", 0), patch(f"{SHIFTS}.FEW", 3):
        deviations(shifts, f"WITHIN {within} SLIDE {slide}", 0 * times, times * 1_000_000, values)
    for index in range(window.first(0), window.last(200) + 1):
        windows = [n for n in range(-9, 50) if epoch_of(window, n) == epoch_of(window, index)]
        bounds = [window.bounds(n) for n in windows]
        held = np.array([any(start <= time < end for start, end in bounds) for time in times])
        begin, end = max(start for start, _ in bounds), min(end for _, end in bounds)
        away = np.maximum(np.maximum(begin - times, times - end + 1e-6), 0.0)[held]
        some = values[held][away == away.min()][:3] if held.any() else np.zeros(1)
        middle = sorted(some)[len(some) // 2]
        none = np.zeros(1, np.int64)
        assert shifts.columns(none, none, np.array([index])).tolist() == [[middle]]
