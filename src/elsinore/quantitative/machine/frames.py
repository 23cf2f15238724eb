"""Frames: the values that a transition works on; and buffers, the values of windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cython

from elsinore.quantitative.machine.instructions import OBJECT
from elsinore.quantitative.machine.tagged import Tagged, boxed, copy_number, store
from elsinore.structs import longer

FEW = 32  # slots of a frame, and values of a buffer, at first


class Frame(Tagged):
    """Slots for values: a state's registers, the item, constants, and results.

    transition: the one whose constants are in the frame; at: its instruction at work.
    """

    def __init__(self, size: int = FEW) -> None:
        super().__init__(size)
        self.transition: Any = None
        self.at = 0


class Buffer(Tagged):
    """Values that only ever grow at their end; those that a window has left are dropped.

    Older states of a window read fewer values than there are. offset: the index of the first value
    that is still there; count: the number of values after it. There are no `objects` before the
    first value that is one.
    """

    def __init__(self, offset: int, values: Iterable[Any] = ()) -> None:
        super().__init__(FEW)
        self.offset, self.count, self.objects = offset, 0, []
        one: Tagged = Tagged(1)
        for value in values:
            store(one, 0, value)
            append(self, one, 0)

    @property
    def end(self) -> int:
        """The index after the last value."""
        return self.offset + self.count

    def between(self, first: int, beyond: int) -> list[Any]:
        """Return the values between two indices."""
        return [boxed(self, index - self.offset) for index in range(first, beyond)]


@cython.cfunc
def append(buffer: Buffer, source: Tagged, place: cython.Py_ssize_t) -> cython.int:
    """Append a value."""
    count: cython.Py_ssize_t = buffer.count
    if count == buffer.values.shape[0]:
        buffer.array = buffer.values = longer(buffer.array, 0, count, 2 * count)
    tag: cython.int = copy_number(buffer, count, source, place)
    if tag == OBJECT or buffer.objects:
        while len(buffer.objects) < count:
            buffer.objects.append(None)
        buffer.objects.append(source.objects[place] if tag == OBJECT else None)
    buffer.count = count + 1
    return 0


@cython.cfunc
def grown(
    buffer: Buffer,
    first: cython.Py_ssize_t,
    beyond: cython.Py_ssize_t,
    frame: Frame,
    slot: cython.Py_ssize_t,
) -> Buffer:
    """Return the values between two indices with one more: in the same buffer if that ends there.

    A buffer half of which has been left is copied, so that older states keep what they read.
    """
    begin: cython.Py_ssize_t = first - buffer.offset
    count: cython.Py_ssize_t = beyond - first
    if beyond - buffer.offset != buffer.count or begin > count + 32 or not count:
        new = Buffer(first)
        if count:
            new.array = new.values = longer(buffer.array, begin, count, 2 * count + FEW)
            if buffer.objects:
                new.objects = buffer.objects[begin : begin + count]
        new.count = count
        buffer = new
    append(buffer, frame, slot)
    return buffer
