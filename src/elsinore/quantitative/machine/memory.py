"""The states of streams, or of the keys of a `map_collect`: control states and registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cython

from elsinore.quantitative.machine.tagged import Tagged, boxed, store


class Control:
    """A control state: where threads wait, and which registers have the values of each.

    waiting: by atom, for each value on the thread's stack a register, or the class of a tuple or
    record and the registers of its parts; None if no thread waits. size: the number of registers;
    transitions: by class of items, those that are known, else None.
    """

    def __init__(self, waiting: tuple[Any, ...], size: int) -> None:
        self.waiting, self.size = waiting, size
        self.transitions: list[Any] = []


class Memory(Tagged):
    """The states of streams with the codes 0, 1, ...

    The registers of each are `width` places after those of the stream before it. controls: control
    states, None before the first item.
    """

    def __init__(self, count: int = 0, width: int = 2) -> None:
        super().__init__(max(1, count) * width)
        self.count, self.width = count, width
        self.controls: list[Any] = [None] * count

    def grow(self, count: int, width: int = 0) -> None:
        """Make room for streams with codes below `count`, with so many registers."""
        room = len(self.objects) // self.width
        new_width = max(width, self.width)
        if count > room or new_width > self.width:
            larger: Tagged = Tagged(max(count, 2 * room if count > room else room) * new_width)
            used = self.array.reshape(-1, self.width)[: self.count]
            larger.array.reshape(-1, new_width)[: self.count, : self.width] = used
            if new_width == self.width:
                larger.objects[: len(self.objects)] = self.objects
            else:
                for code in range(self.count):
                    objects = self.objects[code * self.width : (code + 1) * self.width]
                    larger.objects[code * new_width : code * new_width + self.width] = objects
            self.array = self.values = larger.array
            self.objects, self.width = larger.objects, new_width
        if count > self.count:
            self.controls += [None] * (count - self.count)
            self.count = count

    def put(self, code: int, control: Any, values: Sequence[Any]) -> None:
        """Set a state."""
        self.grow(code + 1, 0 if control is None else control.size)
        self.forget(code)
        begin: cython.Py_ssize_t = code * self.width
        register: cython.Py_ssize_t
        for register in range(len(values)):
            store(self, begin + register, values[register])
        self.controls[code] = control

    def state(self, code: int) -> tuple[Any, list[Any]]:
        """Return a control state, None before the first item, and the values of registers."""
        control: Control = self.controls[code]
        values: list[Any] = []
        if control is not None:
            begin: cython.Py_ssize_t = code * self.width
            values = [boxed(self, begin + register) for register in range(control.size)]
        return control, values

    def forget(self, code: int) -> None:
        """Reset a stream to its beginning."""
        begin = code * self.width
        self.controls[code] = None
        self.objects[begin : begin + self.width] = [None] * self.width

    def copy(self) -> Memory:
        """Return the same states, without copying the objects in them."""
        copy = Memory(0, self.width)
        copy.count, copy.controls = self.count, list(self.controls)
        copy.array = copy.values = self.array.copy()
        copy.objects = list(self.objects)
        return copy
