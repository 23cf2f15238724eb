"""The instruction set (byte code) of conditions between events.

Values are doubles, null is NaN, truth is 1 and 0. Values that doubles cannot represent exactly
(integers, times, durations and texts) are 64-bit integers on a second stack, with the least integer
for null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Moment(IntEnum):
    """The event, or the version of the registers, from which an operand is read."""

    CURRENT = 0  # the event that is being selected
    PREVIOUS = 1  # the event selected right before it
    BEFORE = 2  # a register as it was before that event
    FINAL = 3  # a register as it is when the match is complete


class Code(IntEnum):
    """The operations of instructions; operands follow in the same row."""

    CONSTANT = 0  # push constant [a]
    DOUBLE = 1  # push row c of the doubles of moment a, register b
    WHOLE = 2  # push row c of the integers of moment a, register b
    WHOLE_CONSTANT = 3  # push integer constant [a]
    NUMBER = 4  # push number b of the registers at moment a
    BOUND = 5  # stop with true if event register a was empty before the event
    UNBOUND = 6  # stop with true if it was not empty
    BOUND_FINALLY = 7  # stop with true if it is empty at the end
    NOT = 8
    NEGATE = 9
    ABSOLUTE = 10
    LOG2 = 11
    IS_NULL = 12
    WHOLE_IS_NULL = 13
    AND = 14
    OR = 15
    ADD = 16
    SUB = 17
    MUL = 18
    DIV = 19
    MOD = 20
    LT = 21
    LE = 22
    GT = 23
    GE = 24
    EQ = 25
    NE = 26
    WHOLE_LT = 27
    WHOLE_LE = 28
    WHOLE_GT = 29
    WHOLE_GE = 30
    WHOLE_EQ = 31
    WHOLE_NE = 32
    WHOLE_NUMBER = 33  # push number b of the registers at moment a, a count, as an integer
    WHOLE_SUM = 34  # push the sum whose halves are numbers b and c of the registers at moment a
    UNSIGNED = 35  # convert an unsigned integer to a signed one
    TO_DOUBLE = 36  # move an integer to the stack of doubles
    WHOLE_NEGATE = 37
    WHOLE_ABSOLUTE = 38
    SCALE = 39  # an integer times (a = 0) or divided by (a = 1) a double, rounded
    WHOLE_ADD = 40
    WHOLE_SUB = 41
    WHOLE_MUL = 42
    WHOLE_MOD = 43
    DIVIDE = 44  # an integer divided by another, rounded
    MIXED_LT = 45  # an integer compared with a double, exactly
    MIXED_LE = 46
    MIXED_GT = 47
    MIXED_GE = 48
    MIXED_EQ = 49
    MIXED_NE = 50
    CONTAINS = 51  # whether the list with one number contains the value with one code
    WHOLE_CHOSEN = 52  # push row c of the integers of the event in number b of moment a's registers


@dataclass(slots=True)
class Program:
    """The code of several conditions: condition n is rows `starts[n]` to `starts[n + 1]` - 1.

    `texts` are the integer constants for texts: their code depends on the texts of the events, so
    it is set for each batch.
    """

    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    constants: list[float] = field(default_factory=list)
    wholes: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)

    def code_of(self, number: int) -> list[int]:
        """Return the instructions of a condition, four integers each."""
        rows = self.rows[self.starts[number] : self.starts[number + 1]]
        return [value for row in rows for value in row]
