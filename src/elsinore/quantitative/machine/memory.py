"""The states of streams, or of the keys of a `map_collect`: control states and registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cython
import numpy as np

from elsinore.quantitative.machine.frames import Frame
from elsinore.quantitative.machine.instructions import BOOL, DOUBLE, INT, NONE, OBJECT, VALUE


class Control:
    """A control state: where threads wait, and which registers have the values of each.

    waiting: by atom, for each value on the thread's stack a register, or the class of a tuple or
    record and the registers of its parts; None if no thread waits. size: the number of registers;
    transitions: by class of items, those that are known, else None.
    """

    def __init__(self, waiting: tuple[Any, ...], size: int) -> None:
        self.waiting, self.size = waiting, size
        self.transitions: list[Any] = []


class Memory:
    """The states of streams with the codes 0, 1, ...

    width: the registers that each has room for; controls: their control states, None before the
    first item; values, array: the registers, for C and for NumPy; objects: the values whose tag is
    OBJECT.
    """

    def __init__(self, count: int = 0, width: int = 2) -> None:
        self.count, self.width = count, width
        self.controls: list[Any] = [None] * count
        self.objects: list[Any] = [None] * (count * width)
        self._hold(np.zeros(max(1, count * width), VALUE))

    def _hold(self, array: Any) -> None:
        self.array, self.values = array, array.view(np.recarray)

    def grow(self, count: int, width: int = 0) -> None:
        """Make room for streams with codes below `count`, with so many registers."""
        room = len(self.array) // self.width
        wider = width > self.width
        if count > room or wider:
            new_width = max(width, self.width)
            new_room = max(count, 2 * room if count > room else room, 1)
            array = np.zeros(new_room * new_width, VALUE)
            if self.count:
                before = array.reshape(-1, new_width)[: self.count, : self.width]
                before[:] = self.array[: self.count * self.width].reshape(-1, self.width)
            self._hold(array)
            if wider:
                added: list[Any] = [None] * (new_width - self.width)
                objects: list[Any] = []
                for begin in range(0, self.count * self.width, self.width):
                    objects += self.objects[begin : begin + self.width] + added
                self.objects, self.width = objects, new_width
        if count > self.count:
            self.controls += [None] * (count - self.count)
            self.objects += [None] * ((count - self.count) * self.width)
            self.count = count

    def put(self, code: int, control: Any, values: Sequence[Any]) -> None:
        """Set a state."""
        self.grow(code + 1, 0 if control is None else control.size)
        begin: cython.Py_ssize_t = code * self.width
        register: cython.Py_ssize_t
        for register in range(len(values)):
            _set(self, begin + register, values[register])
        self.controls[code] = control

    def state(self, code: int) -> tuple[Any, list[Any]]:
        """Return a control state, None before the first item, and the values of registers."""
        control: Control = self.controls[code]
        values: list[Any] = []
        if control is not None:
            begin: cython.Py_ssize_t = code * self.width
            values = [_boxed(self, begin + register) for register in range(control.size)]
        return control, values

    def forget(self, code: int) -> None:
        """Reset a stream to its beginning."""
        begin = code * self.width
        self.controls[code] = None
        self.objects[begin : begin + self.width] = [None] * self.width

    def copy(self) -> Memory:
        """Return the same states, without copying the objects in them."""
        copy = Memory(0, self.width)
        copy.count = self.count
        copy.controls, copy.objects = list(self.controls), list(self.objects)
        copy._hold(self.array.copy())
        return copy


@cython.cfunc
def _boxed(memory: Memory, place: cython.Py_ssize_t) -> object:
    """Return the value in a register as Python's."""
    tag: cython.int = memory.values[place].tag
    if tag == OBJECT:
        return memory.objects[place]
    if tag == DOUBLE:
        return float(memory.values[place].number)
    if tag == INT:
        return int(memory.values[place].whole)
    if tag == BOOL:
        return memory.values[place].whole != 0
    return None


@cython.cfunc
def _set(memory: Memory, place: cython.Py_ssize_t, value: object) -> cython.int:
    """Write a value of Python to a register."""
    kind = type(value)
    memory.objects[place] = None
    if kind is float:
        memory.values[place].tag = DOUBLE
        memory.values[place].number = value
    elif kind is bool:
        memory.values[place].tag = BOOL
        memory.values[place].whole = 1 if value else 0
    elif value is None:
        memory.values[place].tag = NONE
    else:
        memory.values[place].tag = OBJECT
        if kind is int:
            try:
                memory.values[place].whole = value
                memory.values[place].tag = INT
                return 0
            except OverflowError:  # of more than 64 bits
                pass
        memory.objects[place] = value
    return 0


@cython.inline
@cython.nogil
def load(
    memory: Memory, register: cython.Py_ssize_t, frame: Frame, slot: cython.Py_ssize_t
) -> cython.int:
    """Copy the value of a register to a slot, but for its object; return its tag."""
    tag: cython.int = memory.values[register].tag
    frame.values[slot].tag = tag
    if tag == DOUBLE:
        frame.values[slot].number = memory.values[register].number
    else:
        frame.values[slot].whole = memory.values[register].whole
    return tag


@cython.inline
@cython.nogil
def save(
    memory: Memory, register: cython.Py_ssize_t, frame: Frame, slot: cython.Py_ssize_t
) -> cython.int:
    """Copy the value in a slot to a register, but for its object; return the tag before."""
    tag: cython.int = frame.values[slot].tag
    before: cython.int = memory.values[register].tag
    memory.values[register].tag = tag
    if tag == DOUBLE:
        memory.values[register].number = frame.values[slot].number
    else:
        memory.values[register].whole = frame.values[slot].whole
    return before
