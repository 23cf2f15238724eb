"""Who shares a burst: the choice by Theorems 4.1 and 4.2 against all of HAMLET's Figure 7."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from elsinore.trends.engine.sharing.optimizer import benefit, cell_price, price, value_price

Doubles = NDArray[np.float64]


def prices(cells: Sequence[int]) -> tuple[Doubles, Doubles]:
    """Return the prices of an event and of a snapshot's values, for each query's cells."""
    separate = np.array([cell_price(count) for count in cells])
    return separate, np.array([value_price(count) for count in cells])


def cost_of_plan(
    events: float, separate: Doubles, values: Doubles, chosen: NDArray[np.uint8]
) -> float:
    """Return the cost of a burst of `events` if the `chosen` cohorts share it."""
    shares = np.asarray(chosen, np.bool_)
    sharing, values_in = int(shares.sum()), float(values[shares].sum())
    return price(events, 1.0, sharing, values_in, len(shares) - sharing, separate[~shares].sum())


def choose(events: float, separate: Doubles, values: Doubles) -> tuple[NDArray[np.uint8], float]:
    """Return which cohorts share a burst, and what that saves."""
    chosen = np.zeros(len(separate), np.uint8)
    return chosen, benefit(events, 1.0, separate, values, chosen, 0, len(separate))


def plans(queries: int) -> list[tuple[int, ...]]:
    """Return Figure 7's search space: which queries share, all others being alone."""
    return [
        plan
        for plan in itertools.product((0, 1), repeat=queries)
        if sum(plan) != 1  # sharing takes two
    ]


def costs(events: float, separate: Doubles, values: Doubles) -> dict[tuple[int, ...], float]:
    """Return the cost of each plan."""
    return {
        plan: cost_of_plan(events, separate, values, np.array(plan, np.uint8))
        for plan in plans(len(separate))
    }


def test_the_search_space_of_figure_7_has_twelve_plans_for_four_queries() -> None:
    assert len(plans(4)) == 12


def test_example_9_shares_query_2_and_leaves_query_4_alone() -> None:
    """Query 4 takes so few events that to put in the snapshot's value costs more than they do."""
    separate, values = prices([80, 160, 80, 200])
    separate[3] /= 50
    chosen, saved = choose(3.0, separate, values)
    assert chosen.tolist() == [1, 1, 1, 0]
    by_plan = costs(3.0, separate, values)
    assert by_plan[1, 1, 1, 1] < by_plan[0, 0, 0, 0]
    assert saved == by_plan[0, 0, 0, 0] - cost_of_plan(3.0, separate, values, chosen) > 100.0


@pytest.mark.parametrize("queries", [1, 2, 5, 40])
def test_what_a_query_adds_to_a_shared_burst_is_a_coefficient_and_a_value(queries: int) -> None:
    """HAMLET, Theorem 4.3: an event of a shared burst costs the same whatever queries have open."""
    for events in (1.0, 100.0, 10_000.0):
        for cells in (3, 300):
            separate, values = prices([cells] * queries)
            ones = np.ones(queries, np.uint8)
            every = cost_of_plan(events, separate, values, ones)
            one = cost_of_plan(events, separate[:1], values[:1], ones[:1])
            more = values[0] + 0.7 * events
            assert every - one == pytest.approx((queries - 1) * more)


def test_the_choice_is_the_cheapest_plan() -> None:
    draw = random.Random(1)
    chosen_alike: set[bool] = set()
    for _ in range(1_000):
        queries = draw.randint(2, 6)
        separate, values = prices([draw.choice((1, 3, 10, 60)) for _ in range(queries)])
        separate *= np.array([draw.choice((0.05, 0.3, 1.0)) for _ in range(queries)])
        events = float(draw.choice((1, 2, 5, 20, 120)))
        chosen, saved = choose(events, separate, values)
        by_plan = {
            plan: cost_of_plan(events, separate, values, np.array(plan, np.uint8))
            for plan in itertools.product((0, 1), repeat=queries)
        }
        cost = by_plan[tuple(chosen.tolist())]
        assert max(saved, 0.0) == pytest.approx(by_plan[(0,) * queries] - cost)
        assert cost == pytest.approx(min(by_plan.values()))
        chosen_alike.add(len(set(chosen.tolist())) == 1)
    assert chosen_alike == {False, True}
