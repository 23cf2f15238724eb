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
    Parts,
    Register,
    Symbol,
    form_of,
)
from elsinore.quantitative.machine.transitions import Numbered, Transition


class Numbering:
    """Numbers registers after an item (`pattern`), then the slots of its transition.

    kept: the symbols of the registers after the item.
    """

    def __init__(self, emitter: Emitter) -> None:
        self._lines = list(emitter.lines)
        self.kept: list[Symbol] = []
        self._slots: dict[int, int] = {}  # by identity of symbols
        self._constants: list[Constant] = []

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
        self, size: int, target: Control, value: Symbol | None, source: Control | None
    ) -> Transition:
        """Return the transition from a control state with `size` registers."""
        lines = [line for line in self._lines if isinstance(line, Line)]
        for line in lines:
            self._note(line.given)
        self._note(self.kept)
        if value is not None:
            self._note([value])
        for number, constant in enumerate(self._constants):
            self._slots[id(constant)] = size + 1 + number
        self._slots[id(ITEM)] = size
        free = size + 1 + len(self._constants)
        for line in lines:
            if line.target is not None and id(line.target) not in self._slots:
                self._slots[id(line.target)] = free
                free += 1
        labels = self._labels()
        arguments: list[int] = []
        code = [self._numbered(line, labels, arguments) for line in lines]
        registers = [self._slots[id(symbol)] for symbol in self.kept]
        value_slots = None if value is None else form_of(value, lambda part: self._slots[id(part)])
        return Transition(
            target,
            code,
            arguments,
            [line.function for line in lines],
            [line.source for line in lines],
            [constant.value for constant in self._constants],
            size,
            registers,
            value_slots,
            source=source,
        )

    def _note(self, symbols: Any) -> None:
        """Note registers and constants among symbols."""
        for symbol in symbols:
            match symbol:
                case Parts():
                    self._note(symbol.parts)
                case Register(number):
                    self._slots[id(symbol)] = number
                case Constant() if id(symbol) not in self._slots:
                    self._slots[id(symbol)] = -1
                    self._constants.append(symbol)

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
        slots = [self._slots[id(symbol)] for symbol in line.given]
        target = 0 if line.target is None else self._slots[id(line.target)]
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
