"""Events combined where they lie, and folded with the others, give what the operator gives."""

from __future__ import annotations

import math
import os
import pickle
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from elsinore.errors import InputError
from elsinore.language import parse_workload
from elsinore.model import Workload
from elsinore.operators import kind_for, plan
from elsinore.operators.panes import Panes, action_type
from elsinore.plan import Unit
from elsinore.plan.merged import ancestors
from elsinore.plan.panes import action_rows, can_combine
from elsinore.trends.kind import spec_of
from oracles.reference import ReferenceEvent
from support.trends import Feature, event_streams, trend_workloads
from support.units import UnitInput, unit_inputs
from trends.test_against_reference import check_units

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def panes_of(unit: Unit) -> Panes:
    panes = kind_for(unit).panes(unit)
    assert not isinstance(panes, str)
    return panes


def combined(
    panes: Panes, batch: pa.RecordBatch, chance: random.Random, share: float
) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """Return what is left of the events, and actions; runs are cut between moments, by chance."""
    key, time = (batch.column(name).to_numpy() for name in ("key", "time"))
    numbers = panes.numbers(time)
    begins, ends = [], []
    start = 0
    for row in range(1, batch.num_rows + 1):
        over = row == batch.num_rows or key[row] != key[start] or numbers[row] != numbers[start]
        if over or (time[row] != time[row - 1] and chance.random() < 0.3):
            if chance.random() < share:
                begins.append(start)
                ends.append(row)
            start = row
    first, last = np.array(begins, np.int64), np.array(ends, np.int64) - 1
    acts = panes.combiner(ordered=False).actions_of(first, last + 1, batch)
    columns = {
        "key": pa.array(key[first]),
        "group": pa.array(batch.column("group").to_numpy()[first]),
        "time": pa.array(time[first]),
        "last": pa.array(time[last]),
        "action": pa.array([one.tobytes() for one in acts], action_type(panes.size)),
    }
    kept = np.ones(batch.num_rows, np.bool_)
    for begin, end in zip(begins, ends, strict=True):
        kept[begin:end] = False
    return batch.filter(pa.array(kept)), pa.RecordBatch.from_pydict(columns)


def folded(given_unit: UnitInput, seed: int = 0, share: float = 0.5) -> list[pa.RecordBatch]:
    chance = random.Random(seed)
    panes, batch = panes_of(given_unit.planned), given_unit.by_key()
    events, actions = combined(panes, batch, chance, share)
    folder = panes.folder(ordered=False)
    totals = []
    event = action = 0
    while event < events.num_rows or action < actions.num_rows:
        event_end = min(events.num_rows, event + chance.randint(0, 7))
        action_end = action
        while action_end < actions.num_rows and (
            event_end == events.num_rows or place(actions, action_end) < place(events, event_end)
        ):
            action_end += 1
        totals += folder.process(
            events.slice(event, event_end - event),
            actions.slice(action, action_end - action),
            final=False,
        )
        event, action = event_end, action_end
    return totals + folder.process(events.slice(event), actions.slice(action), final=True)


def place(batch: pa.RecordBatch, row: int) -> tuple[int, ...]:
    return tuple(batch.column(name)[row].as_py() for name in ("group", "key", "time"))


