"""Queries whose results differ in their rows alone are finished together."""

from __future__ import annotations

import pyarrow as pa

import elsinore as el
from elsinore.operators import kind_for

QUERIES = """
QUERY a RETURN COUNT(*), MIN(B.v) PATTERN SEQ(A, B+) GROUP BY g WITHIN 4;
QUERY b RETURN g AS place, COUNT(*) PATTERN B+ GROUP BY g WITHIN 4;
QUERY c RETURN COUNT(*), MIN(B.v) PATTERN B+ GROUP BY g WITHIN 4;
QUERY d RETURN COUNT(*), MAX(B.v) PATTERN B+ GROUP BY g WITHIN 4;
QUERY e RETURN COUNT(*), MIN(B.v) PATTERN SEQ(C, B+) GROUP BY g WITHIN 4;
QUERY f RETURN COUNT(*), MIN(B.v) PATTERN B+ GROUP BY g WITHIN 4 SLIDE 2;
QUERY never RETURN COUNT(*), MIN(B.v) PATTERN SEQ(Z, B+) GROUP BY g WITHIN 4;
"""
EVENTS = pa.table(
    {
        "time": [n // 2 for n in range(40)],
        "type": ["ABBCB"[n % 5] for n in range(40)],
        "g": [None if n % 7 == 3 else f"g{n % 3}" for n in range(40)],
        "v": [n * 37 % 11 for n in range(40)],
    }
)


def test_queries_finished_together_have_the_results_they_have_alone() -> None:
    workload = el.Workload.parse(QUERIES)
    (unit,) = (unit for unit in workload.plan.units if "never" in unit.names)
    families = kind_for(unit).families(unit)
    assert ["a", "c", "e", "never"] in [[unit.names[q] for q in family] for family in families]
    together = workload.run(EVENTS)
    for query in QUERIES.strip().split("\n"):
        name = query.split()[1]
        alone = el.Workload.parse(query).run(EVENTS)[name].to_arrow()
        assert together[name].to_arrow().equals(alone), name
    assert together["never"].to_arrow().num_rows == 0
