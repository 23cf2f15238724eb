"""Trends that hold an anchor: many anchors are swept over at once, each a lane."""

from __future__ import annotations

import itertools
import random

import pytest

from elsinore import Workload

ANCHORS = 300  # more than are swept over at once


def _trends(events: list[tuple[int, str, int]]) -> tuple[int, int]:
    """Count the trends of SEQ(A a, B b+) WHERE b.v > a.v, and add up the values of their b."""
    count = total = 0
    for time, kind, value in events:
        later = [v for at, other, v in events if other == "B" and at > time and v > value]
        if kind == "A":
            # each time gives one of its events or none, and an event is in half of all choices
            of_time = [
                [v for at, other, v in events if other == "B" and at == moment and v > value]
                for moment in sorted({at for at, _, _ in events if at > time})
            ]
            ways = 1
            for chosen in of_time:
                ways *= 1 + len(chosen)
            count += ways - 1
            if later:
                total += sum(v * ways // (1 + len(chosen)) for chosen in of_time for v in chosen)
    return count, total


@pytest.mark.parametrize("step", [1, 0.5])
def test_many_anchors_give_what_each_gives(step: float) -> None:
    draw = random.Random(5)
    events = [
        (int(number * step), draw.choice("AAABC"), draw.randrange(20))
        for number in range(2 * ANCHORS)
    ]
    assert sum(kind == "A" for _, kind, _ in events) > ANCHORS
    text = "QUERY q RETURN COUNT(*) AS n, SUM(b.v) AS total, MIN(b.v) AS least "
    text += "PATTERN SEQ(A a, B b+) WHERE b.v > a.v"
    columns = dict(zip(("time", "type", "v"), map(list, zip(*events, strict=True)), strict=True))
    (row,) = Workload.parse(text).run(columns)["q"].to_pylist()
    count, total = _trends(events)
    assert row["n"] == pytest.approx(count, rel=1e-12)
    assert row["total"] == pytest.approx(total, rel=1e-12)
    assert row["least"] == min(
        v
        for (time, kind, value), (at, other, v) in itertools.product(events, repeat=2)
        if kind == "A" and other == "B" and at > time and v > value
    )
