"""The cost model: Equations 9 to 11 (Definition 11), Definition 12, and the kernel's form of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.trends.hamlet.benefit import (
    BurstStatistics,
    CalibratedCost,
    CostModel,
    PaperCost,
    as_array,
    benefit,
    separate,
    shared,
)
from elsinore.trends.hamlet.optimizer import separate_cost, shared_cost

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
    assert (*found, benefit(DEFINITION_11, told, 2)) == expected


def test_definition_12_adds_the_search_of_a_graphlet_to_both_sides() -> None:
    told = BurstStatistics(b=4, g=8, n=7, p=2, created=1, propagated=1)
    assert shared(PaperCost(), told, 2) == 1 * 2 * 8 * 2 + 4 * (3 + 7 * 1)
    assert separate(PaperCost(), told, 2) == 2 * 4 * (3 + 7)


def test_more_queries_never_make_sharing_a_uniform_burst_worse() -> None:
    told = BurstStatistics(b=50, g=50, n=1000, p=2, created=1, propagated=1)
    gains = [benefit(CalibratedCost(), told, k) for k in (2, 10, 50, 250)]
    assert gains == sorted(gains)
    assert gains[-1] > 0


@settings(deadline=None)
@given(
    st.sampled_from([PaperCost(), DEFINITION_11, CalibratedCost()]),
    *(st.integers(0, 2000) for _ in range(7)),
    st.booleans(),
)
def test_the_kernel_computes_the_same_costs(
    cost: CostModel,
    b: int,
    n: int,
    k: int,
    p: int,
    created: int,
    propagated: int,
    depth: int,
    forms: bool,
) -> None:
    told = BurstStatistics(
        b=b, g=b, n=n, p=p, created=created, propagated=propagated, depth=depth, forms=forms
    )
    prices = as_array(cost.coefficients)
    events = float(b), b * math.log2(max(b, 1.0)), float(n), float(k)
    numbers = (float(x) for x in (p, created, propagated, depth))
    assert shared_cost(prices, *events, *numbers, forms) == pytest.approx(shared(cost, told, k))
    alone = separate_cost(prices, *events, float(depth))
    assert alone == pytest.approx(separate(cost, told, k))
