"""A template as one array of integers for kernels: a header, and the data that it points to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluations.reach import LAST_BIT
from elsinore.matches.classes import ClassStates
from elsinore.matches.operands import Operands
from elsinore.matches.stepping import Stepper
from elsinore.operators.conditions.code import Program

Ints = NDArray[np.int64]


class Header(IntEnum):
    """What the first entries of the tables say; those named `..._AT` are places in them."""

    STATES = 0
    EVENTS = 1  # registers that hold an event
    NUMBERS = 2  # registers that hold a number
    STRATEGY = 3  # 0 any, 1 next, 2 contiguous
    DEFERRED = 4  # whether a match is known only when its window has passed
    CLASS_AT = 5  # [class]: where the states are listed that an event of the class takes
    WHOLES_AT = 6  # [integer constant]
    EDGE_AT = 7  # [state + 1, state]: the edge, -1 where there is none; row 0 is the beginning
    NEAR_AT = 8  # [edge]: a list of conditions on neighbours, its length first
    CHECK_AT = 9  # [edge]: a list of the other conditions, when the event is selected
    LATE_AT = 10  # [edge]: the same, for when the match is complete
    WAY_AT = 11  # [edge]: the ways, -1 where one is free
    END_AT = 12  # [state]: -2 where no match ends, -1 where one may, else the ways
    UPDATE_AT = 13  # [state]: a list of (kind, place, row of the layout or -1, is it of integers)
    FINAL_AT = 14  # a list of the conditions of the match
    CODE_AT = 15  # [condition]: where its code is, the number of instructions first
    SUM_AT = 16  # a list of the registers that hold sums
    ENDS_AT = 17  # [state]: 1 where nothing follows
    HAS_LATE = 18  # whether there are conditions in LATE_AT
    INIT_AT = 19  # a list of (number, constant): states of no events of users' aggregates
    FAILED = 20  # 1 + the row of an event that a user's aggregate failed at
    NEXT_AT = 21  # [state + 1]: the states that may follow, as bits (`evaluations.reach`)
    BEFORE_AT = 22  # [bit]: the states that may come before
    ENDING = 23  # the states where a match may end
    IS_PLAIN = 24  # whether no edge has conditions or ways
    PAIR_AT = 25  # [condition]: -1, or where it stands as a comparison of two neighbours
    LOOKS_AT = 27  # [edge]: 1 for ways or conditions on neighbours, 2 for other conditions
    OVERFLOWED = 33  # 1 where a condition had a whole number beyond 64 bits
    UNLESS_AT = 34  # [edge]: ways that no edge may have free, 0 of them where nothing is asked
    SIZE = 35


@dataclass(slots=True)
class Tables:
    """A template's tables, and the double constants of its conditions.

    The tables have addresses of functions of `steppers`, which are kept here as long as the tables.
    """

    integers: Ints
    constants: NDArray[np.float64]
    program: Program
    steppers: list[Stepper]

    def has_overflown(self) -> bool:
        """Return whether a condition had a whole number beyond 64 bits; forget it."""
        overflown = bool(self.integers[Header.OVERFLOWED])
        self.integers[Header.OVERFLOWED] = 0
        return overflown

    def set_texts(self, operands: Operands) -> None:
        """Put in the integers that stand for the texts of conditions."""
        at = self.integers[Header.WHOLES_AT]
        for place, text in self.program.texts.items():
            self.integers[at + place] = operands.texts.code_of(text)

    def set_classes(self, states: ClassStates) -> None:
        """Put in which states the events of each class take: as bits, then their list."""
        kept = self.integers[: self._size()]
        lists = [0]  # the empty list, of classes that no state takes
        at = np.full(len(states.by_class), len(kept), dtype=np.int64)
        for number, taken in enumerate(states.by_class):
            if not taken:
                continue
            at[number] = len(kept) + len(lists) + 1
            lists += [sum({1 << bit_of(state) for state in taken}), len(taken), *taken]
        self.integers = np.concatenate([kept, np.array(lists, np.int64), at])
        self.integers[Header.CLASS_AT] = len(kept) + len(lists)

    def _size(self) -> int:
        """Return how many of the integers are not about classes: the last are integer constants."""
        return int(self.integers[Header.WHOLES_AT]) + len(self.program.wholes)


def bit_of(state: int) -> int:
    """Return the bit that stands for a state in a set of them."""
    return min(state, LAST_BIT)
