"""State and time per item depend on the query, not on how many items there have been."""

import sys
from typing import Any

import numpy as np
import pyarrow as pa

import elsinore.quantitative as qre
from elsinore.quantitative.stream import Stream

MILLION = 1_000_000


def lines_run(stream: Stream, items: list[Any]) -> int:
    """Return how many lines of Python are run while a stream takes items."""
    count = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for item in items:
            stream.push(item)
    finally:
        sys.settrace(before)
    return count


def test_ten_million_items_do_not_increase_state_and_steps() -> None:
    high = qre.predicate(qre.item.v > 40, "high")
    low = qre.iterate(qre.atom(~high, lambda item: item.v), qre.mean())
    query = qre.iterate1(
        qre.split(low, qre.atom(high, lambda item: item.v), lambda mean, end: end), 0.0, max
    )
    stream = query.start()
    table = pa.table({"v": np.arange(MILLION) % 50.0})
    few = [{"v": float(v)} for v in (1, 41, 2, 3, 49)]
    stream.take(table)
    size, steps = len(stream.save()), lines_run(stream, few)
    for _ in range(9):
        stream.take(table)
    assert stream.position == 10 * MILLION + len(few)
    assert len(stream.save()) - size <= 2  # the position takes as many bytes as it needs
    assert lines_run(stream, few) == steps
    assert stream.value == 49.0
