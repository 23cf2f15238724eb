"""The loop over operations: streams in turn, saved states, errors, many control states."""

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.quantitative import streams
from elsinore.quantitative.machine import control
from elsinore.quantitative.machine.control import Program
from elsinore.quantitative.runnable import Query
from elsinore.quantitative.streams import Streams
from elsinore.runtime.predicate_bits import bits
from oracles.streaming import values_at_prefixes
from support import quantitative as terms

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "40"))
SCHEMA = pa.schema([("type", pa.string()), ("v", pa.int64()), ("k", pa.int64())])
A, S = qre.event("a"), terms.S


def table_of(items: list[Any]) -> pa.Table:
    return pa.Table.from_pylist([item._asdict() for item in items], SCHEMA)


def taken(runs: Streams, items: list[Any], codes: Any, count: int) -> list[tuple[int, Any]]:
    if not items:
        return []
    table = table_of(items)
    output = runs.run(table, bits(runs.bits, table), codes, count)
    return list(zip(output.places.tolist(), output.boxed(), strict=True))


@given(terms.cases(terms.queries()), st.integers(1, 3), st.data())
@settings(max_examples=EXAMPLES)
def test_streams_in_turn_have_the_defined_values_also_after_saving(
    case: tuple[Query, list[Any]], count: int, data: st.DataObject
) -> None:
    query, stream = case
    expected = [
        (n * count + code, value)
        for code in range(count)
        for n, value in values_at_prefixes(query, stream[code::count])
    ]
    expected.sort(key=lambda pair: pair[0])
    codes = (np.arange(len(stream)) % count).astype(np.int32)
    cut = data.draw(st.integers(0, len(stream)))
    runs = Streams(query.programs)
    found = taken(runs, stream[:cut], codes[:cut], count)
    if data.draw(st.booleans()):
        later = Streams(Query(query.node).programs)
        for code in range(count):
            later.load(code, runs.save(code))
        runs = later
    found += [(n + cut, v) for n, v in taken(runs, stream[cut:], codes[cut:], count)]
    assert found == expected


@given(terms.cases(terms.queries(), longest=12))
@settings(max_examples=EXAMPLES)
def test_transitions_that_were_forgotten_are_derived_again(case: tuple[Query, list[Any]]) -> None:
    query, stream = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(control, "MOST_TRANSITIONS", 2)
        places, values = Query(query.node).start().extend(stream)
    assert list(zip(places, values, strict=True)) == values_at_prefixes(query, stream)


def test_control_states_do_not_become_ever_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MOST_TRANSITIONS", 100)
    b = qre.event("b")
    eighth_last = qre.split(
        qre.match((A | b).star()), qre.match(A), qre.match((A | b).times(7)), lambda *_: 1
    )
    drawn = np.random.default_rng(1).integers(0, 2, 2_000)
    items = [{"type": "ab"[n]} for n in drawn.tolist()]
    stream = eighth_last.start()
    assert stream.extend(items)[0] == [n for n in range(7, 2_000) if drawn[n - 7] == 0]
    (program,) = stream.programs
    assert len(program._controls) <= 101


def test_rows_that_change_nothing_are_not_taken_but_counted() -> None:
    total = qre.iterate(qre.atom(S, lambda s: s.v), qre.sum())
    assert Program(total.node).idle_classes() == [False, False]
    last = qre.split(qre.match(qre.any.star()), qre.atom(S, lambda s: s.v), qre.right)
    program = Program(last.node)
    assert program.idle_classes() == [True, False]
    table = pa.table({"type": ["s", *["a"] * 300, "s", "a"], "v": range(303)})
    stream = last.start()
    assert stream.take(table)["position"].to_pylist() == [0, 301]
    assert (stream.position, stream.value) == (303, qre.UNDEFINED)
    assert last.run(table)["position"].to_pylist() == [0, 301]


def test_a_function_that_raises_leaves_all_streams_as_they_were_before_the_item() -> None:
    def checked(item: Any) -> int:
        if item.v == 13:
            raise ValueError("thirteen")
        return int(item.v)

    total = qre.iterate1(qre.atom(op=checked), qre.sum())
    table = pa.table({"v": [*range(1, 13), 5, 13, 7], "k": [0, 1, 2] * 5})
    runs = Streams(total.programs)
    codes = table["k"].to_numpy().astype(np.int32)
    with pytest.raises(qre.OperationError, match="ValueError: thirteen, at item 4") as caught:
        runs.run(table, np.zeros(15, np.int64), codes, 3)
    assert caught.value.position == 4
    more = pa.table({"v": [100] * 3, "k": [0, 1, 2]})
    found = runs.run(more, np.zeros(3, np.int64), np.arange(3, dtype=np.int32), 3)
    assert found.boxed() == [
        1 + 4 + 7 + 10 + 5 + 100,
        2 + 5 + 8 + 11 + 100,
        3 + 6 + 9 + 12 + 100,
    ]


def per_s(op: Any = lambda item: item["v"]) -> Query:
    return qre.iterate1(
        qre.split(qre.iterate(qre.atom(~S, op), qre.sum()), qre.atom(S), qre.left), qre.sum()
    )


def test_a_function_that_raises_leaves_the_keys_as_they_were_before_the_item() -> None:
    def checked(item: Any) -> Any:
        if item["v"] < 0:
            raise ValueError("below 0")
        return item["v"]

    inner = qre.map_collect(S, "g", per_s(checked), S.plus())
    query = qre.map_collect(S, "k", inner, S.plus())
    items = [{"type": "as"[n % 9 == 8], "v": n, "k": n % 5, "g": n % 7} for n in range(90)]
    wrong = {"type": "a", "v": -1, "k": "new", "g": 0}
    stream, alone = query.start(), query.start()
    with pytest.raises(qre.OperationError, match="below 0"):
        stream.extend([*items, wrong, *items])
    assert stream.position == len(items)
    _, values = stream.extend(items)
    alone.extend(items)
    assert values == alone.extend(items)[1]
    assert "new" not in values[-1]


def test_an_item_of_a_key_may_go_to_several_maps() -> None:
    sums = qre.map_collect(S, "k", per_s(), S.plus())
    least = qre.map_collect(S, "k", per_s(lambda item: 12 // item["v"]), S.plus())
    both = qre.combine(sums, least, lambda left, right: (left, right))
    items = [{"type": "as"[n % 4 == 3], "v": n % 5 + 1, "k": n % 3} for n in range(40)]
    stream = both.start()
    with pytest.raises(qre.OperationError, match="ZeroDivisionError"):
        stream.extend([*items, {"type": "a", "v": 0, "k": "new"}])
    stream.push({"type": "s", "v": 1, "k": 0})
    alone = [part.start() for part in (sums, least)]
    for part in alone:
        part.extend([*items, {"type": "s", "v": 1, "k": 0}])
    assert stream.value == tuple(part.value for part in alone)


def test_a_column_of_many_chunks_is_taken_a_chunk_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streams, "CHUNK", 7)
    query = qre.iterate(qre.atom(qre.any, lambda i: i.v), qre.sum())
    table = pa.table({"v": pa.chunked_array([[1, 2, 3], list(range(20))])})
    found = query.run(table)["value"].to_pylist()
    assert found == np.cumsum(table["v"].to_numpy()).tolist()
