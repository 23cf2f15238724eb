"""Conditions as code for a small stack machine, which compiled kernels run (`interpret`).

Values are doubles, null is NaN, truth is 1 and 0. What doubles do not hold exactly (whole numbers,
times, lengths of time and texts) is compared and computed as 64-bit integers on a stack of its own;
the least is null there. The types of expressions are those of `elsinore.model.types`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum

from elsinore.errors import InputError
from elsinore.matches.conditions import Condition
from elsinore.matches.operands import KINDS, LIMIT, Layout, Order, code_of_unsigned
from elsinore.matches.registers import Moment, Register, RegisterKind, Slot, slot_of
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Binary, Call, Expression, Literal, Operator
from elsinore.model.schema import AttributeKind
from elsinore.model.types import kind_of
from elsinore.numeric.constants import bounded


class Code(IntEnum):
    """What an instruction does; its operands follow it in its row."""

    CONSTANT = 0  # push constant [a]
    DOUBLE = 1  # push row c of the doubles of moment a, register b
    WHOLE = 2  # push row c of the integers of moment a, register b
    WHOLE_CONSTANT = 3  # push integer constant [a]
    NUMBER = 4  # push number b of the registers at moment a
    BOUND = 5  # end, true, where event register a holds no event before
    UNBOUND = 6  # end, true, where it holds one
    BOUND_FINALLY = 7  # end, true, where it holds none at the end
    NOT = 8
    NEGATE = 9
    ABSOLUTE = 10
    LOG2 = 11
    IS_NULL = 12
    WHOLE_IS_NULL = 13
    AND = 14
    OR = 15
    ADD = 16
    SUB = 17
    MUL = 18
    DIV = 19
    MOD = 20
    LT = 21
    LE = 22
    GT = 23
    GE = 24
    EQ = 25
    NE = 26
    WHOLE_LT = 27
    WHOLE_LE = 28
    WHOLE_GT = 29
    WHOLE_GE = 30
    WHOLE_EQ = 31
    WHOLE_NE = 32
    WHOLE_NUMBER = 33  # push number b of the registers at moment a, which counts, as an integer
    WHOLE_SUM = 34  # push the sum whose halves are numbers b and c of the registers at moment a
    UNSIGNED = 35  # an integer without a sign as one with a sign
    TO_DOUBLE = 36  # move an integer to the stack of doubles
    WHOLE_NEGATE = 37
    WHOLE_ABSOLUTE = 38
    SCALE = 39  # an integer times (a = 0) or divided by (a = 1) a double, rounded
    WHOLE_ADD = 40
    WHOLE_SUB = 41
    WHOLE_MUL = 42
    WHOLE_MOD = 43
    SHARE = 44  # an integer divided by another, rounded


_BINARY = {operator: Code[operator.name] for operator in Operator}
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
}
_UNARY = {"ABS": Code.ABSOLUTE, "LOG2": Code.LOG2}
_TURNED: dict[int, int] = {Code.LT: Code.GT, Code.LE: Code.GE, Code.GT: Code.LT, Code.GE: Code.LE}
_TRUTH = {True: 1.0, False: 0.0, None: float("nan")}


@dataclass(slots=True)
class Program:
    """The code of all conditions of a template: condition n is rows `starts[n]` to `starts[n+1]`.

    `texts` are the integer constants that stand for texts: their place depends on the texts that
    the events have, so they are put in batch by batch.
    """

    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    constants: list[float] = field(default_factory=list)
    wholes: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)

    def code_of(self, number: int) -> list[int]:
        """Return the instructions of a condition, four integers each."""
        rows = self.rows[self.starts[number] : self.starts[number + 1]]
        return [value for row in rows for value in row]

    def pair_of(self, number: int) -> tuple[int, int, int, int] | None:
        """Return a condition as a comparison of an attribute with one of the event before.

        The comparison (`Code.LT` to `Code.GE`), whether it is of integers, the row of the current
        event's attribute and that of the other; None for any other condition.
        """
        rows = self.rows[self.starts[number] : self.starts[number + 1]]
        if (
            len(rows) != 3
            or rows[0][0] != rows[1][0]
            or rows[0][0] not in {Code.DOUBLE, Code.WHOLE}
        ):
            return None
        is_whole = rows[0][0] == Code.WHOLE
        code = rows[2][0] - (Code.WHOLE_LT - Code.LT if is_whole else 0)
        moments = rows[0][1], rows[1][1]
        if code not in _TURNED or set(moments) != {Moment.CURRENT, Moment.PREVIOUS}:
            return None
        if moments[0] == Moment.PREVIOUS:
            return _TURNED[code], int(is_whole), rows[1][3], rows[0][3]
        return code, int(is_whole), rows[0][3], rows[1][3]


class Compiler:
    """Compiles conditions whose slots read the columns of a layout."""

    def __init__(self, registers: tuple[Register, ...], layout: Layout) -> None:
        self.program = Program()
        self._layout = layout
        self._registers = registers
        self._places = register_places(registers)

    def add(self, condition: Condition) -> None:
        """Compile one condition and put it behind those there are."""
        for code, registers in (
            (Code.BOUND, condition.bound),
            (Code.UNBOUND, condition.unbound),
            (Code.BOUND_FINALLY, condition.bound_finally),
        ):
            for register in registers:
                self._emit(code, self._places[register])
        self._value(condition.expression)
        self.program.starts.append(len(self.program.rows))

    def _emit(self, code: Code, a: int = 0, b: int = 0, c: int = 0) -> None:
        self.program.rows.append((int(code), int(a), int(b), int(c)))

    def _constant(self, value: float) -> None:
        self.program.constants.append(value)
        self._emit(Code.CONSTANT, len(self.program.constants) - 1)

    def _value(self, node: Expression) -> None:
        """Emit what pushes the value of an expression as a double."""
        match node:
            case Literal(None | True | False as value):
                self._constant(_TRUTH[value])
            case Literal(int() | float() as value):
                self._constant(float(value))
            case Literal():
                self._constant(float("nan"))
            case Attribute(_, str()):
                self._leaf(node)
            case _ if self._kind(node) in _WHOLES:
                self._whole(node)
                self._emit(Code.TO_DOUBLE)
            case Attribute():
                self._leaf(node)
            case ex.Not(operand):
                self._value(operand)
                self._emit(Code.NOT)
            case ex.Negative(operand):
                self._value(operand)
                self._emit(Code.NEGATE)
            case ex.IsNull(operand):
                if self._order(operand) in {Order.TEXT, Order.TIME, Order.LENGTH, Order.NONE}:
                    self._whole(operand)
                    self._emit(Code.WHOLE_IS_NULL)
                else:
                    self._value(operand)
                    self._emit(Code.IS_NULL)
            case ex.InList(operand, choices):
                for number, choice in enumerate(choices):
                    self._value(Binary(Operator.EQ, operand, choice))
                    if number:
                        self._emit(Code.OR)
            case Call(name, (operand,)):
                self._value(operand)
                self._emit(_UNARY[name])
            case Binary(operator, left, right) if operator.is_comparison:
                self._comparison(operator, left, right)
            case Binary(operator, left, right):
                self._value(left)
                self._value(right)
                self._emit(_BINARY[operator])
            case _:
                raise TypeError(f"not a condition: {node}")

    def _comparison(self, operator: Operator, left: Expression, right: Expression) -> None:
        left, right = _bounded(left, self._order(right)), _bounded(right, self._order(left))
        left_order, right_order = self._order(left), self._order(right)
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
            self._whole(left, left_order)
            self._whole(right, right_order)
            self._emit(Code[f"WHOLE_{_BINARY[operator].name}"])
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
        self._value(left)
        self._value(right)
        self._emit(_BINARY[operator])

    def _order(self, node: Expression) -> Order:
        """Return how the values of an expression are compared."""
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
                return self._layout.order(name)
            case _:
                kind = self._kind(node)
                return Order.NUMBER if kind is None else _ORDERS.get(kind, Order.NUMBER)

    def _kind(self, node: Expression) -> AttributeKind | None:
        return kind_of(node, self._kind_of_leaf)

    def _kind_of_leaf(self, leaf: Attribute | ex.Column) -> AttributeKind | None:
        if isinstance(leaf, ex.Column):
            return None
        if leaf.name is not None:
            return KINDS[self._layout.order(leaf.name)]
        register = self._registers[slot_of(leaf).register]
        if register.kind in {RegisterKind.COUNT, RegisterKind.PRESENT}:
            return AttributeKind.INTEGER
        if register.kind is RegisterKind.SUM:
            return KINDS[self._layout.order(register.attribute or "")]
        return AttributeKind.NUMBER

    def _leaf(self, node: Attribute) -> None:
        slot = slot_of(node)
        if slot.attribute is None:
            self._emit(Code.NUMBER, slot.moment, self._places[slot.register])
            return
        self._emit(Code.DOUBLE, slot.moment, self._place(slot), self._layout.double(slot.attribute))

    def _whole(self, node: Expression, order: Order | None = None) -> None:
        """Emit what pushes a value that is compared as an integer."""
        match node:
            case Literal(str(text)):
                self.program.wholes.append(0)
                if order is Order.TIME:
                    self.program.wholes[-1] = self._layout.time(text)
                else:
                    self.program.texts[len(self.program.wholes) - 1] = text
                self._emit(Code.WHOLE_CONSTANT, len(self.program.wholes) - 1)
            case Literal(int(value)):
                unsigned = order is Order.UNSIGNED
                if not unsigned and not -LIMIT < value < LIMIT:
                    raise InputError(_not_held(value))
                self.program.wholes.append(code_of_unsigned(value) if unsigned else int(value))
                self._emit(Code.WHOLE_CONSTANT, len(self.program.wholes) - 1)
            case ex.Duration(nanoseconds):
                self._whole_constant(self._layout.ticks(nanoseconds))
            case ex.Negative(ex.Duration(nanoseconds)):
                self._whole_constant(self._layout.ticks(-nanoseconds))
            case Attribute(_, str(name)):
                slot = slot_of(node)
                self._emit(Code.WHOLE, slot.moment, self._place(slot), self._layout.whole(name))
                if self._layout.order(name) is Order.UNSIGNED and order is not Order.UNSIGNED:
                    self._emit(Code.UNSIGNED)
            case Attribute():
                self._whole_register(slot_of(node))
            case ex.Negative(operand):
                self._whole(operand)
                self._emit(Code.WHOLE_NEGATE)
            case Call("ABS", (operand,)):
                self._whole(operand)
                self._emit(Code.WHOLE_ABSOLUTE)
            case Binary(Operator.MUL | Operator.DIV, left, right) if AttributeKind.DURATION in {
                self._kind(left),
                self._kind(right),
            }:
                self._scaled(node)
            case Binary(operator, left, right):
                self._whole(left)
                self._whole(right)
                self._emit(_WHOLE_BINARY[operator])
            case _:
                raise TypeError(f"not compared as an integer: {node}")

    def _whole_constant(self, value: int) -> None:
        self.program.wholes.append(value)
        self._emit(Code.WHOLE_CONSTANT, len(self.program.wholes) - 1)

    def _whole_register(self, slot: Slot) -> None:
        """Emit what pushes a register of a number as an integer."""
        register, place = self._registers[slot.register], self._places[slot.register]
        if register.kind is not RegisterKind.SUM:
            self._emit(Code.WHOLE_NUMBER, slot.moment, place)
            return
        upper = self._places[self._registers.index(register.upper_half)]
        self._emit(Code.WHOLE_SUM, slot.moment, place, upper)

    def _scaled(self, node: Binary) -> None:
        """Emit a length of time times or divided by a number."""
        length, number = node.left, node.right
        if self._kind(length) is not AttributeKind.DURATION:
            length, number = number, length
        self._whole(length)
        divides = node.operator is Operator.DIV
        if self._kind(number) is AttributeKind.INTEGER:
            self._whole(number)
            self._emit(Code.SHARE if divides else Code.WHOLE_MUL)
        else:
            self._value(number)
            self._emit(Code.SCALE, int(divides))

    def _place(self, slot: Slot) -> int:
        if slot.moment in {Moment.CURRENT, Moment.PREVIOUS}:
            return 0
        return self._places[slot.register]


def _bounded(node: Expression, opposite: Order) -> Expression:
    """Return a side of a comparison; a constant beyond all integers opposite is infinite.

    Raises InputError for 2^64 - 1 beside integers without a sign, whose code is that of null.
    """
    if not isinstance(node, Literal) or not isinstance(node.value, int):
        return node
    if opposite is Order.WHOLE:
        return replace(node, value=bounded(node.value, -LIMIT, LIMIT - 1))
    if opposite is Order.UNSIGNED:
        if node.value == 2**64 - 1:
            raise InputError(_not_held(node.value))
        return replace(node, value=bounded(node.value, 0, 2**64 - 1))
    return node


def _not_held(value: int) -> str:
    return (
        f"A condition computes with {value}, which 64 bits do not hold. Write {value}.0 for a "
        "double."
    )


def _is_unsigned(node: Expression) -> bool:
    """Return whether it is a whole number that integers without a sign may be compared with."""
    match node:
        case Literal(int(value)):
            return not isinstance(value, bool) and 0 <= value < 2**64 - 1
        case _:
            return False


def register_places(registers: tuple[Register, ...]) -> tuple[int, ...]:
    """Return each register's place among those of events, or among those of numbers.

    >>> from elsinore.matches.registers import RegisterKind
    >>> kinds = RegisterKind.FIRST, RegisterKind.SUM, RegisterKind.LATEST
    >>> register_places(tuple(Register(kind, ("b",), "v") for kind in kinds))
    (0, 0, 1)
    """
    counts = {True: 0, False: 0}
    places = []
    for register in registers:
        places.append(counts[register.kind.holds_event])
        counts[register.kind.holds_event] += register.width
    return tuple(places)