@often
@given(
    trend_workloads() | trend_workloads(features=(Feature.NEGATION, Feature.CONJUNCTION)),
    event_streams(),
    st.integers(0, 2**16),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_folded_panes_give_what_every_trend_built_gives(
    workload: Workload, events: list[ReferenceEvent], seed: int, share: float
) -> None:
    def folded_where_it_can_be(unit: UnitInput) -> list[pa.RecordBatch]:
        assume(can_combine(unit.unit) is None)  # all are, but those of very many states
        return folded(unit, seed, share)

    check_units(workload, events, folded_where_it_can_be)


LONG = "QUERY q RETURN g, LOG2(COUNT(*)), AVG(B.v), MAX(B.v) PATTERN SEQ(A, B+) GROUP BY g;"


def long_input(values: list[float]) -> UnitInput:
    rows = len(values)
    table = pa.table(
        {
            "time": np.arange(rows),
            "type": ["A"] + ["B"] * (rows - 1),
            "g": [1] * rows,
            "v": pa.array(values),
        }
    )
    return unit_inputs(plan(parse_workload(LONG)), table, exact=False)[0]


def test_an_action_holds_numbers_beyond_the_range_of_doubles() -> None:
    found = long_input([float(n % 7) for n in range(3_000)])
    panes, batch = panes_of(found.planned), found.by_key()
    whole = np.zeros(1, np.int64), np.array([batch.num_rows], np.int64)
    (act,) = panes.combiner(ordered=False).actions_of(*whole, batch)
    columns = {"key": [0], "group": [0], "time": [0], "last": [2_999], "action": [act.tobytes()]}
    kinds = [pa.int32(), pa.int32(), pa.int64(), pa.int64(), action_type(panes.size)]
    actions = pa.RecordBatch.from_pydict(columns, pa.schema(zip(columns, kinds, strict=True)))
    totals = panes.folder(ordered=False).process(batch.slice(0, 0), actions, final=True)
    results = found.results(totals)["q"].to_pydict()
    operator = found.operator(one_slot=True)
    expected = found.results([operator.process(batch), operator.close()])["q"].to_pydict()
    for name, column in expected.items():
        assert results[name] == pytest.approx(column)
    assert expected["log2(count(*))"] == [2_999.0]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_values_of_any_size_are_combined(share: float) -> None:
    for values in (
        [0.0, 3.0, 1e200, -1e300, 1e308, 1e308, 1e-300, 2.0],
        [0.0, 1.0, math.inf, 2.0, 3.0],
    ):
        found = long_input(values * 2)
        panes, batch = panes_of(found.planned), found.by_key()
        given = combined(panes, batch, random.Random(2), share)
        results = found.results(panes.folder(ordered=False).process(*given, final=True))["q"]
        operator = found.operator(one_slot=True)
        expected = found.results([operator.process(batch), operator.close()])["q"]
        for row, same in zip(results.to_pylist(), expected.to_pylist(), strict=True):
            assert row == pytest.approx(same, nan_ok=True)


def test_a_unit_that_has_travelled_gives_the_same() -> None:
    found = long_input([float(n % 7) for n in range(40)])
    results = []
    for unit in (found.planned, pickle.loads(pickle.dumps(found.planned))):
        panes, batch = panes_of(unit), found.by_key()
        events, actions = combined(panes, batch, random.Random(3), 1.0)
        totals = panes.folder(ordered=False).process(events, actions, final=True)
        results.append(found.results(totals)["q"].to_pylist())
    assert actions.num_rows > 2
    assert results[0] == results[1]
    assert results[0][0]["log2(count(*))"] == pytest.approx(math.log2(2**39 - 1), abs=1e-14)


def test_events_out_of_order_are_refused() -> None:
    found = long_input([0.0, 1.0, 2.0, 3.0])
    batch = found.by_key().set_column(2, "time", pa.array([0, 3, 2, 1]))
    combiner = panes_of(found.planned).combiner(ordered=False)
    with pytest.raises(InputError, match="out of time order: time 2"):
        combiner.actions_of(np.zeros(1, np.int64), np.array([4], np.int64), batch)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_simultaneous_numbers_beyond_the_range_of_doubles_are_combined(share: float) -> None:
    found = long_input([0.0, 1e308, 1e308, 1e308, 2.0])
    panes, batch = panes_of(found.planned), found.by_key()
    batch = batch.set_column(2, "time", pa.array([0, 1, 1, 1, 2]))
    given = combined(panes, batch, random.Random(0), share)
    results = found.results(panes.folder(ordered=False).process(*given, final=True))["q"]
    operator = found.operator(one_slot=True)
    expected = found.results([operator.process(batch), operator.close()])["q"]
    assert results.to_pylist() == [pytest.approx(row) for row in expected.to_pylist()]


def test_an_action_over_the_time_of_other_events_is_refused() -> None:
    found = long_input([1.0, 2.0, 3.0, 4.0])
    panes, batch = panes_of(found.planned), found.by_key()
    _, actions = combined(panes, batch.take(pa.array([0, 2])), random.Random(0), 1.0)
    with pytest.raises(InputError, match="times overlap"):
        panes.folder(ordered=False).process(batch.slice(1, 1), actions, final=True)


def test_a_long_pattern_is_not_cut_and_many_short_ones_are() -> None:
    long = "QUERY q RETURN COUNT(*) PATTERN SEQ({}) WITHIN 10 seconds;"
    types = ", ".join(f"A{n}" for n in range(50))
    reason = can_combine(spec_of(plan(parse_workload(long.format(types))).units[0]))
    assert reason is not None
    assert "states" in reason
    text = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A{n}, B+) WITHIN 10 seconds;" for n in range(40)
    )
    (unit,) = plan(parse_workload(text)).units
    assert can_combine(spec_of(unit)) is None
    panes = kind_for(unit).panes(unit)
    assert not isinstance(panes, str)
    assert panes.size.rows == 3


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("SEQ(A, B+, C)", 2),
        ("SEQ(A, (B | C), D)", 2),
        ("(SEQ(A+, B))+", 2),
        ("SEQ(A, B+) | SEQ(C, D+)", 2),
    ],
)
def test_nodes_that_lead_to_one_node_have_rows_of_their_own(pattern: str, rows: int) -> None:
    text = f"QUERY q RETURN COUNT(*) PATTERN {pattern} WITHIN 10 seconds;"
    nodes = spec_of(plan(parse_workload(text)).units[0]).merged.nodes
    found = action_rows(nodes)
    for before in ancestors(nodes):
        assert len({found[node] for node in before}) == len(before)
    assert max(found) >= rows
