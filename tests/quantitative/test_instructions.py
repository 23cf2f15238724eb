"""Functions as instructions: the definition's values at every prefix, and those of calls."""

import copy
import linecache
import math
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import elsinore.quantitative as qre
from elsinore.errors import InputError
from elsinore.quantitative.items import as_item
from elsinore.quantitative.machine.control import transitions_of
from elsinore.quantitative.machine.instructions import CALL
from elsinore.quantitative.runnable import Query
from elsinore.quantitative.streams import Streams
from elsinore.quantitative.values import as_array
from elsinore.runtime.predicate_bits import bits
from oracles.streaming import values_at_prefixes
from support import quantitative_numbers as drawn
from support.quantitative import called_by_python, cases
from support.quantitative_numbers import added, table_of, v_of

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


def given_out(runs: Streams, table: pa.Table, count: int = 1) -> Iterator[tuple[int, Any]]:
    codes = np.arange(table.num_rows, dtype=np.int32) % count
    output = runs.run(table, bits(runs.bits, table), codes, count)
    if len(output.places):
        values = output.column().to_pylist()
        for place, value in zip(output.places.tolist(), values, strict=True):
            yield place, exactly(value)


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
    runs = Streams(query.programs)
    found = list(given_out(runs, table.slice(0, cut)))
    if data.draw(st.booleans()):  # the state is saved and loaded in between
        later = Streams(query.programs)
        later.load(0, runs.save(0))
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
def test_instructions_have_the_values_of_calls_before_and_after_saving(name: str) -> None:
    query, table = STRUCTURES[name], table_of(items(90, 5))
    for by, count in (((), 1), (("k",), 2)):
        running = query.by(*by) if by else query
        with called_by_python():
            plain = (again(query).by(*by) if by else again(query)).run(table)
        if by:
            assert running.run(table).equals(plain)
            continue
        runs = Streams(query.programs)
        found = list(given_out(runs, table.slice(0, 40), count))
        later = Streams(query.programs)
        later.load(0, runs.save(0))
        found += [(n + 40, value) for n, value in given_out(later, table.slice(40), count)]
        expected = zip(plain["position"].to_pylist(), plain["value"].to_pylist(), strict=True)
        assert found == [(n, exactly(value)) for n, value in expected]


def again(query: Any) -> Any:
    """Return the same query, nothing of which has been translated."""
    return copy.copy(query)


def risky(item: Any) -> int:
    """Return a number that is too great for compiled code, or for none."""
    return item.n**40 % 1_000_003 if item.n > 3 else 12 // item.n


TOTAL = qre.split(qre.iterate(qre.atom(~S, risky), qre.sum()), qre.atom(S), qre.left)
RISKY = qre.map_collect(S, "k", qre.sliding(TOTAL, 2, qre.sum()))


def test_an_item_that_raises_leaves_keys_and_windows_as_they_were() -> None:
    stream = RISKY.start()
    table = table_of([*items(30, 3), {"type": "a", "n": 0, "v": 1.0, "k": 1, "w": 0.5}])
    with pytest.raises(qre.OperationError, match=r"ZeroDivisionError.*at item 30 "):
        stream.take(table)
    other = RISKY.start()
    other.extend(table.slice(0, 30).to_pylist())
    rest = [*items(9, 4), {"type": "s"}]
    assert stream.extend(rest) == other.extend(rest)


def test_whole_numbers_beyond_doubles_are_those_of_python() -> None:
    great = {"type": "a", "n": 7, "v": 1.0, "k": 1, "w": 0.5}
    table = table_of([*items(40, 8), great, *items(30, 9), great, *items(9, 4)])
    with called_by_python():
        expected = again(RISKY).run(table)
    assert RISKY.run(table).equals(expected)


def test_nulls_that_functions_read_are_none() -> None:
    def known(item: Any) -> bool:
        return item.v is not None and item.v > 1

    query = qre.count_in_window(qre.atom(), 4, known)
    table = pa.table({"v": [1.5, None, 2.5, 0.5, None, 3.0]})
    assert query.run(table)["value"].to_pylist() == [1, 1, 2, 2, 1, 2]


