"""A million keys that come and go take bounded memory, for queries of every kind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import elsinore as el
import elsinore.quantitative as qre
from elsinore import Workload

SCHEMA = pa.schema({"time": pa.float64(), "type": pa.string(), "g": pa.int64(), "v": pa.float64()})
AT_ONCE, PER_SECOND = 20_000, 1_000
A, B = qre.event("A"), qre.event("B")
EPISODES = qre.iter_last(
    qre.split(qre.iterate(qre.atom(A, lambda item: item.v), qre.sum(0.0)), qre.atom(B), qre.left)
)
TEXTS = {
    "sums": "QUERY q RETURN g, COUNT(*) PATTERN SEQ(A, B+) GROUP BY g WITHIN 10 SLIDE 5;",
    "events": """QUERY q RETURN g, COUNT(*) PATTERN SEQ(A, B+ b) WHERE b[i].v > b[i-1].v
                 GROUP BY g WITHIN 10 SLIDE 5;""",
    "groups of several keys": "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+) WHERE [g] WITHIN 5;",
    "matches": "QUERY q RETURN g, b.v PATTERN SEQ(A a, B b, NOT A x) GROUP BY g WITHIN 4;",
}


@pytest.mark.parametrize(
    ("kind", "count"), [*((name, 1_000_000) for name in TEXTS), ("quantitative", 500_000)]
)
def test_keys_that_come_and_go_take_bounded_memory(kind: str, count: int) -> None:
    if kind == "quantitative":
        workload = Workload(el.query("q").from_python(lambda: EPISODES.by("g")))
    else:
        workload = Workload.parse(TEXTS[kind])
    live = workload.live(SCHEMA)
    rows, sizes = 0, []
    for begin in range(0, count, AT_ONCE):
        keys = np.repeat(np.arange(begin, begin + AT_ONCE), 2)
        types = np.tile(["A", "B"], AT_ONCE)
        times = (keys + np.tile([0.0, 0.5], AT_ONCE)) / PER_SECOND
        columns = [times, types, keys, np.ones(2 * AT_ONCE)]
        pushed = live.push(pa.table(columns, schema=SCHEMA))
        rows += sum(table.num_rows for _, table in pushed)
        if begin % (10 * AT_ONCE) == 0:
            (bucket,) = live.generations[0].buckets[0]
            sizes.append((len(live.save()), bucket.keys, pa.total_allocated_bytes()))
    rows += sum(table.num_rows for _, table in live.end())
    assert rows >= (count / PER_SECOND / 5 if kind == "groups of several keys" else count)
    first, last = np.array(sizes[1]), np.array(sizes[-1])
    assert (last <= 1.3 * first + 100).all(), sizes
