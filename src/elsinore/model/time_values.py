"""Times and durations as values in Python, for the evaluator of single events.

Both are whole nanoseconds. Results are rounded (halves away from zero) to microseconds, or to
nanoseconds if an operand is `fine`: has a precision below a microsecond.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from elsinore.model.expression import Operator

MICROSECOND = 1_000  # nanoseconds
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """A time, in nanoseconds since the epoch."""

    nanoseconds: int
    fine: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A length of time in nanoseconds."""

    nanoseconds: int
    fine: bool = field(default=False, compare=False)


def operand(value: object) -> object:
    """Convert a date, datetime or timedelta to a `Moment` or `Span`; return others unchanged.

    Datetimes without a zone are UTC. Those of pandas have nanoseconds.

    >>> operand(timedelta(seconds=1)), operand(datetime(1970, 1, 1, 0, 0, 2)), operand(5)
    (Span(nanoseconds=1000000000, fine=False), Moment(nanoseconds=2000000000, fine=False), 5)
    """
    if isinstance(value, timedelta):
        nanoseconds = getattr(value, "value", None)  # the nanoseconds of a value of pandas
        return Span(_nanoseconds(value)) if nanoseconds is None else Span(nanoseconds, fine=True)
    if isinstance(value, datetime):
        nanoseconds = getattr(value, "value", None)
        if nanoseconds is not None:
            return Moment(nanoseconds, fine=True)
        with_zone = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return Moment(_nanoseconds(with_zone - EPOCH))
    if isinstance(value, date):
        return Moment(_nanoseconds(value - EPOCH.date()))
    return value


def _nanoseconds(length: timedelta) -> int:
    return length // timedelta(microseconds=1) * MICROSECOND


def arithmetic(operator: Operator, left: object, right: object) -> Moment | Span | float | None:
    """Return the result of an operator of which an operand is a time or a duration; else None.

    Also None if the result is null: division by 0, infinity and NaN.

    >>> arithmetic(Operator.SUB, Moment(5_000), Moment(2_000))
    Span(nanoseconds=3000, fine=False)
    >>> arithmetic(Operator.DIV, Span(5_000), 2)
    Span(nanoseconds=3000, fine=False)
    """
    fine = any(isinstance(side, Moment | Span) and side.fine for side in (left, right))
    match operator, left, right:
        case Operator.SUB, Moment(first), Moment(second):
            return Span(first - second, fine)
        case Operator.ADD, Moment(time), Span(length):
            return Moment(time + length, fine)
        case Operator.ADD, Span(length), Moment(time):
            return Moment(time + length, fine)
        case Operator.SUB, Moment(time), Span(length):
            return Moment(time - length, fine)
        case Operator.ADD, Span(first), Span(second):
            return Span(first + second, fine)
        case Operator.SUB, Span(first), Span(second):
            return Span(first - second, fine)
        case Operator.DIV, Span(first), Span(second):
            return float(_ticks(first, fine)) / float(_ticks(second, fine)) if second else None
        case (Operator.MUL, Span() as length, int() | float() as number) | (
            Operator.MUL,
            int() | float() as number,
            Span() as length,
        ):
            return _scaled(length, number, divides=False)
        case Operator.DIV, Span() as length, int() | float() as number:
            return _scaled(length, number, divides=True) if number else None
    return None


def _ticks(nanoseconds: int, fine: bool) -> int:
    return nanoseconds if fine else nanoseconds // MICROSECOND


def _scaled(length: Span, number: float, *, divides: bool) -> Span | None:
    ticks, unit = _ticks(length.nanoseconds, length.fine), 1 if length.fine else MICROSECOND
    exact: Fraction
    if isinstance(number, int):
        exact = Fraction(ticks, number) if divides else Fraction(ticks * number)
    else:
        nearest = float(ticks) / number if divides else float(ticks) * number
        if not math.isfinite(nearest):
            return None
        exact = Fraction(nearest)
    size = math.floor(abs(exact) + Fraction(1, 2))
    return Span((-size if exact < 0 else size) * unit, length.fine)
