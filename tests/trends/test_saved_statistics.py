"""A run that is saved and loaded counts what one counts that is not."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.trends.kind import TrendsOperator, operator_class
from support.units import SECOND, unit_inputs

NEIGHBOURS = "SEQ({} x, B+ b) WHERE b[i].v > b[i-1].v"
WORKLOADS = {
    "sums": ["SEQ(A a, B+ b)"],
    "shared bursts": ["SEQ(A a, B+ b)", "SEQ(C c, B+ b)", "SEQ(A a, B+ b) WHERE b.v < 0.7"],
    "by an index": [NEIGHBOURS.format("A")],
    "texts": ["SEQ(A a, B+ b) WHERE b[i].s > b[i-1].s"],
    "many queries by an index": [NEIGHBOURS.format(one) for one in "ACACAC"],
    "step by step": ["SEQ(A a, B+ b) STRATEGY SKIP TILL NEXT MATCH"],
    "NOT of a sequence": ["SEQ(A a, NOT SEQ(C c, A d), B+ b)"],
    "exact": ["SEQ(A a, B+ b)"],
}


def counts_of(operator: TrendsOperator) -> dict[str, Any]:
    """Return what an operator has counted, but for seconds."""
    told = dataclasses.asdict(operator.statistics)
    del told["state_bytes"]  # the room that was made for more is a part of it
    for shared in told["sharing"]:
        del shared["decision_seconds"]
    return told


def counted(text: str, table: pa.Table, *, stops: bool, sharing: Sharing) -> list[dict[str, Any]]:
    """Return what the operators of a workload count, stopped after each piece or not at all."""
    found = []
    for unit in unit_inputs(plan(parse_workload(text)), table, exact=text.startswith("EXACT")):
        operator = operator_class(unit.unit)(unit.unit, sharing=sharing, record=True)
        for start in range(0, len(unit.batch), 24):
            operator.process(unit.batch.slice(start, 24))
            operator.close((start + 20) * SECOND)
            if stops:
                before = counts_of(operator)
                operator = unit.stopped(operator)
                assert counts_of(operator) == before
        operator.close()
        found.append(counts_of(operator))
    return found


@pytest.mark.parametrize("sharing", [Sharing.DYNAMIC, Sharing.ALWAYS])
@pytest.mark.parametrize("windows", ["", " WITHIN 12 seconds SLIDE 4 seconds"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_what_is_counted_is_the_same_after_stops(name: str, windows: str, sharing: Sharing) -> None:
    draw = np.random.default_rng(5)
    numbers = draw.random(120).round(2)
    table = pa.table(
        {
            "time": pa.array(np.arange(120)),
            "type": pa.array(np.array(list("ABBBBCZ"))[draw.integers(0, 7, 120)]),
            "v": pa.array(numbers),
            "s": pa.array([str(number) for number in numbers]),
        }
    )
    text = "EXACT; " if name == "exact" else ""
    for number, pattern in enumerate(WORKLOADS[name]):
        text += f"QUERY q{number} RETURN COUNT(*), SUM(b.v) PATTERN {pattern}{windows};"
    whole, stopped = (counted(text, table, stops=stops, sharing=sharing) for stops in (False, True))
    assert stopped == whole
