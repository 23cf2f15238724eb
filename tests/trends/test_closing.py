"""Closing while a stream goes on: batches cut, windows closed, runs stopped, wherever it may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.trends.engine import operator as engine
from elsinore.trends.kind import operator_class
from oracles.reference import ReferenceEvent
from support.trends import table_of
from support.units import UnitInput, assert_close, unit_inputs
from trends.hamlet.test_against_reference import workloads as compared
from trends.index.test_index import few_events, often, queries, ranged
from trends.index.test_joined import several
from trends.test_against_reference import check
from trends.test_sharing_modes import sharing_workloads

SECOND = 1_000_000


def in_pieces(
    given_unit: UnitInput,
    events: Sequence[ReferenceEvent],
    cuts: Sequence[tuple[int, bool, bool]],
    sharing: Sharing = Sharing.DYNAMIC,
    *,
    ordered: bool = False,
) -> list[pa.RecordBatch]:
    """Run a unit's operator over events that end at cuts, closing or stopping it there or not.

    Every other closing is told with the batch before it.
    """
    operator = operator_class(given_unit.unit)(given_unit.unit, ordered=ordered, sharing=sharing)
    totals, begin = [], 0
    for end, closing, stopping in sorted(cuts):
        batch = given_unit.batch.slice(begin, end - begin)
        until = events[min(end, len(events) - 1)].time if closing and events else None
        totals.append(operator.process(batch, until=until if end % 2 else None))
        begin = end
        if until is not None and end % 2 == 0:
            totals.append(operator.close(until))
        if stopping:
            operator = given_unit.stopped(operator)
    totals.append(operator.process(given_unit.batch.slice(begin)))
    return [*totals, operator.close()]


def drawn_cuts(size: int, most: int) -> st.SearchStrategy[list[tuple[int, bool, bool]]]:
    """Draw where batches end, and whether windows are closed and the run stops there."""
    often_closed = st.sampled_from((True, True, True, False))
    return st.lists(
        st.tuples(st.integers(0, size), often_closed, st.sampled_from((False, False, True))),
        max_size=most,
    )


@often
@given(st.one_of(ranged(), queries()), few_events(), st.data())
def test_windows_closed_early_hold_every_trend_built(
    workload: Workload, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    cuts = data.draw(drawn_cuts(len(events), 6))
    (query,) = workload.queries
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=False):
        results = given_unit.results(in_pieces(given_unit, events, cuts))
        check(query, events, results[query.name], exact=False, unit=1)


def many_events(seed: int, size: int, keys: int) -> list[ReferenceEvent]:
    """Return events of some keys, some at one time and some without values."""
    random = np.random.default_rng(seed)
    seconds = np.cumsum(random.random(size) < 0.7).tolist()
    return [
        ReferenceEvent(
            second * SECOND,
            str(random.choice(list("ABBBBBCD"))),
            {
                "v": None if random.random() < 0.05 else int(random.integers(-20, 20)),
                "w": None if random.random() < 0.05 else float(random.integers(-9, 90)) / 4,
                "k": int(random.integers(0, keys)),
                "s": "pqr"[random.integers(0, 3)],
            },
        )
        for second in seconds
    ]


@often
@given(
    st.one_of(ranged(), queries()),
    st.integers(0, 2**32 - 1),
    st.sampled_from((60, 250)),
    st.sampled_from((1, 1, 3)),
    st.sampled_from((1, 20, engine.CHUNK)),
    st.data(),
)
def test_closing_after_every_piece_gives_what_closing_once_does(
    workload: Workload, seed: int, size: int, keys: int, chunk: int, data: st.DataObject
) -> None:
    events = many_events(seed, size, keys)
    cuts = data.draw(drawn_cuts(size, 12))
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=False):
        with patch.object(engine, "CHUNK", chunk):
            whole, cut = (
                given_unit.results(in_pieces(given_unit, events, where))["q"]
                for where in ([], cuts)
            )
        order = [(name, "ascending") for name in ("window_start", *given_unit.planned.group_by)]
        assert_close(cut.sort_by(order), whole.sort_by(order), "q")


def rising(*windows: str) -> Workload:
    """Return queries that share bursts of events of ascending values, one for each window."""
    text = "QUERY q{} RETURN COUNT(*) PATTERN SEQ({} a, B b+) WHERE b[i].v >= b[i-1].v {};"
    return parse_workload(
        "\n".join(text.format(*row) for row in zip("01", "CA", windows, strict=True))
    )


GAPS = rising(*["WITHIN 2 seconds SLIDE 5 seconds"] * 2)  # whose events are of no window
UNLIKE = rising("", "WITHIN 4 seconds")  # whose windows end at different times
YOUNG = parse_workload(  # whose trends begin as windows do
    "\n".join(
        f"QUERY {name} RETURN COUNT(*) PATTERN B b+ WHERE b[i].v < b[i-1].v "
        "WITHIN 6 seconds SLIDE 2 seconds;"
        for name in ("p", "q")
    )
)


@often
@given(
    st.one_of(several(), ranged(), compared(), sharing_workloads()),
    st.integers(0, 2**32 - 1),
    st.sampled_from((1, 1, 3)),
    st.sampled_from(list(Sharing)),
)
@example(GAPS, 0, 1, Sharing.ALWAYS)
@example(UNLIKE, 0, 1, Sharing.ALWAYS)
@example(UNLIKE, 3, 3, Sharing.DYNAMIC)
@example(YOUNG, 0, 1, Sharing.ALWAYS)
def test_statistics_count_once_however_often_windows_are_closed(
    workload: Workload, seed: int, keys: int, sharing: Sharing
) -> None:
    size = 80
    events = many_events(seed, size, keys)
    random = np.random.default_rng(seed)
    cuts = [row for row in np.flatnonzero(random.random(size) < 0.4).tolist() if row]
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=False):
        told = []
        for often_closed in (False, True):
            operator = given_unit.operator(sharing=sharing)
            given_out = 0
            for begin, end in pairwise([0, *cuts, size]):
                operator.process(given_unit.batch.slice(begin, end - begin))
                if often_closed and end < size:
                    given_out += operator.close(events[end].time).num_rows
            given_out += operator.close().num_rows
            counted = operator.statistics
            assert counted.totals == given_out
            for one in counted.sharing:
                one.decision_seconds = one.most_propagated = 0  # which windows are at once
            told.append(replace(counted, state_bytes=0))
        assert told[0] == told[1]


@often
@given(
    st.one_of(queries(), sharing_workloads()),
    st.integers(0, 2**32 - 1),
    st.sampled_from((0, 1, 2)),
    st.booleans(),
    st.data(),
)
def test_classes_that_are_numbered_as_they_come_give_what_a_table_of_all_does(
    workload: Workload, seed: int, limit: int, in_order: bool, data: st.DataObject
) -> None:
    events = many_events(seed, 80, 2)
    if in_order:  # so that a batch brings classes that none before it had
        kinds = sorted(event.type for event in events)
        events = [replace(event, type=kind) for event, kind in zip(events, kinds, strict=True)]
    cuts = data.draw(drawn_cuts(80, 12))
    for given_unit in unit_inputs(plan(workload), table_of(events), exact=False):
        with patch("elsinore.trends.engine.program.TABLE_LIMIT", limit):
            numbered = given_unit.results(in_pieces(given_unit, events, cuts))
        known = given_unit.results(in_pieces(given_unit, events, cuts))
        assert numbered.keys() == known.keys()
        assert all(table.equals(known[name]) for name, table in numbered.items())


@pytest.mark.parametrize(
    "where", ["b[i].v >= b[i-1].v", "b[i].v >= b[i-1].v AND b[i].w > b[i-1].v"]
)
@pytest.mark.parametrize("keys", [1, 2])
def test_windows_that_were_closed_stay_so_while_other_keys_have_many_events(
    where: str, keys: int
) -> None:
    """A key's last event is long before the end of its windows that were closed."""
    workload = parse_workload(
        f"QUERY q RETURN k, COUNT(*) PATTERN B+ b WHERE {where} GROUP BY k "
        "WITHIN 10 seconds SLIDE 1 second;"
    )
    values = {"v": 1, "w": 2.0, "s": "p"}
    seconds = [2, *range(5, 13)]
    keyed = [0, *(second % keys + 1 for second in seconds[1:])]
    events = [
        ReferenceEvent(second * SECOND, "B", values | {"k": key})
        for second, key in zip(seconds, keyed, strict=True)
    ]
    (given_unit,) = unit_inputs(plan(workload), table_of(events), exact=False)
    at_once = given_unit.results(in_pieces(given_unit, events, []))["q"]
    with patch.object(engine, "CHUNK", 1):
        operator = given_unit.operator()
        totals = [operator.process(given_unit.batch.slice(0, 1)), operator.close(5 * SECOND)]
        totals += [operator.process(given_unit.batch.slice(row, 1)) for row in range(1, 9)]
        found = given_unit.results([*totals, operator.close()])["q"]
    assert_close(found, at_once, "q")


@pytest.mark.parametrize(
    "where", ["b[i].v >= b[i-1].v", "b[i].w BETWEEN b[i-1].w - 2 AND b[i-1].w + 2"]
)
def test_what_is_kept_is_what_open_windows_need(where: str) -> None:
    workload = parse_workload(
        f"QUERY q RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE {where} "
        "WITHIN 40 seconds SLIDE 10 seconds;"
    )
    sizes = []
    for size in (800, 2_400):
        events = many_events(3, size, 1)
        (given_unit,) = unit_inputs(plan(workload), table_of(events), exact=False)
        operator = given_unit.operator()
        for begin in range(0, size, 20):
            operator.process(given_unit.batch.slice(begin, 20))
            operator.close(events[begin].time)
        sizes.append(operator.statistics.state_bytes)
    assert sizes[1] <= 1.3 * sizes[0]
