"""Operators that look out for simultaneous events: they change no result, only what is shared."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence as Several
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.language import parse_workload
from elsinore.model import Workload
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.trends.kind import TrendsOperator, operator_class
from oracles.reference import ReferenceEvent
from support.trends import table_of, trend_workloads
from support.units import UnitInput, unit_inputs
from trends.test_against_reference import check, often
from trends.test_sharing_modes import bursty_streams, sharing_workloads

PAIR = """
    QUERY ab RETURN COUNT(*), LOG2(COUNT(*)) AS log PATTERN SEQ(A, B+);
    QUERY cb RETURN COUNT(*), LOG2(COUNT(*)) AS log PATTERN SEQ(C, B+);
"""


@st.composite
def spaced_streams(draw: st.DrawFn) -> list[ReferenceEvent]:
    """Draw bursts of B's, each event at a time of its own, but for at most two."""
    events = draw(bursty_streams())
    events = [replace(event, time=n * SECOND) for n, event in enumerate(events)]
    for tie in draw(st.lists(st.integers(1, 11), max_size=2, unique=True)):
        later = (replace(event, time=event.time - SECOND) for event in events[tie:])
        events = [*events[:tie], *later]
    return events


def check_in_pieces(
    workload: Workload, events: Several[ReferenceEvent], data: st.DataObject
) -> None:
    """Run every unit in every mode, in pieces and stopped between them; compare with the reference.

    Keys come one after another or interleaved in any way. Many cuts are amid simultaneous events.
    """
    stops = data.draw(st.lists(st.booleans(), min_size=5, max_size=5))
    how = data.draw(st.sampled_from(("as they come", "interleaved", "one after another")))
    early = how == "as they come" and data.draw(st.booleans())
    order = data.draw(st.permutations(range(len(events))))
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=workload.exact):
        batch = given_unit.batch
        if how == "interleaved":
            batch = given_unit.interleaved(order)
        elif how == "one after another":
            batch = given_unit.by_key()
        places = st.integers(0, len(batch))
        tied = simultaneous(batch)
        cuts = data.draw(st.lists(st.sampled_from(tied) | places if tied else places, max_size=4))
        edges = [0, *sorted(cuts), len(batch)]
        for mode in Sharing:
            operator = given_unit.operator(one_slot=how == "one after another", sharing=mode)
            totals = []
            for (start, end), stop in zip(itertools.pairwise(edges), stops, strict=False):
                totals.append(operator.process(batch.slice(start, end - start)))
                if stop:
                    operator = given_unit.stopped(operator)
                if early and end < len(events):
                    totals.append(operator.close(events[end].time))
            totals.append(operator.close())
            results = given_unit.results(totals)
            for template in given_unit.unit.templates:
                table = results[template.query.name]
                check(template.query, events, table, exact=workload.exact, unit=1)


def simultaneous(batch: pa.RecordBatch) -> list[int]:
    """Return the rows before which there is one of their key and time."""
    seen: set[tuple[int, int]] = set()
    found = []
    columns = (batch.column(name).to_pylist() for name in ("key", "time"))
    for row, place in enumerate(zip(*columns, strict=True)):
        if place in seen:
            found.append(row)
        seen.add(place)
    return found


@often
@given(sharing_workloads(), spaced_streams(), st.booleans(), st.data())
def test_simultaneous_events_may_come_anywhere(
    workload: Workload, events: list[ReferenceEvent], exact: bool, data: st.DataObject
) -> None:
    check_in_pieces(replace(workload, exact=exact), events, data)


