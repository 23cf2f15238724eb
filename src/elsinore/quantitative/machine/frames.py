"""Frames: the values that a transition works on; and buffers, the values of windows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cython

from elsinore.quantitative.machine.instructions import (
    BOOL,
    DOUBLE,
    INT,
    NONE,
    OBJECT,
    VALUE,
)
from elsinore.structs import empty, longer

FEW = 32  # slots of a frame, and values of a buffer, at first


class Frame:
    """Slots for values: a state's registers, the item, constants, and results.

    objects: the values whose tag is OBJECT; transition: the one whose constants are in the frame;
    at: its instruction at work.
    """

    def __init__(self) -> None:
        self.size = FEW
        self.values = empty(VALUE, FEW)
        self.objects: list[Any] = [None] * FEW
        self.transition: Any = None
        self.at = 0

    def reserve(self, size: int) -> None:
        """Make room for some slots."""
        self.size = 2 * size
        self.values = empty(VALUE, self.size)
        self.objects = [None] * self.size


@cython.cfunc
def boxed(frame: Frame, slot: cython.Py_ssize_t) -> object:
    """Return the value in a slot as Python's."""
    tag: cython.int = frame.values[slot].tag
    if tag == OBJECT:
        return frame.objects[slot]
    if tag == DOUBLE:
        return float(frame.values[slot].number)
    if tag == INT:
        return int(frame.values[slot].whole)
    if tag == BOOL:
        return frame.values[slot].whole != 0
    return None


@cython.cfunc
def store(frame: Frame, slot: cython.Py_ssize_t, value: object) -> cython.int:
    """Write a value of Python to a slot."""
    kind = type(value)
    if kind is float:
        frame.values[slot].tag = DOUBLE
        frame.values[slot].number = value
    elif kind is bool:
        frame.values[slot].tag = BOOL
        frame.values[slot].whole = 1 if value else 0
    elif value is None:
        frame.values[slot].tag = NONE
    else:
        if kind is int:
            try:
                frame.values[slot].whole = value
            except OverflowError:  # of more than 64 bits
                pass
            else:
                frame.values[slot].tag = INT
                return 0
        frame.values[slot].tag = OBJECT
        frame.objects[slot] = value
    return 0


@cython.inline
@cython.nogil
def copy_number(frame: Frame, target: cython.Py_ssize_t, source: cython.Py_ssize_t) -> cython.int:
    """Copy a value but for its object; return its tag.

    Fields are copied one by one, here and elsewhere: the processor waits where a copy of all of
    them at once reads what was written in pieces just before.
    """
    tag: cython.int = frame.values[source].tag
    frame.values[target].tag = tag
    if tag == DOUBLE:
        frame.values[target].number = frame.values[source].number
    else:
        frame.values[target].whole = frame.values[source].whole
    return tag


class Buffer:
    """Values that only ever grow at their end; those that a window has left are dropped.

    Older states of a window read fewer values than there are. offset: the index of the first value
    that is still there; count: the number of values after it.
    """

    def __init__(self, offset: int, values: Iterable[Any] = ()) -> None:
        self.offset, self.count = offset, 0
        self.array = self.values = empty(VALUE, FEW)
        self.objects: list[Any] = []
        frame = Frame()
        for value in values:
            store(frame, 0, value)
            append(self, frame, 0)

    @property
    def end(self) -> int:
        """The index after the last value."""
        return self.offset + self.count

    def between(self, first: int, beyond: int) -> list[Any]:
        """Return the values between two indices."""
        frame, values = Frame(), []
        for index in range(first, beyond):
            read(self, frame, 0, index)
            values.append(boxed(frame, 0))
        return values


@cython.cfunc
def read(
    buffer: Buffer, frame: Frame, slot: cython.Py_ssize_t, index: cython.Py_ssize_t
) -> cython.int:
    """Write the value at an index to a slot."""
    index -= buffer.offset
    tag: cython.int = buffer.values[index].tag
    frame.values[slot].tag = tag
    if tag == DOUBLE:
        frame.values[slot].number = buffer.values[index].number
    else:
        frame.values[slot].whole = buffer.values[index].whole
        if tag == OBJECT:
            frame.objects[slot] = buffer.objects[index]
    return 0


@cython.cfunc
def append(buffer: Buffer, frame: Frame, slot: cython.Py_ssize_t) -> cython.int:
    """Append the value in a slot."""
    count: cython.Py_ssize_t = buffer.count
    if count == buffer.values.shape[0]:
        buffer.array = buffer.values = longer(buffer.array, 0, count, 2 * count)
    tag: cython.int = frame.values[slot].tag
    buffer.values[count].tag = tag
    if tag == DOUBLE:
        buffer.values[count].number = frame.values[slot].number
    else:
        buffer.values[count].whole = frame.values[slot].whole
    if tag == OBJECT or buffer.objects:
        while len(buffer.objects) < count:
            buffer.objects.append(None)
        buffer.objects.append(frame.objects[slot] if tag == OBJECT else None)
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
