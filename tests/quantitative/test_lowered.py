"""Compiled machines have the values of the interpreter's, bit for bit."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import elsinore.quantitative as qre
from elsinore.errors import InputError
from elsinore.quantitative.lowered import (
    CannotCompile,
    Memory,
    Texts,
    kept_machine,
    lowered,
    mathematics,
    why_not,
)
from elsinore.quantitative.runnable import Query

A, B, S = (qre.event(name) for name in "abs")


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


def n(item: Any) -> int:
    """Return an attribute of the function's own name."""
    return item.n


VALUE = qre.atom(A, lambda item: item.v)
PER_S = qre.split(
    qre.iterate(qre.either(VALUE, qre.atom(B, lambda item: item.n)), qre.mean()),
    qre.atom(S, lambda item: item.n),
    lambda mean, n: (mean, n),
)
QUERIES: dict[str, Query] = {
    "counts": qre.iter_last(
        qre.split(qre.iterate(qre.atom(~S), qre.count()), qre.atom(S), qre.left)
    ),
    "optional means in tuples": qre.iter_last(PER_S),
    "a fold of folds": qre.iterate(
        PER_S, (0, 0.0), lambda t, v: (t[0] + 1, t[1] if v[0] is None else t[1] + v[0])
    ),
    "several live split points": qre.iter_last(
        qre.split(
            qre.iterate(qre.atom(~S, lambda item: item.n), qre.sum()),
            qre.atom(B),
            qre.iterate(qre.atom(A, lambda item: item.v), qre.variance()),
            qre.atom(S),
            lambda before, b, spread, s: (before, b.v, spread),
        )
    ),
    "dataclasses": qre.iterate(qre.atom(qre.any, lambda item: item.v), Extent(0.0, 0.0), widened),
    "a function named like an attribute": qre.iter_last(qre.atom(qre.any, n)),
    "helpers": qre.iter_last(qre.atom(qre.any, through_a_helper)),
    "plain Python predicates": qre.apply(
        qre.filter(qre.predicate(lambda item: item.v > 0.5, "big")), lambda item: item.n
    ),
    "combined": qre.combine(
        qre.iterate1(qre.atom(qre.any, lambda item: item.v), qre.max()),
        qre.iterate1(qre.atom(qre.any, lambda item: item.n), qre.min()),
        lambda most, least: most - least,
    ),
    "regressions": qre.apply(
        qre.iterate(qre.atom(qre.any, lambda item: (item.v, item.n)), qre.linear_regression()),
        lambda line: line,
    ),
    "matches without a value": qre.iter_last(qre.match(qre.seq(A.plus(), S | B))),
}


def events(count: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "type": pa.array((list("abaas") * count)[:count]),
            "v": rng.random(count).round(2),
            "n": rng.integers(0, 9, count),
            "k": rng.integers(0, 5, count),
        }
    )


@pytest.mark.parametrize("name", QUERIES)
def test_values_are_those_of_the_interpreter(name: str) -> None:
    query = QUERIES[name]
    table = events(400, 7)
    assert (
        why_not(query.node, dict(zip(table.schema.names, table.schema.types, strict=True))) is None
    )
    plain, fast = query.run(table, compiled=False), query.run(table, compiled=True)
    assert plain.num_rows == fast.num_rows > 0
    assert plain["value"].to_pylist() == fast["value"].to_pylist()
    assert plain["position"].equals(fast["position"])


def test_each_key_has_a_state_of_its_own() -> None:
    query = QUERIES["a fold of folds"].by("k")
    table = events(500, 3)
    plain, fast = query.run(table, compiled=False), query.run(table, compiled=True)
    assert plain.num_rows == fast.num_rows > 0
    assert plain.to_pylist() == fast.to_pylist()


def test_a_state_goes_from_the_interpreter_to_the_compiled_machine_and_back() -> None:
    query = QUERIES["several live split points"]
    table = events(60, 5)
    machine = lowered(
        query.machines[0].program, dict(zip(table.schema.names, table.schema.types, strict=True))
    )
    stream = query.start()
    stream.extend(table.slice(0, 30).to_pylist())
    memory = Memory(machine, Texts())
    memory.grow(1)
    memory.put(0, stream.stages[0].state)
    again = query.start()
    again.stages[0].state = memory.state(0)
    rest = table.slice(30).to_pylist()
    assert again.extend(rest) == stream.extend(rest)


