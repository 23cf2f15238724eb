"""Transitions: what an item of a class does in a control state, as numbered instructions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cython
import numpy as np

from elsinore.quantitative.machine.instructions import (
    APPEND,
    ATTRIBUTE,
    BINARY,
    CALL,
    FEED,
    FEED_ALL,
    FEED_OWN,
    GREATER,
    INSTRUCTION,
    JUMP,
    NEW_KEYS,
    READ_BUFFER,
    TUPLE,
)
from elsinore.quantitative.machine.memory import Control
from elsinore.quantitative.machine.tagged import Tagged, boxed, store
from elsinore.structs import table

Numbered = tuple[int, int, int, int, int]  # an instruction


class Transition:
    """What an item of a class does in a control state.

    Slots of the frame: the registers before the item, the item (`item`, -1 if it is not needed),
    constants, results. loads: the registers that are read; moves: pairs of a slot and the register
    after the item that gets its value. value: the slot of the query's value, or the class of a
    tuple or record and the slots of its parts; None without a value. form: the structure of the
    value; value_slots: the slots in it. sources: by instruction, the place in the query
    and the function that messages name. may_raise: whether something may raise after keys have
    changed.
    """

    def __init__(
        self,
        target: Control,
        code: Sequence[Numbered],
        arguments: Sequence[int],
        functions: list[Any],
        sources: list[Any],
        constants: Sequence[tuple[int, Any]],
        size: int,
        registers: Sequence[int],
        value: Any,
        *,
        source: Control | None,
    ) -> None:
        self.target, self.value = target, value
        self.functions, self.sources = functions, sources
        self.count = len(code)
        self.code = table(INSTRUCTION, [*code, (0, 0, 0, 0, 0)])
        self.arguments = np.array([*arguments, 0], np.int32)
        self.constant_count = len(constants)
        self.constant_slots = np.array([*(slot for slot, _ in constants), 0], np.int32)
        self.constants = Tagged(max(1, len(constants)))
        place: cython.Py_ssize_t
        for place in range(len(constants)):
            store(self.constants, place, constants[place][1])
        slots: list[int] = []
        self.form = form_of(value, slots)
        self.value_slots = np.array([*slots, 0], np.int32)
        read = {slot for line in code for slot in read_slots(line, arguments)}
        moves = [
            (slot, register)
            for register, slot in enumerate(registers)
            if slot != register or slot >= size
        ]
        read |= {slot for slot, _ in moves} | set(slots)
        self.item = size if size in read else -1
        loads = sorted(slot for slot in read if slot < size)
        stays = target is source
        self.loads = np.array([*loads, 0], np.int32)
        self.load_count = len(loads)
        self.moves = np.array([number for pair in moves for number in pair] + [0, 0], np.int32)
        self.move_count = len(moves)
        results = [size, *[line[1] for line in code], *[slot for slot, _ in constants]]
        self.slots = 1 + max(results)
        self.stays = stays
        self.is_idle = stays and not code and not moves and value is None
        feeds = [place for place, line in enumerate(code) if line[0] in {FEED, FEED_OWN, FEED_ALL}]
        self.may_raise = bool(feeds) and feeds[0] < len(code) - 1


def read_slots(line: Numbered, arguments: Sequence[int]) -> Sequence[int]:
    """Return the slots that an instruction reads."""
    code, _, left, right, _ = line
    if code in {JUMP, NEW_KEYS, ATTRIBUTE}:
        return ()
    if code in {CALL, TUPLE, APPEND}:
        return arguments[left : left + right]
    if code in {BINARY, READ_BUFFER} or code <= GREATER:
        return left, right
    return (left,)


def form_of(value: Any, leaves: list[int]) -> Any:
    """Return the structure of a value, with the numbers of its parts; append these to `leaves`.

    >>> slots = []
    >>> form_of((tuple, 5, (tuple, 7, 9)), slots), slots
    ((<class 'tuple'>, 0, (<class 'tuple'>, 1, 2)), [5, 7, 9])
    """
    if isinstance(value, tuple):
        kind, *parts = value
        return (kind, *[form_of(part, leaves) for part in parts])
    if value is None:
        return None
    leaves.append(value)
    return len(leaves) - 1


def built(form: Any, tagged: Tagged, begin: int = 0) -> Any:
    """Return a tagged value, or the tuple or record of several; places are counted from `begin`."""
    if not isinstance(form, tuple):
        return boxed(tagged, begin + form)
    kind, *parts = form
    values = [built(part, tagged, begin) for part in parts]
    return tuple(values) if kind is tuple else kind(*values)


class Choice:
    """What an item does that depends on a test in plain Python."""

    def __init__(self, test: Any, yes: Any, no: Any) -> None:
        self.test, self.yes, self.no = test, yes, no
