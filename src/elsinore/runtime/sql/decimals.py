"""Translating decimal arithmetic to DuckDB's SQL, with Spark's result types.

A decimal has a precision (its number of digits) and a scale (its digits behind the point). Spark
derives both for every result, and rounds halves away from zero. DuckDB computes the same sums,
differences, products and remainders if operands are cast to the right types. It has no decimal
division, which is done with integers here. Results with more than `MOST_DIGITS` digits are
rejected, because Spark drops digits behind their point.
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
# Nodes whose translations have the types that Spark derives.
_SAME_TYPE_IN_DUCKDB = (exp.Column, exp.Dot, exp.Div, *_SIGNS)


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
        """The DuckDB type."""
        return f"DECIMAL({self.precision},{self.scale})"


def digits_of_number(text: str) -> Digits:
    """Return the precision and scale of a number literal.

    >>> digits_of_number("-100"), digits_of_number("0.05")
    (Digits(precision=3, scale=0), Digits(precision=2, scale=2))
    """
    _, digits, exponent = Decimal(text).as_tuple()
    scale = -int(exponent)
    return Digits(max(len(digits), scale), scale)


def digits_of(node: exp.Expression, part: Part) -> Digits | None:
    """Return the precision and scale that Spark derives for an operand.

    Returns None if Spark's may differ from DuckDB's, as for COALESCE or CASE.
    """
    inner = node.unnest()
    number = inner.this if isinstance(inner, exp.Neg) else inner
    if isinstance(number, exp.Literal):
        return digits_of_number(str(number.this))
    if part.type in _WHOLE_DIGITS:
        return Digits(_WHOLE_DIGITS[part.type], 0)
    type_match = _TYPE.fullmatch(part.type)
    if type_match is None or not isinstance(inner, _SAME_TYPE_IN_DUCKDB):
        return None
    return Digits(int(type_match[1]), int(type_match[2]))


def result_digits(operator: type[exp.Expression], left: Digits, right: Digits) -> Digits:
    """Return a result's precision and scale before Spark limits them to `MOST_DIGITS`.

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


def arithmetic(
    operator: type[exp.Expression], left: tuple[str, Digits], right: tuple[str, Digits]
) -> Part | None:
    """Translate a decimal sum, difference, product, quotient or remainder.

    An operand is its SQL with its digits. Returns None if the result or an intermediate value needs
    more than `MOST_DIGITS` digits. The caller must handle division by zero.
    """
    (left_text, left_digits), (right_text, right_digits) = left, right
    result = result_digits(operator, left_digits, right_digits)
    common = max(left_digits.whole, right_digits.whole) + max(left_digits.scale, right_digits.scale)
    required_digits = {exp.Div: result.precision + 1, exp.Mod: common}.get(
        operator, result.precision
    )
    if max(required_digits, result.precision) > MOST_DIGITS:
        return None
    if operator is exp.Div:
        return Part(_quotient(left, right, result), result.type)
    if operator is exp.Mul:  # DuckDB computes products of short decimals with 64 bits
        left_digits = Digits(result.precision, left_digits.scale)
    texts = f"CAST({left_text} AS {left_digits.type})", f"CAST({right_text} AS {right_digits.type})"
    return Part(f"CAST(({_SIGNS[operator].join(texts)}) AS {result.type})", result.type)


def _quotient(left: tuple[str, Digits], right: tuple[str, Digits], result: Digits) -> str:
    """Translate a division: divide integers to one more digit than the result's, then round."""
    (left_text, left_digits), (right_text, right_digits) = left, right
    scale = result.scale + 1
    power = scale + right_digits.scale - left_digits.scale
    dividend = f"{_digits_as_integer(left_text, left_digits)} * CAST(1{'0' * power} AS HUGEINT)"
    quotient = f"({dividend}) // {_digits_as_integer(right_text, right_digits)}"
    last_digit = f"CAST('0.{'0' * (scale - 1)}1' AS DECIMAL({scale},{scale}))"
    return f"CAST(CAST({quotient} AS DECIMAL({MOST_DIGITS},0)) * {last_digit} AS {result.type})"


def _digits_as_integer(text: str, digits: Digits) -> str:
    """Return SQL for the integer of a decimal's digits, without the point."""
    if not digits.scale:
        return f"CAST({text} AS HUGEINT)"
    return f"CAST(replace(CAST(CAST({text} AS {digits.type}) AS VARCHAR), '.', '') AS HUGEINT)"
