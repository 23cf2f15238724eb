"""Registers: what a partial match keeps of the events it has selected so far.

A condition on all that came before, such as `b[i].v > AVG(b[1..i-1].v)`, never looks back over the
match: its registers hold the count, the sum, the first, the latest, the least and the greatest
event of a set of variables, and follow the match as it grows by one event (SASE++, Section 2.1:
aggregates over previously selected events).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from elsinore.model.expression import Attribute, Binary, Expression, Operator


class RegisterKind(IntEnum):
    """What a register holds of the events bound to its variables."""

    FIRST = 0  # the first event
    LATEST = 1  # the latest event
    LEAST = 2  # the event with the least value of the attribute, the first of them
    GREATEST = 3  # the event with the greatest value
    COUNT = 4  # the number of events
    PRESENT = 5  # the number of events with a value of the attribute
    SUM = 6  # the sum of the values; null while there is none

    @property
    def holds_event(self) -> bool:
        """Whether it holds an event, and not a number."""
        return self <= RegisterKind.GREATEST


@dataclass(frozen=True, slots=True, order=True)
class Register:
    """One register: its kind, the variables it is about, the attribute it reads, if any."""

    kind: RegisterKind
    variables: tuple[str, ...]
    attribute: str | None = None


class Moment(IntEnum):
    """Which event, or which state of the registers, an operand of a condition is read from."""

    CURRENT = 0  # the event that is being selected
    PREVIOUS = 1  # the event selected right before it
    BEFORE = 2  # a register as it was before that event
    FINAL = 3  # a register as it is when the match is complete


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an operand is read: the moment, the register for BEFORE and FINAL, the attribute.

    The attribute is None for a register that holds a number.
    """

    moment: Moment
    register: int = -1
    attribute: str | None = None


# A condition's expression reads slots through attributes of these variables.
_PREFIX = "slot:"


def slot_attribute(slot: Slot) -> Attribute:
    """Return the leaf of an expression that stands for a slot.

    >>> slot = Slot(Moment.BEFORE, 3, "v")
    >>> slot_of(slot_attribute(slot)) == slot
    True
    """
    return Attribute(f"{_PREFIX}{slot.moment.value}:{slot.register}", slot.attribute)


def slot_of(leaf: Attribute) -> Slot:
    """Return the slot that a leaf stands for."""
    moment, register = leaf.variable.removeprefix(_PREFIX).split(":")
    return Slot(Moment(int(moment)), int(register), leaf.name)


class Registers:
    """The registers that a template needs, each once."""

    def __init__(self) -> None:
        self._numbers: dict[Register, int] = {}

    def number(
        self, kind: RegisterKind, variables: tuple[str, ...], name: str | None = None
    ) -> int:
        """Return the number of a register; a new one where there is none alike."""
        register = Register(kind, variables, name)
        return self._numbers.setdefault(register, len(self._numbers))

    @property
    def all(self) -> tuple[Register, ...]:
        """The registers by number."""
        return tuple(self._numbers)


def aggregate_of(
    registers: Registers,
    function: str,
    variables: tuple[str, ...],
    name: str | None,
    moment: Moment,
) -> Expression:
    """Return an aggregate of the events bound to some variables, as it is at a moment."""

    def leaf(kind: RegisterKind) -> Expression:
        held = None if kind is RegisterKind.COUNT else name
        number = registers.number(kind, variables, held)
        read = name if kind.holds_event else None
        return slot_attribute(Slot(moment, number, read))

    match function:
        case "COUNT":
            return leaf(RegisterKind.COUNT if name is None else RegisterKind.PRESENT)
        case "SUM":
            return leaf(RegisterKind.SUM)
        case "AVG":
            return Binary(Operator.DIV, leaf(RegisterKind.SUM), leaf(RegisterKind.PRESENT))
        case "MIN":
            return leaf(RegisterKind.LEAST)
        case _:
            return leaf(RegisterKind.GREATEST)