@often
@given(
    st.one_of(sharing_workloads(), trend_workloads(exact=None)),
    st.one_of(bursty_streams(), spaced_streams()),
    st.data(),
)
def test_any_workload_may_be_run_over_simultaneous_events(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    check_in_pieces(workload, events, data)


def stream(types: str, seconds: Several[int] | None = None) -> list[ReferenceEvent]:
    """Return events, those of small letters with v < 0; a second apart unless times are given."""
    times = range(len(types)) if seconds is None else seconds
    return [
        ReferenceEvent(time * SECOND, name.upper(), {"v": -1 if name.islower() else 1, "g": "x"})
        for time, name in zip(times, types, strict=True)
    ]


def one_unit(text: str, events: Several[ReferenceEvent]) -> UnitInput:
    (found,) = unit_inputs(plan(parse_workload(text)), table_of(events), exact=False)
    return found


def run(
    unit: UnitInput, pieces: Several[int], *, ordered: bool = False, stops: bool = False
) -> tuple[dict[str, pa.Table], TrendsOperator]:
    """Run a unit, cut at some rows, always sharing."""
    operator = operator_class(unit.unit)(
        unit.unit, ordered=ordered, sharing=Sharing.ALWAYS, record=True
    )
    totals = []
    for start, end in itertools.pairwise((0, *pieces, len(unit.batch))):
        totals.append(operator.process(unit.batch.slice(start, end - start)))
        if stops:
            operator = operator_class(unit.unit).load(unit.unit, operator.save())
    totals.append(operator.close())
    return unit.results(totals), operator


@pytest.mark.parametrize("pieces", [(), (1,), (4, 5), (2, 9, 10)])
def test_without_simultaneous_events_bursts_are_shared_as_in_an_order(pieces: tuple[int]) -> None:
    unit = one_unit(PAIR, stream("ACBBBBCBBBBB"))
    results, operator = run(unit, pieces)
    ordered, other = run(unit, (), ordered=True)
    assert results == ordered
    (shared,) = operator.statistics.sharing
    assert shared.shared_graphlets == shared.bursts == 2
    assert shared.records == other.statistics.sharing[0].records
    assert operator.statistics.matched == other.statistics.matched == 12


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("cut", range(8, 13))
def test_bursts_are_shared_before_and_after_simultaneous_events(cut: int, stops: bool) -> None:
    events = stream("ACBBBBCBBBBB", [*range(10), 9, 10])
    unit = one_unit(PAIR, events)
    results, operator = run(unit, [7, cut], stops=stops)
    for template in unit.unit.templates:
        check(template.query, events, results[template.query.name], exact=False, unit=1)
    (shared,) = operator.statistics.sharing
    assert shared.shared_graphlets == shared.bursts == 2
    assert [record.events for record in shared.records] == [4, 5]
    assert operator.statistics.matched == 12


def test_simultaneous_events_of_one_burst_are_shared() -> None:
    unit = one_unit(PAIR, stream("ACBBBBB", [0, 1, 2, 3, 3, 4, 4]))
    results, operator = run(unit, ())
    # one moment of one event and two of two: (1 + 1) * (1 + 2) * (1 + 2) - 1
    assert [results[name]["count(*)"][0].as_py() for name in ("ab", "cb")] == [17.0, 17.0]
    (shared,) = operator.statistics.sharing
    assert (shared.bursts, shared.shared_graphlets, shared.graphlet_snapshots) == (1, 1, 1)


@pytest.mark.parametrize("pieces", [(), (601,), (602,)])
def test_numbers_beyond_doubles_are_carried_over(pieces: tuple[int]) -> None:
    # after n B's there are 2**n - 1 trends; two more at once add 2**n each
    n = 600
    types = "A" + "B" * (n + 2)
    unit = one_unit(PAIR, stream(types, [*range(n + 1), n + 1, n + 1]))
    results, _ = run(unit, pieces)
    assert math.isclose(results["ab"].column("log")[0].as_py(), n + math.log2(3), rel_tol=1e-12)


def test_events_that_act_on_nothing_may_be_simultaneous() -> None:
    text = """
        QUERY ab RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b.v > 0;
        QUERY cb RETURN COUNT(*) PATTERN SEQ(C, B b+) WHERE b.v > 0;
    """
    events = stream("AZCBbbBZBBb", [0, 0, 1, 2, 2, 2, 3, 3, 4, 5, 5])
    unit = one_unit(text, events)
    for pieces in ((), (4,), (5, 7)):
        results, operator = run(unit, pieces)
        for template in unit.unit.templates:
            check(template.query, events, results[template.query.name], exact=False, unit=1)
        (shared,) = operator.statistics.sharing
        assert (shared.bursts, shared.shared_graphlets) == (1, 1)


@pytest.mark.parametrize("pieces", [(), (2,), (1, 2)])
def test_events_out_of_order_are_told_when_they_come(pieces: tuple[int]) -> None:
    unit = one_unit(PAIR, stream("ABB", [0, 5, 3]))
    operator = operator_class(unit.unit)(unit.unit)
    edges = (0, *pieces)
    for start, end in itertools.pairwise(edges):
        operator.process(unit.batch.slice(start, end - start))
    with pytest.raises(InputError, match="out of time order: time 3000000"):
        operator.process(unit.batch.slice(edges[-1]))
