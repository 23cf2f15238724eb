"""Registers: what a partial match remembers of the events that it has selected.

A condition on all earlier events, as `b[i].v > AVG(b[1..i-1].v)`, never reads the whole match: its
registers contain the count, the sum, the first, latest, least or greatest event of some variables,
and are updated when the match grows by an event (SASE++, Section 2.1:
aggregates over previously selected events).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from elsinore.language import render
from elsinore.matches.aggregates import Aggregates, UserAggregate
from elsinore.model import expression as ex
from elsinore.model.expression import Attribute, Binary, Call, Expression, Operator, Reference
from elsinore.operators.conditions.code import Moment


class RegisterKind(IntEnum):
    """What a register contains of the events bound to its variables."""

    FIRST = 0  # the first event
    LATEST = 1  # the latest event
    LEAST = 2  # the event with the least value of the attribute, the first of them
    GREATEST = 3  # the event with the greatest value
    COUNT = 4  # the number of events
    PRESENT = 5  # the number of events with a value of the attribute
    SUM = 6  # the sum of the values, null without any
    CONFIDENCE = 8  # the probability of the match if times are uncertain
    SUM_HIGH = 9  # of integers of 64 bits: the sum of their upper halves, SUM has the lower ones
    NTH = 10  # the event at a position, counted from 1
    LAG = 11  # the event so many before the latest one
    MOVED = 12  # in the engine: the numbers of another register before the latest event
    EACH = 13  # in relations of NOT: each event bound under NOT in turn
    USER = 7  # the value of an aggregate that the user defines, then its state and arguments

    @property
    def holds_event(self) -> bool:
        """Whether the register contains an event; else a number."""
        return self <= RegisterKind.GREATEST or self in _EVENTS


_EVENTS = {RegisterKind.NTH, RegisterKind.LAG, RegisterKind.EACH}


@dataclass(frozen=True, slots=True)
class Register:
    """One register: its kind, variables, and the attribute that it reads, if any.

    An aggregate that the user defines reads `arguments`. `position` is the position of the one
    event in it; or, if it aggregates only the latest events, how far back these begin (1: with the
    latest one), and `nearest` how far back they end.
    """

    kind: RegisterKind
    variables: tuple[str, ...]
    attribute: str | None = None
    aggregate: UserAggregate | None = None
    arguments: tuple[str, ...] = ()
    position: int = 0
    nearest: int = 0

    @property
    def neighbour(self) -> Register | None:
        """The register whose value becomes its own when an event is selected, or None.

        The latest three events are the selected one and the latest two before it.
        """
        position = self.position - 1
        if position < 0 or (position == 0 and self.nearest):
            return None
        if self.nearest:
            return replace(self, position=position, nearest=max(self.nearest - 1, 1))
        if self.kind is RegisterKind.NTH and position == 1:
            return Register(RegisterKind.FIRST, self.variables)
        if self.kind is RegisterKind.LAG and position == 0:
            return Register(RegisterKind.LATEST, self.variables)
        return replace(self, position=position)

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes it reads."""
        return self.arguments if self.attribute is None else (self.attribute,)

    @property
    def upper_half(self) -> Register:
        """The register with the other half of a sum."""
        return replace(self, kind=RegisterKind.SUM_HIGH)

    @property
    def width(self) -> int:
        """The number of its places among registers of events, or of numbers."""
        if self.aggregate is None:
            return 1
        return 1 + self.aggregate.width + len(self.arguments) + self.aggregate.chooses


def register_places(registers: tuple[Register, ...]) -> tuple[int, ...]:
    """Return each register's place among those of events, or among those of numbers.

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


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an operand is read: the moment, the register for BEFORE and FINAL, the attribute.

    The attribute of a register that contains a number is None.
    """

    moment: Moment
    register: int = -1
    attribute: str | None = None


# Slots are leaves of expressions: attributes of variables with this prefix.
_PREFIX = "slot:"


def slot_attribute(slot: Slot) -> Attribute:
    """Return the leaf of an expression that represents a slot.

    >>> slot = Slot(Moment.BEFORE, 3, "v")
    >>> slot_of(slot_attribute(slot)) == slot
    True
    """
    return Attribute(f"{_PREFIX}{slot.moment.value}:{slot.register}", slot.attribute)


def slot_of(leaf: Attribute) -> Slot:
    """Return the slot that a leaf represents."""
    moment, register = leaf.variable.removeprefix(_PREFIX).split(":")
    return Slot(Moment(int(moment)), int(register), leaf.name)


# The prefix of attributes that are computed from one event, for arguments of aggregates.
COMPUTED = "="
_EVENT = "e"


