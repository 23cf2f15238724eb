"""Relational operations on mappings: what they give, also if Python calls all functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import elsinore.quantitative as qre
from elsinore.errors import QuerySemanticError
from support.quantitative import called_by_python

A, S = qre.event("a"), qre.event("s")
PER_KEY = qre.split(
    qre.iterate(qre.atom(A, lambda item: item.v), qre.sum()),
    qre.atom(S),
    lambda total, end: total,
)
TOTALS = qre.map_collect(S, "k", qre.iterate1(PER_KEY, qre.sum()))
COUNTED = qre.map_collect(
    S,
    "k",
    qre.iterate1(
        qre.split(qre.iterate(qre.atom(A), qre.count()), qre.atom(S), qre.left), qre.sum()
    ),
)
GREAT = qre.apply(TOTALS, qre.select(lambda key, total: total > 2.0))
MEANS = qre.combine(TOTALS, COUNTED, qre.join(lambda total, number: total / number))
SHARES = qre.apply(MEANS, qre.project(lambda key, mean: (key, mean)))
GREATEST = qre.apply(GREAT, qre.aggregate(qre.max()))
OF_KEYS = qre.map_collect(S, "k", qre.map_collect(S, "n", qre.iterate1(PER_KEY, qre.sum())))
NESTED = qre.map_collect(
    S, "k", qre.apply(qre.map_collect(S, "n", qre.iterate1(PER_KEY, qre.sum())),
                      qre.aggregate(qre.sum())),
)  # fmt: skip
QUERIES = {
    "select": GREAT,
    "join": MEANS,
    "project": SHARES,
    "aggregate": GREATEST,
    "number of keys": qre.apply(GREAT, qre.aggregate(qre.count())),
    "variance": qre.apply(TOTALS, qre.aggregate(qre.variance())),
    "keys within keys": OF_KEYS,
    "aggregate within keys": NESTED,
}
ITEMS = [
    {"type": kind, "k": k, "n": 0, "v": v}
    for kind, k, v in [("a", 1, 1.0), ("a", 2, 3.0), ("s", 0, 0.0), ("a", 1, 2.0), ("s", 0, 0.0)]
]


def test_relations_are_selected_joined_projected_and_aggregated() -> None:
    assert GREAT.start().extend(ITEMS)[1] == [{2: 3.0}, {1: 3.0, 2: 3.0}]
    assert MEANS.start().extend(ITEMS)[1] == [{1: 1.0, 2: 3.0}, {1: 1.5, 2: 3.0}]
    assert SHARES.start().extend(ITEMS)[1][0] == {1: (1, 1.0), 2: (2, 3.0)}
    assert GREATEST.start().extend(ITEMS)[1] == [3.0, 3.0]


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_relations_have_the_values_of_python(query: qre.Query) -> None:
    rng = np.random.default_rng(5)
    rows = 4000
    table = pa.table(
        {
            "type": np.where(rng.random(rows) < 0.05, "s", "a"),
            "k": rng.integers(0, 6, rows),
            "n": rng.integers(0, 4, rows),
            "v": rng.integers(-8, 8, rows) / 4,
        }
    )
    found = query.run(table)
    assert found.num_rows > 100
    with called_by_python():
        assert found.equals(qre.Query(query.node).run(table))


def test_arguments_other_than_functions_and_folds_are_rejected() -> None:
    for operation in (qre.select, qre.project, qre.join):
        wrong: Any = operation
        with pytest.raises(QuerySemanticError, match="takes a function of two values, not 3"):
            wrong(3)
    mistaken: Any = qre.sum
    with pytest.raises(QuerySemanticError, match="aggregate takes a fold"):
        qre.aggregate(mistaken)


def test_an_error_names_the_operation_that_raised_it() -> None:
    query = qre.apply(TOTALS, qre.project(lambda key, total: 1 / (total - 1.0)))
    with pytest.raises(qre.OperationError) as caught:
        query.start().extend(ITEMS)
    assert caught.value.position == 2
    assert "project(lambda:" in caught.value.expression
