"""Texts as keys, counted, kept and compared; and values as later items."""

import copy
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import elsinore as el
import elsinore.quantitative as qre
from support.quantitative import called_by_python

M, D = qre.event("M"), qre.event("D")
NAMES = ("ann", "bob", "view", "Änne", "zoé", "")


def kind_of(item: Any) -> str:
    return item.kind  # type: ignore[no-any-return]


def is_view(item: Any) -> bool:
    return item.kind == "view" and item.kind != item.who  # type: ignore[no-any-return]


def beside(count: int, best: Any) -> Any:
    return count, best


def latest_and_best() -> qre.Query:
    """Return, of each person each day, how many views there were, and the most frequent kind."""
    views = qre.iterate(qre.atom(M, is_view), qre.sum())
    kinds = qre.apply(qre.iterate(qre.atom(M, kind_of), qre.counts()), qre.most_common)
    day = qre.split(qre.combine(views, kinds, beside), qre.atom(D), qre.left)
    return qre.map_collect(D, "who", qre.iter_last(day))


def events(count: int, seed: int = 3) -> pa.Table:
    drawn = np.random.default_rng(seed)
    ends = drawn.random(count) < 0.1
    names = np.array(NAMES, object)
    kinds = drawn.choice(names, count)
    who = [None if end else str(name) for end, name in zip(ends, kinds, strict=True)]
    return pa.table(
        {
            "time": np.arange(count),
            "type": np.where(ends, "D", "M"),
            "who": pa.array(who, pa.string()),
            "kind": pa.array(drawn.choice(names, count), pa.string()),
            "v": drawn.random(count),
        }
    )


def values(query: Any, table: pa.Table) -> list[Any]:
    """Return a query's values, which are the same if Python calls its functions."""
    with called_by_python():
        expected = copy.copy(query).run(table)
    assert query.run(table).equals(expected)
    return expected["value"].to_pylist()  # type: ignore[no-any-return]


def test_texts_are_keys_are_counted_and_compared_with_those_that_functions_spell_out() -> None:
    query, table = latest_and_best(), events(400)
    expected = values(query, table)
    assert len({repr(value) for value in expected}) > 20
    encoded = table.set_column(3, "kind", table["kind"].dictionary_encode())
    encoded = encoded.set_column(2, "who", encoded["who"].dictionary_encode())
    stream = query.start()
    found = [
        value
        for n in range(0, 400, 80)
        for value in stream.take(encoded.slice(n, 80))["value"].to_pylist()
    ]
    assert found == expected
    later, more = query.load(stream.save()), events(50, seed=4)
    assert later.take(more).equals(stream.take(more))


def test_a_last_text_may_be_missing() -> None:
    last = qre.iterate1(qre.atom(qre.any, kind_of), qre.last())
    table = events(60).drop_columns("kind").append_column(
        "kind", pa.array([None if n % 7 == 3 else f"kind {n}" for n in range(60)])
    )  # fmt: skip
    assert values(last, table) == table["kind"].to_pylist()


def greatest() -> qre.Query:
    day = qre.split(qre.iterate(qre.atom(M, lambda m: m.v), qre.max()), qre.atom(D), qre.left)
    return qre.iter_last(day)


def changed(state: tuple[str, int], kind: str) -> tuple[str, int]:
    return kind, state[1] + (kind != state[0])


def test_a_fold_may_begin_with_a_text_and_keep_texts() -> None:
    query = qre.iterate(qre.atom(M, kind_of), ("nothing", 0), changed)
    query, table = qre.split(query, qre.atom(D), qre.left), events(40)
    first_day = table.slice(0, table["type"].to_pylist().index("D") + 1)
    assert values(query, first_day) != []


PIPELINES: dict[str, Any] = {
    "values that may be missing": (
        lambda: greatest() >> qre.iterate1(qre.either(qre.atom(qre.item > 0.9, lambda v: 1),
                                           qre.atom(~(qre.item > 0.9), lambda v: 0)), qre.sum())
    ),
    "texts": (
        lambda: qre.iter_last(qre.atom(M, kind_of))
        >> qre.iterate1(qre.atom(qre.any, lambda kind: 1 if kind == "bob" else 0), qre.sum())
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PIPELINES)
def test_later_queries_of_a_pipeline_have_conditions_on_values(name: str) -> None:
    query, table = PIPELINES[name](), events(300)
    values(query, table)
    workload = el.Workload(el.query("later").from_python(query))
    assert workload.run(table)["later"].to_pylist() == query.run(table).to_pylist()
