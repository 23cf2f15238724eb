"""The cost model: Equations 9 to 11 (Definition 11), Definition 12, and what each price is for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import pytest

from elsinore.trends import benefit as places
from elsinore.trends.benefit import as_array, changes
from elsinore.trends.prices import GraphPrices
from oracles.costs import (
    BurstStatistics,
    CalibratedCost,
    PaperCost,
    benefit_of,
    separate,
    shared,
)

NAMES = [field.name for field in fields(GraphPrices)]
DEFINITION_11 = PaperCost(logarithm=False)


@pytest.mark.parametrize(
    ("burst", "expected"),
    [
        pytest.param((4, 7, 1, 1), (44, 56, 12), id="Equation 9: share"),
        pytest.param((8, 11, 1, 2), (120, 88, -32), id="Equation 10: split"),
        pytest.param((4, 15, 1, 1), (76, 120, 44), id="Equation 11: merge"),
    ],
)
def test_the_worked_equations(
    burst: tuple[int, int, int, int], expected: tuple[int, int, int]
) -> None:
    g, n, created, propagated = burst
    told = BurstStatistics(b=4, g=g, n=n, p=2, created=created, propagated=propagated)
    found = shared(DEFINITION_11, told, 2), separate(DEFINITION_11, told, 2)
    assert (*found, benefit_of(DEFINITION_11, told, 2)) == expected


def test_definition_12_adds_the_search_of_a_graphlet_to_both_sides() -> None:
    told = BurstStatistics(b=4, g=8, n=7, p=2, created=1, propagated=1)
    assert shared(PaperCost(), told, 2) == 1 * 2 * 8 * 2 + 4 * (3 + 7 * 1)
    assert separate(PaperCost(), told, 2) == 2 * 4 * (3 + 7)


def test_more_queries_never_make_sharing_a_uniform_burst_worse() -> None:
    told = BurstStatistics(b=50, g=50, n=1000, p=2, created=1, propagated=1)
    for ordered in (False, True):
        gains = [benefit_of(CalibratedCost(ordered), told, k) for k in (2, 10, 50, 250)]
        assert gains == sorted(gains)
        assert gains[-1] > 0


def test_a_column_of_an_index_costs_the_same_whosever_it_is() -> None:
    prices = CalibratedCost(ordered=True).prices
    assert prices.propagate == prices.alone_propagate > 0
    assert 0 < prices.split < prices.split_form


@dataclass(frozen=True)
class OnePrice:
    """A model in which one thing costs 1, and all else nothing."""

    name: str

    @property
    def prices(self) -> GraphPrices:
        return replace(GraphPrices(), **{self.name: 1.0})


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("fixed", 1),
        ("event", 3),
        ("form", 3),
        ("insert", 3 * 2),
        ("scan", 3 * 5 * 13),
        ("propagate", 3 * 17 * 13),
        ("snapshot", 11 * 19 * 4 * 7),
        ("evaluate", 11 * 19 * 13),
        ("collapse", 19),
        ("alone_insert", 19 * 3 * 2),
        ("alone_scan", 19 * 3 * 5),
        ("alone_propagate", 19 * 3 * 17),
        ("alone_query", 19),
        ("alone_event", 3),
    ],
)
def test_a_price_is_paid_as_often_as_its_field_says(name: str, times: int) -> None:
    told = BurstStatistics(b=3, g=4, n=5, p=7, created=11, propagated=13, depth=17, forms=True)
    costs = shared(OnePrice(name), told, 19), separate(OnePrice(name), told, 19)
    assert costs == ((0, times) if name.startswith("alone") else (times, 0))
    if name == "form":
        assert shared(OnePrice(name), replace(told, forms=False), 19) == 0


def test_kernels_read_prices_in_the_order_of_their_fields() -> None:
    told = as_array(GraphPrices(**{name: n for n, name in enumerate(NAMES)}))
    assert told.tolist() == [getattr(places, name.upper()) for name in NAMES]


@pytest.mark.parametrize("saved", [[3.0], [-1.0, 4.0], [3.0, -2.0], [-0.5, 0.75, -1.0]])
@pytest.mark.parametrize("begins", [True, False])
def test_whatever_comes_little_is_lost_to_the_better_state(
    saved: list[float], begins: bool
) -> None:
    price, bursts = 10.0, 1000
    shares, regret, gained, turns = begins, 0.0, 0.0, 0
    for burst in range(bursts):
        benefit = saved[burst % len(saved)]
        gained += benefit * shares
        turn, regret = changes(regret, benefit, shares, price)
        assert 0.0 <= regret <= price
        shares, turns = shares != turn, turns + turn
    always = sum(saved[burst % len(saved)] for burst in range(bursts))
    assert turns <= 1
    assert gained - price * turns >= max(always, 0.0) - (2 * price + max(map(abs, saved)))


def test_what_is_won_in_between_lessens_the_regret() -> None:
    assert changes(5.0, 2.0, False, 10.0) == (False, 7.0)
    assert changes(5.0, 2.0, True, 10.0) == (False, 3.0)
    assert changes(5.0, 6.0, True, 10.0) == (False, 0.0)
    assert changes(5.0, -6.0, True, 10.0) == (True, 0.0)
