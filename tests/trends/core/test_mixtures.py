"""Events that differ in their predicates act together: as if each had acted alone, in any mode."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Sharing
from elsinore.trends import TrendOperator
from oracles.reference import ReferenceEvent
from support.trends import SECOND, table_of
from support.units import unit_inputs

LOOPS: dict[str, tuple[str, str, Callable[[int], bool]]] = {
    "one": ("A", "b.v < 1", lambda v: v < 1),
    "two": ("A", "b.v < 2", lambda v: v < 2),
    "three": ("A", "b.v < 3", lambda v: v < 3),
    "beside": ("C", "b.v < 2", lambda v: v < 2),
    "but_one": ("A", "b.v != 1", lambda v: v != 1),
}
TEXT = "\n".join(
    [
        f"QUERY {name} RETURN g, LOG2(COUNT(*)) AS log PATTERN SEQ({first}, B+ b) "
        f"WHERE {where} GROUP BY g;"
        for name, (first, where, _) in LOOPS.items()
    ]
    + [
        f"QUERY end{cut} RETURN g, LOG2(COUNT(*)) AS log PATTERN SEQ(A, D d) "
        f"WHERE d.v < {cut} GROUP BY g;"
        for cut in (1, 2, 3)
    ]
)
PLAN = plan(parse_workload(TEXT))
stretches = st.lists(
    st.tuples(
        st.sampled_from("ABCBD"),
        st.sampled_from([(0,), (1,), (2,), (3,), (0, 1, 2, 3), (2, 0)]),
        st.sampled_from([1, 1, 2, 3, 40, 499, 501, 1100]),
        st.sampled_from(["x", "x", "xy"]),
    ),
    min_size=1,
    max_size=8,
)


def counted(events: Sequence[tuple[str, int, str]], together: int) -> dict[tuple[str, str], int]:
    """Count the trends of each query and group by its recurrence, in whole numbers.

    together: so many events in turn are of one time, and do not precede one another.
    """
    found: dict[tuple[str, str], int] = {}
    for group in "xy":
        begun = dict.fromkeys("AC", 0)
        sums = dict.fromkeys([*LOOPS, "end1", "end2", "end3"], 0)
        for begin in range(0, len(events), together):
            before, first = dict(sums), dict(begun)
            for kind, v, g in events[begin : begin + together]:
                if g == group and kind in begun:
                    begun[kind] += 1
                elif g == group and kind == "D":
                    for cut in range(v + 1, 4):
                        sums[f"end{cut}"] += first["A"]
                elif g == group:
                    for name, (start, _, takes) in LOOPS.items():
                        sums[name] += (before[name] + first[start]) * takes(v)
        found |= {(name, group): number for name, number in sums.items()}
    return found


@settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")))
@given(
    stretches,
    st.sampled_from((1, 1, 1, 3)),
    st.sampled_from(list(Sharing)),
    st.sampled_from((1, 3)),
    st.booleans(),
)
def test_events_of_several_classes_give_what_they_give_one_by_one(
    drawn: list[tuple[str, tuple[int, ...], int, str]],
    together: int,
    sharing: Sharing,
    pieces: int,
    ordered: bool,
) -> None:
    events = [
        (kind, values[turn % len(values)], groups[turn % len(groups)])
        for kind, values, length, groups in drawn
        for turn in range(length)
    ]
    table = table_of(
        [
            ReferenceEvent(SECOND * (place // together), kind, {"v": v, "g": g})
            for place, (kind, v, g) in enumerate(events)
        ]
    )
    (unit,) = unit_inputs(PLAN, table, exact=False)
    operator = TrendOperator(unit.unit, sharing=sharing, ordered=ordered and together == 1)
    edges = [round(piece * len(table) / pieces) for piece in range(pieces + 1)]
    for begin, end in itertools.pairwise(edges):
        operator.process(unit.batch.slice(begin, end - begin))
        operator = TrendOperator.load(unit.unit, operator.save())
    results = unit.results([operator.close()])
    wanted = {key: number for key, number in counted(events, together).items() if number}
    rows = {(name, row["g"]): row["log"] for name in results for row in results[name].to_pylist()}
    assert rows.keys() == wanted.keys()
    for key, log in rows.items():
        assert log == pytest.approx(math.log2(wanted[key]), abs=1e-9), key
