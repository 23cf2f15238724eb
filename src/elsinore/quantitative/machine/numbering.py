"""Slots for the symbols of an item's instructions: the transition that the loop carries out."""

from __future__ import annotations

from typing import Any

from elsinore.quantitative.machine import instructions as ins
from elsinore.quantitative.machine.memory import Control
from elsinore.quantitative.machine.symbols import (
    ITEM,
    Constant,
    Emitter,
    Label,
    Line,
    Register,
    Symbol,
    form_of,
)
from elsinore.quantitative.machine.transitions import Numbered, Transition


class Numbering:
    """Numbers registers after an item (`pattern`), then the slots of its transition.

    size: the number of registers before the item; kept: the symbols of the registers after it.
    """

    def __init__(self, emitter: Emitter, size: int) -> None:
        self._lines, self._size = list(emitter.lines), size
        self.kept: list[Symbol] = []
        self._slots: dict[int, int] = {}  # by identity of symbols
        self._constants: list[tuple[int, Any]] = []  # with their slots

    def pattern(self, symbol: Symbol) -> Any:
        """Return the register of a symbol, or those of its parts."""
        return form_of(symbol, self._register)

    def _register(self, symbol: Symbol) -> int:
        for number, known in enumerate(self.kept):
            if known is symbol:
                return number
        self.kept.append(symbol)
        return len(self.kept) - 1

    def transition(
        self, target: Control, value: Symbol | None, source: Control | None
    ) -> Transition:
        """Return the transition from one control state to another."""
        lines = [line for line in self._lines if isinstance(line, Line)]
        labels, arguments = self._labels(), list[int]()
        code = [self._numbered(line, labels, arguments) for line in lines]
        registers = list(map(self._slot, self.kept))
        value_slots = None if value is None else form_of(value, self._slot)
        return Transition(
            target,
            code,
            arguments,
            [line.function for line in lines],
            [line.source for line in lines],
            self._constants,
            self._size,
            registers,
            value_slots,
            source=source,
        )

    def _slot(self, symbol: Symbol) -> int:
        """Return the slot of a symbol: of a register its own, of the item the first after these."""
        if isinstance(symbol, Register):
            return symbol.number
        if symbol is ITEM:
            return self._size
        if id(symbol) not in self._slots:
            slot = self._slots[id(symbol)] = self._size + 1 + len(self._slots)
            if isinstance(symbol, Constant):
                self._constants.append((slot, symbol.value))
        return self._slots[id(symbol)]

    def _labels(self) -> dict[int, int]:
        """Return the instruction after each label, or the one to which that jumps in any case."""
        labels: dict[int, int] = {}
        number = after = sum(isinstance(line, Line) for line in self._lines)
        for line in reversed(self._lines):
            if isinstance(line, Label):
                labels[id(line)] = after
                continue
            number -= 1
            after = labels.get(id(line.label), number) if line.code == ins.JUMP else number
        return labels

    def _numbered(self, line: Line, labels: dict[int, int], arguments: list[int]) -> Numbered:
        """Return an instruction with slots in place of symbols."""
        slots = list(map(self._slot, line.given))
        target = 0 if line.target is None else self._slot(line.target)
        left, right, *_ = *slots, 0, 0
        match line.code:
            case ins.JUMP:
                left = labels[id(line.label)]
            case ins.CALL | ins.TUPLE | ins.APPEND:
                left, right = len(arguments), len(slots)
                arguments += slots
            case ins.ATTRIBUTE:
                left, right = line.numbers
            case ins.IS:
                (right,) = line.numbers
        jump = 0 if line.label is None else labels[id(line.label)] + 1
        return line.code, target, left, right, -jump if line.when else jump
