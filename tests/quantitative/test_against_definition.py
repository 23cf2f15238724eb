"""Machines compute what the definition says, at every prefix of a stream."""

import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.quantitative.runnable import Query
from oracles.streaming import values
from support.quantitative import cases, queries

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "50"))


def expected(query: Query, word: list[Any]) -> Any:
    results = values(query, word)
    assert len(results) < 2, "a well-typed query has one value at most"
    return results[0] if results else qre.UNDEFINED


@given(cases(queries()))
@settings(max_examples=EXAMPLES)
def test_a_machine_has_the_defined_value_after_each_item(case: tuple[Query, list[Any]]) -> None:
    query, stream = case
    running = query.start()
    assert running.value == expected(query, [])
    for length, item in enumerate(stream, start=1):
        assert running.push(item) == expected(query, stream[:length])


@given(cases(queries()), st.data())
@settings(max_examples=EXAMPLES)
def test_batches_have_the_values_of_single_items(
    case: tuple[Query, list[Any]], data: st.DataObject
) -> None:
    query, stream = case
    one_by_one = query.start()
    singly = [
        (n, v) for n, item in enumerate(stream) if (v := one_by_one.push(item)) is not qre.UNDEFINED
    ]
    cut = data.draw(st.integers(0, len(stream)))
    running = query.start()
    first, second = running.extend(stream[:cut]), running.extend(stream[cut:])
    batched = list(zip(first[0], first[1], strict=True))
    batched += [(n + cut, value) for n, value in zip(*second, strict=True)]
    assert batched == singly
