"""Fewer jumps: instructions that do the same, where conditions are tested once.

A condition such as `x is not None and x > 90` comes with jumps to jumps, and copies of what was
just tested. Jumps go to where they end, what nothing reaches is left out, and a comparison jumps
itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from elsinore.quantitative.machine.instructions import (
    GREATER,
    IS,
    JUMP,
    JUMP_IF,
    JUMP_UNLESS,
    LESS,
    MOVE,
    NOT,
    TRUTH,
)
from elsinore.quantitative.machine.transitions import Numbered, read_slots

CONDITIONAL = {JUMP_IF, JUMP_UNLESS}
ROUNDS = 8  # each may make way for another one


@dataclass(eq=False, slots=True)
class _Line:
    """An instruction; `to`: where it jumps."""

    numbered: Numbered
    function: Any
    source: Any
    to: _Line | None = None

    @property
    def code(self) -> int:
        return self.numbered[0]

    @property
    def tested(self) -> int:
        """The slot that a conditional jump reads."""
        return self.numbered[2]

    def jumps(self, truth: bool) -> bool:
        """Return whether a conditional jump is taken."""
        return truth is (self.code == JUMP_IF)


class Jumps:
    """Instructions whose jumps are made fewer.

    code: with the number of an instruction where jumps go to; read: the slots that are read after
    all of them.
    """

    def __init__(
        self,
        code: Sequence[Numbered],
        arguments: Sequence[int],
        functions: Sequence[Any],
        sources: Sequence[Any],
        read: Collection[int],
    ) -> None:
        self._arguments, self._read = arguments, read
        self._end = _Line((JUMP, 0, 0, 0, 0), None, None)
        parts = zip(code, functions, sources, strict=True)
        self._lines = [*(_Line(*part) for part in parts), self._end]
        for line in self._lines[:-1]:
            if line.code == JUMP:
                line.to = self._lines[line.numbered[2]]
            elif line.code in CONDITIONAL:
                line.to = self._lines[line.numbered[3]]
        for _ in range(ROUNDS):
            before = [(line, line.to) for line in self._lines]
            self._shorten()
            if [(line, line.to) for line in self._lines] == before:
                break
        self._fuse()

    def result(self) -> tuple[list[Numbered], list[Any], list[Any]]:
        """Return the instructions, their functions and their sources."""
        number = {id(line): place for place, line in enumerate(self._lines)}
        code: list[Numbered] = []
        for line in self._lines[:-1]:
            operation, target, left, right, jump = line.numbered
            to = -1 if line.to is None else number[id(line.to)]
            if operation == JUMP:
                left = to
            elif operation in CONDITIONAL:
                right = to
            elif line.to is not None:
                jump *= to + 1
            code.append((operation, target, left, right, jump))
        lines = self._lines[:-1]
        return code, [line.function for line in lines], [line.source for line in lines]

    def _shorten(self) -> None:
        """Let jumps go further, and leave out what nothing reaches then."""
        after = dict(zip(map(id, self._lines), self._lines[1:], strict=False))
        readers = self._readers()
        goals = {id(line.to) for line in self._lines}
        lines: list[_Line] = []
        for line in self._lines[:-1]:
            if line.to is not None:
                self._send_on(line, after, readers)
            to = line.to
            if line.code == JUMP and self._follows_copy(line, lines, goals, readers):
                assert to is not None
                lines.pop()
                line.to = to.to if to.jumps(lines[-1].code == JUMP_UNLESS) else after[id(to)]
                lines.append(line)
                continue
            is_repeated = (
                line.code == JUMP
                and to is not None
                and to.code in CONDITIONAL
                and bool(lines)
                and _is_condition(lines[-1], to.tested)
            )
            if is_repeated and to is not None:  # the condition is tested here already
                lines.append(_Line(to.numbered, to.function, to.source, to.to))
                line.to = after[id(to)]
            lines.append(line)
        lines.append(self._end)
        reached = _reached(lines)
        lines = [line for line in lines if id(line) in reached or line is self._end]
        self._lines = [
            line
            for line, following in zip(lines, [*lines[1:], None], strict=True)
            if line is self._end or line.code != JUMP or line.to is not following
        ]
        self._redirect(lines)

    def _follows_copy(
        self, line: _Line, lines: list[_Line], goals: set[int], readers: dict[int, int]
    ) -> bool:
        """Return whether a jump goes to a test of a copy of what was tested just before."""
        to = line.to
        if to is None or to.code not in CONDITIONAL or len(lines) < 2:
            return False
        test, copy = lines[-2:]
        if test.code not in CONDITIONAL or copy.code != MOVE or test.to is copy:
            return False
        _, target, source, *_ = copy.numbered
        is_apart = id(copy) not in goals and id(line) not in goals
        is_unread = readers.get(target) == 1 and target not in self._read
        return is_apart and is_unread and source == test.tested and target == to.tested

    def _redirect(self, before: list[_Line]) -> None:
        """Let jumps to a jump that was left out go to what follows it."""
        left = set(map(id, self._lines))
        for line in self._lines:
            while line.to is not None and id(line.to) not in left:
                line.to = before[before.index(line.to) + 1]

    def _send_on(self, line: _Line, after: dict[int, _Line], readers: dict[int, int]) -> None:
        """Let a jump go to where it ends."""
        truth = None if line.code == JUMP else line.code == JUMP_IF  # where it is taken
        for _ in range(len(after)):
            to = line.to
            if to is None or to is self._end:
                return
            if to.code == JUMP:
                line.to = to.to
                continue
            slot = line.tested
            if truth is not None and to.code == MOVE and to.numbered[2] == slot:
                copy = to.numbered[1]
                if readers.get(copy) != 1 or copy in self._read:
                    return
                slot, to = copy, after[id(to)]
            if truth is None or to.code not in CONDITIONAL or to.tested != slot:
                return
            line.to = to.to if to.jumps(truth) else after[id(to)]

    def _readers(self) -> dict[int, int]:
        """Return how many instructions read each slot."""
        readers: dict[int, int] = {}
        for line in self._lines[:-1]:
            for slot in read_slots(line.numbered, self._arguments):
                readers[slot] = readers.get(slot, 0) + 1
        return readers

    def _fuse(self) -> None:
        """Let comparisons jump themselves."""
        goals = {id(line.to) for line in self._lines}
        lines: list[_Line] = []
        for line in self._lines:
            before = lines[-1] if lines else self._end
            fits = line.code in CONDITIONAL and _is_condition(before, line.tested)
            if fits and before.to is None and id(line) not in goals:
                before.numbered = (*before.numbered[:4], 1 if line.code == JUMP_UNLESS else -1)
                before.to = line.to
            else:
                lines.append(line)
        self._lines = lines


def _is_condition(line: _Line, slot: int) -> bool:
    """Return whether an instruction can jump by its result, which is in a slot."""
    code = line.code
    return (LESS <= code <= GREATER or code in {NOT, TRUTH, IS}) and line.numbered[1] == slot


def _reached(lines: Sequence[_Line]) -> set[int]:
    """Return the instructions that may be carried out, by identity."""
    places = {id(line): place for place, line in enumerate(lines)}
    reached: set[int] = set()
    pending = [0]
    while pending:
        place = pending.pop()
        line = lines[place]
        if id(line) in reached:
            continue
        reached.add(id(line))
        if line.to is not None:
            pending.append(places[id(line.to)])
        if line.code != JUMP and place + 1 < len(lines):
            pending.append(place + 1)
    return reached