def test_the_state_of_keys_and_windows_stays_as_large_as_it_is() -> None:
    """Keys begin anew at each synchronization item, and buffers drop what windows have left."""
    for name in ("keys, each a sum", "windows of counts", "folds anew, and marks"):
        table = table_of(items(20_000, 6))
        stream = STRUCTURES[name].start()
        sizes = []
        for _ in range(4):
            stream.take(table)
            sizes.append(len(stream.save()))
        assert max(sizes) < 3_000


# --- one function -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Extent:
    least: float
    most: float


def widened(extent: Extent, v: float) -> Extent:
    return Extent(min(extent.least, v), max(extent.most, v))


def twice(v: float) -> float:
    return 2 * v


def through_a_helper(item: Any) -> float:
    return twice(item.v) + math.sqrt(item.n)


def recursive(item: Any) -> float:
    return item.v if item.v < 2 else recursive(item)


def stepwise(item: Any) -> Any:
    """Return what several statements come to."""
    low, high = item.v, item.n
    if low > high:
        low, high = high, low
    elif high == 3:
        return None
    middle = (low + high) / 2
    if low < 0.5 <= middle and not (high > 7 or low is None):
        return low, middle, -high
    return abs(low - high), middle, high // 2 % 3


A, B = qre.event("a"), qre.event("b")
PER_ITEM = qre.split(
    qre.iterate(qre.either(qre.atom(A, v_of), qre.atom(B, lambda item: item.n)), qre.mean()),
    qre.atom(S, lambda item: item.n),
    lambda mean, n: (mean, n),
)
QUERIES: dict[str, Any] = {
    "optional means in tuples": qre.iter_last(PER_ITEM),
    "a fold of folds": qre.iterate(
        PER_ITEM, (0, 0.0), lambda t, v: (t[0] + 1, t[1] if v[0] is None else t[1] + v[0])
    ),
    "several live split points": qre.iter_last(
        qre.split(
            qre.iterate(qre.atom(~S, lambda item: item.n), qre.sum()),
            qre.atom(B),
            qre.iterate(qre.atom(A, v_of), qre.variance()),
            qre.atom(S),
            lambda before, b, spread, s: (before, b.v, spread),
        )
    ),
    "dataclasses": qre.iterate(qre.atom(qre.any, v_of), Extent(0.0, 0.0), widened),
    "helpers": qre.iter_last(qre.atom(qre.any, through_a_helper)),
    "a function that calls itself": qre.iter_last(qre.atom(qre.any, recursive)),
    "statements": qre.iter_last(qre.atom(qre.any, stepwise)),
    "tests in plain Python": qre.apply(
        qre.filter(qre.predicate(lambda item: item.v > 0.5, "big")), lambda item: item.n
    ),
    "combined": qre.combine(
        qre.iterate1(qre.atom(qre.any, v_of), qre.max()),
        qre.iterate1(qre.atom(qre.any, lambda item: item.n), qre.min()),
        lambda most, least: most - least,
    ),
    "regressions": qre.iterate(
        qre.atom(qre.any, lambda item: (item.v, item.n)), qre.linear_regression()
    ),
    "texts": qre.iterate(
        qre.atom(qre.any, lambda item: item.t), "", lambda t, v: t + v if len(t) < 9 else v
    ),
    "texts with values": qre.iter_last(
        qre.atom(qre.any, lambda item: f"{item.v} of {item.t}, {item.n}"[-1:] + f"{item.v:.1f}")
    ),
    "last digits": qre.iter_last(qre.atom(qre.any, lambda item: f"{item.v}-{item.n}")),
    "windows of pairs": qre.sliding(
        qre.atom(qre.any, lambda item: (item.n, item.v)), 3, qre.max()
    ),
    "windows of means": qre.sliding(qre.atom(qre.any, v_of), 5, qre.mean()),
    "windows of variances": qre.sliding(qre.atom(qre.any, v_of), 4, qre.variance()),
    "first of windows": qre.sliding(qre.atom(qre.any, lambda item: item.t), 4, qre.first()),
    "windows of tuples that grow": qre.sliding(
        qre.atom(qre.any, v_of), 3,
        qre.Fold(name="all", init=(), step=lambda t, v: (*t, v), finish=repr,
                 combine=lambda a, b: a + b),
    ),
    "windows folded anew, of another form later": qre.sliding(
        qre.atom(qre.any, v_of), 3, (0, 0.0), lambda t, v: (t[0] + 1, v, t[1])
    ),
}  # fmt: skip


