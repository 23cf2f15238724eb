"""States are loaded by the query that they were saved for, and by none with other parameters."""

from __future__ import annotations

import functools
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import elsinore.quantitative as qre
from elsinore.errors import StateError
from elsinore.quantitative import Fold, Query
from elsinore.quantitative.fingerprint import fingerprint

A, B = qre.event("A"), qre.event("B")
ONE = qre.atom(A)
COUNTED = qre.iterate(qre.atom(), qre.counts())


def add(left: Any, right: Any) -> Any:
    return left + right


def subtract(left: Any, right: Any) -> Any:
    return left - right


def is_high(value: Any) -> bool:
    return bool(value > 5)


def is_low(value: Any) -> bool:
    return not is_high(value)


def scaled(factor: int, value: Any) -> Any:
    return factor * value


FOLDS: dict[str, tuple[Callable[[], Fold], list[Callable[[], Fold]]]] = {
    "approx_median": (lambda: qre.approx_median(0.1), [lambda: qre.approx_median(0.2)]),
    "approx_quantile": (
        lambda: qre.approx_quantile(0.5, 0.1),
        [lambda: qre.approx_quantile(0.6, 0.1), lambda: qre.approx_quantile(0.5, 0.2)],
    ),
    "discounted_sum": (lambda: qre.discounted_sum(0.5), [lambda: qre.discounted_sum(0.9)]),
    "quantile": (lambda: qre.quantile(0.5), [lambda: qre.quantile(0.6)]),
    "sketch": (lambda: qre.sketch(0.1), [lambda: qre.sketch(0.2)]),
    "sketch_quantile": (
        lambda: qre.sketch_quantile(0.5, 0.1),
        [lambda: qre.sketch_quantile(0.6, 0.1), lambda: qre.sketch_quantile(0.5, 0.2)],
    ),
    "standard_deviation": (
        qre.standard_deviation,
        [lambda: qre.standard_deviation(population=True)],
    ),
    "sum": (qre.sum, [lambda: qre.sum(1)]),
    "top": (
        lambda: qre.top(2, is_high),
        [lambda: qre.top(3, is_high), lambda: qre.top(2, is_low), lambda: qre.top(2)],
    ),
    "variance": (qre.variance, [lambda: qre.variance(population=True)]),
}

QUERIES: dict[str, tuple[Callable[[], Any], list[Callable[[], Any]]]] = {
    "aggregate": (
        lambda: qre.apply(COUNTED, qre.aggregate(qre.max())),
        [lambda: qre.apply(COUNTED, qre.aggregate(qre.min()))],
    ),
    "apply": (lambda: qre.apply(ONE, is_high), [lambda: qre.apply(ONE, is_low)]),
    "approx_count_in_window": (
        lambda: qre.approx_count_in_window(ONE, 5, is_high, 0.1),
        [
            lambda: qre.approx_count_in_window(ONE, 6, is_high, 0.1),
            lambda: qre.approx_count_in_window(ONE, 5, is_low, 0.1),
            lambda: qre.approx_count_in_window(ONE, 5, is_high, 0.2),
        ],
    ),
    "approx_quantile_in_window": (
        lambda: qre.approx_quantile_in_window(ONE, 50, 0.5, 0.1),
        [
            lambda: qre.approx_quantile_in_window(ONE, 60, 0.5, 0.1),
            lambda: qre.approx_quantile_in_window(ONE, 50, 0.6, 0.1),
            lambda: qre.approx_quantile_in_window(ONE, 50, 0.5, 0.2),
        ],
    ),
    "atom": (
        lambda: qre.atom(A, is_high),
        [lambda: qre.atom(B, is_high), lambda: qre.atom(A, is_low), lambda: qre.atom(A)],
    ),
    "combine": (
        lambda: qre.combine(ONE, ONE, add),
        [
            lambda: qre.combine(ONE, ONE, subtract),
            lambda: qre.combine(ONE, qre.atom(A, is_high), add),
        ],
    ),
    "constant": (lambda: qre.constant(1), [lambda: qre.constant(2)]),
    "count_in_window": (
        lambda: qre.count_in_window(ONE, 5, is_high),
        [
            lambda: qre.count_in_window(ONE, 6, is_high),
            lambda: qre.count_in_window(ONE, 5, is_low),
        ],
    ),
    "either": (
        lambda: qre.either(ONE, qre.atom(B)),
        [lambda: qre.either(ONE, qre.atom(B, is_high))],
    ),
    "filter": (lambda: qre.filter(A), [lambda: qre.filter(B)]),
    "iter_last": (lambda: qre.iter_last(ONE), [lambda: qre.iter_last(qre.atom(B))]),
    "iterate": (
        lambda: qre.iterate(ONE, 0, add),
        [lambda: qre.iterate(ONE, 1, add), lambda: qre.iterate(ONE, 0, subtract)],
    ),
    "iterate1": (
        lambda: qre.iterate1(ONE, 0, add),
        [lambda: qre.iterate1(ONE, 1, add), lambda: qre.iterate1(ONE, 0, subtract)],
    ),
    "iterate_n": (
        lambda: qre.iterate_n(ONE, 3, 0, add),
        [lambda: qre.iterate_n(ONE, 4, 0, add), lambda: qre.iterate_n(ONE, 3, 1, add)],
    ),
    "join": (
        lambda: qre.combine(COUNTED, COUNTED, qre.join(subtract)),
        [lambda: qre.combine(COUNTED, COUNTED, qre.join(add))],
    ),
    "map": (lambda: qre.map(is_high), [lambda: qre.map(is_low)]),
    "map_collect": (
        lambda: qre.map_collect(A, "k", qre.filter(A)),
        [
            lambda: qre.map_collect(A | B, "k", qre.filter(A)),
            lambda: qre.map_collect(A, "j", qre.filter(A)),
            lambda: qre.map_collect(A, "k", qre.split(ONE, ONE, add)),
            lambda: qre.map_collect(A, is_high, qre.filter(A)),
            lambda: qre.map_collect(A, "k", qre.split(ONE, ONE, add), qre.seq(A, A)),
        ],
    ),
    "match": (lambda: qre.match(A.star()), [lambda: qre.match(A.plus())]),
    "pipeline": (lambda: ONE >> qre.filter(A), [lambda: ONE >> qre.filter(B), lambda: ONE]),
    "project": (
        lambda: qre.apply(COUNTED, qre.project(subtract)),
        [lambda: qre.apply(COUNTED, qre.project(add))],
    ),
    "select": (
        lambda: qre.apply(COUNTED, qre.select(subtract)),
        [lambda: qre.apply(COUNTED, qre.select(add))],
    ),
    "sliding": (
        lambda: qre.sliding(ONE, 5, 0, add, combine=add, inverse=subtract),
        [
            lambda: qre.sliding(ONE, 6, 0, add, combine=add, inverse=subtract),
            lambda: qre.sliding(ONE, 5, 1, add, combine=add, inverse=subtract),
            lambda: qre.sliding(ONE, 5, 0, subtract, combine=add, inverse=subtract),
            lambda: qre.sliding(ONE, 5, 0, add, combine=subtract, inverse=subtract),
            lambda: qre.sliding(ONE, 5, 0, add, combine=add),
            lambda: qre.sliding(ONE, 5, 0, add, inverse=subtract),
        ],
    ),
    "split": (
        lambda: qre.split(ONE, qre.atom(B), add),
        [
            lambda: qre.split(ONE, qre.atom(B), subtract),
            lambda: qre.split(qre.atom(B), ONE, add),
        ],
    ),
    "tumbling": (
        lambda: qre.tumbling(ONE, 3, qre.sum()),
        [
            lambda: qre.tumbling(ONE, 4, qre.sum()),
            lambda: qre.tumbling(ONE, 3, qre.mean()),
            lambda: qre.tumbling(ONE, 3, qre.discounted_sum(0.5)),
        ],
    ),
}

