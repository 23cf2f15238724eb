"""The compiler of conditions of matches, which also read registers."""

from __future__ import annotations

from elsinore.matches.conditions import Condition
from elsinore.matches.operands import Layout
from elsinore.matches.registers import Register, RegisterKind, Slot, register_places, slot_of
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute
from elsinore.model.schema import AttributeKind
from elsinore.operators.conditions.code import Code, Moment
from elsinore.operators.conditions.compiler import Compiler
from elsinore.operators.conditions.orders import KINDS, Order


class MatchCompiler(Compiler):
    """Compiles conditions whose slots read the columns of a layout."""

    layout: Layout

    def __init__(self, registers: tuple[Register, ...], layout: Layout) -> None:
        super().__init__(layout)
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
                self.emit(code, self._places[register])
        self.finish(condition.expression)

    def kind_of_leaf(self, leaf: Attribute | ex.Column) -> AttributeKind | None:
        """Return the kind of an attribute, or of what a register holds."""
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
        """Emit what pushes an attribute, or the number of a register, as a double."""
        slot = slot_of(leaf)
        if slot.attribute is None:
            self.emit(Code.NUMBER, slot.moment, self._places[slot.register])
            return
        self.emit(Code.DOUBLE, slot.moment, self._place(slot), self.layout.double(slot.attribute))

    def put_whole_leaf(self, leaf: Attribute, order: Order | None) -> None:
        """Emit what pushes an attribute, or the number of a register, as an integer."""
        slot = slot_of(leaf)
        if leaf.name is None:
            self._put_whole_register(slot)
            return
        self.emit(Code.WHOLE, slot.moment, self._place(slot), self.layout.whole(leaf.name))
        if self.layout.order(leaf.name) is Order.UNSIGNED and order is not Order.UNSIGNED:
            self.emit(Code.UNSIGNED)

    def put_list_and_value(self, listed: Attribute, value: Attribute) -> None:
        """Emit what pushes the number of a list, and the code of the value to look up."""
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
        """Return whether a register has the row of an event, whose text is its value."""
        if register.aggregate is None or not register.aggregate.chooses:
            return False
        return self.layout.order(register.arguments[0]) is Order.TEXT

    def _place(self, slot: Slot) -> int:
        if slot.moment in {Moment.CURRENT, Moment.PREVIOUS}:
            return 0
        return self._places[slot.register]
