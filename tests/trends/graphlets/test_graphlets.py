"""Graphlets and snapshots of recorded runs: the paper's own figures and tables, and any others."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elsinore import Workload
from elsinore.errors import InputError
from elsinore.local import run
from elsinore.model import Call, ReturnItem
from elsinore.model import Workload as Queries
from elsinore.operators import plan
from elsinore.plan import Granularity, Sharing
from elsinore.runtime.options import RunOptions
from elsinore.trends.graph import HamletGraph
from elsinore.trends.recording import MOST_EVENTS, Recording
from elsinore.trends.statistics import TrendStatistics
from oracles.reference import ReferenceEvent
from support.trends import table_of
from trends.hamlet.test_against_reference import streams, workloads

EXAMPLE = """
    QUERY q1 RETURN COUNT(*) PATTERN SEQ(A, B+ b);
    QUERY q2 RETURN COUNT(*) PATTERN SEQ(C, B+ b){};
"""
# Figure 4: a1 a2 and c1, the burst b3 to b6, a7 a8 and c7 c8 c9, and a last b
FIGURE = {"A": (1, 2, 7, 8), "B": (3, 4, 5, 6, 10), "C": (1, 7, 8, 9)}
VALUES = {3: 1, 4: 3, 5: 2, 6: 4, 10: 5}  # b4 leads to b5 unless values must rise


def figure_4(where: str = "", granularity: str = "auto") -> HamletGraph:
    """Return the graph of the paper's running example, of the first query's window."""
    events = [
        {"time": time, "type": name, "v": VALUES.get(time)}
        for name, times in FIGURE.items()
        for time in times
    ]
    results = Workload.parse(EXAMPLE.format(where)).run(
        sorted(events, key=lambda event: event["time"]),
        record=True,
        sharing="always",
        granularity=granularity,
    )
    (graph,) = recording(results).graphs()
    return graph


def recording(results) -> Recording:  # type: ignore[no-untyped-def]
    (found,) = results.statistics
    assert isinstance(found, TrendStatistics)
    assert found.recording is not None
    return found.recording


def tables(graph: HamletGraph) -> dict[str, dict[str, int]]:
    return {one.name: dict(one.values) for one in graph.snapshots}


@pytest.mark.parametrize("granularity", ["auto", "fine"])
def test_figure_4b_and_tables_3_and_4_come_out_as_the_paper_prints_them(granularity: str) -> None:
    graph = figure_4(granularity=granularity)
    assert [one.name for one in graph.graphlets] == ["A1", "C2", "B3", "A4", "C5", "B6"]
    assert [one.shared for one in graph.graphlets] == [False, False, True, False, False, True]
    events = {one.name: [event.name for event in one.events] for one in graph.graphlets}
    assert events["A1"] == ["a1", "a2"]
    assert events["B3"] == ["b3", "b4", "b5", "b6"]
    b3 = graph.graphlets[2]
    assert b3.queries == ("q1", "q2")
    assert [str(event.form) for event in b3.events] == ["x", "2x", "4x", "8x"]
    assert (str(b3.form), b3.sums) == ("15x", {"q1": 30, "q2": 15})
    assert tables(graph) == {"x": {"q1": 2, "q2": 1}, "y": {"q1": 34, "q2": 19}}
    assert graph.totals == {"q1": 64, "q2": 34}


def test_figure_5c_and_table_5_come_out_as_the_paper_prints_them() -> None:
    """Example 7: the edge from b4 to b5 holds for q1 and not for q2, so that b5 is a snapshot."""
    graph = figure_4(" WHERE b[i].v >= b[i-1].v", "fine")
    assert [one.shared for one in graph.graphlets] == [False, False, True, False, False, True]
    b3 = graph.graphlets[2]
    assert [str(event.form) for event in b3.events] == ["x", "2x", "z", "4x + z"]
    assert (str(b3.form), b3.sums) == ("7x + 2z", {"q1": 30, "q2": 11})
    assert tables(graph) == {
        "x": {"q1": 2, "q2": 1},
        "z": {"q1": 8, "q2": 2},
        "y": {"q1": 34, "q2": 15},
    }
    assert graph.totals == {"q1": 64, "q2": 26}


def test_an_event_that_one_query_does_not_take_is_a_snapshot() -> None:
    graph = figure_4(" WHERE b.v <> 2")
    assert [str(event.form) for event in graph.graphlets[2].events] == ["x", "2x", "z", "4x + z"]
    assert tables(graph)["z"] == {"q1": 8, "q2": 0}


def test_queries_that_do_not_share_have_graphlets_of_their_own() -> None:
    """Figure 6(d): the burst is a graphlet for each query."""
    text = EXAMPLE.format("")
    events = [{"time": n, "type": name} for n, name in enumerate("AACBBC")]
    graph = recording(Workload.parse(text).run(events, record=True, sharing="never")).graph()
    assert [(one.name, one.queries, one.shared) for one in graph.graphlets] == [
        ("A1", ("q1",), False),
        ("C2", ("q2",), False),
        ("B3", ("q1",), False),
        ("B4", ("q2",), False),
        ("C5", ("q2",), False),
    ]
    assert graph.snapshots == ()


@settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "15")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(workloads(), streams(), st.sampled_from(Sharing), st.sampled_from(Granularity))
def test_forms_are_worth_what_each_query_counts_and_totals_are_the_results(
    workload: Queries, events: list[ReferenceEvent], sharing: Sharing, granularity: Granularity
) -> None:
    counted = (ReturnItem(Call("COUNT", ())),)
    queries = Queries(tuple(replace(query, returns=counted) for query in workload))
    ready = plan(queries, granularity=granularity)
    results = run(ready, table_of(events), RunOptions(sharing=sharing, record=True))
    for found in results.statistics:
        assert isinstance(found, TrendStatistics)
        assert found.recording is not None
        if found.recording.events is None:
            continue
        for graph in found.recording.graphs():
            check_forms(graph)
            for name, count in graph.totals.items():
                window = graph.windows[name]
                bounds = (None, None) if window is None else tuple(t // 10**6 for t in window)
                rows = {
                    (row["window_start"], row["window_end"]): row["count(*)"]
                    for row in results[name].to_pylist()
                }
                assert rows.get(bounds, 0) == count
        check_snapshots(found, sharing)


def check_forms(graph: HamletGraph) -> None:
    """Compare the forms of shared graphlets with what single queries count."""
    for graphlet in graph.graphlets:
        for event in graphlet.events:
            assert (event.form is not None) == graphlet.shared
            for query, count in event.counts.items():
                if event.form is not None:
                    known = {one.name: one.values.get(query, 0) for one in graph.snapshots}
                    assert event.form.value(known) == count


def check_snapshots(found: TrendStatistics, sharing: Sharing) -> None:
    """Compare the number of snapshots that the engine made with those of the graph of one window.

    It compares the forms of an event by each condition, those of events that end no trend of a
    query included; so it may make one more where a graphlet's events have all before them as
    predecessors, and that is in the graphlet's own snapshot.
    """
    assert found.recording is not None
    graphs = list(found.recording.graphs())
    if (
        sharing is Sharing.ALWAYS
        and len(graphs) == 1
        and found.recording.unit.path.value == "graph"
    ):
        told = sum(one.event is not None for one in graphs[0].snapshots)
        assert told <= sum(one.event_snapshots for one in found.sharing)


def test_a_run_over_too_many_events_says_so() -> None:
    events = [{"time": n, "type": "AB"[n % 2]} for n in range(MOST_EVENTS + 1)]
    results = Workload.parse("QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+);").run(events, record=True)
    with pytest.raises(InputError, match=r"up to 5,000 events .* had 5,001"):
        recording(results).graph()


def test_queries_that_keep_graphs_of_their_own_say_so() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, NOT SEQ(C, D), B+);"
    results = Workload.parse(text).run([{"time": 0, "type": "A"}], record=True)
    with pytest.raises(InputError, match="no graphlets"):
        recording(results).graph()


def test_pairs_of_trends_are_counted_as_results_are() -> None:
    events = [{"time": n, "type": name} for n, name in enumerate("ABABCA")]
    text = (
        "QUERY q RETURN COUNT(*) PATTERN A+ AND (A | B)+; QUERY other RETURN COUNT(*) PATTERN A+;"
    )
    results = Workload.parse(text).run(events, record=True)
    totals = recording(results).graph().totals
    assert totals == {name: results[name]["count(*)"][0].as_py() for name in ("q", "other")}


def test_a_pattern_of_several_events_that_may_not_follow_has_no_graphlets() -> None:
    text = "QUERY q RETURN COUNT(*) PATTERN SEQ(A, B+, NOT SEQ(C, D));"
    events = [{"time": n, "type": name} for n, name in enumerate("ABCD")]
    with pytest.raises(InputError, match="no graphlets"):
        recording(Workload.parse(text).run(events, record=True)).graph()


def test_what_is_not_shared_says_why() -> None:
    events = {"time": [1, 2, 3, 4], "type": list("ABBB"), "v": [0, 5, 4, 7]}
    query = "QUERY {} RETURN COUNT(*) PATTERN SEQ(A a, B b+){};"
    odd = query.format("q2", " WHERE b[i].v > a.v - 1")
    pair = Workload.parse(query.format("q1", "") + odd)
    plain, compared = pair.run(events, record=True, sharing="always").statistics
    assert plain.recording.graph().why_unshared.startswith("q1 is alone in its operator: explain")
    why = "q2: graph path .*, because a condition compares events with one another"
    with pytest.raises(InputError, match=why):
        compared.recording.graph()
    assert "a condition compares events with one another" in pair.explain()
    several = query.format("q1", "") + query.format("q2", " WHERE b[i].v >= b[i-1].v")
    fine = Workload.parse(several).run(events, record=True, granularity="fine")
    why_unshared = fine.statistics[0].recording.graph().why_unshared
    assert why_unshared.startswith("no burst was shared among q1 and q2: explain")
