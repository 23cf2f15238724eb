"""The data structures of the condition machine: code tables, columns, registers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cython
import numpy as np

from elsinore.operators.conditions.code import Program
from elsinore.operators.conditions.comparisons import Comparison
from elsinore.structs import struct, table

IS_COMPILED: bool = cython.compiled
NULL = -(2**63)  # of integers
STACK = 256  # a condition is at most 200 operators deep
NO_REGISTER = -1  # the earlier event is the previous one


INSTRUCTION = struct(i4="code a b c")
CONDITION = struct(
    i8="shift", f8="double_shift", i4="code code_end comparison is_whole current other register"
)


class Conditions:
    """Conditions as tables, and the stacks for evaluating one.

    Lists of conditions are ranges of `lists`. `top` and `whole` are the tops of the stacks of
    doubles and of integers. `has_overflown` is set if an integer exceeded 64 bits, and became null.
    List n of the events' values has the sorted codes `members[member_starts[n]:
    member_starts[n + 1]]`.
    """

    def __init__(
        self,
        program: Program,
        comparisons: Sequence[Comparison | None],
        lists: Sequence[int],
    ) -> None:
        rows = [
            _condition(comparison, program.starts[number], program.starts[number + 1])
            for number, comparison in enumerate(comparisons)
        ]
        self.conditions = table(CONDITION, rows)
        self.code = table(INSTRUCTION, program.rows)
        self.lists = np.array(lists, np.int32)
        self.constants = np.array(program.constants, dtype=np.float64)
        self.wholes = np.array(program.wholes, dtype=np.int64)
        self.stack = np.zeros(STACK)
        self.whole_stack = np.zeros(STACK, np.int64)
        self.member_starts = np.zeros(0, np.int64)
        self.members = np.zeros(0, np.int64)
        self.top = -1
        self.whole = -1
        self.has_overflown = 0


def _condition(comparison: Comparison | None, begin: int, end: int) -> tuple[float, ...]:
    """Return a row of the table: a condition's code range, and its comparison if it is one."""
    if comparison is None:
        return (0, 0.0, begin, end, 0, 0, 0, 0, NO_REGISTER)
    shifts = (comparison.shift, 0.0) if comparison.is_whole else (0, comparison.shift)
    columns = comparison.current, comparison.other, comparison.register
    return (*shifts, begin, end, comparison.operator, int(comparison.is_whole), *columns)


class Columns:
    """The values of events that conditions read, as doubles and as integers: [column, event]."""

    def __init__(self, doubles: Any, integers: Any) -> None:
        self.doubles = doubles
        self.integers = integers


class Registers:
    """The registers of partial matches, row by row: events (row numbers), and numbers."""

    def __init__(self, rows: int, events: int, numbers: int) -> None:
        self.bound_rows = np.zeros((rows, events), np.int64)
        self.numbers = np.zeros((rows, numbers))
