"""Groups of several keys, so many of them that room for their totals is made as they come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.operators import plan
from elsinore.runtime.options import RunOptions

TEXT = (
    "QUERY q RETURN g, COUNT(*) AS trends PATTERN SEQ(A, B+) WHERE [k] GROUP BY g "
    "WITHIN 20 seconds SLIDE 10 seconds;"
)


@pytest.mark.parametrize("keys", [100, 300, 1_000])  # of each group some; no power of two
def test_each_group_has_the_totals_of_its_own_keys(keys: int) -> None:
    groups = keys // 2
    number = np.tile(np.arange(keys), 9)  # each key has A B B, three times, ten seconds apart
    turn = np.repeat(np.arange(9), keys)
    events = pa.table(
        {
            "time": 10 * (turn // 3) + turn % 3,
            "type": np.array(["A", "B", "B"])[turn % 3],
            "g": number % groups,
            "k": number,
        }
    )
    found = run(plan(parse_workload(TEXT)), events, RunOptions(threads=1))["q"].frame
    at_once, twice = _trends("ABB"), _trends("ABBABB")  # of a key, in ten seconds and in twenty
    expected = [2 * number for number in (at_once, twice, twice, at_once)]
    assert found.num_rows == groups * len(expected)
    for group in (0, 1, groups - 1):
        rows = found.filter(pc.equal(found.column("g"), group))
        assert rows.sort_by("window_start").column("trends").to_pylist() == expected


def _trends(types: str) -> int:
    """Return how many trends of SEQ(A, B+) there are in events of these types, in turn."""
    begun = ended = 0
    for kind in types:
        if kind == "A":
            begun += 1
        else:
            ended += begun + ended
    return ended
