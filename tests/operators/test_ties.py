"""Simultaneous events of one key and pattern are counted, wherever batches are cut."""

from __future__ import annotations

import itertools
import os
import warnings
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.operators.ties import TieCounter
from elsinore.runtime.warnings import SimultaneousEventsWarning

often = settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "60")))
TEXT = """
QUERY ab RETURN g, COUNT(*) PATTERN SEQ(A a, B+ b) WHERE a.v > 0 GROUP BY g;
QUERY bc RETURN g, COUNT(*) PATTERN SEQ(B b, NOT C c, D d) GROUP BY g;
QUERY single RETURN g, COUNT(*) PATTERN (E OR F) GROUP BY g;
"""
PATTERNS = ("AB", "BCD")
EVENTS = st.lists(
    st.tuples(
        st.sampled_from("xyz"),
        st.integers(0, 4),
        st.sampled_from("ABCDE"),
        st.sampled_from([0.0, 1.0]),
    ),
    max_size=14,
)


def tied(events: list[Any]) -> int:
    """Return the number of tied events, pair by pair."""
    taken = [event for event in events if event[2] != "A" or event[3] > 0]
    actual = set()
    for (n, one), (m, other) in itertools.combinations(enumerate(taken), 2):
        together = any(one[2] in types and other[2] in types for types in PATTERNS)
        if one[:2] == other[:2] and together:
            actual |= {n, m}
    return len(actual)


def table_of(events: list[Any]) -> pa.Table:
    rows = [dict(zip(("g", "time", "type", "v"), event, strict=True)) for event in events]
    schema = pa.schema(
        {"g": pa.string(), "time": pa.int64(), "type": pa.string(), "v": pa.float64()}
    )
    return pa.Table.from_pylist(rows, schema=schema)


def counted(results: el.Results[Any]) -> int:
    return sum(statistics.tied for statistics in results.statistics)


def test_a_run_warns_once_of_simultaneous_events_with_their_number() -> None:
    events = [("x", 1, "A", 1.0), ("x", 1, "B", 0.0), ("x", 2, "B", 0.0), ("y", 2, "D", 0.0)]
    workload = el.Workload.parse(TEXT)
    expected = (
        "2 events of queries ab, bc have the same time as another event of the same key that the "
        "pattern names"
    )
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        results = workload.run(table_of(events))
    (message,) = (str(w.message) for w in warned if w.category is SimultaneousEventsWarning)
    assert message.startswith(expected)
    assert 'order_by="COLUMN"' in message
    assert message in results.warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimultaneousEventsWarning)
        in_order = workload.run(table_of(events), order_by="type")
    assert not [text for text in in_order.warnings if "same time" in text]


@often
@given(EVENTS, st.integers(1, 3))
def test_ties_in_this_process_are_those_of_all_pairs(events: list[Any], threads: int) -> None:
    events = sorted(events, key=lambda event: event[1])
    workload = el.Workload.parse(TEXT)
    assert counted(workload.run(table_of(events), threads=threads)) == tied(events)


@often
@given(EVENTS, st.lists(st.integers(0, 14), max_size=4))
def test_ties_in_batches_key_after_key_are_those_of_all_pairs(
    events: list[Any], cuts: list[int]
) -> None:
    events = sorted(events, key=lambda event: event[:2])
    (unit,) = el.Workload.parse(TEXT).plan.units
    codes = {classes.type: classes for classes in unit.classes.types}

    def code(event: Any) -> int:
        if event[2] not in codes or (event[2] == "A" and event[3] <= 0):
            return -1
        classes = codes[event[2]]
        return classes.offset + (classes.size - 1 if event[2] == "A" else 0)

    batch = pa.RecordBatch.from_pydict(
        {
            "key": pa.array(["xyz".index(event[0]) for event in events], pa.int32()),
            "time": pa.array([event[1] for event in events], pa.int64()),
            "class": pa.array([code(event) for event in events], pa.int64()),
        }
    )
    counter = TieCounter(unit)
    edges = [0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]
    for begin, end in itertools.pairwise(edges):
        counter.add(batch.slice(begin, end - begin))
    assert counter.total() == tied(events)
