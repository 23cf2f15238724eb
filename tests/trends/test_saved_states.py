"""A state saved in one process is one in every other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import TrendUnit
from elsinore.saved_states import unpack
from elsinore.trends.kind import operator_class
from elsinore.trends.statistics import SAVED_BY
from support.units import unit_inputs

WORKLOADS = {
    "sums per state": "SEQ(A a, NOT A n, B b+) WHERE b.v > 1 AND b.w < 9 AND a.v > 0 AND n.v < 1",
    "ranges": "SEQ(A a, B b+) WHERE b[i].v >= b[i-1].w AND b.v > 1 AND b.w < 9 AND a.v > 0",
    "anchors": "SEQ(A a, B b+) WHERE b[i].v != b[i-1].w AND a.v < b[i].w AND b.v > 1 AND b.w < 9",
    "step by step": "SEQ(A a, B b+) STRATEGY SKIP TILL NEXT MATCH WHERE b[i].v >= b[i-1].v",
}
EVENTS = pa.table(
    {
        "type": list("ABBABB") * 3,
        "time": range(18),
        "v": [1, 2, 3, 5, 4, 3] * 3,
        "w": [3, 1, 2, 2, 1, 5] * 3,
    }
)
HALF = len(EVENTS) // 2


FORM = "trends 19"  # a state of other arrays, or with another meaning, has another number
ARRAYS = {
    *("classes", "compared", "modes", "records", "sharing", "shifted", "shifts", "statistics"),
    *(f"store.{name}" for name in ("size", "used", "slots", "stored.cells", "first", "last")),
}


def batch_of(pattern: str) -> tuple[TrendUnit, pa.RecordBatch]:
    ready = plan(parse_workload(f"QUERY q RETURN COUNT(*), SUM(b.v) PATTERN {pattern};"))
    (given,) = unit_inputs(ready, EVENTS, exact=False)
    return given.unit, given.batch


def save_halves(folder: str) -> None:
    """Work on the first half of the events by each workload, and save the operators."""
    for name, pattern in WORKLOADS.items():
        unit, batch = batch_of(pattern)
        operator = operator_class(unit)(unit)
        operator.process(batch.slice(0, HALF))
        Path(folder, name).write_bytes(operator.save())


def test_a_run_may_go_on_in_a_process_whose_sets_have_another_order(tmp_path: Path) -> None:
    call = f"from trends.test_saved_states import save_halves; save_halves({str(tmp_path)!r})"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = os.environ | {
        "PYTHONHASHSEED": seed,
        "PYTHONPATH": os.pathsep.join(["tests", "src"]),
    }
    subprocess.run([sys.executable, "-c", call], env=environment, check=True)
    for name, pattern in WORKLOADS.items():
        unit, batch = batch_of(pattern)
        whole = operator_class(unit)(unit)
        whole.process(batch)
        expected = whole.close().to_pydict()
        assert expected["query"]
        operator = operator_class(unit).load(unit, (tmp_path / name).read_bytes())
        operator.process(batch.slice(HALF))
        assert operator.close().to_pydict() == expected, name


@pytest.mark.parametrize("name", WORKLOADS)
def test_states_of_another_form_have_another_number(name: str) -> None:
    unit, batch = batch_of(WORKLOADS[name])
    operator = operator_class(unit)(unit)
    operator.process(batch)
    assert SAVED_BY == FORM
    assert unpack(FORM, unit.fingerprint, operator.save()).keys() >= ARRAYS
