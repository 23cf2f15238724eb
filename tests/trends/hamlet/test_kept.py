"""Keys whose open windows are kept: each event acts once, whenever windows are closed."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Granularity, Sharing
from elsinore.trends import operator_of
from elsinore.trends.hamlet import HamletEvaluator
from elsinore.trends.hamlet.kept import of_keys
from elsinore.trends.rows import staying
from elsinore.trends.statistics import SharingStatistics, TrendStatistics
from support.hamlet import compared_columns, keyed_events, shared_units
from support.trends import table_of
from support.units import SECOND, UnitInput, assert_close, unit_inputs
from trends.hamlet.test_against_reference import long_stream, often, workloads
from trends.test_closing import drawn_cuts, in_pieces

SLIDING = (
    " GROUP BY g WITHIN 20 seconds SLIDE 4 seconds",
    " GROUP BY g WITHIN 30 seconds SLIDE 1 second",
    " GROUP BY g WITHIN 7 seconds SLIDE 3 seconds",
    " GROUP BY g WITHIN 4 seconds SLIDE 9 seconds",
    " GROUP BY g",
)


@settings(often, max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "6")))
@given(workloads(SLIDING), st.integers(0, 2**32 - 1), st.integers(20, 200), st.data())
def test_results_are_the_same_however_often_windows_are_closed(
    workload: Workload, seed: int, size: int, data: st.DataObject
) -> None:
    groups = np.random.default_rng(seed).choice(["x", "x", "x", "y"], size).tolist()
    events = [
        replace(event, attributes=event.attributes | {"g": group})
        for event, group in zip(long_stream(seed, size, 4), groups, strict=True)
    ]
    cuts = data.draw(drawn_cuts(size, 20))
    again = data.draw(st.sampled_from((1, 4, 16)))  # rows of which a key is kept
    for unit in shared_units(workload, table_of(events)):
        for sharing in Sharing:
            expected = unit.results(in_pieces(unit, events, [], sharing))
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(staying, "AGAIN", again)
                found = unit.results(in_pieces(unit, events, cuts, sharing))
            for name, table in expected.items():
                assert_close(found[name], table, name)


def test_events_between_the_last_window_and_an_edge_act_once() -> None:
    text = "".join(
        f"QUERY q{slide} RETURN COUNT(*) PATTERN B b+ "
        f"WITHIN {within} seconds SLIDE {slide} seconds;"
        for within, slide in ((20, 4), (7, 3))
    )
    events = long_stream(197, 20, 4)
    for unit in shared_units(parse_workload(text), table_of(events)):
        expected = unit.results(in_pieces(unit, events, [], Sharing.DYNAMIC))
        for place in range(1, 20):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(staying, "AGAIN", 1)
                found = unit.results(
                    in_pieces(unit, events, [(place, True, False)], Sharing.DYNAMIC)
                )
            for name, table in expected.items():
                assert_close(found[name], table, name)


def assert_pieces_give_the_same(text: str, table: pa.Table) -> None:
    """Compare what 120 events a second apart give at once and in pieces, all single events kept."""
    ready = plan(parse_workload(text), granularity=Granularity.FINE)
    (unit,) = unit_inputs(ready, table, exact=False)
    edges, times = range(0, 121, 10), (SECOND * np.arange(120)).tolist()
    expected = unit.results(unit.in_pieces([0, 120], [False], sharing=Sharing.ALWAYS))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staying, "AGAIN", 8)
        found = unit.results(unit.in_pieces(edges, [False] * 12, times, Sharing.ALWAYS))
    for name, result in expected.items():
        assert_close(found[name], result, name)
    assert any(result.num_rows for result in expected.values())


def test_several_keys_that_do_not_stay_are_gone_over_beside_one_that_does() -> None:
    """Single events are kept where nothing is compared, too: `--granularity fine`."""
    text = "".join(
        f"QUERY q{n} RETURN g, COUNT(*) PATTERN {pattern} "
        "GROUP BY g WITHIN 20 seconds SLIDE 4 seconds;"
        for n, pattern in enumerate(("B+", "SEQ(A, B+)"))
    )
    table = pa.table(
        {"time": np.arange(120), "type": ["B"] * 120, "g": ["y", *["x"] * 8, "z"] * 12}
    )
    assert_pieces_give_the_same(text, table)


def test_a_key_of_queries_that_repeat_nothing_is_kept() -> None:
    text = """
        QUERY q RETURN COUNT(*), MAX(B.v) PATTERN SEQ(A, B) WITHIN 20 seconds SLIDE 4 seconds;"""
    table = pa.table({"time": np.arange(120), "type": ["A", "A", "B"] * 40, "v": np.arange(120)})
    assert_pieces_give_the_same(text, table)


COMPARED = {
    "whole numbers": ("b[i].v >= b[i-1].v", "COUNT(*), SUM(b.v), MAX(b.v)"),
    "deviations": ("b[i].v >= b[i-1].v", "VARIANCE(b.v)"),
    "texts, which go by rank": ("b[i].s >= b[i-1].s", "COUNT(*)"),
    "equal values": ("b[i].v = b[i-1].v", "COUNT(*)"),
}
EVENTS, SLIDES = 600, 30


def rising(compared: str) -> UnitInput:
    """Return queries over a minute that slides by ten seconds, and an event each second."""
    where, told = COMPARED[compared]
    text = "".join(
        f"QUERY q{n} RETURN {told} PATTERN SEQ(X{n} x, B b+) WHERE {where} "
        "WITHIN 60 seconds SLIDE 10 seconds;"
        for n in range(8)
    )
    random = np.random.default_rng(3)
    names = [f"X{number // 20 % 8}" if number % 20 == 0 else "B" for number in range(EVENTS)]
    values = random.integers(0, 50, EVENTS)
    table = pa.table(
        {"time": np.arange(EVENTS), "type": names, "v": values, "s": [f"{v:02}" for v in values]}
    )
    (unit,) = unit_inputs(plan(parse_workload(text)), table, exact=False)
    return unit


def closing(unit: UnitInput, every: int) -> tuple[dict[str, pa.Table], SharingStatistics]:
    """Return the results where windows close after each `every` events, and what was shared."""
    operator, given_out = operator_of(unit.unit, sharing=Sharing.ALWAYS), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(staying, "AGAIN", 16)
        for begin in range(0, EVENTS, every):
            given_out.append(operator.process(unit.batch.slice(begin, every)))
            given_out.append(operator.close((begin + every) * SECOND))
        given_out.append(operator.close())
    assert isinstance(operator.statistics, TrendStatistics)
    return unit.results(given_out), operator.statistics.sharing[0]


@pytest.mark.parametrize("compared", COMPARED)
def test_what_is_compared_is_compared_with_events_of_earlier_calls(compared: str) -> None:
    unit = rising(compared)
    expected, found = closing(unit, EVENTS)[0], closing(unit, EVENTS // SLIDES)[0]
    for name, table in expected.items():
        assert_close(found[name], table, name)


def test_bursts_are_counted_once_however_often_windows_are_closed() -> None:
    unit = rising("whole numbers")
    at_once, often_closed = closing(unit, EVENTS)[1], closing(unit, EVENTS // SLIDES)[1]
    assert often_closed.bursts == at_once.bursts == EVENTS // 10  # each is cut by an edge
    assert often_closed.graphlet_snapshots == at_once.graphlet_snapshots


def test_memory_is_that_of_the_keys_that_take_the_most() -> None:
    text = "".join(
        f"QUERY q{first} RETURN COUNT(*) PATTERN SEQ({first} x, B b+) WHERE b[i].v >= b[i-1].v "
        "GROUP BY g WITHIN 60 seconds SLIDE 10 seconds;"
        for first in "AC"
    )
    table = pa.table(
        {
            "time": np.arange(300),
            "type": ["A", "C", "B"] * 100,
            "v": np.arange(300),
            "g": ["many"] * 297 + ["few"] * 3,
        }
    )
    (unit,) = shared_units(parse_workload(text), table)
    columns = compared_columns(unit, table)
    events = replace(keyed_events(unit, 300 * SECOND), keys=np.array([7, 8]))
    many, rows = of_keys(events, [0])
    alone, both = HamletEvaluator(unit.unit), HamletEvaluator(unit.unit)
    alone.evaluate(many, columns.take(np.arange(300)[rows]))
    both.evaluate(events, columns, staying={8})
    assert both.bytes_held > alone.bytes_held


def test_events_that_come_late_count_in_windows_that_are_open() -> None:
    unit = rising("whole numbers")
    rows = [*range(200), *range(210, 300)]
    late = range(200, 210)
    results = []
    for again in (16, EVENTS):
        operator = operator_of(unit.unit)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(staying, "AGAIN", again)
            given_out = [operator.process(unit.in_order(rows[:200]))]
            given_out.append(operator.close(230 * SECOND))
            given_out.append(operator.process(unit.in_order(late)))
            given_out.append(operator.close(250 * SECOND))
            given_out += [operator.process(unit.in_order(rows[200:])), operator.close()]
        results.append(unit.results(given_out))
    for name, table in results[0].items():
        assert table == results[1][name]
        assert table.num_rows > 1