def test_a_function_that_raises_is_named_with_item_and_position() -> None:
    query = qre.iter_last(qre.atom(qre.any, lambda item: 10 // item.n))
    table = pa.table({"n": [5, 2, 0, 1]})
    with pytest.raises(qre.OperationError, match=r"ZeroDivisionError.*at item 2") as caught:
        query.run(table, compiled=True)
    assert caught.value.position == 2


@pytest.mark.parametrize("by", [(), ("k",)])
def test_whole_numbers_beyond_what_compiled_code_holds_are_those_of_python(
    by: tuple[str, ...],
) -> None:
    """Squares pass 2^53 and 2^64 and come back; a double then tells of each of them."""

    def squared(total: int, v: int) -> int:
        return total * total % 1_000_003 + v if v % 5 else total**2 + v * 10**17

    total = qre.iterate1(qre.atom(qre.any, lambda item: item.n), 3, squared)
    query = qre.apply(total, lambda n: (n % 1_000_000_007, n / 7, n > 9007199254740993.0))
    table = pa.table({"n": list(range(1, 60)), "k": [1, 2, 3] * 19 + [1, 1]})
    running = query.by(*by) if by else query
    plain, fast = (running.run(table, compiled=compiled) for compiled in (False, True))
    assert fast.to_pylist() == plain.to_pylist()
    assert any(value["_3"] for value in fast["value"].to_pylist())


def test_whole_numbers_of_columns_may_have_64_bits() -> None:
    query = qre.iter_last(qre.atom(qre.any, lambda item: item.n / 3))
    table = pa.table({"n": [2**62 + 1, 2**53 + 1, -(2**63)]})
    assert query.run(table, compiled=True).equals(query.run(table, compiled=False))


def test_a_value_beyond_64_bits_is_refused_with_what_to_do() -> None:
    query = qre.iterate1(qre.atom(qre.any, lambda item: item.n), 1, lambda t, n: t * n)
    table = pa.table({"n": [2**40] * 3})
    with pytest.raises(InputError, match=r"beyond 64 bits. Let the fold begin with 0\.0"):
        query.run(table, compiled=True)


def undoing(x: float) -> Any:
    try:
        return math.sqrt(x)
    except ValueError:
        return -1.0


@pytest.mark.parametrize(
    ("function", "numbers", "error"),
    [
        (lambda item: math.sqrt(item.v), [4.0, math.inf, -1.0], "ValueError"),
        (lambda item: math.log(item.v), [4.0, 0.5, 0.0], "ValueError"),
        (lambda item: math.sin(item.v), [4.0, math.inf], "ValueError"),
        (lambda item: math.exp(item.v), [4.0, 709.0, 710.0], "OverflowError"),
        (lambda item: item.v**2, [4.0, 0.1, 1e200], "OverflowError"),
        (lambda item: int(item.v), [4.0, -2.5, math.nan], "ValueError"),
        (lambda item: math.floor(item.v), [4.0, -2.5, math.inf], "OverflowError"),
    ],
)
def test_what_python_refuses_is_refused_alike(function: Any, numbers: Any, error: str) -> None:
    query = qre.iter_last(qre.atom(qre.any, function))
    table = pa.table({"v": numbers})
    for compiled in (False, True):
        with pytest.raises(qre.OperationError, match=f"{error}.*at item {len(numbers) - 1} "):
            query.run(table, compiled=compiled)
    fine = table.slice(0, len(numbers) - 1)
    assert query.run(fine, compiled=True).equals(query.run(fine, compiled=False))


def test_an_error_that_a_function_catches_is_no_error() -> None:
    query = qre.iter_last(qre.atom(qre.any, lambda item: undoing(item.v)))
    table = pa.table({"v": [4.0, -1.0, 9.0]})
    assert query.run(table, compiled=True)["value"].to_pylist() == [2.0, -1.0, 3.0]


FUNCTIONS_OF_ONE = sorted(
    {f.__name__ for f in mathematics.SAME} - {"pow", "atan2", "copysign", "floor", "ceil", "trunc"}
)


def test_functions_of_math_give_the_doubles_of_python_bit_for_bit() -> None:
    rng = np.random.default_rng(11)
    table = pa.table({"v": rng.uniform(0, 1, 300), "w": rng.uniform(-9, 9, 300)})
    scope = {"math": math}
    within = ["acosh"]
    calls = [f"math.{f}(i.v{' + 1' if f in within else ''})" for f in FUNCTIONS_OF_ONE]
    calls += ["i.w ** 2", "i.v ** i.w", "math.pow(i.v, 2.0)", "math.atan2(i.v, i.w)", "i.w // i.v"]
    every = eval(f"lambda i: ({', '.join(calls)})", scope)
    query = qre.iter_last(qre.atom(qre.any, every))
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    assert why_not(query.node, types) is None
    assert query.run(table, compiled=True).equals(query.run(table, compiled=False))


def test_a_null_that_a_function_may_read_is_none_as_in_the_interpreter() -> None:
    query = qre.iter_last(qre.atom(qre.any, lambda item: 0.0 if item.v is None else item.v))
    table = pa.table({"v": [1.5, None, 2.5]})
    assert query.run(table, compiled=True)["value"].to_pylist() == [1.5, 0.0, 2.5]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            qre.iter_last(qre.atom(A, lambda item: "text")),
            r"lambda:\d+: values of type unicode",
        ),
        (qre.iterate(qre.atom(A), qre.counts()), "counts counts values of type Item"),
        (
            qre.apply(qre.iterate(qre.atom(A, n), qre.counts()), len),
            "len takes a mapping from int64 to numbers",
        ),
        (qre.iterate(qre.atom(A), 0, lambda n, _: (n,)), "one value is|another type each time"),
        (qre.iter_last(qre.atom(A, recursive)), "recursive calls itself"),
        (qre.filter(A), "hold whole items"),
        (qre.iter_last(qre.atom(A, lambda item: item.n + 2**60)), "a number greater than"),
        (qre.iter_last(qre.atom(A, lambda item: math.hypot(item.v, 1))), "hypot"),
        (qre.iter_last(qre.atom(A, lambda item: np.sqrt(item.v))), "the module numpy"),
        (qre.iter_last(qre.atom(A, lambda item: sum((item.v, item.v)))), "reads sum"),
        (qre.iter_last(qre.atom(A, lambda item: round(item.v, 1))), "cannot be compiled"),
        (qre.sliding(VALUE, 3, qre.median()), "windows of median run in Python"),
        (
            qre.map_collect(S, lambda item: "a", qre.match(qre.seq((~S).star(), S)), S),
            "values of type unicode",
        ),
    ],
)
def test_what_cannot_be_compiled_is_told_with_the_function_in_the_way(
    query: Query, reason: str
) -> None:
    types = {"v": pa.float64(), "n": pa.int64(), "k": pa.int64(), "type": pa.string()}
    with pytest.raises(CannotCompile, match=reason):
        lowered(query.machines[0].program, types)
    table = events(30, 1)
    assert query.run(table, compiled=True).equals(query.run(table, compiled=False))


