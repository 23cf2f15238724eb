"""The columns that an index puts events in order by, and is asked for: integers that keep order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import (
    Attribute,
    Binary,
    Call,
    Expression,
    Literal,
    Negative,
    Operator,
    children,
    walk,
)
from elsinore.model.schema import AttributeKind
from elsinore.model.types import kind_of
from elsinore.operators.ranks import rank_doubles
from elsinore.plan.template import Cut
from elsinore.trends.graph.bounds import magnitude
from elsinore.trends.graph.codes import KINDS
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.graph.shifted import shifted_attribute, shifted_codes
from elsinore.trends.keyed import Doubles, Flags, Ints, as_entered

EXACT = 2**52  # integers up to it, and sums of two of them, are exact in doubles
_NO_NUMBERS = np.zeros((0, 0))


class Axes(NamedTuple):
    """Columns by which events are put in order and compared, and when events are."""

    codes: Ints  # [column, row] what is compared, in the order of the values
    numbers: Doubles  # [column, row] the value, where a shift is added to it
    known: Flags  # [column, row]
    times: Ints  # [row]


class InfiniteError(Exception):
    """Infinite values are shifted: a range of predecessors may then be none of any order."""


@dataclass(slots=True)
class Columns:
    """Numbers the columns that cuts read; they are made of whichever events there are.

    `compared` is asked for the rows of attributes alone, which follow from their types.
    """

    compared: ComparedColumns
    _numbers: dict[int | Expression, int] = field(default_factory=dict)
    _finite: set[int] = field(default_factory=set)  # columns that a shift is added to, and shifts

    def of_cut(self, cut: Cut) -> tuple[int, int, int]:
        """Return the columns of a cut's previous and current event and of its shift, or -1."""
        if cut.shift is not None:
            columns = tuple(map(self._number, (cut.previous, cut.current, cut.shift)))
            self._finite |= {columns[0], columns[2]}
            return columns[0], columns[1], columns[2]
        if isinstance(cut.previous, Attribute) and shifted_attribute(cut.current) is not None:
            return self._row_of(cut.previous), self._number(cut.current), -1
        match cut.previous, cut.current:
            case Attribute(_, str(before)), Attribute(_, str(after)):
                rows = self.compared.rows(after, before)
                return self._number(rows[1]), self._number(rows[0]), -1
        return self._number(cut.previous), self._number(cut.current), -1

    def of_axis(self, axis: Expression, cuts: Sequence[Cut]) -> int:
        """Return the column by which earlier events are put in order: as exact as there is one."""
        match axis:
            case Attribute() as attribute:
                for cut in cuts:
                    if (cut.previous, cut.shift) == (axis, None) and _is_read(cut.current):
                        return self.of_cut(cut)[0]
                return self._row_of(attribute)
        return self._number(axis)

    def axes(self, compared: ComparedColumns, times: Ints) -> Axes:
        """Return all columns asked for, of events whose attributes have the same types.

        Raises InfiniteError where a shift would be added to what is infinite, or be so, where
        doubles are not exact (`is_exact_in_doubles`), and where ticks are beyond 64 bits.
        """
        compared.need(max((name for name in self._numbers if isinstance(name, int)), default=0))
        codes, known = compared.compared, compared.known
        if self.are_of(compared):
            return Axes(as_entered(codes), _NO_NUMBERS, as_entered(known), as_entered(times))
        size = len(self._numbers), len(times)
        codes, known = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint8)
        numbers = np.zeros(size) if self._finite else _NO_NUMBERS
        for name, place in self._numbers.items():
            if isinstance(name, int):
                codes[place], known[place] = compared.compared[name], compared.known[name]
                continue
            attribute = shifted_attribute(name)
            if attribute is not None:
                row = compared.names.index(attribute.name or "")
                shifted = shifted_codes(name, compared.compared[row], compared.length_code)
                if shifted is None:
                    raise InfiniteError
                codes[place], known[place] = shifted, compared.known[row]
                continue
            if not is_exact_in_doubles(name, compared):
                raise InfiniteError
            with np.errstate(all="ignore"):
                values, there = computed(name, compared)
            if place in self._finite and not np.isfinite(values[there]).all():
                raise InfiniteError
            given, present = np.where(there, values, np.nan), known[place].view(np.bool_)
            rank_doubles(given, codes[place], present, one_zero=True)
            if self._finite:
                numbers[place] = np.where(there, values, 0.0)
        return Axes(codes, numbers, known, as_entered(times))

    def are_of(self, compared: ComparedColumns) -> bool:
        """Return whether the columns asked for are those of the attributes as they are."""
        return not self._finite and list(self._numbers) == list(range(len(compared.compared)))

    def _row_of(self, attribute: Attribute) -> int:
        """Return the column of an attribute's own order."""
        name = attribute.name or ""
        return self._number(self.compared.rows(name, name)[0])

    def _number(self, name: int | Expression) -> int:
        return self._numbers.setdefault(name, len(self._numbers))


