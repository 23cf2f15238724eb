"""Conditions between an event and an earlier one, as code and as columns of values.

Numbers are doubles, or integers if they are whole; times and lengths of time are integers of one
unit. Texts, decimals and unsigned integers are compared by their codes among all stored values
(`elsinore.operators.conditions.ranked`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.errors import InputError
from elsinore.expressions.lengths import unit_of
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Expression, Literal, Operator
from elsinore.numeric.constants import moment
from elsinore.operators.conditions.code import Code, Moment
from elsinore.operators.conditions.code import Program as ConditionCode
from elsinore.operators.conditions.comparisons import comparison_of
from elsinore.operators.conditions.compiler import Compiler
from elsinore.operators.conditions.orders import NULL, Order
from elsinore.operators.conditions.ranked import Ints, OrderCodes, recoded
from elsinore.operators.conditions.tables import Columns, Conditions
from elsinore.plan.between import ANCHOR, CURRENT
from elsinore.trends.engine.ranges import renumber_orders
from elsinore.trends.engine.store import Store
from elsinore.trends.engine.tables import Program
from elsinore.trends.engine.values import order_of, plain_column, plain_type, steady_codes, with_nan

_TEXTS, _NUMBERS = 0, 1  # kinds of values that are compared by codes
_KINDS: dict[str, Any] = {kind.__name__: kind for kind in (str, int, float, Decimal)}
FEW = 1024  # values with codes, of which none is removed


class _Column(NamedTuple):
    """A column of an attribute's values, or of its codes among all exact numbers.

    is_of_anchor: for an earlier event, the value is that of its trends' anchor.
    """

    name: str
    is_ranked: bool = False
    is_of_anchor: bool = False


class _Layout:
    """The columns of the attributes that conditions read, numbered in order of first use."""

    def __init__(self, types: Mapping[str, pa.DataType]) -> None:
        plain = {name: plain_type(kind) for name, kind in types.items()}
        self.orders = {name: order_of(kind) for name, kind in plain.items()}
        self.unit = unit_of(*plain.values())
        self.columns: dict[_Column, int] = {}

    def order(self, name: str) -> Order:
        """Return the order by which an attribute is compared."""
        order = self.orders[name]
        return Order.NUMBER if order is Order.UNSIGNED else order

    def column(self, leaf: Attribute, *, is_ranked: bool = False) -> int:
        """Return the column of an attribute."""
        column = _Column(leaf.name or "", is_ranked, leaf.variable == ANCHOR)
        return self.columns.setdefault(column, len(self.columns))

    def time(self, text: str) -> int:
        """Return a time written as text as an integer."""
        try:
            return int(moment(text, pa.timestamp(self.unit)).value)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(
                f"A predicate compares a time with '{text}', which is not a time. Write one as in "
                "'2024-01-31T12:00:00'."
            ) from error

    def ticks(self, nanoseconds: int) -> int:
        """Return a length of time as an integer."""
        return nanoseconds if self.unit == "ns" else nanoseconds // 1_000


class _Compiler(Compiler):
    """Compiles conditions over the attributes of an event and of an earlier one."""

    layout: _Layout

    def __init__(self, layout: _Layout) -> None:
        super().__init__(layout)
        self.ranked: dict[int, Any] = {}  # integer constants that are codes of numbers

    def put_leaf(self, leaf: Attribute) -> None:
        """Emit an instruction that pushes an attribute as a double."""
        self.emit(Code.DOUBLE, _moment_of(leaf), 0, self.layout.column(leaf))

    def put_whole_leaf(self, leaf: Attribute, order: Order | None) -> None:  # noqa: ARG002
        """Emit an instruction that pushes an attribute as an integer."""
        self.emit(Code.WHOLE, _moment_of(leaf), 0, self.layout.column(leaf))

    def compare_numbers(self, operator: Operator, left: Expression, right: Expression) -> None:
        """Emit a comparison of numbers, which is exact except for values computed as doubles."""
        orders = self.order_of(left), self.order_of(right)
        is_wide = self._is_wide(left) or self._is_wide(right)
        if is_wide and _is_plain_number(left) and _is_plain_number(right):
            self._put_code(left)
            self._put_code(right)
            self.emit(Code[f"WHOLE_{operator.name}"])
            return
        if Order.WHOLE in orders and Order.NUMBER in orders:
            if orders[0] is not Order.WHOLE:
                left, right, operator = right, left, ex.MIRRORED[operator]
            self.put_whole(left)
            self.put_value(right)
            self.emit(Code[f"MIXED_{operator.name}"])
            return
        super().compare_numbers(operator, left, right)

    def _is_wide(self, node: Expression) -> bool:
        return isinstance(node, Attribute) and self.layout.orders[node.name or ""] is Order.UNSIGNED

    def _put_code(self, node: Expression) -> None:
        """Emit an instruction that pushes the code of a number among all exact numbers."""
        if isinstance(node, Attribute):
            place = self.layout.column(node, is_ranked=True)
            self.emit(Code.WHOLE, _moment_of(node), 0, place)
            return
        assert isinstance(node, Literal)
        self.program.wholes.append(NULL)
        self.ranked[len(self.program.wholes) - 1] = node.value
        self.emit(Code.WHOLE_CONSTANT, len(self.program.wholes) - 1)


def _moment_of(leaf: Attribute) -> Moment:
    return Moment.CURRENT if leaf.variable == CURRENT else Moment.PREVIOUS


def _is_plain_number(node: Expression) -> bool:
    match node:
        case Literal(value):
            return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(node, Attribute)


class ConditionColumns:
    """The conditions of an operator, and the columns of batches and rows that they read.

    lists: lists of numbers of expressions. ordered: attributes that ranges read; orders: the sort
    key of each block's rows, and whether it is falling.
    """

    def __init__(
        self,
        expressions: Sequence[Expression],
        lists: Sequence[int],
        types: Mapping[str, pa.DataType],
        ordered: Iterable[str] = (),
        orders: Sequence[tuple[Expression | None, bool]] = (),
    ) -> None:
        self._layout = _Layout(types)
        # texts that are sort keys of rows, or compared with them
        self._ordered = [name for name in ordered if self._is_text(name)]
        self._text_blocks = [
            (block, is_falling)
            for block, (order, is_falling) in enumerate(orders)
            if isinstance(order, Attribute) and self._is_text(order.name or "")
        ]
        self._texts: dict[str, pa.DictionaryArray] = {}
        compiler = _Compiler(self._layout)
        for expression in expressions:
            compiler.finish(expression)
        self._code: ConditionCode = compiler.program
        self._ranked_constants = compiler.ranked
        comparisons = [
            comparison_of(compiler.program, number) for number in range(len(expressions))
        ]
        self.conditions = Conditions(compiler.program, comparisons, lists)
        self.values = [OrderCodes(), OrderCodes()]  # of texts, and of numbers
        self._kept = [FEW, FEW]  # values in use at the last removal
        self._put_constants()

    @property
    def count(self) -> int:
        """The number of columns."""
        return len(self._layout.columns)

    @property
    def anchor_columns(self) -> NDArray[np.uint8]:
        """Whether each column has the values of anchors."""
        return np.array([c.is_of_anchor for c in self._layout.columns], np.uint8)

    def _is_text(self, name: str) -> bool:
        return self._layout.orders.get(name) is Order.TEXT

    def text_codes(self, name: str) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the codes of a text attribute in the batch of `columns`, and which are known."""
        codes = _encoded(self.values[_TEXTS], self._texts[name])
        return codes, codes != NULL

    def columns(self, batch: pa.RecordBatch, program: Program, store: Store) -> Columns:
        """Return the columns of a batch's events; update codes in the rows of the store."""
        size = (self.count, batch.num_rows)
        columns = {n: plain_column(batch.column(f"pair:{n}")) for n in self._ordered}
        self._texts = {name: column.dictionary_encode() for name, column in columns.items()}
        doubles, integers = np.full(size, np.nan), np.full(size, NULL)
        ranked: list[dict[int, pa.DictionaryArray]] = [{}, {}]
        for (name, is_ranked, _), place in self._layout.columns.items():
            column, order = plain_column(batch.column(f"pair:{name}")), self._layout.orders[name]
            if is_ranked or order is Order.TEXT:
                values = column
                if order is Order.NUMBER:
                    values = pa.array(with_nan(column), from_pandas=True)  # NaN is null
                which = _TEXTS if order is Order.TEXT else _NUMBERS
                ranked[which][place] = values.dictionary_encode()
            elif order in {Order.NUMBER, Order.UNSIGNED}:
                doubles[place] = with_nan(column.cast(pa.float64(), safe=False))
            elif order is Order.NONE:
                integers[place] = np.where(to_numpy(column.is_valid()), 0, NULL)
            else:
                codes = to_numpy(steady_codes(name, column, order, self._layout.unit), 0)
                known = to_numpy(column.is_valid())
                if (codes[known] == NULL).any():
                    raise InputError(
                        f"'{name}' has the value {NULL}, which conditions between events cannot "
                        "tell from null. Leave such events out, or cast the attribute to a double."
                    )
                integers[place] = np.where(known, codes, NULL)
                if order in {Order.WHOLE, Order.TRUTH}:
                    doubles[place] = np.where(known, codes.astype(np.float64), np.nan)
        for which, of_kind in enumerate(ranked):
            self._learn(which, of_kind, program, store)
            for place, column in of_kind.items():
                integers[place] = _encoded(self.values[which], column)
        return Columns(doubles, integers)

    def _learn(
        self,
        which: int,
        columns: Mapping[int, pa.DictionaryArray],
        program: Program,
        store: Store,
    ) -> None:
        """Assign codes to new values of columns; update changed codes of rows and constants."""
        values, places = self.values[which], list(columns)
        is_ordered = which == _TEXTS and bool(self._ordered)
        if not places and not is_ordered:
            return
        if len(values) > 2 * self._kept[which]:
            used = [np.asarray(store.row_integers)[places].reshape(-1)]
            if is_ordered:  # also of rows that conditions do not read
                used += [np.asarray(store.row_orders), ~np.asarray(store.row_orders)]
            values.keep(np.concatenate(used))
            self._kept[which] = max(FEW, len(values))
        added = [*columns.values(), *(self._texts.values() if is_ordered else ())]
        changed = values.learn(value for column in added for value in column.dictionary.to_pylist())
        if changed is not None:
            integers = np.asarray(store.row_integers)
            for place in places:
                known = integers[place] != NULL
                integers[place][known] = recoded(integers[place][known], *changed)
            for block, is_falling in self._text_blocks if which == _TEXTS else ():
                renumber_orders(program, store, block, is_falling, *changed)
            self._put_constants()

    def _put_constants(self) -> None:
        """Set the codes of constants."""
        wholes = np.asarray(self.conditions.wholes)
        for which, constants in enumerate((self._code.texts, self._ranked_constants)):
            self.values[which].pin(constants.values())
            for place, constant in constants.items():
                wholes[place] = self.values[which].code_of(constant)

    def save(self) -> str:
        """Return the values and their codes as a text."""
        return json.dumps(
            [
                [(type(value).__name__, str(value), code) for value, code in each.items()]
                for each in self.values
            ]
        )

    def load(self, text: str) -> None:
        """Restore what `save` returned."""
        for values, items in zip(self.values, json.loads(text), strict=True):
            values.restore((_KINDS[kind](value), code) for kind, value, code in items)
        self._put_constants()

    def check(self) -> None:
        """Raise InputError if an integer has exceeded 64 bits since the last call."""
        if self.conditions.has_overflown:
            self.conditions.has_overflown = 0
            raise InputError(
                "A whole number, a time or a length of time in a condition goes beyond 64 bits. "
                "Cast the attributes to doubles, or the times to a coarser unit."
            )


def _encoded(values: OrderCodes, column: pa.DictionaryArray) -> Ints:
    """Return the codes of a column; NULL for null."""
    codes = np.append(values.encoded(column.dictionary.to_pylist()), NULL)
    places = to_numpy(column.indices.fill_null(len(codes) - 1))
    chosen: Ints = codes[places]
    return chosen