def test_what_is_kept_of_a_machine_follows_the_values_around_its_functions() -> None:
    limit = 1.0
    query = qre.iterate1(qre.atom(qre.any, lambda item: item.v > limit), False, lambda a, b: b)
    table = pa.table({"v": [0.5, 2.0, 5.0]})
    assert query.run(table, compiled=True)["value"].to_pylist() == [False, True, True]
    (machine,) = query.machines
    parts = machine.lowered, machine.program, {"v": pa.float64()}
    assert kept_machine(*parts) is kept_machine(*parts)
    limit = 3.0
    assert query.run(table, compiled=True)["value"].to_pylist() == [False, False, True]


def test_columns_of_arrow_are_read_in_place_by_code_that_is_there() -> None:
    query = qre.iterate1(qre.atom(qre.any, lambda item: item.v), 0.0, lambda a, b: a + b).by("k")
    table = pa.table({"v": [0.5, 2.0, 5.0], "k": pa.array([0, 1, 0]).dictionary_encode()})
    types = {"v": pa.float64(), "k": table["k"].type}
    (of_query,) = query.query.machines
    machine = kept_machine(of_query.lowered, of_query.program, types)
    assert query.run(table, compiled=True)["value"].to_pylist() == [0.5, 2.0, 5.5]
    assert len(machine.run.overloads) == 1  # type: ignore[attr-defined]


def test_a_collection_is_changed_in_place_when_its_join_goes_on() -> None:
    """Such a join holds what it goes on with no longer, so that nothing needs to be copied."""
    pair = qre.split(qre.atom(A), qre.atom(B, lambda item: item.v), qre.right)
    (machine,) = qre.iterate1(pair, qre.median()).machines
    source = lowered(machine.program, {"v": pa.float64()}).source
    (added,) = (line for line in source.splitlines() if "add_in_order(" in line)
    assert re.search(r"a5 and S\[r \+ 1\] == j4_0", added)
    assert not re.search(r"\bj4 and", added)
