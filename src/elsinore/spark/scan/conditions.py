"""Predicate pushdown: conditions on columns of files, evaluated over row groups' statistics.

A condition is true, false or null (unknown) for an event, as in SQL. For a row group, of which only
the bounds of its columns are known, several outcomes may be possible; if *true* is not among them,
the row group is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag
from functools import reduce
from operator import and_, or_
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.model.expression import Operator

FEW = 10  # constants up to which each is compared with the bounds


class NotSimpleError(Exception):
    """Tasks cannot read a data frame's files themselves; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column < value` and the like, for <, <=, > and >=."""

    column: str
    operator: Operator
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class IsIn:
    """`column IN (value, ...)`; with one value, `column = value`."""

    column: str
    values: tuple[pa.Scalar, ...]


@dataclass(frozen=True, slots=True)
class StartsWith:
    """`column LIKE 'prefix%'`."""

    column: str
    prefix: str


@dataclass(frozen=True, slots=True)
class NullTest:
    """`column IS NULL`."""

    column: str


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT operand`."""

    operand: Condition


@dataclass(frozen=True, slots=True)
class Conjunction:
    """`left AND right`."""

    left: Condition
    right: Condition


@dataclass(frozen=True, slots=True)
class Disjunction:
    """`left OR right`."""

    left: Condition
    right: Condition


@dataclass(frozen=True, slots=True)
class Undecided:
    """A condition whose outcomes are not derived from statistics: any are possible."""


Condition: TypeAlias = (
    Comparison | IsIn | StartsWith | NullTest | Negation | Conjunction | Disjunction | Undecided
)


def columns_of(condition: Condition) -> frozenset[str]:
    """Return the columns that a condition reads."""
    match condition:
        case Conjunction(left, right) | Disjunction(left, right):
            return columns_of(left) | columns_of(right)
        case Negation(operand):
            return columns_of(operand)
        case Undecided():
            return frozenset()
        case _:
            return frozenset({condition.column})


_COMPARE: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.LT: lambda column, value: column < value,
    Operator.LE: lambda column, value: column <= value,
    Operator.GT: lambda column, value: column > value,
    Operator.GE: lambda column, value: column >= value,
}
_GREATER = {Operator.GT, Operator.GE}


def as_arrow(condition: Condition) -> Any:
    """Return a condition as an Arrow expression, which is true for the events to read.

    As in Spark, NaN equals itself and is greater than all other numbers. Raises NotSimpleError for
    `Undecided`.
    """
    match condition:
        case Conjunction(left, right):
            return as_arrow(left) & as_arrow(right)
        case Disjunction(left, right):
            return as_arrow(left) | as_arrow(right)
        case Negation(operand):
            return ~as_arrow(operand)
        case NullTest(column):
            return pc.field(column).is_null()
        case StartsWith(column, prefix):
            return pc.starts_with(pc.field(column), prefix)
        case IsIn(column, values):
            if len(values) <= FEW or pa.types.is_floating(values[0].type):
                return reduce(or_, (pc.field(column) == value for value in values))
            # is_in returns false for null, which NOT would make true
            value_set = pa.array([value.as_py() for value in values], values[0].type)
            truth = pc.field(column).isin(value_set)
            return pc.if_else(pc.field(column).is_valid(), truth, pa.scalar(None, pa.bool_()))
        case Comparison(column, operator, value):
            truth = _COMPARE[operator](pc.field(column), value)
            if operator in _GREATER and pa.types.is_floating(value.type):
                return truth | pc.is_nan(pc.field(column))
            return truth
        case Undecided():
            raise NotSimpleError("a condition that is not known")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The known bounds of a column in a row group.

    `least` and `greatest` enclose its values except nulls and NaN; None if unknown. They are Python
    numbers, bytes (also for texts), decimals, or, for times, ticks of the column's unit. `nulls`,
    `nans` and `values` say whether there may be nulls, NaN, and other values.
    """

    least: Any = None
    greatest: Any = None
    nulls: bool = True
    nans: bool = True
    values: bool = True


class Outcome(Flag):
    """The possible outcomes of a condition for events of a row group."""

    NEVER = 0
    TRUE = 1
    FALSE = 2
    NULL = 4
    ANY = 7


BoundsOf: TypeAlias = Callable[[str], Bounds]


def outcome(condition: Condition, bounds_of: BoundsOf, *, nan_is_null: bool = False) -> Outcome:
    """Return the possible outcomes for events whose columns have the bounds `bounds_of(column)`.

    With `nan_is_null`, NaN is null as in conditions of queries; else it is the greatest number, as
    in Spark.

    >>> def speeds(column): return Bounds(3, 9, nulls=False, nans=False)
    >>> outcome(Comparison("speed", Operator.GT, pa.scalar(9)), speeds)
    <Outcome.FALSE: 2>
    >>> outcome(IsIn("speed", (pa.scalar(9), pa.scalar(12))), speeds)
    <Outcome.TRUE|FALSE: 3>
    """

    def outcome_of(part: Condition) -> Outcome:
        return outcome(part, bounds_of, nan_is_null=nan_is_null)

    match condition:
        case Conjunction(left, right):
            return _conjunction(outcome_of(left), outcome_of(right))
        case Disjunction(left, right):
            return _negation(
                _conjunction(_negation(outcome_of(left)), _negation(outcome_of(right)))
            )
        case Negation(operand):
            return _negation(outcome_of(operand))
        case Undecided():
            return Outcome.ANY
    bounds = bounds_of(condition.column)
    if isinstance(condition, NullTest):
        null = bounds.nulls or (bounds.nans and nan_is_null)
        has_values = bounds.values or (bounds.nans and not nan_is_null)
        return _where(null, has_values)
    outcomes = Outcome.NULL if bounds.nulls or (bounds.nans and nan_is_null) else Outcome.NEVER
    if bounds.nans and not nan_is_null:
        greater = isinstance(condition, Comparison) and condition.operator in _GREATER
        outcomes |= Outcome.TRUE if greater else Outcome.FALSE
    if bounds.values:
        outcomes |= _of_values(condition, bounds)
    return outcomes


def _where(true: bool, false: bool) -> Outcome:
    return (Outcome.TRUE if true else Outcome.NEVER) | (Outcome.FALSE if false else Outcome.NEVER)


def _conjunction(left: Outcome, right: Outcome) -> Outcome:
    outcomes = left & right & Outcome.TRUE | (left | right) & Outcome.FALSE
    not_false = Outcome.NULL | Outcome.TRUE
    if (left & Outcome.NULL and right & not_false) or (right & Outcome.NULL and left & not_false):
        outcomes |= Outcome.NULL
    return outcomes


def _negation(outcomes: Outcome) -> Outcome:
    true, false = bool(outcomes & Outcome.TRUE), bool(outcomes & Outcome.FALSE)
    return outcomes & Outcome.NULL | _where(true=false, false=true)


def _of_values(condition: Comparison | IsIn | StartsWith, bounds: Bounds) -> Outcome:
    """Return the possible outcomes for values between bounds."""
    least, greatest = bounds.least, bounds.greatest
    both = Outcome.TRUE | Outcome.FALSE
    if least is None or greatest is None:
        return both
    if isinstance(condition, StartsWith):
        prefix = condition.prefix.encode()
        if not isinstance(least, bytes):
            return both
        low, high = least[: len(prefix)], greatest[: len(prefix)]
        return _where(low <= prefix <= high, not low == prefix == high)
    if isinstance(condition, IsIn):
        outcomes = [
            _comparison(Operator.EQ, least, greatest, plain(choice)) for choice in condition.values
        ]
        # false for one that is false for every value
        return reduce(or_, outcomes) & Outcome.TRUE | reduce(and_, outcomes) & Outcome.FALSE
    return _comparison(condition.operator, least, greatest, plain(condition.value))


def _comparison(operator: Operator, least: Any, greatest: Any, value: Any) -> Outcome:
    """Return the possible outcomes of a comparison with a constant for values between bounds.

    Engines may compare numbers of different types, and large integers, as doubles: the outcomes
    with exact values and those with rounded values are all possible.
    """
    if isinstance(value, bool) is not isinstance(least, bool):
        return Outcome.TRUE | Outcome.FALSE
    if type(least) is type(value) and not isinstance(value, int):
        return _between(operator, least, greatest, value)
    if isinstance(least, bytes) or isinstance(value, bytes):
        return Outcome.TRUE | Outcome.FALSE
    try:
        outcomes = _between(operator, float(least), float(greatest), float(value))
    except OverflowError:
        return Outcome.TRUE | Outcome.FALSE
    return outcomes | _between(operator, least, greatest, value)


def _between(operator: Operator, least: Any, greatest: Any, value: Any) -> Outcome:
    if operator is Operator.LT:
        return _where(least < value, greatest >= value)
    if operator is Operator.LE:
        return _where(least <= value, greatest > value)
    if operator is Operator.GT:
        return _where(greatest > value, least <= value)
    if operator is Operator.GE:
        return _where(greatest >= value, least < value)
    return _where(least <= value <= greatest, not least == value == greatest)


def plain(value: pa.Scalar) -> Any:
    """Return a constant in the representation of bounds."""
    if isinstance(value, (pa.TimestampScalar, pa.Date32Scalar)):
        return value.value
    number = value.as_py()
    return number.encode() if isinstance(number, str) else number