CALLED = {
    *("a function that calls itself", "texts", "texts with values", "last digits"),
    "windows of tuples that grow",
}


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_has_the_values_of_python(name: str) -> None:
    query, table = QUERIES[name], table_of(items(400, 7))
    table = table.set_column(0, "type", pa.array(list("abaas") * 80))
    with called_by_python():
        plain, by_key = again(query).run(table), again(query).by("k").run(table)
    assert plain.num_rows > 0
    assert query.run(table).equals(plain)
    assert query.by("k").run(table).equals(by_key)
    assert (CALL in codes(query)) == (name in CALLED)


def codes(query: Any) -> set[int]:
    """Return the instructions of the transitions of a query that were taken."""
    (program,) = query.programs
    return {
        code
        for control in program._controls.values()
        for known in control.transitions
        if known is not None
        for transition in transitions_of(known)
        for code in np.asarray(transition.code)["code"][:-1].tolist()
    }


@pytest.mark.parametrize("by", [(), ("k",)])
def test_whole_numbers_of_any_size_are_those_of_python(by: tuple[str, ...]) -> None:
    """Squares pass 2^53 and 2^64 and come back; a double then tells of each of them."""

    def squared(total: int, v: int) -> int:
        return total * total % 1_000_003 + v if v % 5 else total**2 + v * 10**17

    total = qre.iterate1(qre.atom(qre.any, lambda item: item.n), 3, squared)
    query = qre.apply(total, lambda n: (n % 1_000_000_007, n / 7, n > 9007199254740993.0))
    table = pa.table({"n": list(range(1, 60)), "k": [1, 2, 3] * 19 + [1, 1]})
    with called_by_python():
        plain = (again(query).by(*by) if by else again(query)).run(table)
    found = (query.by(*by) if by else query).run(table)
    assert found.to_pylist() == plain.to_pylist()
    assert any(value["_3"] for value in found["value"].to_pylist())


EDGES = [
    0,
    1,
    -1,
    7,
    -7,
    2**31,
    -(2**31),
    2**53,
    2**53 + 1,
    -(2**53) - 1,
    2**62,
    2**63 - 1,
    -(2**63),
]
DOUBLES = [
    0.0,
    -0.0,
    0.5,
    -2.5,
    1e300,
    -1e300,
    5e-324,
    2.0**53,
    2.0**63,
    math.inf,
    -math.inf,
    math.nan,
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">=", ">"]
MIXED: list[Any] = [*EDGES, *DOUBLES, True, False, None, "a", (1, 2), 2**70]


@pytest.mark.parametrize("operator", OPERATORS)
def test_operations_of_all_kinds_of_numbers_are_those_of_python(operator: str) -> None:
    function = eval(f"lambda a, b: a {operator} b")
    for left in MIXED:
        pairs = [(left, right) for right in MIXED]
        if operator == "*":
            pairs = [(a, b) for a, b in pairs if not (repeats_often(a, b) or repeats_often(b, a))]
        assert_is_python(function, pairs, operator)


def repeats_often(sequence: Any, count: Any) -> bool:
    """Return whether a text or a tuple would become gigabytes long."""
    return isinstance(sequence, str | tuple) and isinstance(count, int) and count > 7


