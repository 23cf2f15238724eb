"""MIN and MAX tell the least and greatest integers of 64 bits from having no value."""

from __future__ import annotations

import pyarrow as pa
import pytest

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.plan import Granularity, Path
from elsinore.runtime.options import RunOptions
from elsinore.trends.kind import spec_of
from support.units import SECOND, UnitInput, unit_inputs
from trends.test_actions import folded

EDGES = {pa.int64(): (-(2**63), 2**63 - 1), pa.uint64(): (0, 2**64 - 1)}
WAYS = {  # how the query goes, and on which path
    "": (Granularity.AUTO, Path.COARSE),
    "WHERE A.w > 0": (Granularity.FINE, Path.GRAPH),
    "WHERE A[i].w >= A[i-1].w": (Granularity.AUTO, Path.GRAPH),
    "WHERE A[i].w * A[i-1].w > 0": (Granularity.AUTO, Path.GRAPH),
    "STRATEGY CONTIGUOUS": (Granularity.AUTO, Path.GRAPH),
}


def table(kind: pa.DataType) -> pa.Table:
    """Return groups with the least value alone, the greatest, none, and all of them."""
    least, greatest = EDGES[kind]
    values = [least, None, greatest, None, None, None, least, 7, greatest, None]
    groups = ["least"] * 2 + ["greatest"] * 2 + ["none"] * 2 + ["all"] * 4
    return pa.table(
        {
            "time": range(len(values)),
            "type": ["A"] * len(values),
            "g": groups,
            "v": pa.array(values, kind),
            "w": [1] * len(values),
        }
    )


def expected(kind: pa.DataType) -> dict[str, tuple[int | None, int | None]]:
    least, greatest = EDGES[kind]
    return {
        "least": (least, least),
        "greatest": (greatest, greatest),
        "none": (None, None),
        "all": (least, greatest),
    }


def found(result: pa.Table) -> dict[str, tuple[int | None, int | None]]:
    return {row["g"]: (row["a"], row["b"]) for row in result.to_pylist()}


def text_of(clause: str) -> str:
    return f"QUERY q RETURN g, MIN(A.v) AS a, MAX(A.v) AS b PATTERN A+ {clause} GROUP BY g"


@pytest.mark.parametrize("exact", ["", "EXACT; "], ids=["doubles", "exact"])
@pytest.mark.parametrize("kind", EDGES, ids=str)
@pytest.mark.parametrize("clause", WAYS)
def test_edges_of_64_bits_are_values(clause: str, kind: pa.DataType, exact: str) -> None:
    granularity, path = WAYS[clause]
    ready = plan(parse_workload(exact + text_of(clause)), granularity=granularity)
    if not exact:
        assert spec_of(ready.units[0]).path is path
    assert found(run(ready, table(kind), RunOptions())["q"]) == expected(kind)


@pytest.mark.parametrize("kind", EDGES, ids=str)
def test_edges_are_values_in_pieces_and_in_panes(kind: pa.DataType) -> None:
    def in_pieces(given: UnitInput) -> list[pa.RecordBatch]:
        operator = given.operator()
        totals = []
        for row in range(given.batch.num_rows):
            totals.append(operator.process(given.batch.slice(row, 1)))
            operator = given.stopped(operator)
        return [*totals, operator.close()]

    ready = plan(parse_workload(text_of("")))
    (given,) = unit_inputs(ready, table(kind), exact=False)
    assert found(given.results(in_pieces(given))["q"]) == expected(kind)
    assert given.batch.column("time")[-1].as_py() > 2 * SECOND  # more than one pane
    assert found(given.results(folded(given))["q"]) == expected(kind)
