"""Compiled machines with windows, keys and mappings: the definition's values at every prefix.

Most drawn cases run the machines' source as plain Python, over the same memory (see
`support.quantitative_numbers`): what is written is the same, and nothing is compiled.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.quantitative.items import as_item
from elsinore.quantitative.lowered import why_not
from elsinore.quantitative.lowered.memory import ROOM
from elsinore.quantitative.rows import Runs
from elsinore.quantitative.runnable import Query
from elsinore.quantitative.values import as_array
from elsinore.runtime.predicate_bits import bits
from oracles.streaming import values_at_prefixes
from support import quantitative_numbers as drawn
from support.quantitative import cases
from support.quantitative_numbers import added, in_python, table_of, v_of

EXAMPLES = int(os.environ.get("ELSINORE_EXAMPLES", "30"))
S = drawn.S


def exactly(value: Any) -> Any:
    """Return a value such that equal ones are equal bit for bit; whole numbers count as doubles."""
    if isinstance(value, Mapping):
        return {key: exactly(each) for key, each in value.items()}
    if isinstance(value, list):  # of an Arrow map
        return {key: exactly(each) for key, each in value}
    if isinstance(value, dict | tuple):
        return tuple(map(exactly, value))
    return struct.pack("<d", value) if isinstance(value, int | float) else value


def as_seen(values: list[Any]) -> list[Any]:
    return [exactly(value) for value in as_array(values).to_pylist()] if values else []


def runs_of(query: Query, table: pa.Table) -> Runs:
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    runs = Runs(query.machines, types, compiled=True, tell=bits)
    assert runs.is_compiled, [why_not(stage, types) for stage in query.stages]
    return runs


def given_out(runs: Runs, table: pa.Table, count: int = 1) -> Iterator[tuple[int, Any]]:
    codes = np.arange(table.num_rows, dtype=np.int32) % count
    with np.errstate(over="ignore"):
        found = runs.run(table, bits(runs.bits, table), codes, count)
    if found.values is not None:
        for place, value in zip(found.places.tolist(), found.values.to_pylist(), strict=True):
            yield place, exactly(value)


def without_compiling(runs: Runs) -> Runs:
    for memory in runs._memories:
        in_python(memory)
    return runs


def drawn_runs(query: Query, table: pa.Table) -> Runs:
    with patch("elsinore.quantitative.lowered.program._compile"):
        return without_compiling(runs_of(query, table))


@given(cases(drawn.queries(), drawn.ITEMS, longest=9), st.data())
@settings(max_examples=EXAMPLES)
def test_a_machine_over_words_has_the_defined_values_and_the_interpreters(
    case: tuple[Query, list[Any]], data: st.DataObject
) -> None:
    query, stream = case
    word = [as_item(item) for item in stream]
    places, interpreted = query.start().extend(word)
    defined = values_at_prefixes(query, word)
    assert [n for n, _ in defined] == places
    expected = list(zip(places, as_seen(interpreted), strict=True))
    assert as_seen([value for _, value in defined]) == [value for _, value in expected]
    table = table_of(stream)
    cut = data.draw(st.integers(0, len(stream)))
    runs = drawn_runs(query, table)
    found = list(given_out(runs, table.slice(0, cut)))
    if data.draw(st.booleans()):  # the state is saved and loaded in between
        later = drawn_runs(query, table)
        later.put(0, query.load(runs.stream(0).save()))
        runs = later
    found += [(n + cut, value) for n, value in given_out(runs, table.slice(cut))]
    assert found == expected


PER_S = qre.split(qre.iterate(qre.atom(~S, v_of), qre.sum()), qre.atom(S), qre.left)
COUNTED = qre.split(qre.iterate(qre.atom(~S, lambda i: i.k), qre.counts()), qre.atom(S), qre.left)
BEFORE_S = qre.atom(~S, v_of)
QUANTILES = qre.combine(
    qre.apply(qre.iterate(BEFORE_S, qre.median()), drawn.or_less),
    qre.apply(qre.iterate(BEFORE_S, qre.approx_quantile(0.8, 0.1)), drawn.or_less),
    added,
)
STRUCTURES: dict[str, Any] = {
    "quantiles by texts": qre.map_collect(
        S, "t", qre.iter_last(qre.split(QUANTILES, qre.atom(S), qre.left))
    ),
    "keys, each a sum": qre.iter_last(qre.map_collect(S, "k", PER_S, S)),
    "keys within keys": qre.map_collect(
        S, "k", qre.map_collect(S, lambda i: i.w, qre.iter_last(COUNTED))
    ),
    "windows of keys' values": qre.map_collect(
        S,
        "k",
        qre.combine(
            qre.sliding(PER_S, 3, qre.mean()),
            qre.count_in_window(PER_S, 2, lambda v: v > 1),
            added,
        ),
    ),
    "windows of counts": qre.apply(qre.sliding(COUNTED, 3, qre.merged_counts()), qre.most_common),
    "folds anew, and marks": qre.combine(
        qre.sliding(qre.atom(qre.any, v_of), 3, 0.0, drawn.mixed),
        qre.approx_count_in_window(qre.atom(qre.any, v_of), 20, lambda v: v > 1, 0.2),
        added,
    ),
    "a pipeline": qre.iter_last(PER_S)
    >> qre.sliding(
        qre.either(qre.atom(qre.item > 1, drawn.halved), qre.atom(~(qre.item > 1), abs)),
        2,
        qre.sum(),
    ),
}


def items(count: int, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [drawn.ITEMS[place] for place in rng.integers(0, len(drawn.ITEMS), count)]


@pytest.mark.parametrize("name", STRUCTURES)
def test_compiled_code_has_the_interpreters_values_before_and_after_saving(name: str) -> None:
    query, table = STRUCTURES[name], table_of(items(90, 5))
    for by, count in (((), 1), (("k",), 2)):
        running = query.by(*by) if by else query
        plain = running.run(table, compiled=False)
        if by:
            assert running.run(table, compiled=True).equals(plain)
            continue
        runs = runs_of(query, table)
        found = list(given_out(runs, table.slice(0, 40), count))
        later = runs_of(query, table)
        later.put(0, query.load(runs.stream(0).save()))
        found += [(n + 40, value) for n, value in given_out(later, table.slice(40), count)]
        expected = zip(plain["position"].to_pylist(), plain["value"].to_pylist(), strict=True)
        assert found == [(n, exactly(value)) for n, value in expected]


def risky(item: Any) -> int:
    """Return a number that is too great for compiled code, or for none."""
    return item.n**40 % 1_000_003 if item.n > 3 else 12 // item.n


TOTAL = qre.split(qre.iterate(qre.atom(~S, risky), qre.sum()), qre.atom(S), qre.left)
RISKY = qre.map_collect(S, "k", qre.sliding(TOTAL, 2, qre.sum()))


def test_an_item_that_raises_leaves_keys_and_windows_as_they_were() -> None:
    stream = RISKY.start()
    table = table_of([*items(30, 3), {"type": "a", "n": 0, "v": 1.0, "k": 1, "w": 0.5}])
    with pytest.raises(qre.OperationError, match=r"ZeroDivisionError.*at item 30 "):
        stream.take(table, compiled=True)
    other = RISKY.start()
    other.extend(table.slice(0, 30).to_pylist())
    rest = [*items(9, 4), {"type": "s"}]
    assert stream.extend(rest) == other.extend(rest)


def test_whole_numbers_beyond_doubles_go_on_in_python_from_keys_and_windows() -> None:
    great = {"type": "a", "n": 7, "v": 1.0, "k": 1, "w": 0.5}
    table = table_of([*items(40, 8), great, *items(30, 9), great, *items(9, 4)])
    assert RISKY.run(table, compiled=True).equals(RISKY.run(table, compiled=False))


def test_nulls_that_functions_read_are_none_in_compiled_code() -> None:
    def known(item: Any) -> bool:
        return item.v is not None and item.v > 1

    query = qre.count_in_window(qre.atom(), 4, known)
    table = pa.table({"v": [1.5, None, 2.5, 0.5, None, 3.0]})
    runs = Runs(query.machines, {"v": pa.float64()}, compiled=True)
    found = runs.run(table, np.zeros(6, np.int64), np.zeros(6, np.int32), 1)
    assert found.values.to_pylist() == [1, 1, 2, 2, 1, 2]
    assert runs._memories[0].machine.nullable == {"v"}
    assert runs._memories[0].taken.tolist() == [6]


def test_what_pipelines_pass_on_must_be_no_mapping() -> None:
    query = qre.iter_last(COUNTED) >> qre.iterate1(qre.atom(qre.any, len), qre.sum())
    table = table_of(items(20, 2))
    runs = Runs(
        query.machines,
        dict(zip(table.schema.names, table.schema.types, strict=True)),
        compiled=True,
    )
    assert not runs.is_compiled
    assert query.run(table, compiled=True).equals(query.run(table, compiled=False))


def test_the_state_of_keys_and_windows_stays_as_large_as_it_is() -> None:
    """Keys begin anew at each synchronization item; what they leave behind is made room of."""
    for name in ("keys, each a sum", "windows of counts"):
        table = table_of(items(20_000, 6))
        runs = runs_of(STRUCTURES[name], table)
        sizes = []
        for _ in range(4):
            assert sum(1 for _ in given_out(runs, table)) > 0
            sizes.append(runs._memories[0].live)
        assert max(sizes) < 2_000
        assert len(runs._memories[0]._heap) == ROOM
