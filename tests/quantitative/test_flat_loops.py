"""Machines written as flat loops: the values of the definition and of the interpreter."""

import ast
import os
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.quantitative import rows
from elsinore.quantitative.items import as_item, record_type
from elsinore.quantitative.machine.control import NotFlat
from elsinore.quantitative.machine.flat_states import FlatStates
from elsinore.quantitative.machine.inline import expression_of
from elsinore.quantitative.rows import Runs
from elsinore.quantitative.runnable import Query
from elsinore.quantitative.stream import Stream
from elsinore.quantitative.values import Made
from elsinore.runtime.predicate_bits import bits
from oracles.streaming import values_at_prefixes
from support import quantitative as terms
from support import quantitative_numbers as numbers

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "20"))
NAMES = ("type", "v", "k")
S = terms.S


def flat_of(query: Query) -> tuple[FlatStates, Stream]:
    stream = query.start()
    return FlatStates(stream.stages[0].machine.program, NAMES, record_type(NAMES)), stream


def columns_of(items: list[Any]) -> dict[str, pa.Array]:
    kinds = {"type": pa.string(), "v": pa.int64(), "k": pa.int64()}
    return {name: pa.array([getattr(i, name) for i in items], kinds[name]) for name in NAMES}


def taken(flat: FlatStates, stream: Stream, items: list[Any], codes: Any) -> list[tuple[int, Any]]:
    told = np.array([stream.stages[0].machine.bits.of(item) for item in items], np.int64)
    places, found, stopped = flat.run(told, codes, columns_of(items))
    assert stopped is None
    return list(zip(places.tolist(), found, strict=True))


@given(terms.cases(terms.queries()), st.data())
@settings(max_examples=EXAMPLES)
def test_flat_loops_have_the_defined_values_and_the_interpreters_states(
    case: tuple[Query, list[Any]], data: st.DataObject
) -> None:
    query, stream = case
    defined = values_at_prefixes(query, stream)
    cut = data.draw(st.integers(0, len(stream)))
    try:
        flat, interpreter = flat_of(query)
        flat.grow(1)
        some = taken(flat, interpreter, stream[:cut], np.zeros(cut, np.int64))
        if cut and data.draw(st.booleans()):  # the interpreter goes on, and comes to the same state
            interpreter.extend(stream[:cut])
            state = flat.state(0)
            assert state is not None
            interpreter.stages[0].state = state
            if data.draw(st.booleans()):  # by way of what is saved
                interpreter = query.load(interpreter.save())
            more = list(zip(*interpreter.extend(stream[cut:]), strict=True))
            assert [*some, *((n + cut, value) for n, value in more)] == defined
            flat, again = flat_of(query)
            flat.grow(1)
            again.extend(stream[:cut])
            flat.put(0, again.stages[0].state)
        more = taken(flat, interpreter, stream[cut:], np.zeros(len(stream) - cut, np.int64))
    except NotFlat:
        assume(False)
    assert [*some, *((n + cut, value) for n, value in more)] == defined


@given(terms.cases(terms.queries(keys=False), longest=12), st.integers(2, 3))
@settings(max_examples=EXAMPLES)
def test_streams_that_take_turns_are_as_if_each_were_alone(
    case: tuple[Query, list[Any]], count: int
) -> None:
    query, stream = case
    flat, interpreter = flat_of(query)
    flat.grow(count)
    codes = np.arange(len(stream)) % count
    found = taken(flat, interpreter, stream, codes)
    expected = []
    for code in range(count):
        places, own = query.start().extend(stream[code::count])
        expected += [(n * count + code, value) for n, value in zip(places, own, strict=True)]
    assert found == sorted(expected, key=lambda pair: pair[0])


@given(terms.cases(numbers.queries(), numbers.ITEMS, longest=9), st.data())
@settings(max_examples=EXAMPLES)
def test_numbers_are_equal_bit_for_bit(case: tuple[Query, list[Any]], data: st.DataObject) -> None:
    query, stream = case
    table = numbers.table_of(stream)
    places, expected = query.start().extend([as_item(item) for item in stream])
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    runs = Runs(query.machines, types, compiled=False, tell=bits)
    cut = data.draw(st.integers(0, len(stream)))
    found: list[tuple[int, Any]] = []
    with patch.object(rows, "FLAT", 1):
        for begin, part in ((0, table.slice(0, cut)), (cut, table.slice(cut))):
            if part.num_rows == 0:
                continue
            told = bits(runs.bits, part)
            some, more = runs._interpreted(part, told, np.zeros(part.num_rows, np.int32), 0)
            more = more.records() if isinstance(more, Made) else more
            found += [(int(n) + begin, v) for n, v in zip(some, more, strict=True)]
    assert repr(found) == repr(list(zip(places, expected, strict=True)))


