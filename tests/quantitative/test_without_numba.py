"""Everything runs without the extras `compiled` (Numba) and `solver` (z3)."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import elsinore.quantitative as qre
from support.extras import run_without

QUERIES = """
import json, sys
import pyarrow as pa
import elsinore as el
import elsinore.quantitative as qre

def value(item):
    return item.v

table = pa.table({
    "time": list(range(3000)), "type": ["a", "b", "s"] * 1000, "k": [n % 7 for n in range(3000)],
    "v": [float(n % 11) for n in range(3000)],
})
A, S = qre.event("a"), qre.event("s")
number = qre.atom(qre.any, value)
of_key = qre.split(qre.match((~S).star()), qre.atom(S, value), qre.right)
queries = [
    qre.iterate1(number, qre.mean()),
    qre.sliding(number, 100, qre.max()),
    qre.iterate1(number, qre.median()),
    qre.sliding(qre.atom(qre.any, lambda item: item.k), 50, qre.counts()),
    qre.map_collect(S, "k", qre.iterate1(of_key, qre.sum())),
    qre.filter(A.v > 3) >> qre.iterate1(number, qre.sum()),
]
"""
PRINTED = """
print(json.dumps([repr(query.run(table)["value"].to_pylist()) for query in queries]))
"""
REST = """
assert "numba" not in sys.modules and "z3" not in sys.modules
events = [row | {"until": row["time"] + 1} for row in table.slice(0, 30).to_pylist()]
workload = el.Workload.parse(
    "QUERY sums RETURN COUNT(*), AVG(b.v), STDDEV(b.v) PATTERN SEQ(a, b+) WITHIN 9 seconds;"
    "QUERY rises RETURN a.v PATTERN SEQ(a, b) WHERE a.v < b.v AND a.k + b.k < 9 WITHIN 9 seconds;"
)
results = workload.run(events)
assert results["sums"].num_rows and results["rises"].num_rows
either = qre.either(qre.atom(A.v < A.k), qre.atom(qre.event("b").v < 3))
try:
    qre.either(qre.atom(A.v < A.k), qre.atom(A.k < A.v))
except qre.RateError as error:
    print(error)
"""


def test_values_are_the_same_without_numba(tmp_path: Path) -> None:
    printed = run_without(["numba", "llvmlite", "z3"], QUERIES + PRINTED + REST, tmp_path)
    document, message = printed.splitlines()
    values = json.loads(document)
    scope: dict[str, object] = {}
    exec(QUERIES, scope)
    queries, table = scope["queries"], scope["table"]
    assert isinstance(queries, list)
    assert isinstance(table, pa.Table)
    assert values == [repr(query.run(table)["value"].to_pylist()) for query in queries]
    assert "Nothing is known of" in message
    assert "pip install 'elsinore[solver]'" in message


def test_with_z3_conditions_of_two_attributes_are_compared() -> None:
    a = qre.event("a")
    qre.either(qre.atom(a.v < a.k), qre.atom(a.k < a.v))
    with pytest.raises(qre.RateError):
        qre.either(qre.atom(a.v < a.k), qre.atom(a.k > a.v))
