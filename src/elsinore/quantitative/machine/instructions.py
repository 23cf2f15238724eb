"""The instructions that queries consist of, and the tagged values that they work on.

A value is a number with a tag, as in Lua's virtual machine: arithmetic on two doubles or on two
integers of 64 bits is done in C. Everything else (`OBJECT`: texts, tuples, integers beyond 64 bits)
is done by Python's own operation on the objects, so that the results are always Python's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from elsinore.structs import struct

NONE, BOOL, INT, DOUBLE, OBJECT = range(5)  # tags

# `target` and `left`, `right` are slots of a frame; exceptions are in brackets.
(
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    FLOOR_DIVIDE,
    MODULO,
    LESS,
    LESS_EQUAL,
    EQUAL,
    NOT_EQUAL,
    GREATER_EQUAL,
    GREATER,
    FLOAT,
    WHOLE,  # int(left)
    ABSOLUTE,
    NEGATIVE,
    ROOT,
    MOVE,
    JUMP,  # [to the instruction `left`]
    NOT,
    TRUTH,
    IS,  # the same as a constant: [`right`: -1 None, 0 False, 1 True; 4 more: another one]
    ATTRIBUTE,  # of the item: [the number of the attribute]
    FIELD,  # of an object: [`right`: the number of the name]
    CALL,  # [`left`: the first argument in the transition's `arguments`, `right`: how many]
    TUPLE,  # [as CALL]
    COMPARABLE,  # raise if NaN
    BINARY,  # any other operation: [its function is that of the instruction]
    READ_BUFFER,  # the value at an index of a buffer
    APPEND,  # a value to a buffer, for a window from an index on
    NEW_KEYS,  # [`left`: the number of a place]
    COLLECT,
    FEED,
    FEED_OWN,
    FEED_ALL,
) = range(35)

VALUE = struct(i8="whole", f8="number", i4="tag")
# jump: of a comparison, `NOT`, `TRUTH` or `IS`: n if it jumps to the instruction n - 1 where it is
# false, -n if it does where it is true, 0 if it does not jump
INSTRUCTION = struct(i4="code target left right jump")

OPERATIONS: dict[int, Callable[..., Any]] = {
    NOT: operator.not_,
    TRUTH: bool,
    FLOAT: float,
    WHOLE: int,
    ABSOLUTE: abs,
    NEGATIVE: operator.neg,
    ROOT: math.sqrt,
    ADD: operator.add,
    SUBTRACT: operator.sub,
    MULTIPLY: operator.mul,
    DIVIDE: operator.truediv,
    FLOOR_DIVIDE: operator.floordiv,
    MODULO: operator.mod,
    LESS: operator.lt,
    LESS_EQUAL: operator.le,
    EQUAL: operator.eq,
    NOT_EQUAL: operator.ne,
    GREATER_EQUAL: operator.ge,
    GREATER: operator.gt,
}
