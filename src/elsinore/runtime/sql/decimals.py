"""Arithmetic of decimals with Spark's types of results, each as an expression of DuckDB.

A decimal has a precision (its number of digits) and a scale (how many of them are behind the
point). Spark derives both for every result, and rounds halves away from zero. The two systems agree
about sums, differences, products and remainders if DuckDB is given the types; DuckDB has no
quotients of decimals, which are computed with integers here. Results that need more digits than
there are lose digits behind the point in Spark: they are rejected.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from sqlglot import exp

from elsinore.runtime.sql.parts import Part

MOST_DIGITS = 38  # of a decimal, in Spark and DuckDB
_LEAST_SCALE = 6  # of quotients
_WHOLE_DIGITS = {"TINYINT": 3, "SMALLINT": 5, "INTEGER": 10, "BIGINT": 20}
_TYPE = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")
_SIGNS = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Mod: "%"}
_TYPED_ALIKE = (exp.Column, exp.Dot, exp.Div, *_SIGNS)  # parts that have Spark's types here


class Digits(NamedTuple):
    """The precision and the scale of a decimal."""

    precision: int
    scale: int

    @property
    def whole(self) -> int:
        """The number of digits before the point."""
        return self.precision - self.scale

    @property
    def type(self) -> str:
        """The type of DuckDB."""
        return f"DECIMAL({self.precision},{self.scale})"


def digits_of_number(text: str) -> Digits:
    """Return the type of a number as it is written.

    >>> digits_of_number("-100"), digits_of_number("0.05")
    (Digits(precision=3, scale=0), Digits(precision=2, scale=2))
    """
    _, digits, exponent = Decimal(text).as_tuple()
    scale = -int(exponent)
    return Digits(max(len(digits), scale), scale)


def digits_of(node: exp.Expression, part: Part) -> Digits | None:
    """Return the type that Spark has for an operand; None if it may differ from DuckDB's.

    Spark and DuckDB derive types of choices, such as COALESCE of decimals, in different ways.
    """
    inner = node.unnest()
    number = inner.this if isinstance(inner, exp.Neg) else inner
    if isinstance(number, exp.Literal):
        return digits_of_number(str(number.this))
    if part.type in _WHOLE_DIGITS:
        return Digits(_WHOLE_DIGITS[part.type], 0)
    known = _TYPE.fullmatch(part.type)
    if known is None or not isinstance(inner, _TYPED_ALIKE):
        return None
    return Digits(int(known[1]), int(known[2]))


def result_digits(operator: type[exp.Expression], left: Digits, right: Digits) -> Digits:
    """Return the type of a result before Spark limits it to `MOST_DIGITS`.

    >>> result_digits(exp.Div, Digits(20, 0), Digits(2, 1))
    Digits(precision=27, scale=6)
    """
    scale = max(left.scale, right.scale)
    if operator is exp.Mul:
        return Digits(left.precision + right.precision + 1, left.scale + right.scale)
    if operator is exp.Div:
        scale = max(_LEAST_SCALE, left.scale + right.precision + 1)
        return Digits(left.whole + right.scale + scale, scale)
    if operator is exp.Mod:
        return Digits(min(left.whole, right.whole) + scale, scale)
    return Digits(max(left.whole, right.whole) + scale + 1, scale)


def computed(
    operator: type[exp.Expression], left: tuple[str, Digits], right: tuple[str, Digits]
) -> Part | None:
    """Return a sum, difference, product, quotient or remainder of operands and their types.

    Division by zero is for the caller to handle. None if Spark would lose digits, or if an
    intermediate value would.
    """
    (left_text, left_digits), (right_text, right_digits) = left, right
    result = result_digits(operator, left_digits, right_digits)
    common = max(left_digits.whole, right_digits.whole) + max(left_digits.scale, right_digits.scale)
    needed = {exp.Div: result.precision + 1, exp.Mod: common}.get(operator, result.precision)
    if max(needed, result.precision) > MOST_DIGITS:
        return None
    if operator is exp.Div:
        return Part(_quotient(left, right, result), result.type)
    if operator is exp.Mul:  # DuckDB computes products of short decimals with 64 bits
        left_digits = Digits(result.precision, left_digits.scale)
    texts = f"CAST({left_text} AS {left_digits.type})", f"CAST({right_text} AS {right_digits.type})"
    return Part(f"CAST(({_SIGNS[operator].join(texts)}) AS {result.type})", result.type)


def _quotient(left: tuple[str, Digits], right: tuple[str, Digits], result: Digits) -> str:
    """Return a quotient: integers are divided to one digit more than the result has."""
    (left_text, left_digits), (right_text, right_digits) = left, right
    scale = result.scale + 1
    power = scale + right_digits.scale - left_digits.scale
    dividend = f"{_unscaled(left_text, left_digits)} * CAST(1{'0' * power} AS HUGEINT)"
    quotient = f"({dividend}) // {_unscaled(right_text, right_digits)}"
    last = f"CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale},{scale}))"
    return f"CAST(CAST({quotient} AS DECIMAL({MOST_DIGITS},0)) * {last} AS {result.type})"


def _unscaled(text: str, digits: Digits) -> str:
    """Return the integer that a decimal has as its digits."""
    if not digits.scale:
        return f"CAST({text} AS HUGEINT)"
    return f"CAST(replace(CAST(CAST({text} AS {digits.type}) AS VARCHAR), '.', '') AS HUGEINT)"
