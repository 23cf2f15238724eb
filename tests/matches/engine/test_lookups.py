"""Events that a condition rules out are not looked at, where it can be looked up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

COUNTING = """
import sys
import elsinore as el
from elsinore.matches.engine import filters, graph, search

looks = 0


def counting(function):
    def counted(*arguments):
        global looks
        looks += 1
        return function(*arguments)

    return counted


graph.next_follower = counting(graph.next_follower)
search.next_follower = counting(search.next_follower)
filters.value_of = counting(filters.value_of)
events = [{"time": n, "type": "ABC"[n % 3], "k": n // 6, "v": n % 7} for n in range(600)]
(table,) = el.Workload.parse(sys.argv[1]).run(events).values()
print(looks, table.num_rows)
"""
QUERIES = [  # none of which is run by a key
    "RETURN a.time, b.time PATTERN SEQ(A a, B b) WHERE b.time - a.time <= 10",
    "RETURN a.time, c.time PATTERN SEQ(A a, B b, C c) WHERE c.time - a.time <= 10 seconds",
    "RETURN COUNT(b[]) AS n PATTERN B{2,3} b WHERE b[i].time - b[i-1].time <= 4",
    "RETURN a.time, b.time PATTERN SEQ(A? a, B b) WHERE b.k = a.k",
    "RETURN a.time, b.time PATTERN SEQ(A? a, B b) WHERE b.k = a.k STRATEGY SKIP TILL NEXT MATCH",
    "RETURN a.time, c.time PATTERN SEQ(A a, B b, C c) WHERE c.k = a.k AND b.time - a.time < 5",
]


@pytest.mark.parametrize("query", QUERIES)
def test_few_events_are_looked_at(query: str) -> None:
    """Of 600 events there are 20,000 pairs of an A and a later B."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, query],
        env=os.environ | {"ELSINORE_PURE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    looks, rows = map(int, done.stdout.split())
    assert rows > 0
    assert looks <= 4_000
