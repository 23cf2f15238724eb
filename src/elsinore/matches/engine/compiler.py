"""The compilation of conditions, and of the effects of events on registers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from elsinore.matches.aggregates import FORMULAS, UserAggregate
from elsinore.matches.conditions import Condition
from elsinore.matches.engine import codes
from elsinore.matches.operands import Layout
from elsinore.matches.registers import Register, RegisterKind, Slot, register_places, slot_of
from elsinore.matches.template import MatchTemplate
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute
from elsinore.model.schema import AttributeKind
from elsinore.operators.conditions.code import Code, Moment
from elsinore.operators.conditions.compiler import Compiler
from elsinore.operators.conditions.orders import KINDS, Order

if TYPE_CHECKING:
    from elsinore.matches.stepping import Stepper

SUMS = {RegisterKind.SUM, RegisterKind.SUM_HIGH}
COMPARED = {RegisterKind.LEAST, RegisterKind.GREATEST, RegisterKind.PRESENT}

Range = tuple[int, int]
Update = tuple[int, int, int, int, int, int]  # the fields of `tables.UPDATE`


class MatchCompiler(Compiler):
    """Compiles conditions whose slots read the columns of a layout."""

    layout: Layout

    def __init__(self, registers: tuple[Register, ...], layout: Layout) -> None:
        super().__init__(layout)
        self._registers = registers
        self._places = register_places(registers)

    def add(self, condition: Condition) -> None:
        """Compile one condition and append it."""
        for code, registers in (
            (Code.BOUND, condition.bound),
            (Code.UNBOUND, condition.unbound),
            (Code.BOUND_FINALLY, condition.bound_finally),
        ):
            for register in registers:
                self.emit(code, self._places[register])
        self.finish(condition.expression)

    def kind_of_leaf(self, leaf: Attribute | ex.Column) -> AttributeKind | None:
        """Return the kind of an attribute, or of a register's value."""
        if isinstance(leaf, ex.Column):
            return None
        if leaf.name is not None:
            return KINDS[self.layout.order(leaf.name)]
        register = self._registers[slot_of(leaf).register]
        if register.kind in {RegisterKind.COUNT, RegisterKind.PRESENT}:
            return AttributeKind.INTEGER
        if register.kind is RegisterKind.SUM:
            return KINDS[self.layout.order(register.attribute or "")]
        return AttributeKind.STRING if self._chooses_text(register) else AttributeKind.NUMBER

    def put_leaf(self, leaf: Attribute) -> None:
        """Emit the code that pushes an attribute, or the number of a register, as a double."""
        slot = slot_of(leaf)
        if slot.attribute is None:
            self.emit(Code.NUMBER, slot.moment, self._places[slot.register])
            return
        self.emit(Code.DOUBLE, slot.moment, self._place(slot), self.layout.double(slot.attribute))

    def put_whole_leaf(self, leaf: Attribute, order: Order | None) -> None:
        """Emit the code that pushes an attribute, or the number of a register, as an integer."""
        slot = slot_of(leaf)
        if leaf.name is None:
            self._put_whole_register(slot)
            return
        self.emit(Code.WHOLE, slot.moment, self._place(slot), self.layout.whole(leaf.name))
        if self.layout.order(leaf.name) is Order.UNSIGNED and order is not Order.UNSIGNED:
            self.emit(Code.UNSIGNED)

    def put_list_and_value(self, listed: Attribute, value: Attribute) -> None:
        """Emit the code that pushes the number of a list, and the code of a value to look up."""
        row = self.layout.members(listed.name or "", value.name or "")
        for place, leaf in enumerate((listed, value)):
            slot = slot_of(leaf)
            self.emit(Code.WHOLE, slot.moment, self._place(slot), row + place)

    def _put_whole_register(self, slot: Slot) -> None:
        register, place = self._registers[slot.register], self._places[slot.register]
        if self._chooses_text(register):
            (name,) = register.arguments
            self.emit(Code.WHOLE_CHOSEN, slot.moment, place, self.layout.whole(name))
            return
        if register.kind is not RegisterKind.SUM:
            self.emit(Code.WHOLE_NUMBER, slot.moment, place)
            return
        upper = self._places[self._registers.index(register.upper_half)]
        self.emit(Code.WHOLE_SUM, slot.moment, place, upper)

    def _chooses_text(self, register: Register) -> bool:
        """Return whether a register contains the row of an event whose text is its value."""
        if register.aggregate is None or not register.aggregate.chooses:
            return False
        return self.layout.order(register.arguments[0]) is Order.TEXT

    def _place(self, slot: Slot) -> int:
        if slot.moment in {Moment.CURRENT, Moment.PREVIOUS}:
            return 0
        return self._places[slot.register]