HIGH = qre.predicate(lambda item: item.v > 1, "high")
TOTAL = qre.iterate(qre.atom(~S, lambda i: i.v), qre.sum())
STRUCTURES: dict[str, Query] = {
    "keys": qre.iter_last(qre.map_collect(S, "k", qre.split(TOTAL, qre.atom(S), qre.left), S)),
    "counts of keys": qre.map_collect(
        S,
        "k",
        qre.apply(
            qre.split(
                qre.iterate(qre.atom(~S, lambda i: i.v), qre.counts()), qre.atom(S), qre.left
            ),
            qre.most_common,
        ),
    ),
    "counts of keys that are given out": qre.map_collect(
        S,
        "k",
        qre.split(qre.iterate(qre.atom(~S, lambda i: i.v), qre.counts()), qre.atom(S), qre.left),
        S.plus(),
    ),
    "counts that are given out": qre.iterate(qre.atom(op=lambda i: i.v), qre.counts()),
    "a window": qre.count_in_window(qre.atom(qre.any, lambda i: i.v), 7, lambda v: v > 1),
    "a test in Python": qre.iterate(
        qre.either(qre.atom(HIGH, lambda i: i.v), qre.atom(~HIGH, lambda i: 0)), qre.sum()
    ),
    "whole items": qre.filter(qre.item.v > 1),
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_what_queries_are_made_of_runs_in_flat_loops(name: str) -> None:
    query = STRUCTURES[name]
    rng = np.random.default_rng(7)
    items = [terms.ITEMS[place] for place in rng.integers(0, len(terms.ITEMS), 400)]
    places, expected = query.start().extend(items)
    flat, stream = flat_of(query)
    flat.grow(1)
    found: list[tuple[int, Any]] = []
    for begin in range(0, 400, 100):
        some = taken(flat, stream, items[begin : begin + 100], np.zeros(100, np.int64))
        found += [(n + begin, value) for n, value in some]
    assert repr(found) == repr(list(zip(places, expected, strict=True)))


def test_a_function_that_raises_leaves_all_streams_as_they_were_before_the_item() -> None:
    def checked(item: Any) -> int:
        if item.v == 13:
            raise ValueError("thirteen")
        return int(item.v)

    total = qre.iterate1(qre.atom(op=checked), qre.sum())
    table = pa.table({"v": [*range(1, 13), 5, 13, 7], "k": [0, 1, 2] * 5})
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    runs = Runs(total.machines, types, compiled=False)
    codes = table["k"].to_numpy().astype(np.int32)
    with patch.object(rows, "FLAT", 1), pytest.raises(qre.OperationError) as caught:
        runs.run(table, np.zeros(15, np.int64), codes, 3)
    assert caught.value.position == 4
    assert "ValueError: thirteen, at item 4" in str(caught.value)
    assert [runs.stream(code).push({"v": 100, "k": code}) for code in range(3)] == [
        1 + 4 + 7 + 10 + 5 + 100,
        2 + 5 + 8 + 11 + 100,
        3 + 6 + 9 + 12 + 100,
    ]


def test_a_new_key_at_whose_first_item_a_function_raises_is_forgotten() -> None:
    per_key = qre.split(
        qre.iterate(qre.atom(~S, lambda i: 6 // i.v), qre.sum()), qre.atom(S), qre.left
    )
    query = qre.map_collect(S, "k", per_key, S)
    flat, stream = flat_of(query)
    flat.grow(1)
    items = [as_item({"type": t, "v": v, "k": k}) for t, v, k in (("a", 2, 1), ("a", 0, 2))]
    told = np.array([stream.stages[0].machine.bits.of(item) for item in items], np.int64)
    places, found, stopped = flat.run(told, np.zeros(2, np.int64), columns_of(items))
    assert (list(places), found, stopped) == ([], [], 1)
    end = [as_item({"type": "s", "v": 1, "k": 9})]
    assert taken(flat, stream, end, np.zeros(1, np.int64)) == [(0, {1: 3})]


def test_a_query_whose_states_are_too_many_runs_as_it_is() -> None:
    a, b = qre.event("a"), qre.event("b")
    nth = qre.split(
        qre.match((a | b).star()), qre.match(a), qre.match((a | b).times(7)), lambda *_: 1
    )
    flat, stream = flat_of(nth)
    flat.grow(1)
    rng = np.random.default_rng(1)
    items = [terms.ITEMS[place] for place in rng.integers(0, 4, 300)]
    with pytest.raises(NotFlat):
        taken(flat, stream, items, np.zeros(300, np.int64))
    table = pa.table(columns_of(items))
    found = nth.run(table, compiled=False)
    assert found["position"].to_pylist() == nth.start().extend(items)[0]


def squared(item: Any) -> int:
    number = item.v + 1
    return int(number * number)


def next_one(item: Any) -> int:
    """Return the number after that of an item."""
    return int(item.v + 1)


def test_functions_that_only_return_an_expression_are_written_out() -> None:
    written = {f: expression_of(f) for f in (squared, next_one)}
    assert written[squared] is None
    assert ast.unparse(written[next_one].body) == "int(item.v + 1)"  # type: ignore[union-attr]


def test_counts_that_went_into_a_window_are_what_they_were() -> None:
    pane = qre.split(qre.iterate(qre.atom(~S, lambda i: i.v), qre.counts()), qre.atom(S), qre.left)
    query = qre.apply(qre.sliding(pane, 2, qre.merged_counts()), dict)
    rng = np.random.default_rng(3)
    items = [terms.ITEMS[place] for place in rng.integers(0, len(terms.ITEMS), 200)]
    places, expected = query.start().extend(items)
    flat, stream = flat_of(query)
    flat.grow(1)
    found: list[tuple[int, Any]] = []
    for begin in range(0, 200, 50):
        some = taken(flat, stream, items[begin : begin + 50], np.zeros(50, np.int64))
        found += [(n + begin, value) for n, value in some]
    assert len(expected) > 20
    assert not flat._shown  # they are dicts that are changed in place
    assert found == list(zip(places, expected, strict=True))


MEANS = qre.iterate(qre.atom(~S, lambda i: i.v / 4), qre.mean())
EXTREMES = qre.combine(
    qre.iterate(qre.atom(~S, lambda i: i.v), qre.min()),
    qre.iterate(qre.atom(~S, lambda i: i.v), qre.first()),
    lambda least, first: (least, first),
)


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        (qre.tumbling(qre.split(MEANS, qre.atom(S), qre.left)), 1),
        (qre.tumbling(qre.split(MEANS, qre.atom(S), qre.left)), 3),
        (qre.tumbling(qre.split(EXTREMES, qre.atom(S), qre.left)), 1),
        (qre.map_collect(S, "k", qre.split(MEANS, qre.atom(S), qre.left), S.plus()), 1),
    ],
)
def test_parts_of_accumulators_are_registers(query: Query, codes: int) -> None:
    rng = np.random.default_rng(11)
    items = [terms.ITEMS[place] for place in rng.integers(0, len(terms.ITEMS), 300)]
    numbers = np.arange(300) % codes
    flat, stream = flat_of(query)
    flat.grow(codes)
    found: list[tuple[int, Any]] = []
    for begin in range(0, 300, 100):  # from states of the loops to the interpreter's, and back
        for code in range(codes):
            state = flat.state(code)
            if state is not None:
                flat.put(code, state)
        some = taken(flat, stream, items[begin : begin + 100], numbers[begin : begin + 100])
        found += [(n + begin, value) for n, value in some]
    expected = []
    for code in range(codes):
        places, values_of = query.start().extend(items[code::codes])
        expected += [(n * codes + code, v) for n, v in zip(places, values_of, strict=True)]
    assert len(found) > 10
    assert repr(found) == repr(sorted(expected, key=lambda pair: pair[0]))
    kinds = {kind.of for state in flat._automaton.states for kind in state.kinds}
    inner = list(flat._automaton.inner.values())
    kinds |= {kind.of for each in inner for state in each.states for kind in state.kinds}
    assert "tuple" in kinds
