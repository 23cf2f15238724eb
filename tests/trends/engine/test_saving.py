"""Saved states of the engine: what they contain, and going on from them."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.structs import as_bytes, struct
from elsinore.trends.kind import operator_class, spec_of
from support.units import assert_close, unit_inputs
from trends.engine.test_engine import stream, workload_text

SECOND = 10**6
ORDER = [("window_start", "ascending"), ("g", "ascending")]


def test_a_saved_state_has_no_rows_of_closed_windows() -> None:
    text = (
        "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B b+) WHERE b[i].v >= b[i-1].v WITHIN 100 seconds;"
    )
    unit = spec_of(plan(parse_workload(text)).units[0])
    codes = {classes.type: classes.offset for classes in unit.classes.types}
    operator, random = operator_class(unit)(unit), np.random.default_rng(1)

    def batch(times: range) -> pa.RecordBatch:
        count = len(times)
        return pa.record_batch(
            {
                "key": np.zeros(count, np.int32),
                "group": np.zeros(count, np.int32),
                "time": np.array(times, np.int64),
                "class": np.array([codes["A"], *[codes["B"]] * (count - 1)], np.int64),
                "pair:v": random.random(count),
            }
        )

    operator.process(batch(range(5_000)))
    assert len(operator.save()) > 10_000
    operator.process(batch(range(150 * SECOND, 150 * SECOND + 5)))
    assert operator.close(150 * SECOND).num_rows == 1
    saved = operator.save()
    assert len(saved) < 3_000
    assert operator_class(unit).load(unit, saved).close().equals(operator.close())


@pytest.mark.parametrize("seed", range(20))
def test_long_streams_go_on_from_saved_states(seed: int) -> None:
    random = Random(1_000 + seed)
    ready, table = plan(parse_workload(workload_text(random))), stream(random, 200)
    for unit in unit_inputs(ready, table, exact=False):
        whole = unit.results(unit.in_pieces([0, 200], [False, False], []))
        edges = [0, *sorted(random.sample(range(200), 3)), 200]
        found = unit.results(unit.in_pieces(edges, [True] * len(edges), []))
        for name, rows in whole.items():
            assert_close(found[name].sort_by(ORDER), rows.sort_by(ORDER), name)


def test_bytes_of_structs_do_not_depend_on_what_memory_held() -> None:
    kind = struct(f8="x", i4="n")
    rows = np.array([(1.0, 2), (3.0, 4)], kind)
    other = np.full(2 * kind.itemsize, 255, np.uint8).view(kind)
    for name in ("x", "n"):
        other[name] = rows[name]
    assert other.tobytes() != as_bytes(rows).tobytes()
    assert as_bytes(other).tobytes() == as_bytes(rows).tobytes()
