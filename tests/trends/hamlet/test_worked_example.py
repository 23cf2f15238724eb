"""The paper's running example: Figures 4 and 5, Tables 3 to 5."""

from __future__ import annotations

import pytest

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model import Workload
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.runtime.options import RunOptions
from elsinore.trends.kind import operator_class, spec_of
from elsinore.trends.statistics import SharingStatistics
from oracles.burst import bursts
from oracles.graphlet import Graphlet, next_opening
from oracles.reference import ReferenceEvent
from oracles.snapshot import SnapshotTable
from support.trends import table_of
from support.units import unit_inputs

STREAM = "AACBBBBAACCC"
QUERIES = ("q1", "q2")
WORKLOAD = parse_workload("""
    QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B+);
    QUERY q2 RETURN COUNT(*) PATTERN SEQ(C, B+);
""")


def run_example(
    workload: Workload, stream: list[ReferenceEvent], sharing: Sharing
) -> tuple[list[int], SharingStatistics]:
    """Return the numbers of trends of both queries, and what became of their only sharing set."""
    (unit,) = unit_inputs(plan(workload), table_of(stream), exact=False)
    operator = operator_class(unit.unit)(unit.unit, sharing=sharing, record=True)
    results = unit.results([operator.process(unit.batch), operator.close()])
    (statistics,) = operator.statistics.sharing
    return [results[name].column("count(*)")[0].as_py() for name in QUERIES], statistics


def started() -> tuple[SnapshotTable, Graphlet]:
    """Return the snapshot table and the graphlet B3 where it begins."""
    table = SnapshotTable()
    return table, Graphlet(QUERIES, table, table.create("x", {"q1": 2, "q2": 1}))


def events(types: str) -> list[ReferenceEvent]:
    nothing = dict.fromkeys("gkvwsb")
    return [ReferenceEvent(n * 1_000_000, name, nothing) for n, name in enumerate(types)]


def test_the_four_b_events_are_one_complete_burst() -> None:
    found = list(bursts(STREAM, "B", frozenset("AC")))
    assert [(burst.events, burst.complete) for burst in found] == [((3, 4, 5, 6), True)]


def test_table_3_counts_in_graphlet_b3_are_x_2x_4x_8x() -> None:
    _, graphlet = started()
    assert [str(graphlet.add(event)) for event in ("b3", "b4", "b5", "b6")] == [
        "x",
        "2x",
        "4x",
        "8x",
    ]
    assert str(graphlet.sum()) == "15x"


def test_table_4_snapshot_y_is_34_for_q1_and_19_for_q2() -> None:
    table, graphlet = started()
    for event in ("b3", "b4", "b5", "b6"):
        graphlet.add(event)
    graphlet.close()
    next_opening("y", graphlet, {"q1": 2, "q2": 3}.items())
    assert table.values == {"x": {"q1": 2, "q2": 1}, "y": {"q1": 34, "q2": 19}}
    assert not graphlet.active


def test_table_5_an_edge_that_holds_for_one_query_makes_a_snapshot_of_the_event() -> None:
    table, graphlet = started()

    def edge(before: str, after: str, query: str) -> bool:
        return (before, after, query) != ("b4", "b5", "q2")

    counts = [str(graphlet.add(event, edge)) for event in ("b3", "b4", "b5", "b6")]
    assert counts == ["x", "2x", "z", "4x + z"]
    assert table.values["z"] == {"q1": 8, "q2": 2}
    assert str(graphlet.sum()) == "7x + 2z"
    next_opening("y", graphlet, {"q1": 2, "q2": 3}.items())
    assert table.values["y"] == {"q1": 34, "q2": 15}


@pytest.mark.parametrize("sharing", Sharing)
def test_the_engine_finds_the_sums_of_the_example(sharing: Sharing) -> None:
    """30 and 15 trends end in B3; one more B event ends 34 and 19 more."""
    for stream, expected in ((STREAM, [30, 15]), (STREAM + "B", [30 + 34, 15 + 19])):
        counts, statistics = run_example(WORKLOAD, events(stream), sharing)
        assert counts == expected
        assert (statistics.name, statistics.queries) == ("B+", QUERIES)
        assert statistics.bursts == (1 if stream == STREAM else 2)


def test_the_engine_creates_one_snapshot_for_each_shared_graphlet() -> None:
    _, statistics = run_example(WORKLOAD, events(STREAM + "B"), Sharing.ALWAYS)
    assert (statistics.shared_graphlets, statistics.event_snapshots) == (2, 0)
    assert [(record.events, record.queries, record.shared) for record in statistics.records] == [
        (4, 2, 2),
        (1, 2, 2),
    ]


def test_an_event_that_one_query_takes_and_another_does_not_is_a_snapshot() -> None:
    workload = parse_workload("""
        QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B+ b) WHERE b.v > 0;
        QUERY q2 RETURN COUNT(*) PATTERN SEQ(C, B+ b);
    """)
    stream = events("AACBBBBAACCCB")
    for place, value in zip((3, 4, 5, 6, 12), (1, 1, 0, 1, 1), strict=True):
        stream[place] = ReferenceEvent(
            place * 1_000_000, "B", stream[place].attributes | {"v": value}
        )
    counts, statistics = run_example(workload, stream, Sharing.ALWAYS)
    assert counts == [14 + 2 + 14 + 2, 34]
    assert statistics.event_snapshots == 1


@pytest.mark.parametrize("sharing", Sharing)
def test_example_10_nested_kleene_patterns_have_b_among_the_predecessors_of_a(
    sharing: Sharing,
) -> None:
    workload = parse_workload("""
        QUERY q1 RETURN COUNT(*) PATTERN (SEQ(A, B+))+;
        QUERY q2 RETURN COUNT(*) PATTERN (SEQ(C, B+))+;
    """)
    first, second = spec_of(plan(workload).units[0]).members
    assert first.predecessor_types("B") == {"A", "B"}
    assert first.predecessor_types("A") == {"B"}
    assert second.predecessor_types("C") == {"B"}
    results = run(plan(workload), table_of(events(STREAM + "B")), RunOptions(sharing=sharing))
    # b: x=2, 30 in all; each a' extends those and starts: 31, so 2 + 2 * 31 - 2 more reach B6
    assert results["q1"].column("count(*)").to_pylist() == [30 + 30 + 2 + 2 * 31]
    assert results["q2"].column("count(*)").to_pylist() == [15 + 15 + 1 + 3 * 16]


@pytest.mark.parametrize("sharing", Sharing)
def test_an_edge_that_holds_for_one_query_only(sharing: Sharing) -> None:
    """Example 7 and Table 5: z is b5, to which b4 leads for q1 alone; 34 and 15 are y's values."""
    workload = parse_workload("""
        QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B+ b);
        QUERY q2 RETURN COUNT(*) PATTERN SEQ(C, B+ b) WHERE b[i].v >= b[i-1].v;
    """)
    stream = events(STREAM + "B")
    for place, value in zip((3, 4, 5, 6, 12), (1, 3, 2, 4, 5), strict=True):
        stream[place] = ReferenceEvent(
            place * 1_000_000, "B", stream[place].attributes | {"v": value}
        )
    for length, expected in (len(STREAM), [7 * 2 + 2 * 8, 7 * 1 + 2 * 2]), (13, [30 + 34, 11 + 15]):
        results = run(plan(workload), table_of(stream[:length]), RunOptions(sharing=sharing))
        assert [results[name].column("count(*)")[0].as_py() for name in QUERIES] == expected
