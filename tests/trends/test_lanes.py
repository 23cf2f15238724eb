"""Queries of one shape are lanes of one step, whatever their types and constants."""

from __future__ import annotations

import random

import pytest

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.trends.engine.layout import Layout
from oracles.reference import ReferenceEvent
from support.trends import table_of
from support.units import unit_inputs
from trends.test_against_reference import check

SECOND = 1_000_000
QUERIES = (
    "SEQ({a} x, B b+) WHERE b.v < {cut}",
    "SEQ({a} x+, B b+, D d?) WHERE b.v >= {cut} AND d.w < {cut}",
    "SEQ({a} x, NOT Z, B b+) WHERE b.v != {cut}",
)


def workload(pattern: str, window: str = "") -> str:
    returns = "COUNT(*), COUNT(b), SUM(b.w), MIN(b.v), MAX(b.w)"
    return "\n".join(
        f"QUERY q{n} RETURN {returns} PATTERN {pattern.format(a='AC'[n % 2], cut=3 - n)} {window};"
        for n in range(5)
    )


def stream(events: int, seconds: int) -> list[ReferenceEvent]:
    random.seed(11)
    times = sorted(random.randrange(seconds) for _ in range(events))
    return [
        ReferenceEvent(
            time * SECOND,
            random.choice("AACBBBBBDZ"),
            {"v": random.choice((None, 0, 1, 2, 3)), "w": random.choice((None, 0.5, 2.0))},
        )
        for time in times
    ]


@pytest.mark.parametrize("pattern", QUERIES)
@pytest.mark.parametrize(
    "window", ["", "WITHIN 7 seconds SLIDE 3 seconds", "WITHIN 2 seconds SLIDE 5 seconds"]
)
@pytest.mark.parametrize("seconds", [8, 200])
def test_lanes_give_what_their_queries_give_alone(pattern: str, window: str, seconds: int) -> None:
    events = stream(22, seconds)
    (given,) = unit_inputs(
        plan(parse_workload(workload(pattern, window))), table_of(events), exact=False
    )
    for sharing in Sharing:
        operator = given.operator(sharing=sharing)
        totals = [operator.process(given.batch), operator.close()]
        results = given.results(totals)
        for template in given.unit.templates:
            check(template.query, events, results[template.query.name], exact=False, unit=1)


def test_nodes_of_one_shape_are_one_block_in_the_order_of_their_constants() -> None:
    ready = plan(parse_workload(workload(QUERIES[0], "WITHIN 10 seconds SLIDE 5 seconds")))
    (given,) = unit_inputs(ready, table_of(stream(4, 8)), exact=False)
    layout = Layout(given.unit)
    assert [(len(block.nodes), block.overlap) for block in layout.blocks] == [(2, 2), (5, 2)]
    cuts = [
        min(str(edge.needs) for edge in given.unit.merged.nodes[node].edges)
        for node in layout.blocks[1].nodes
    ]
    assert cuts == sorted(cuts)
