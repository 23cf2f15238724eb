"""Whole numbers, times and lengths of time are exact, or null where 64 bits have no room.

Drawn expressions are computed with Arrow's columns, and row by row with Python's integers, which
have any size.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from elsinore.expressions.columns import evaluate
from elsinore.language import parse_expression
from elsinore.model.evaluate import evaluate as plainly
from elsinore.model.expression import Attribute, Binary, Call, Expression, Literal, Negative
from elsinore.model.time_values import Moment, Span

NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
BITS = {"i8": (8, pa.int8()), "i16": (16, pa.int16()), "i32": (32, pa.int32())}
WHOLE = {**BITS, "n": (64, pa.int64()), "m": (64, pa.int64())}
TYPES: dict[str, pa.DataType] = {
    **{name: kind for name, (_, kind) in WHOLE.items()},
    "day": pa.date32(),
    **{f"t_{unit}": pa.timestamp(unit) for unit in NANOSECONDS},
    **{f"d_{unit}": pa.duration(unit) for unit in NANOSECONDS},
}
LENGTHS = tuple(name for name in TYPES if name.startswith("d_"))
TIMES = ("day", *(name for name in TYPES if name.startswith("t_")))


def bits_of(name: str) -> int:
    return WHOLE[name][0] if name in WHOLE else 32 if name == "day" else 64


def drawn_numbers(bits: int) -> st.SearchStrategy[int | None]:
    """Draw integers, often such near the ends of a range or near the root of it."""
    greatest = 2 ** (bits - 1) - 1
    near = [0, 1, -1, 3, greatest, greatest - 1, -greatest - 1, 2 ** (bits // 2), greatest // 1_000]
    return st.one_of(st.none(), st.sampled_from(near), st.integers(-greatest - 1, greatest))


def terms(leaves: tuple[str, ...], operators: str) -> st.SearchStrategy[str]:
    """Draw sums and other terms of attributes of one kind."""
    leaf = st.sampled_from([f"A.{name}" for name in leaves])
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(operators), inner).map(lambda t: f"({' '.join(t)})"),
            inner.map(lambda term: f"(-{term})"),
            inner.map(lambda term: f"ABS({term})"),
        ),
        max_leaves=4,
    )


integers = terms(tuple(WHOLE), "+-*%")
lengths = st.one_of(
    terms(LENGTHS, "+-"),
    st.tuples(terms(LENGTHS, "+-"), st.sampled_from("*/"), integers).map(" ".join),
    st.tuples(st.sampled_from(TIMES), st.sampled_from(TIMES)).map(lambda t: f"A.{t[0]} - A.{t[1]}"),
)
times = st.tuples(
    st.sampled_from(TIMES).map("A.{}".format), st.sampled_from("+-"), terms(LENGTHS, "+-")
).map(lambda parts: f"{parts[0]} {parts[1]} ({parts[2]})")
rows = st.lists(
    st.fixed_dictionaries({name: drawn_numbers(bits_of(name)) for name in TYPES}),
    min_size=1,
    max_size=5,
)


def value_of(node: Expression, row: dict[str, int | None]) -> Any:
    """Return an expression's value, null as soon as a part has no room."""
    whole: Expression
    match node:
        case Attribute(_, str(name)):
            count = row[name]
            if count is None or name in WHOLE:
                return count
            if name == "day":
                return Moment(count * 86_400 * 10**9)
            kind, unit = name.split("_")
            made = Moment if kind == "t" else Span
            return fitting(made(count * NANOSECONDS[unit], fine=unit == "ns"))
        case Binary(operator, left, right):
            one, other = value_of(left, row), value_of(right, row)
            fine = any(isinstance(value, Moment | Span) and value.fine for value in (one, other))
            one, other = fitting(one, fine), fitting(other, fine)
            values = {"one": one, "other": other}
            whole = Binary(operator, Attribute("", "one"), Attribute("", "other"))
        case Negative(operand):
            values = {"one": value_of(operand, row)}
            whole = Negative(Attribute("", "one"))
        case Call("ABS", (operand,)):
            values = {"one": value_of(operand, row)}
            whole = Call("ABS", (Attribute("", "one"),))
        case Literal(value):
            return value
        case _:
            raise TypeError(node)
    if None in values.values():
        return None
    return fitting(plainly(whole, lambda read: values[str(read.name)]))


def fitting(value: Any, fine: bool = False) -> Any:
    """Return a value, null if its count does not fit in 64 bits."""
    count = ticks(value, fine)
    return value if count is None or -(2**63) <= count < 2**63 else None


def ticks(value: Any, fine: bool = False) -> int | None:
    """Return a time or a length as a number of nanoseconds if it is `fine`, else microseconds."""
    if isinstance(value, Moment | Span):
        return value.nanoseconds if value.fine or fine else value.nanoseconds // 1_000
    return None if value is None else int(value)


def check(text: str, table: list[dict[str, int | None]]) -> None:
    expression = parse_expression(text)
    counts = {name: [row[name] for row in table] for name in TYPES}
    columns = {
        name: pa.array(
            counts[name], kind if name in WHOLE else pa.int32() if name == "day" else pa.int64()
        ).cast(kind)
        for name, kind in TYPES.items()
    }
    found = evaluate(expression, columns)
    if isinstance(expression, Attribute):
        return
    if not pa.types.is_integer(found.type):
        found = found.cast(pa.int64())
    assert found.to_pylist() == [ticks(value_of(expression, row)) for row in table]


@given(integers, rows)
def test_integers_are_exact_or_null(text: str, table: list[dict[str, int | None]]) -> None:
    check(text, table)


@given(lengths, rows)
def test_lengths_of_time_are_exact_or_null(text: str, table: list[dict[str, int | None]]) -> None:
    check(text, table)


@given(times, rows)
def test_times_are_exact_or_null(text: str, table: list[dict[str, int | None]]) -> None:
    check(text, table)
