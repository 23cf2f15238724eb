"""Exact sums over ranges: what every trend built adds up to, and what the search pair by pair."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsinore as el
from elsinore.language import parse_workload
from elsinore.model import Workload
from oracles.reference import ReferenceEvent
from trends.index.test_index import GUARDED, RANGES, SECOND, few_events, ranged
from trends.sets.test_sets import check, count, results

often = settings(
    max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "12")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@often
@given(ranged(), few_events(), st.booleans())
def test_ranges_are_as_if_each_trend_were_built(
    workload: Workload, events: list[ReferenceEvent], ordered: bool
) -> None:
    (query,) = workload.queries
    check(query, events, ordered=ordered)


def long_stream(seed: int, size: int) -> list[ReferenceEvent]:
    random = np.random.default_rng(seed)
    seconds = np.cumsum(random.random(size) < 0.8).tolist()

    def value(most: int, parts: int) -> Any:
        return None if random.random() < 0.05 else int(random.integers(-9, most)) / parts

    return [
        ReferenceEvent(
            second * SECOND,
            str(random.choice(list("ABBBBBBBCD"))),
            {"v": value(20, 1), "w": value(40, 4), "k": 1, "s": "pqr"[random.integers(0, 3)]},
        )
        for second in seconds
    ]


@pytest.mark.parametrize("where", RANGES)
def test_long_streams_come_out_as_pair_by_pair(where: str) -> None:
    for number, pattern in enumerate(GUARDED):
        text = f"QUERY q RETURN COUNT(*), SUM(b.v), MAX(b.w) PATTERN {pattern} WHERE {where};"
        (query,) = parse_workload(text).queries
        events, ordered = long_stream(number, 50), number % 2 == 1
        found, searched = (results(query, events, ordered=ordered, searched=how) for how in (0, 1))
        assert found == searched


def test_all_digits_of_a_count_beyond_doubles() -> None:
    events = [(n, "B", n * 37 % 1_009) for n in range(900)]
    ending = [0] * 1_009
    for _, _, v in events:
        ending[v] += 1 + sum(ending[: v + 1])
    assert count("PATTERN B b+ WHERE b[i].v >= b[i-1].v", *events) == sum(ending)
    assert sum(ending) > 2**53


def test_texts_follow_in_the_order_of_code_points() -> None:
    (query,) = parse_workload(
        "QUERY q RETURN COUNT(*) PATTERN B b+ WHERE b[i].s >= b[i-1].s"
    ).queries
    texts = ["p", None, "é", "q", "z", "~"]
    events = [ReferenceEvent(n * SECOND, "B", {"s": s}) for n, s in enumerate(texts)]
    assert check(query, events)


def test_queries_by_sums_and_by_search_may_have_windows_of_their_own() -> None:
    events = [{"time": n, "type": "ABBBAB"[n % 6], "v": float(n * 7 % 11)} for n in range(12)]
    clauses = [
        "SEQ(A, B b+) WHERE b[i].v >= b[i-1].v WITHIN 6 seconds",
        "SEQ(A, B b+) WHERE b[i].v * b[i-1].v > 3 WITHIN 9 seconds",
    ]
    texts = [f"QUERY q{n} RETURN COUNT(*) PATTERN {one};" for n, one in enumerate(clauses)]
    together = el.Workload.parse("EXACT; " + " ".join(texts)).run(events)
    for number, text in enumerate(texts):
        alone = el.Workload.parse("EXACT; " + text).run(events)[f"q{number}"]
        assert together[f"q{number}"].to_pylist() == alone.to_pylist()
        assert alone.num_rows