def assert_is_python(function: Any, pairs: list[tuple[Any, Any]], operator: str) -> None:
    """Check the results, or the errors, of an operation on pairs of values."""
    scope: dict[str, Any] = {}
    name = f"<operation {len(linecache.cache)}>"
    text = f"def f(item):\n    return item.a {operator} item.b\n"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec", dont_inherit=True), scope)
    query = qre.iter_last(qre.atom(qre.any, scope["f"]))
    for a, b in pairs:
        try:
            expected = repr(function(a, b))
        except Exception as error:
            expected = repr(error)
        try:
            found = repr(query.start().push({"a": a, "b": b}))
        except qre.OperationError as error:
            found = repr(error.__cause__)
        assert found == expected, (a, b)
    assert CALL not in codes(query)


@pytest.mark.parametrize(
    ("function", "numbers", "error"),
    [
        (lambda item: math.sqrt(item.v), [4.0, math.inf, -1.0], "ValueError"),
        (lambda item: math.log(item.v), [4.0, 0.5, 0.0], "ValueError"),
        (lambda item: math.exp(item.v), [4.0, 709.0, 710.0], "OverflowError"),
        (lambda item: item.v**2, [4.0, 0.1, 1e200], "OverflowError"),
        (lambda item: int(item.v), [4.0, -2.5, math.nan], "ValueError"),
        (lambda item: math.floor(item.v), [4.0, -2.5, math.inf], "OverflowError"),
        (lambda item: 10 // item.v, [5, 2, 0], "ZeroDivisionError"),
        (lambda item: item.w, [], "AttributeError"),
    ],
)
def test_what_python_refuses_is_refused(function: Any, numbers: Any, error: str) -> None:
    query = qre.iter_last(qre.atom(qre.any, function))
    table = pa.table({"v": numbers or [1.0]})
    with pytest.raises(qre.OperationError, match=f"{error}.*at item {max(len(numbers) - 1, 0)} "):
        query.run(table)
    fine = table.slice(0, len(numbers) - 1)
    if numbers:
        with called_by_python():
            expected = again(query).run(fine)
        assert query.run(fine).equals(expected)


def test_whole_numbers_of_columns_may_have_64_bits() -> None:
    query = qre.iter_last(qre.atom(qre.any, lambda item: item.n / 3))
    numbers = [2**62 + 1, 2**53 + 1, -(2**63)]
    found = query.run(pa.table({"n": numbers}))["value"].to_pylist()
    assert found == [number / 3 for number in numbers]


def test_a_value_beyond_64_bits_is_refused_with_what_to_do() -> None:
    query = qre.iterate1(qre.atom(qre.any, lambda item: item.n), 1, lambda t, n: t * n)
    table = pa.table({"n": [2**40] * 3})
    with pytest.raises(InputError, match=r"beyond 64 bits. Let the fold begin with 0\.0"):
        query.run(table)


def test_a_function_that_is_called_twice_in_an_expression_is_called_twice() -> None:
    numbers = iter(range(100))

    def next_one() -> int:
        return next(numbers)

    query = qre.iter_last(qre.atom(qre.any, lambda item: (next_one(), next_one())))
    assert query.start().extend([{}] * 2)[1] == [(0, 1), (2, 3)]


def test_a_run_reads_the_values_around_functions_anew() -> None:
    limit = 1.0

    def is_high(value: float) -> bool:
        return value > limit

    per_key = qre.iterate1(qre.atom(~S, lambda item: is_high(item.v)), False, lambda a, b: b)
    at_s = qre.split(per_key, qre.atom(S), qre.left)
    for query in (per_key, qre.map_collect(S, "k", at_s, S)):
        stream = query.start()
        limit = 1.0
        items = [{"type": "a", "k": 1, "v": 2.0}, {"type": "s", "k": 0, "v": 0.0}]
        assert stream.extend(items)[1][0] in (True, {1: True})
        limit = 3.0
        assert query.start().extend(items)[1][0] in (False, {1: False})
