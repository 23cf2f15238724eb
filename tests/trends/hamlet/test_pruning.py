"""Figure 7: which queries share a burst."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.language import parse_workload
from elsinore.operators import plan
from elsinore.plan import Granularity
from elsinore.trends.benefit import as_array
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.graph import ComparedColumns
from elsinore.trends.hamlet import layout
from elsinore.trends.hamlet.evaluator import new_work
from elsinore.trends.hamlet.layout import COLUMNS, SNAPSHOT
from elsinore.trends.hamlet.optimizer import SAMPLE, decide
from elsinore.trends.hamlet.program import HamletProgram
from elsinore.trends.hamlet.storage import graph_of, new_graphs
from elsinore.trends.kind import spec_of
from oracles.costs import BurstStatistics, CalibratedCost, CostModel, PaperCost
from oracles.pruning import (
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


GROUPS = 4
often = settings(max_examples=int(os.environ.get("ELSINORE_EXAMPLES", "25")))


@cache
def program_of(returned: str, adjacent: bool) -> HamletProgram:
    """Return a set of queries each of which takes B events by a predicate of its own."""
    order = " AND b[i].v > b[i-1].v" if adjacent else ""
    text = "".join(
        f"QUERY q{n} RETURN {returned} PATTERN SEQ(X x, B+ b) WHERE b.c{n} = 1{order};"
        for n in range(GROUPS)
    )
    (unit,) = plan(parse_workload(text), granularity=Granularity.FINE).units
    return HamletProgram(spec_of(unit))


def class_codes(program: HamletProgram) -> dict[frozenset[int], int]:
    """Return a class of B events for each set of queries that take them."""
    classes = program.unit.classes
    found = {}
    for code in range(classes.size):
        name, true = classes.decode(code)
        if name == "B":
            taken = frozenset(
                state.query
                for state in program.states
                if state.fine and state.needs <= true and not state.lacks & true
            )
            found[taken] = code
    return found


@wide_kernel
def let_stand(program: Any, graphs: Any, snapshots: int) -> None:
    """Make the graph of the first set one of so many snapshots."""
    graph = graph_of(program, graphs, 0)
    graph.info[COLUMNS] = snapshots
    for column in range(snapshots):
        graph.holder[column] = SNAPSHOT


def decided(
    program: HamletProgram,
    taken: list[frozenset[int]],
    weights: list[int],
    before: int,
    standing: int,
    cost: CostModel,
) -> tuple[set[int], float]:
    """Return the queries that the kernel lets share a burst, and the benefit it expects."""
    codes = class_codes(program)
    classes = program.classes(np.array([codes[one] for one in taken]))
    columns = ComparedColumns.of({name: pa.array([0.0]) for name in program.unit.compared})
    arrays, actions = program.comparing(columns), program.actions
    work, graphs = new_work(arrays, len(program.states)), new_graphs(arrays)
    work.weight[:] = weights
    work.bursts[0]["oldest"] = -before
    let_stand(arrays, graphs, standing)
    listed = np.zeros(len(taken), dtype=layout.LISTED)
    listed["entry"] = [int(actions.classes["enters"][number]) for number in classes]
    none, nothing = np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1), dtype=np.uint8)
    events = layout.Events(
        none[0], none.astype(float), nothing, none, nothing, none, nothing, none[0], none[0], listed
    )
    prices = as_array(cost.prices)
    mode = layout.Mode(layout.DYNAMIC, True, prices, prices, False)
    shared = np.zeros(1, dtype=np.uint64)
    benefit = decide(arrays, actions, work, graphs, events, mode, 0, 0, len(taken), shared)
    return {group for group in range(GROUPS) if int(shared[0]) >> group & 1}, benefit


def difference(taken: list[frozenset[int]], weights: list[int]) -> dict[int, int]:
    """Return how often each query differs from what most take; queries that take nothing: not."""
    some = [group for group in range(GROUPS) if any(group in one for one in taken)]
    every = [group for group in some if all(group in one for one in taken)]
    heaviest = max(some, key=lambda group: weights[group])
    if sum(weights[group] for group in every) >= weights[heaviest]:
        return {group: sum(group not in one for one in taken) for group in some}
    return {group: sum((group in one) != (heaviest in one) for one in taken) for group in some}


@pytest.mark.parametrize("returned", ["COUNT(*)", "SUM(b.v)"])
@pytest.mark.parametrize("adjacent", [False, True])
@often
@given(data=st.data())
def test_the_kernel_decides_the_same(returned: str, adjacent: bool, data: Any) -> None:
    program = program_of(returned, adjacent)
    groups = st.frozensets(st.integers(0, GROUPS - 1), min_size=1)
    kinds = data.draw(st.lists(groups, min_size=1, max_size=3))
    taken = data.draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=SAMPLE))
    weights = data.draw(st.lists(st.integers(0, 30), min_size=GROUPS, max_size=GROUPS))
    before = data.draw(st.integers(0, 300))
    standing = data.draw(st.integers(0, 3)) if adjacent else 0
    cost = data.draw(st.sampled_from([CalibratedCost(), PaperCost(), PaperCost(logarithm=False)]))
    found, benefit = decided(program, taken, weights, before, standing, cost)

    b, n = len(taken), before + len(taken)
    values = int(program.arrays.sets["values"][0])
    created = {
        str(group): min(differs, 7)
        for group, differs in difference(taken, weights).items()
        if weights[group]
    }
    alike = all(one == taken[0] for one in taken)
    burst = BurstStatistics(
        b=b,
        g=b,
        n=n,
        p=2,
        created=1,
        propagated=1 + standing,
        depth=values * (1 + math.log2(max(n, 2)) if adjacent else 1),
        forms=not adjacent and (values > 1 or not alike),
    )
    price = cost_of(cost, burst, created, {str(g): w for g, w in enumerate(weights)})
    queries = tuple(sorted(created))
    nothing = SharingPlan((), queries)
    expected = choose(queries, created, price) if queries else nothing
    chosen = tuple(query for query in queries if int(query) in found)
    plan_found = SharingPlan(chosen, tuple(query for query in queries if query not in chosen))
    assert math.isclose(price(plan_found), price(expected), rel_tol=1e-9)
    if expected.shared:
        saved = price(nothing) - price(expected)
        assert math.isclose(benefit, saved, rel_tol=1e-6, abs_tol=1e-6)
    else:
        assert benefit <= 1e-6