class Lists:
    """Lists joined to one, each of which is a range of it."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def put(self, values: Iterable[Any]) -> Range:
        """Append values; return their range."""
        begin = len(self.values)
        self.values.extend(values)
        return begin, len(self.values)


class Checks(Lists):
    """Lists of conditions, which are numbered: the first ones are given."""

    def __init__(self, first: Iterable[Iterable[int]]) -> None:
        super().__init__()
        self.ranges: list[Range] = []
        for conditions in first:
            self.number(conditions)

    def number(self, conditions: Iterable[int]) -> int:
        """Append a list; return its number."""
        self.ranges.append(self.put(conditions))
        return len(self.ranges) - 1


class Aggregates:
    """Aggregates that are classes: their rows of `tables.AGGREGATE`, and their steppers."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        self.rows: list[tuple[int, ...]] = []
        self.arguments = Lists()
        self.steppers: tuple[Stepper, ...] = ()
        self.numbers: dict[Register, int] = {}
        # registers that take states from one another share a stepper, which stores the states
        by_arguments: dict[tuple[UserAggregate, tuple[str, ...]], tuple[Stepper, list[int]]] = {}
        for register in template.registers:
            if register.aggregate is None:
                continue
            from elsinore.matches.stepping import stepper_over  # noqa: PLC0415 - few queries need it

            read = register.aggregate, register.arguments
            if read not in by_arguments:
                by_arguments[read] = stepper_over(*read, layout)
            made, rows = by_arguments[read]
            self.steppers += (made,)
            self.numbers[register] = len(self.rows)
            arguments = self.arguments.put(rows)
            width = 1 + register.aggregate.width
            name = register.aggregate.name
            formula = codes.Formula[name] if name in FORMULAS else codes.Formula.CALL
            row = made.address, made.python_address, *arguments, width, int(formula)
            self.rows.append(row)


def initial_numbers(
    template: MatchTemplate, places: Sequence[int], aggregates: Aggregates
) -> list[tuple[float, int]]:
    """Return the initial numbers of registers that are not 0: sums are null."""
    nothing = float("nan")
    initials = []
    for place, register in zip(places, template.registers, strict=True):
        if register.kind in SUMS:
            initials.append((nothing, place))
        elif register.aggregate is not None:
            state = aggregates.steppers[aggregates.numbers[register]].initial
            values = enumerate((register.aggregate.empty, *state))
            initials += [(value, place + at) for at, value in values]
    return initials


class Updates:
    """The effects of events on registers, by state."""

    def __init__(self, template: MatchTemplate, layout: Layout, aggregates: Aggregates) -> None:
        self.values: list[Update] = []
        self._template = template
        self._layout = layout
        self._aggregates = aggregates
        self._places = register_places(template.registers)

    def put(self, state: int) -> Range:
        """Append the updates of a state; return their range."""
        begin = len(self.values)
        template = self._template
        for number, register in enumerate(template.registers):
            if template.states[state].variable not in register.variables:
                continue
            is_upper = register.kind is RegisterKind.SUM_HIGH
            if is_upper and not self._layout.has_halves(register.attribute or ""):
                continue  # it stays null: the other half has the whole sum
            self.values.append(self._update(number, register))
        return begin, len(self.values)

    def _update(self, number: int, register: Register) -> Update:
        is_whole, column = False, -1
        attribute = register.attribute or ""
        if register.kind in COMPARED:
            is_whole, column = self._layout.comparable(attribute)
        elif register.kind in SUMS:
            column = self._layout.half(attribute, is_high=register.kind is RegisterKind.SUM_HIGH)
        elif register.aggregate is not None:
            column = self._aggregates.numbers[register]
        kind = RegisterKind.SUM if register.kind in SUMS else register.kind
        if register.nearest > 1:
            kind = RegisterKind.LAG if kind.holds_event else RegisterKind.MOVED
        source, width = self._source(number, register)
        return int(kind), self._places[number], column, int(is_whole), source, width

    def _source(self, number: int, register: Register) -> tuple[int, int]:
        """Return the place of the register whose values another one takes, and how many.

        A register that aggregates the latest event alone is its own source: it begins anew.
        """
        if register.neighbour is None:
            source = self._places[number]
        else:
            source = self._places[self._template.registers.index(register.neighbour)]
        if register.kind is RegisterKind.NTH or not register.position:
            return source, 0
        return source, 1 if register.aggregate is None else 1 + register.aggregate.width
