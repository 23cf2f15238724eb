"""Windows that overlap: what can be completed is worked out for many beginnings at once."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from elsinore import InputError, Workload

EVENTS = 400
Event = tuple[int, str, int, int]


def _events(step: float) -> list[Event]:
    draw = random.Random(11)
    return [
        (int(number * step), draw.choice("ABC"), draw.randrange(50), draw.randrange(4))
        for number in range(EVENTS)
    ]


def _found(where: str, pattern: str, within: int, events: list[Event]) -> Counter[tuple[int, ...]]:
    variables = [part.split()[-1] for part in pattern.split(",")]
    returns = ", ".join(f"{one}.id AS {one}" for one in variables)
    text = f"QUERY q RETURN {returns} PATTERN SEQ({pattern}) WHERE {where} WITHIN {within}"
    columns = dict(
        zip(("time", "type", "v", "k"), map(list, zip(*events, strict=True)), strict=True)
    )
    rows = Workload.parse(text).run(columns | {"id": list(range(len(events)))})["q"].to_pylist()
    return Counter(tuple(row[one] for one in variables) for row in rows)


@pytest.mark.parametrize("step", [1, 0.4])
@pytest.mark.parametrize("within", [7, 100])
def test_pairs_and_triples_are_those_a_loop_finds(step: float, within: int) -> None:
    events = _events(step)
    pairs = [
        (i, j)
        for i, (time, kind, _, key) in enumerate(events)
        for j, (at, other, _, of) in enumerate(events)
        if kind == "A" and other == "C" and time < at <= time + within and key == of
    ]
    assert _found("c.k = a.k", "A a, C c", within, events) == Counter(pairs)
    triples = [
        (i, m, j)
        for i, j in pairs
        for m, (at, kind, value, _) in enumerate(events)
        if kind == "B" and events[i][0] < at < events[j][0] and value > events[i][2]
    ]
    found = _found("c.k = a.k AND b.v > a.v", "A a, B b, C c", within, events)
    assert found == Counter(triples)


@pytest.mark.parametrize("where", ["a.k = c.k", "b[i].k >= b[i-1].k", "b[i].k = b[i-1].k"])
def test_what_ends_behind_the_window_is_not_guarded_against(where: str) -> None:
    # a window of 19 holds no match of the A, and two windows hold millions
    text = "QUERY q RETURN COUNT(b[]) AS n PATTERN SEQ(A a, B b[]+, C c) "
    text += "WHERE " + where + " WITHIN {}"
    types = list("AAAA" + "B" * 30 + "C")
    columns = {"time": list(range(len(types))), "type": types, "k": [0] * len(types)}
    assert Workload.parse(text.format(19)).run(columns)["q"].num_rows == 0
    with pytest.raises(InputError, match="a window has"):
        Workload.parse(text.format(100)).run(columns)
