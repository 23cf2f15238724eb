"""Panes worked on apart and folded give what the operator gives."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings

from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan.panes import can_be_cut
from elsinore.trends.actions import Fold, PaneActions, pane_of
from elsinore.trends.kind import spec_of
from oracles.reference import ReferenceEvent
from support.trends import Feature, event_streams, trend_workloads
from support.units import UnitInput
from trends.test_against_reference import check_units

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "25")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
SPAN = 3_000_000  # of panes where no window gives their length


def folded(given_unit: UnitInput) -> list[pa.RecordBatch]:
    unit = given_unit.unit
    length, origin = pane_of(unit, SPAN)
    batch = given_unit.by_key()
    keys = batch.column("key").to_numpy()
    groups = batch.column("group").to_numpy()
    panes = (batch.column("time").to_numpy() - origin) // length
    fresh = (keys[1:] != keys[:-1]) | (panes[1:] != panes[:-1])
    starts = np.flatnonzero(np.concatenate(([True], fresh))) if len(keys) else np.zeros(0, int)
    bounds = np.append(starts, len(keys))
    actions = PaneActions(unit, ordered=False).of(bounds, batch)
    totals = []
    for key in np.unique(keys).tolist():
        mine = np.flatnonzero(keys[starts] == key)
        found = Fold(unit).totals(
            panes[starts[mine]] * length + origin, *(part[mine] for part in actions)
        )
        group = np.full(found.num_rows, groups[starts[mine[0]]], dtype=np.int32)
        totals += found.set_column(1, "group", pa.array(group)).to_batches()
    return totals or [given_unit.operator().close()]


def folded_where_cut(given_unit: UnitInput) -> list[pa.RecordBatch]:
    assume(can_be_cut(given_unit.unit) is None)  # all are, but those of very many states
    return folded(given_unit)


@often
@given(trend_workloads() | trend_workloads(features=(Feature.NEGATION,)), event_streams())
def test_folded_panes_give_what_every_trend_built_gives(
    workload: Workload, events: list[ReferenceEvent]
) -> None:
    check_units(workload, events, folded_where_cut)


def test_a_template_of_many_states_is_not_cut() -> None:
    from elsinore.language import parse_workload

    text = "".join(
        f"QUERY q{n} RETURN COUNT(*) PATTERN SEQ(A{n}, B+) WITHIN 10 seconds;" for n in range(40)
    )
    reason = can_be_cut(spec_of(plan(parse_workload(text)).units[0]))
    assert reason is not None
    assert "states" in reason
