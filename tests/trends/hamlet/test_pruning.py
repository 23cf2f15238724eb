"""Figure 7: which queries share a burst."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from elsinore.trends.hamlet.benefit import BurstStatistics, PaperCost
from elsinore.trends.hamlet.pruning import (
    SharingPlan,
    choose,
    considered,
    cost_of,
    search_space,
)

QUERIES = ("1", "2", "3", "4")


def test_figure_7_has_twelve_plans_of_four_queries() -> None:
    plans = [str(plan) for plan in search_space(QUERIES)]
    assert len(plans) == len(set(plans)) == 12
    assert plans[0] == "(1 2 3 4)"
    assert plans[-1] == "(1)(2)(3)(4)"


def test_figure_7_queries_1_and_3_create_no_snapshots_so_four_plans_are_considered() -> None:
    plans = {str(plan) for plan in considered(QUERIES, {"2": 1, "4": 9})}
    assert plans == {"(1 2 3 4)", "(1 2 3)(4)", "(1 3 4)(2)", "(1 3)(2)(4)"}


def test_example_9_sharing_2_pays_and_sharing_4_does_not() -> None:
    burst = BurstStatistics(b=10, g=10, n=100, p=2, created=1, propagated=1)
    created: Mapping[str, int] = {"2": 0, "4": 9}
    asked: list[str] = []
    cost = cost_of(PaperCost(), burst, created)

    def watched(plan: SharingPlan) -> float:
        asked.append(str(plan))
        return 0.0 if plan.shared == ("1", "2", "3") and not plan.alone else cost(plan)

    assert str(choose(QUERIES, {"2": 1, "4": 9}, watched)) == "(1 2 3)(4)"
    assert len(asked) <= 2 * 2 + 2  # O(m), not one for each of the plans


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=5),
    st.integers(1, 40),
    st.integers(1, 300),
)
def test_a_plan_is_chosen_that_shares_all_queries_without_snapshots_or_nothing(
    snapshots: list[int], b: int, n: int
) -> None:
    queries = [str(number) for number in range(len(snapshots))]
    created = dict(zip(queries, snapshots, strict=True))
    burst = BurstStatistics(b=b, g=b, n=n + b, p=2, created=1, propagated=1)
    cost = cost_of(PaperCost(), burst, created)
    plan = choose(queries, created, cost)
    free = {query for query in queries if created[query] == 0}
    assert not plan.shared or free <= set(plan.shared)
    assert cost(plan) <= cost(SharingPlan((), tuple(queries)))
