"""Texts in compiled machines: as keys, counted, kept and compared; and values as later items."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from numba import types

import elsinore as el
import elsinore.quantitative as qre
from elsinore.quantitative import rows
from elsinore.quantitative.lowered import Texts, why_not
from elsinore.quantitative.lowered.columns import as_arrow
from elsinore.quantitative.lowered.texts import TEXT
from elsinore.quantitative.rows import Runs
from elsinore.runtime.predicate_bits import bits

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


def runs_of(query: Any, table: pa.Table, *, compiled: bool) -> Runs:
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    runs = Runs(query.machines, types, compiled=compiled, tell=bits)
    assert runs.is_compiled == compiled
    return runs


def values(runs: Runs, table: pa.Table) -> list[Any]:
    codes = np.zeros(table.num_rows, np.int32)
    found = runs.run(table, bits(runs.bits, table), codes, 1)
    return [] if found.values is None else found.values.to_pylist()


def test_texts_are_keys_are_counted_and_compared_with_those_that_functions_spell_out() -> None:
    query, table = latest_and_best(), events(400)
    expected = values(runs_of(query, table, compiled=False), table)
    assert len({repr(value) for value in expected}) > 20
    assert values(runs_of(query, table, compiled=True), table) == expected
    encoded = table.set_column(3, "kind", table["kind"].dictionary_encode())
    encoded = encoded.set_column(2, "who", encoded["who"].dictionary_encode())
    with patch.object(rows, "MOST_TEXTS", 2):  # so that texts are forgotten after each batch
        runs = runs_of(query, encoded, compiled=True)
        found = [v for n in range(0, 400, 80) for v in values(runs, encoded.slice(n, 80))]
        saved = runs.stream(0).save()
    assert found == expected
    later = runs_of(query, table, compiled=True)
    later.put(0, query.load(saved))
    more, interpreted = events(50, seed=4), query.load(saved)
    assert values(later, more) == interpreted.take(more, compiled=False)["value"].to_pylist()


def test_a_last_text_may_be_missing_and_old_ones_are_forgotten() -> None:
    last = qre.iterate1(qre.atom(qre.any, kind_of), qre.last())
    table = events(60).drop_columns("kind").append_column(
        "kind", pa.array([None if n % 7 == 3 else f"kind {n}" for n in range(60)])
    )  # fmt: skip
    with patch.object(rows, "MOST_TEXTS", 16):
        runs = runs_of(last, table, compiled=True)
        found = [v for n in range(0, 60, 6) for v in values(runs, table.slice(n, 6))]
        assert found == table["kind"].to_pylist()
        assert len(runs._memories[0].texts) < 30


def test_texts_have_the_order_that_python_has() -> None:
    texts = Texts(["view"])
    numbers = texts.numbers(pa.array(NAMES))
    order = np.argsort(texts.places(numbers))
    assert [NAMES[n] for n in order] == sorted(NAMES)
    assert texts.texts(numbers).to_pylist() == list(NAMES)


def test_what_asks_more_of_a_text_runs_in_python_and_is_told() -> None:
    shouted = qre.iterate1(qre.atom(M, lambda item: item.kind.upper()), qre.last())
    reason = why_not(shouted.node, {"kind": pa.string()})
    assert reason is not None
    assert "upper" in reason


def greatest() -> qre.Query:
    day = qre.split(qre.iterate(qre.atom(M, lambda m: m.v), qre.max()), qre.atom(D), qre.left)
    return qre.iter_last(day)


def changed(state: tuple[str, int], kind: str) -> tuple[str, int]:
    return kind, state[1] + (kind != state[0])


def test_a_fold_may_begin_with_a_text_and_keep_texts() -> None:
    query = qre.iterate(qre.atom(M, kind_of), ("nothing", 0), changed)
    query, table = qre.split(query, qre.atom(D), qre.left), events(40)
    first_day = table.slice(0, table["type"].to_pylist().index("D") + 1)
    expected = values(runs_of(query, first_day, compiled=False), first_day)
    assert values(runs_of(query, first_day, compiled=True), first_day) == expected != []


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
def test_later_queries_of_a_pipeline_are_compiled_with_conditions_on_values(name: str) -> None:
    query, table = PIPELINES[name](), events(300)
    assert values(runs_of(query, table, compiled=True), table) == values(
        runs_of(query, table, compiled=False), table
    )
    workload = el.Workload(el.query("later").from_python(query))
    assert workload.run(table)["later"].to_pylist() == query.run(table).to_pylist()


def test_texts_within_values_that_are_missing_are_not_looked_up() -> None:
    pair = types.Optional(types.Tuple([TEXT, types.int64]))
    texts = Texts()
    words = np.array([[0, 99, 99], [1, texts.number("a"), 5]])  # what is missing was never written
    found = as_arrow(words, pair, words[:0], texts)
    assert found.to_pylist() == [None, {"_1": "a", "_2": 5}]
