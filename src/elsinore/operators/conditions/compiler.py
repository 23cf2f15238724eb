"""Compiles conditions to the instructions of `code`, typed by `elsinore.model.types`."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from elsinore.errors import InputError
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Binary, Call, Expression, Literal, Operator
from elsinore.model.schema import AttributeKind
from elsinore.model.types import kind_of
from elsinore.numeric.constants import bounded
from elsinore.operators.conditions.code import Code, Program
from elsinore.operators.conditions.orders import KINDS, LIMIT, Order, code_of_unsigned

BINARY = {operator: Code[operator.name] for operator in Operator}
_WHOLE_BINARY = {
    Operator.ADD: Code.WHOLE_ADD,
    Operator.SUB: Code.WHOLE_SUB,
    Operator.MUL: Code.WHOLE_MUL,
    Operator.MOD: Code.WHOLE_MOD,
}
_WHOLES = {AttributeKind.INTEGER, AttributeKind.TIME, AttributeKind.DURATION}
_ORDERS = {
    AttributeKind.INTEGER: Order.WHOLE,
    AttributeKind.TIME: Order.TIME,
    AttributeKind.DURATION: Order.LENGTH,
    AttributeKind.BOOLEAN: Order.TRUTH,
    AttributeKind.STRING: Order.TEXT,
}
_UNARY = {"ABS": Code.ABSOLUTE, "LOG2": Code.LOG2}
_TRUTH = {True: 1.0, False: 0.0, None: float("nan")}


class Layout(Protocol):
    """The attributes that conditions read."""

    def order(self, name: str) -> Order:
        """Return the order in which an attribute is compared."""

    def time(self, text: str) -> int:
        """Return a time in text as an integer; InputError for other text."""

    def ticks(self, nanoseconds: int) -> int:
        """Return a duration as an integer; InputError if it exceeds 64 bits."""


class Compiler:
    """Compiles conditions over attributes of a layout; subclasses emit the leaves."""

    def __init__(self, layout: Layout) -> None:
        self.program = Program()
        self.layout = layout

    def put_leaf(self, leaf: Attribute) -> None:
        """Emit instructions that push the value of a leaf as a double."""
        raise NotImplementedError

    def put_whole_leaf(self, leaf: Attribute, order: Order | None) -> None:
        """Emit instructions that push the value of a leaf as an integer of an order."""
        raise NotImplementedError

    def put_list_and_value(self, listed: Attribute, value: Attribute) -> None:
        """Emit instructions that push the index of a list and the code of a value."""
        raise NotImplementedError

    def kind_of_leaf(self, leaf: Attribute | ex.Column) -> AttributeKind | None:
        """Return the kind of a leaf's values."""
        if isinstance(leaf, ex.Column) or leaf.name is None:
            return None
        return KINDS[self.layout.order(leaf.name)]

    def finish(self, expression: Expression) -> None:
        """Emit instructions that push the value of a condition, and end it."""
        self.put_value(expression)
        self.program.starts.append(len(self.program.rows))

    def compare_numbers(self, operator: Operator, left: Expression, right: Expression) -> None:
        """Emit a comparison of numbers that are not both integers."""
        self.put_value(left)
        self.put_value(right)
        self.emit(BINARY[operator])

    def emit(self, code: Code, a: int = 0, b: int = 0, c: int = 0) -> None:
        """Append an instruction."""
        self.program.rows.append((int(code), int(a), int(b), int(c)))

    def _constant(self, value: float) -> None:
        self.program.constants.append(value)
        self.emit(Code.CONSTANT, len(self.program.constants) - 1)

    def put_value(self, node: Expression) -> None:
        """Emit instructions that push the value of an expression as a double."""
        match node:
            case Literal(None | True | False as value):
                self._constant(_TRUTH[value])
            case Literal(int() | float() as value):
                self._constant(float(value))
            case Literal():
                self._constant(float("nan"))
            case Attribute(_, str()):
                self.put_leaf(node)
            case _ if self._kind(node) in _WHOLES:
                self.put_whole(node)
                self.emit(Code.TO_DOUBLE)
            case Attribute():
                self.put_leaf(node)
            case ex.Not(operand):
                self.put_value(operand)
                self.emit(Code.NOT)
            case ex.Negative(operand):
                self.put_value(operand)
                self.emit(Code.NEGATE)
            case ex.IsNull(operand):
                if self.order_of(operand) in {Order.TEXT, Order.TIME, Order.LENGTH, Order.NONE}:
                    self.put_whole(operand)
                    self.emit(Code.WHOLE_IS_NULL)
                else:
                    self.put_value(operand)
                    self.emit(Code.IS_NULL)
            case ex.InList(operand, choices):
                for number, choice in enumerate(choices):
                    self.put_value(Binary(Operator.EQ, operand, choice))
                    if number:
                        self.emit(Code.OR)
            case Call(ex.CONTAINS, (Attribute() as listed, Attribute() as value)):
                self.put_list_and_value(listed, value)
                self.emit(Code.CONTAINS)
            case Call(name, (operand,)):
                self.put_value(operand)
                self.emit(_UNARY[name])
            case Binary(operator, left, right) if operator.is_comparison:
                self._comparison(operator, left, right)
            case Binary(operator, left, right):
                self.put_value(left)
                self.put_value(right)
                self.emit(BINARY[operator])
            case _:
                raise TypeError(f"not a condition: {node}")

    def _comparison(self, operator: Operator, left: Expression, right: Expression) -> None:
        left, right = _bounded(left, self.order_of(right)), _bounded(right, self.order_of(left))
        left_order, right_order = self.order_of(left), self.order_of(right)
        times = {left_order, right_order} == {Order.TIME, Order.TEXT}
        if (
            times
            and isinstance(left, Literal | Attribute)
            and isinstance(right, Literal | Attribute)
        ):
            literal = left if isinstance(left, Literal) else right
            if isinstance(literal, Literal):
                left_order = right_order = Order.TIME
        if Order.UNSIGNED in {left_order, right_order} and (
            _is_unsigned(left) or _is_unsigned(right)
        ):
            left_order = right_order = Order.UNSIGNED
        if left_order is right_order and left_order in {
            Order.TEXT,
            Order.TIME,
            Order.LENGTH,
            Order.WHOLE,
            Order.UNSIGNED,
        }:
            self.put_whole(left, left_order)
            self.put_whole(right, right_order)
            self.emit(Code[f"WHOLE_{BINARY[operator].name}"])
            return
        numbers = {Order.WHOLE, Order.UNSIGNED, Order.NUMBER}
        if (
            left_order is not right_order
            and not {left_order, right_order} <= numbers
            and Order.NULL not in {left_order, right_order}
        ):
            self._constant(float("nan"))  # values of two kinds: unknown
            return
        if Order.NONE in {left_order, right_order} or Order.TEXT in {left_order, right_order}:
            self._constant(float("nan"))
            return
        self.compare_numbers(operator, left, right)

    def order_of(self, node: Expression) -> Order:
        """Return the order in which an expression is compared."""
        match node:
            case Literal(None):
                return Order.NULL
            case Literal(bool()):
                return Order.TRUTH
            case Literal(int()):
                return Order.WHOLE
            case Literal(str()):
                return Order.TEXT
            case Literal():
                return Order.NUMBER
            case Attribute(_, str(name)):
                return self.layout.order(name)
            case _:
                kind = self._kind(node)
                return Order.NUMBER if kind is None else _ORDERS.get(kind, Order.NUMBER)

    def _kind(self, node: Expression) -> AttributeKind | None:
        return kind_of(node, self.kind_of_leaf)

    def put_whole(self, node: Expression, order: Order | None = None) -> None:
        """Emit instructions that push a value that is compared as an integer."""
        match node:
            case Literal(str(text)):
                self.program.wholes.append(0)
                if order is Order.TIME:
                    self.program.wholes[-1] = self.layout.time(text)
                else:
                    self.program.texts[len(self.program.wholes) - 1] = text
                self.emit(Code.WHOLE_CONSTANT, len(self.program.wholes) - 1)
            case Literal(int(value)):
                unsigned = order is Order.UNSIGNED
                if not unsigned and not -LIMIT < value < LIMIT:
                    raise InputError(_out_of_range(value))
                self.program.wholes.append(code_of_unsigned(value) if unsigned else int(value))
                self.emit(Code.WHOLE_CONSTANT, len(self.program.wholes) - 1)
            case ex.Duration(nanoseconds):
                self._whole_constant(self.layout.ticks(nanoseconds))
            case ex.Negative(ex.Duration(nanoseconds)):
                self._whole_constant(self.layout.ticks(-nanoseconds))
            case Attribute():
                self.put_whole_leaf(node, order)
            case ex.Negative(operand):
                self.put_whole(operand)
                self.emit(Code.WHOLE_NEGATE)
            case Call("ABS", (operand,)):
                self.put_whole(operand)
                self.emit(Code.WHOLE_ABSOLUTE)
            case Binary(Operator.MUL | Operator.DIV, left, right) if AttributeKind.DURATION in {
                self._kind(left),
                self._kind(right),
            }:
                self._scaled(node)
            case Binary(operator, left, right):
                self.put_whole(left)
                self.put_whole(right)
                self.emit(_WHOLE_BINARY[operator])
            case _:
                raise TypeError(f"not compared as an integer: {node}")

    def _whole_constant(self, value: int) -> None:
        self.program.wholes.append(value)
        self.emit(Code.WHOLE_CONSTANT, len(self.program.wholes) - 1)

    def _scaled(self, node: Binary) -> None:
        """Emit a duration times or divided by a number."""
        length, number = node.left, node.right
        if self._kind(length) is not AttributeKind.DURATION:
            length, number = number, length
        self.put_whole(length)
        divides = node.operator is Operator.DIV
        if self._kind(number) is AttributeKind.INTEGER:
            self.put_whole(number)
            self.emit(Code.DIVIDE if divides else Code.WHOLE_MUL)
        else:
            self.put_value(number)
            self.emit(Code.SCALE, int(divides))


def _bounded(node: Expression, opposite: Order) -> Expression:
    """Return an operand of a comparison, a constant limited to the range of the other side.

    Raises InputError for 2^64 - 1 compared with unsigned integers: its code would be null's.
    """
    if not isinstance(node, Literal) or not isinstance(node.value, int):
        return node
    if opposite is Order.WHOLE:
        return replace(node, value=bounded(node.value, -LIMIT, LIMIT - 1))
    if opposite is Order.UNSIGNED:
        if node.value == 2**64 - 1:
            raise InputError(_out_of_range(node.value))
        return replace(node, value=bounded(node.value, 0, 2**64 - 1))
    return node


def _out_of_range(value: int) -> str:
    return (
        f"A condition computes with {value}, which is out of range: whole numbers have 64 bits, "
        f"less one code for null. Write {value}.0 for a double."
    )


def _is_unsigned(node: Expression) -> bool:
    """Return whether a node is an integer constant that fits unsigned integers."""
    match node:
        case Literal(int(value)):
            return not isinstance(value, bool) and 0 <= value < 2**64 - 1
        case _:
            return False