class Registers:
    """The registers of a template, and the attributes that are computed from single events."""

    def __init__(self, aggregates: Aggregates | None = None) -> None:
        self.aggregates: Aggregates = aggregates or {}
        self._numbers: dict[Register, int] = {}
        self._computed: dict[str, Expression] = {}

    def number(
        self, kind: RegisterKind, variables: tuple[str, ...], attribute: str | None = None
    ) -> int:
        """Return the number of a register of all events of some variables (`put`)."""
        return self.put(Register(kind, variables, attribute))

    def put(self, register: Register | None) -> int:
        """Return the number of a register; add it, and those it takes values of, if it is new."""
        number = -1
        while register is not None:
            place = self._numbers.setdefault(register, len(self._numbers))
            number = place if number < 0 else number
            if register.kind is RegisterKind.SUM:
                self._numbers.setdefault(register.upper_half, len(self._numbers))
            register = register.neighbour
        return number

    def at(self, leaf: Attribute, variables: tuple[str, ...]) -> int:
        """Return the number of the register for an event at a position (b[2], b[i-2])."""
        match leaf.reference:
            case Reference.NTH:
                return self.put(Register(RegisterKind.NTH, variables, position=leaf.position))
            case Reference.FROM_LAST:
                return self.put(Register(RegisterKind.LAG, variables, position=leaf.position))
            case _:
                return self.back(leaf.position, variables)

    def back(self, count: int, variables: tuple[str, ...]) -> int:
        """Return the number of the register for an event `count` >= 2 before the current one."""
        # the latest one before the current event is one back
        return self.put(Register(RegisterKind.LAG, variables, position=count - 1))

    def argument(self, node: Expression) -> str | None:
        """Return the attribute that an argument of an aggregate reads, which may be computed."""
        if isinstance(node, Attribute):
            return node.name
        expression = ex.with_attributes(node, lambda leaf: Attribute(_EVENT, leaf.name))
        name = f"{COMPUTED}{render(expression)}"
        self._computed[name] = expression
        return name

    @property
    def computed(self) -> tuple[tuple[str, Expression], ...]:
        """The attributes that are computed from single events: names and expressions."""
        return tuple(self._computed.items())

    @property
    def all(self) -> tuple[Register, ...]:
        """The registers by number."""
        return tuple(self._numbers)


def aggregate_of(
    registers: Registers, call: Call, variables: tuple[str, ...], moment: Moment
) -> Expression:
    """Return the value of an aggregate over the events of some variables at a moment."""
    names = tuple(registers.argument(argument) for argument in call.arguments)
    first = ex.attributes(call)[0]
    recent = (first.position, first.nearest) if first.nearest else (0, 0)
    if call.name in registers.aggregates:
        arguments = tuple(name for name in names if name is not None)
        user = registers.aggregates[call.name]
        register = Register(RegisterKind.USER, variables, None, user, arguments, *recent)
        return slot_attribute(Slot(moment, registers.put(register)))
    (name,) = names

    def leaf(kind: RegisterKind) -> Expression:
        attribute = None if kind is RegisterKind.COUNT else name
        number = registers.put(Register(kind, variables, attribute, None, (), *recent))
        read = name if kind.holds_event else None
        return slot_attribute(Slot(moment, number, read))

    match call.name:
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


def over(call: Call) -> tuple[str, Reference] | str:
    """Return the variable that an aggregate is over, and which of its events.

    Return an error text if it is not over events of one variable.
    """
    if not call.arguments:
        return f"{call.name} is taken of something, as in {call.name}(b[].x)."
    leaves = [leaf for argument in call.arguments for leaf in ex.attributes(argument)]
    for argument in call.arguments:
        inner = [node for node in ex.walk(argument) if isinstance(node, Call)]
        if any(node.name not in ex.SCALARS for node in inner):
            return (
                f"{call.name}: an aggregate of aggregates is not taken. Compute with their values."
            )
        if not ex.attributes(argument):
            return f"{call.name} is taken of attributes, as in {call.name}(b[].x)."
        whole = [leaf for leaf in ex.attributes(argument) if leaf.name is None]
        if whole and (call.name != "COUNT" or not isinstance(argument, Attribute)):
            return f"{call.name} is taken of attributes: write {whole[0].variable}[].x."
    events = {f"{leaf.variable}{leaf.index}" for leaf in leaves}
    if len(events) > 1:
        events_text = " and ".join(sorted(events))
        return (
            f"{call.name} is taken of one event after another of one variable, not of "
            f"{events_text}: write it of one of them, or aggregate each and compute with the "
            "results."
        )
    return leaves[0].variable, leaves[0].reference
