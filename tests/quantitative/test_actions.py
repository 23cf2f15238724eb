"""Queries with many control states, or keys within keys, by a table of actions."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.quantitative.items import as_item
from elsinore.quantitative.machine.actions import Actions
from elsinore.quantitative.machine.control import NotFlat
from elsinore.quantitative.runnable import Query
from elsinore.quantitative.stream import MANY_FOR_TABLES, OperationError, Stream
from oracles.streaming import values_at_prefixes
from support import quantitative as terms

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "20"))
A, S = qre.event("A"), qre.event("S")


def taken(actions: Actions, stream: Stream, items: list[Any]) -> list[tuple[int, Any]]:
    bits = np.array([stream.stages[0].machine.bits.of(item) for item in items], np.int64)
    places, found, stopped = actions.run(bits, np.zeros(len(items), np.int64), items)
    assert stopped is None
    return list(zip(places.tolist(), found, strict=True))


@given(terms.cases(terms.queries()), st.data())
@settings(max_examples=EXAMPLES)
def test_a_table_has_the_defined_values_and_the_interpreters_states(
    case: tuple[Query, list[Any]], data: st.DataObject
) -> None:
    query, stream = case
    defined = values_at_prefixes(query, stream)
    cut = data.draw(st.integers(0, len(stream)))
    interpreter = query.start()
    (stage,) = interpreter.stages
    try:
        actions = Actions(stage.machine.program)
        actions.grow(1)
        some = taken(actions, interpreter, stream[:cut])
        state = actions.state(0)
        if data.draw(st.booleans()):  # the interpreter comes to the same state
            interpreter.extend(stream[:cut])
            assert state is not None
            stage.state = state
            if data.draw(st.booleans()):  # by way of what is saved
                interpreter = query.load(interpreter.save())
            more = list(zip(*interpreter.extend(stream[cut:]), strict=True))
            assert [*some, *((n + cut, value) for n, value in more)] == defined
        if state is not None and data.draw(st.booleans()):  # another table goes on
            actions = Actions(stage.machine.program)
            actions.grow(1)
            actions.put(0, state)
        more = taken(actions, interpreter, stream[cut:])
    except NotFlat:
        assume(False)
    assert [*some, *((n + cut, value) for n, value in more)] == defined


def per_s(op: Any = lambda item: item["v"]) -> Query:
    return qre.iterate1(
        qre.split(qre.iterate(qre.atom(~S, op), qre.sum()), qre.atom(S), qre.left), qre.sum()
    )


def greatest_of(count: int) -> Query:
    values_of_a = qre.iterate_n(qre.atom(A, lambda item: item["v"]), count, qre.sum())
    return qre.iterate(values_of_a, qre.max())


OF_KEYS = qre.map_collect(S, "g", per_s(), S.plus())
MANY = {
    "many states": greatest_of(60),
    "keys within keys": qre.map_collect(S, "k", OF_KEYS, S.plus()),
}


def items_of(name: str) -> list[Any]:
    count = MANY_FOR_TABLES + 100
    kinds = "A" if name == "many states" else "AAAAAAAAAS"
    return [
        {"type": kinds[n % len(kinds)], "v": n % 17, "k": n % 5, "g": n % 7} for n in range(count)
    ]


def interpreted(query: Query) -> Stream:
    stream = query.start()
    stream.stages[0].machine = type(stream.stages[0].machine).from_node(query.node)
    stream.stages[0].machine.can_loop = False
    return stream


@pytest.mark.parametrize("name", MANY)
def test_a_query_that_loops_are_too_many_for_runs_by_a_table(name: str) -> None:
    query, items = MANY[name], items_of(name)
    stream = query.start()
    found = stream.extend(items)
    assert isinstance(stream.stages[0].machine.loops, Actions)
    assert found[0]
    assert found == interpreted(query).extend(items)
    more = [stream.extend(items[:70]), stream.extend(items)]
    alone = interpreted(query)
    alone.extend(items)
    assert more == [alone.extend(items[:70]), alone.extend(items)]


def test_a_function_that_raises_leaves_the_keys_as_they_were_before_the_item() -> None:
    def checked(item: Any) -> Any:
        if item["v"] < 0:
            raise ValueError("below 0")
        return item["v"]

    inner = qre.map_collect(S, "g", per_s(checked), S.plus())
    query = qre.map_collect(S, "k", inner, S.plus())
    items = items_of("keys within keys")
    wrong = {"type": "A", "v": -1, "k": "new", "g": 0}
    stream = query.start()
    stream.extend(items)
    with pytest.raises(OperationError, match="below 0"):
        stream.extend([*items, wrong, *items])
    assert isinstance(stream.stages[0].machine.loops, Actions)
    assert stream.position == 2 * len(items)
    _, found = stream.extend(items)
    alone = interpreted(query)
    alone.extend(items * 2)
    assert found == alone.extend(items)[1]
    assert "new" not in found[-1]


def test_a_table_of_too_many_states_is_left_for_the_generic_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("elsinore.quantitative.machine.actions.MOST_ACTIONS", 10)
    query, items = greatest_of(61), items_of("many states")
    stream = query.start()
    found = stream.extend(items)
    assert not stream.stages[0].machine.can_loop
    assert found == interpreted(query).extend(items)


def test_items_are_known_by_attributes_or_as_they_are() -> None:
    query = qre.iterate(qre.iterate_n(qre.atom(), 60, qre.sum()), qre.max())
    numbers = list(range(MANY_FOR_TABLES))
    stream = query.start()
    found = stream.extend(numbers)
    assert isinstance(stream.stages[0].machine.loops, Actions)
    assert found == interpreted(query).extend([as_item(number) for number in numbers])