# Functions of the package that have parameters and make neither a query nor a fold.
OTHERS = {"event", "predicate", "seq", "union", "left", "right", "unit", "most_common"}
OTHERS |= {"sketched_quantile", "any", "item"}


def windows(fold: Callable[[], Fold]) -> list[Query]:
    """Return an iteration and a sliding window with a fold."""
    return [qre.iterate(ONE, fold()), qre.sliding(ONE, 5, fold())]


def cases() -> dict[str, tuple[Callable[[], Any], list[Callable[[], Any]]]]:
    """Return queries by name, each with those that differ from it in one parameter."""
    built = dict(QUERIES)
    for name, (fold, changed) in FOLDS.items():
        for place, way in enumerate(("iterate", "sliding")):
            build = [functools.partial(lambda f, p: windows(f)[p], f, place) for f in changed]
            first = functools.partial(lambda f, p: windows(f)[p], fold, place)
            built[f"{name} in {way}"] = (first, list(build))
    return built


def test_each_fold_and_combinator_with_parameters_is_among_the_cases() -> None:
    functions = {
        name
        for name in qre.__all__
        if name.islower()
        and callable(getattr(qre, name))
        and inspect.signature(getattr(qre, name)).parameters
    }
    assert functions - OTHERS == set(FOLDS) | set(QUERIES)


@pytest.mark.parametrize("name", cases())
def test_a_state_is_not_loaded_by_a_query_with_another_parameter(name: str) -> None:
    build, changed = cases()[name]
    state = build().start().save()
    assert build().load(state).position == 0
    for other in changed:
        assert fingerprint(build().stages) != fingerprint(other().stages)
        with pytest.raises(StateError, match="other queries or options"):
            other().load(state)


@pytest.mark.parametrize(
    ("query", "other"),
    [
        (
            qre.atom(qre.predicate(A.val > 1, "high")),
            qre.atom(qre.predicate(A.val > 2, "high")),
        ),
        (
            qre.apply(ONE, functools.partial(scaled, 2)),
            qre.apply(ONE, functools.partial(scaled, 3)),
        ),
        (qre.atom(qre.predicate(is_high, "p")), qre.atom(qre.predicate(is_low, "p"))),
    ],
)
def test_conditions_under_a_name_and_partial_functions_are_compared(
    query: Query, other: Query
) -> None:
    with pytest.raises(StateError, match="other queries or options"):
        other.load(query.start().save())


SAVING = """
import elsinore.quantitative as qre
class Plain: pass
def f(x): return True
def g(a, b): return a
query = qre.iterate(qre.atom(qre.predicate(f, "p") & f), Plain(), g)
from elsinore.quantitative.fingerprint import fingerprint
print(fingerprint(query.stages))
"""


def test_a_fingerprint_is_the_same_in_other_processes() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", f"padding = [object() for _ in range({n})]\n{SAVING}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n in (0, 5000)
    }
    assert len(digests) == 1
