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
)
from elsinore.plan.indexed import Cut
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.keyed import Doubles, Flags, Ints

_SIGN, _MAGNITUDE = np.int64(63), np.int64(np.iinfo(np.int64).max)


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
    """Numbers the columns that cuts read, and makes them."""

    compared: ComparedColumns
    _numbers: dict[object, int] = field(default_factory=dict)
    _codes: list[Ints] = field(default_factory=list)
    _values: list[Doubles] = field(default_factory=list)
    _known: list[Flags] = field(default_factory=list)
    _shifted: bool = False

    def of_cut(self, cut: Cut) -> tuple[int, int, int]:
        """Return the columns of a cut's previous and current event and of its shift, or -1.

        Raises InfiniteError where a shift would be added to what is infinite, or be so.
        """
        if cut.shift is not None:
            self._shifted = True
            columns = tuple(map(self._computed, (cut.previous, cut.current, cut.shift)))
            for column in (columns[0], columns[2]):
                if not np.isfinite(self._values[column][self._known[column] != 0]).all():
                    raise InfiniteError
            return columns[0], columns[1], columns[2]
        match cut.previous, cut.current:
            case Attribute(_, str(before)), Attribute(_, str(after)):
                rows = self.compared.rows(after, before)
                return self._exact(rows[1]), self._exact(rows[0]), -1
        return self._computed(cut.previous), self._computed(cut.current), -1

    def axes(self, times: Ints) -> Axes:
        """Return all columns asked for."""
        times = np.require(times, requirements=["C", "W"])
        if not self._shifted and list(self._numbers) == list(range(len(self.compared.compared))):
            codes, known = self.compared.compared, self.compared.known
            return Axes(codes, np.zeros((len(codes), 0)), known, times)
        size = len(self._codes), len(times)
        codes, known = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.uint8)
        numbers = np.zeros(size if self._shifted else (size[0], 0))
        for place in range(size[0]):
            codes[place], known[place] = self._codes[place], self._known[place]
            if self._shifted:
                numbers[place] = self._values[place]
        return Axes(codes, numbers, known, times)

    def of_axis(self, axis: Expression, cuts: Sequence[Cut]) -> int:
        """Return the column by which earlier events are put in order: as exact as there is one."""
        match axis:
            case Attribute(_, str(name)):
                for cut in cuts:
                    if (cut.previous, cut.shift) == (axis, None) and _is_read(cut.current):
                        return self.of_cut(cut)[0]
                return self._exact(self.compared.rows(name, name)[0])
        return self._computed(axis)

    def _exact(self, row: int) -> int:
        if row not in self._numbers:
            codes, known = self.compared.compared[row], self.compared.known[row]
            self._put(row, codes, np.zeros(1), known)
        return self._numbers[row]

    def _computed(self, expression: Expression) -> int:
        if expression not in self._numbers:
            with np.errstate(all="ignore"):
                values, known = computed(expression, self.compared)
                values = np.where(known, values, 0.0) + 0.0  # -0 is 0
            bits = values.view(np.int64)
            codes = bits ^ ((bits >> _SIGN) & _MAGNITUDE)
            self._put(expression, codes, values, known.astype(np.uint8))
        return self._numbers[expression]

    def _put(self, name: object, codes: Ints, values: Doubles, known: Flags) -> None:
        self._numbers[name] = len(self._codes)
        self._codes.append(codes)
        self._values.append(values)
        self._known.append(known)


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
            (one, here), (other, there) = computed(left, columns), computed(right, columns)
            values, defined = _arithmetic(operator, one, other)
            return values, here & there & defined & ~np.isnan(values)
    return np.zeros(count), np.zeros(count, dtype=np.bool_)


def _arithmetic(
    operator: Operator, one: Doubles, other: Doubles
) -> tuple[Doubles, NDArray[np.bool_]]:
    match operator:
        case Operator.ADD:
            return one + other, np.ones(len(one), dtype=np.bool_)
        case Operator.SUB:
            return one - other, np.ones(len(one), dtype=np.bool_)
        case Operator.MUL:
            return one * other, np.ones(len(one), dtype=np.bool_)
        case Operator.DIV:
            return one / other, other != 0.0
    return np.fmod(one, other), (other != 0.0) & ~np.isinf(one)