def is_exact_in_doubles(expression: Expression, columns: ComparedColumns) -> bool:
    """Return whether doubles compute an expression as it is to be computed.

    Times and lengths of time, and integers that may exceed 2^53, are computed in integers.
    """
    for node in walk(expression):
        kind = kind_of(node, lambda read: KINDS[columns.orders[read.name or ""]])
        if kind in {AttributeKind.TIME, AttributeKind.DURATION}:
            return False
        if kind is AttributeKind.INTEGER and (node is expression or children(node)):
            bound = magnitude(node, columns)
            if bound is not None and bound > EXACT:
                return False
    return True


def _is_read(expression: Expression) -> bool:
    return isinstance(expression, Attribute)


def computed(expression: Expression, columns: ComparedColumns) -> tuple[Doubles, NDArray[np.bool_]]:
    """Return a number for each event, and where there is one: what `graph.interpret` computes.

    >>> import pyarrow as pa
    >>> columns = ComparedColumns.of({"v": pa.array([4, None])})
    >>> half = Binary(Operator.DIV, Attribute("previous", "v"), Literal(8))
    >>> computed(half, columns)[0][0], computed(half, columns)[1].tolist()
    (np.float64(0.5), [True, False])
    """
    count = columns.known.shape[1]
    match expression:
        case Literal(bool()):
            pass
        case Literal(int() | float() as value):
            try:
                return np.full(count, float(value)), np.ones(count, dtype=np.bool_)
            except OverflowError:
                limit = np.inf if value > 0 else -np.inf
                return np.full(count, limit), np.ones(count, dtype=np.bool_)
        case Attribute(_, str(name)) if columns.orders[name].is_number:
            row = columns.names.index(name)
            return columns.numbers[row], columns.known[row] != 0
        case Negative(operand):
            values, known = computed(operand, columns)
            return -values, known
        case Call("ABS", (operand,)):
            values, known = computed(operand, columns)
            return np.abs(values), known
        case Binary(operator, left, right) if operator.is_arithmetic:
            (left_values, here), (right_values, there) = (
                computed(left, columns),
                computed(right, columns),
            )
            values, defined = _arithmetic(operator, left_values, right_values)
            return values, here & there & defined & ~np.isnan(values)
    return np.zeros(count), np.zeros(count, dtype=np.bool_)


def _arithmetic(
    operator: Operator, left: Doubles, right: Doubles
) -> tuple[Doubles, NDArray[np.bool_]]:
    match operator:
        case Operator.ADD:
            return left + right, np.ones(len(left), dtype=np.bool_)
        case Operator.SUB:
            return left - right, np.ones(len(left), dtype=np.bool_)
        case Operator.MUL:
            return left * right, np.ones(len(left), dtype=np.bool_)
        case Operator.DIV:
            return left / right, right != 0.0
    return np.fmod(left, right), (right != 0.0) & ~np.isinf(left)
