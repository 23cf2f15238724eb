"""Keys that come one after another: the totals of a group are given out when all of it has come."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.trends.engine import operator as engine
from support.units import assert_close, unit_inputs

QUERY = (
    "QUERY q RETURN g, COUNT(*) PATTERN SEQ(A a, B+ b) WHERE [k] AND b[i].{0} >= b[i-1].{0} "
    "GROUP BY g{1};"
)


@pytest.mark.parametrize("windows", ["", " WITHIN 6 seconds SLIDE 2 seconds"])
@pytest.mark.parametrize("compared", ["s", "v"])
@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "10")))
@given(seed=st.integers(0, 10**6), size=st.integers(1, 9), chunk=st.integers(1, 30))
def test_totals_wait_for_their_group_and_no_longer(
    compared: str, windows: str, seed: int, size: int, chunk: int
) -> None:
    draw = np.random.default_rng(seed)
    numbers = draw.integers(0, 5, 40)
    table = pa.table(
        {
            "time": pa.array(np.arange(40)),
            "type": pa.array(np.array(list("AB"))[draw.integers(0, 2, 40)]),
            "g": pa.array(draw.integers(0, 4, 40)),
            "k": pa.array(draw.integers(0, 3, 40)),
            "v": pa.array(numbers.astype(np.float64)),
            "s": pa.array([f"t{number}" for number in numbers]),
        }
    )
    (unit,) = unit_inputs(plan(parse_workload(QUERY.format(compared, windows))), table, exact=False)
    batch = unit.by_key()
    groups = batch.column("group").to_numpy()
    whole = unit.operator(one_slot=True)
    expected = [whole.process(batch), whole.close()]
    operator = unit.operator(one_slot=True)
    totals = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "CHUNK", chunk)
        for start in range(0, len(groups), size):
            totals.append(operator.process(batch.slice(start, size)))
            given_out = totals[-1].column("group").to_numpy()
            assert not np.isin(given_out, groups[start + size :]).any()
            assert not (given_out == groups[min(start + size, len(groups)) - 1]).any()
        totals.append(operator.close())
    assert_close(unit.results(totals)["q"], unit.results(expected)["q"], "q")
    found = [group for part in totals for group in np.unique(part.column("group").to_numpy())]
    assert len(found) == len(set(found))
