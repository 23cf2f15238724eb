"""Events of one class in turn act together: as if each had acted alone, however many they are."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.local import run
from elsinore.model.window import SECOND
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.runtime.options import RunOptions
from oracles.reference import ReferenceEvent
from support.trends import table_of

TEXT = "\n".join(
    f"QUERY {name} RETURN COUNT(*) AS trends, LOG2(COUNT(*)) AS log PATTERN {pattern};"
    for name, pattern in {
        "loop": "SEQ(A, B+)",
        "again": "SEQ(C, B+)",  # beside the one before, of the same shape
        "end": "SEQ(A, B)",  # B adds what it finds, and is no predecessor of its own
        "through": "SEQ(A, B+, C)",
    }.items()
)
PLAN = plan(parse_workload(TEXT))
stretches = st.lists(
    st.tuples(st.sampled_from("ABCB"), st.sampled_from([1, 1, 2, 3, 40, 511, 512, 513, 1100])),
    min_size=1,
    max_size=9,
)


def counted(types: str, together: int) -> dict[str, int]:
    """Count the trends of each query by its recurrence, in whole numbers.

    together: so many events in turn are of one time, and do not precede one another.
    """
    a = c = 0
    found = dict.fromkeys(("loop", "again", "end", "through"), 0)
    for begin in range(0, len(types), together):
        before = dict(found)
        moment = types[begin : begin + together]
        found["through"] += moment.count("C") * before["loop"]
        found["loop"] += moment.count("B") * (before["loop"] + a)
        found["again"] += moment.count("B") * (before["again"] + c)
        found["end"] += moment.count("B") * a
        a += moment.count("A")
        c += moment.count("C")
    return found


@settings(max_examples=25)
@given(stretches, st.sampled_from((1, 1, 2, 7, 100)), st.sampled_from(list(Sharing)))
def test_events_in_turn_give_what_they_give_one_by_one(
    drawn: list[tuple[str, int]], together: int, sharing: Sharing
) -> None:
    types = "".join(kind * events for kind, events in drawn)
    times = [SECOND * (place // together) for place in range(len(types))]
    events = [ReferenceEvent(time, kind, {}) for time, kind in zip(times, types, strict=True)]
    results = run(PLAN, table_of(events), RunOptions(sharing=sharing))
    for name, trends in counted(types, together).items():
        rows = results[name].to_pylist()
        assert len(rows) == (1 if trends else 0)
        for row in rows:
            assert row["log"] == pytest.approx(math.log2(trends), abs=1e-9)
            if trends < 2**53:
                assert row["trends"] == trends
