"""Who shares a burst: the choice by Theorems 4.1 and 4.2 against all of HAMLET's Figure 7."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from elsinore.trends.engine.sharing.benefit import cell_price, cost_of_plan, value_price
from elsinore.trends.engine.sharing.optimizer import choose

Doubles = NDArray[np.float64]


def prices(cells: Sequence[int]) -> tuple[Doubles, Doubles]:
    """Return the prices of an event and of a snapshot's values, for each query's cells."""
    separate = np.array([cell_price(count) for count in cells])
    return separate, np.array([value_price(count) for count in cells])


def plans(queries: int) -> list[tuple[int, ...]]:
    """Return Figure 7's search space: which queries share, all others being alone."""
    return [
        plan
        for plan in itertools.product((0, 1), repeat=queries)
        if sum(plan) != 1  # sharing takes two
    ]


def costs(
    events: float, separate: Doubles, values: Doubles, created: Doubles
) -> dict[tuple[int, ...], float]:
    """Return the cost of each plan."""
    return {
        plan: cost_of_plan(events, separate, values, created, np.array(plan, np.uint8))
        for plan in plans(len(separate))
    }


def test_the_search_space_of_figure_7_has_twelve_plans_for_four_queries() -> None:
    assert len(plans(4)) == 12


def test_queries_for_which_no_snapshot_is_created_share_as_in_example_8() -> None:
    separate, values = prices([40, 40, 40, 40])
    created = np.array([0.0, 1.5, 0.0, 2.5])
    chosen, _ = choose(20.0, separate, values, created)
    assert chosen[0] == chosen[2] == 1
    by_plan = costs(20.0, separate, values, created)
    framed = [plan for plan in by_plan if plan[0] == plan[2] == 1]
    assert len(framed) == 4
    for plan in framed:  # their descendants that leave out query 1 cost more (Theorem 4.1)
        without = (0, *plan[1:])
        if sum(without) > 1:
            assert by_plan[plan] < by_plan[without]


def test_example_9_shares_query_2_and_leaves_query_4_alone() -> None:
    separate, values = prices([80, 160, 80, 1])
    created = np.array([0.0, 1.0, 0.0, 6.0])
    chosen, saved = choose(2.0, separate, values, created)
    assert chosen.tolist() == [1, 1, 1, 0]
    by_plan = costs(2.0, separate, values, created)
    assert by_plan[1, 1, 1, 0] == min(by_plan.values())
    assert saved == by_plan[0, 0, 0, 0] - by_plan[1, 1, 1, 0] > 100.0


@pytest.mark.parametrize("queries", [1, 2, 5, 40])
def test_what_a_query_adds_to_a_shared_burst_does_not_depend_on_its_length(queries: int) -> None:
    """HAMLET, Theorem 4.3: a burst costs what it costs one query; others have it for nothing.

    What is left for each of them is one value of the snapshot.
    """
    created = np.zeros(queries)
    for events in (1.0, 100.0, 10_000.0):
        separate, values = prices([3] * queries)
        ones = np.ones(queries, np.uint8)
        every = cost_of_plan(events, separate, values, created, ones)
        one = cost_of_plan(events, separate[:1], values[:1], created[:1], ones[:1])
        assert every - one == pytest.approx((queries - 1) * values[0])


def test_the_choice_is_the_cheapest_plan_mostly_but_not_always() -> None:
    draw = random.Random(1)
    worse, most = 0, 1.0
    for _ in range(1_000):
        queries = draw.randint(2, 6)
        separate, values = prices([draw.choice((1, 3, 10, 60)) for _ in range(queries)])
        created = np.array([draw.choice((0.0, 0.0, 0.3, 1.0, 4.0)) for _ in range(queries)])
        events = float(draw.choice((1, 2, 5, 20, 120)))
        chosen, saved = choose(events, separate, values, created)
        by_plan = costs(events, separate, values, created)
        cost = cost_of_plan(events, separate, values, created, chosen)
        assert max(saved, 0.0) == pytest.approx(by_plan[(0,) * queries] - cost)
        ratio = cost / min(by_plan.values())
        worse += ratio > 1.0 + 1e-9
        most = max(most, ratio)
    assert 0 < worse < 200
    assert most < 2.0
