from __future__ import annotations

import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.model.window import SECOND
from elsinore.operators import OperatorOptions, plan
from elsinore.plan import Sharing
from elsinore.runtime.columnar import Layout, Packing
from elsinore.runtime.finishing import Outputs
from elsinore.spark.partition import RunOperators
from oracles.reference import ReferenceEvent
from support.trends import table_of
from support.units import unit_inputs

WORKLOAD = """
    QUERY ab RETURN g, COUNT(*), SUM(B.w), MAX(B.v) PATTERN SEQ(A, B+) WHERE [k] GROUP BY g;
    QUERY cb RETURN g, COUNT(*), SUM(B.w) PATTERN SEQ(C, B+) WHERE [k] GROUP BY g;
"""


KEYS = ("g0", "k0")
TYPES = {"w": pa.float64(), "v": pa.int64()}
TRAVELLING = ("time", "class0", "c0", "c1")


@pytest.mark.parametrize("tie", [None, 1, 5, 6, 7, 11], ids=lambda tie: f"tie {tie}")
def test_batches_may_be_cut_anywhere_with_simultaneous_events_and_without(tie: int | None) -> None:
    events = [
        ReferenceEvent(
            (n - (tie is not None and n % 12 >= tie)) * SECOND,
            "ACBBBBCBABBB"[n % 12],
            {"g": (None, "x", "y")[n // 24], "k": n // 12 % 2, "v": n % 5, "w": n / 4},
        )
        for n in range(72)
    ]
    (unit,) = unit_inputs(plan(parse_workload(WORKLOAD)), table_of(events), exact=False)
    rows = unit.by_key()
    batch = pa.record_batch(
        {
            "g0": unit.groups[0].take(rows.column("group")),
            "k0": rows.column("key"),
            "time": rows.column("time"),
            "class0": rows.column("class"),
            "c0": rows.column("sum:w"),
            "c1": pa.array([event.attributes["v"] for event in events]),
        }
    )
    keys, travelling = ([batch.schema.field(n) for n in names] for names in (KEYS, TRAVELLING))
    layout = Layout(pa.schema(keys), pa.schema(travelling))
    actual = []
    for size in (72, 1, 5, 6, 7, 12, 24):
        packing = Packing(layout=layout, partitions=1, chunk_rows=size)
        run = RunOperators(
            units=(unit.planned,),
            outputs=Outputs((unit.planned,), (TYPES,)),
            layout=layout,
            options=OperatorOptions(one_slot=True, sharing=Sharing.ALWAYS),
            memory=100 * size,  # some of them in several runs
        )
        totals = run(packing([batch]))
        rows_out = [tuple(row.values()) for one in totals for row in one.to_pylist()]
        actual.append(sorted(rows_out, key=repr))
    assert len(actual[0]) == 6
    assert all(one == actual[0] for one in actual)
    operator = unit.operator(one_slot=True, sharing=Sharing.NEVER)
    whole = [operator.process(rows), operator.close()]
    assert actual[0] == sorted(
        (
            (unit.groups[0][row.pop("group")].as_py(), *row.values())
            for one in whole
            for row in one.to_pylist()
        ),
        key=repr,
    )
