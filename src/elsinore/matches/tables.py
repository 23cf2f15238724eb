"""A template as one array of integers, which kernels read: a header, and what it points to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.operands import Operands
from elsinore.matches.reach import ANY, LAST_BIT
from elsinore.matches.template import MatchTemplate
from elsinore.operators.conditions.code import Program
from elsinore.plan.classes import Classes

if TYPE_CHECKING:
    from elsinore.matches.stepping import Stepper

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
    NEXT_AT = 21  # [state + 1]: the states that may follow, as bits (`elsinore.matches.reach`)
    BEFORE_AT = 22  # [bit]: the states that may come before
    ENDING = 23  # the states where a match may end
    IS_PLAIN = 24  # whether no edge has conditions or ways
    PAIR_AT = 25  # [condition]: -1, or where it stands as a comparison of two neighbours
    LOOKS_AT = 27  # [edge]: 1 for ways or conditions on neighbours, 2 for other conditions
    DUPLICATES = 28  # whether two runs may find one match
    MOVES_AT = 31  # 0, or [class, state + 2]: where an event leads to (`elsinore.matches.merged`)
    ENDS_ONLY = 32  # whether nothing follows where a match ends
    OVERFLOWED = 33  # 1 where a condition had a whole number beyond 64 bits
    UNLESS_AT = 34  # [edge]: ways that no edge may have free, 0 of them where nothing is asked
    SIZE = 35


MOST_MOVES = 2**20  # of states and classes together


@dataclass(slots=True)
class Tables:
    """A template's tables, and the double constants of its conditions."""

    integers: Ints
    constants: NDArray[np.float64]
    program: Program
    steppers: tuple[Stepper, ...]
    negatives: tuple[Tables, ...]
    is_path: bool  # whether no condition looks farther than to the neighbour
    counts_exactly: bool  # whether the number of paths is that of matches
    interprets: bool  # whether there are conditions beyond comparisons of neighbours
    compares_neighbours: bool  # whether nothing but comparisons of neighbours is checked
    known: tuple[tuple[int, int], ...]  # registers of events, and the row of a match they hold
    states: ClassStates | None = None  # of the classes seen so far
    search: object | None = None  # made of the tables (`elsinore.matches.engine.pattern`)

    def has_overflown(self) -> bool:
        """Return whether a condition had a whole number beyond 64 bits; forget it."""
        overflown = bool(self.integers[Header.OVERFLOWED])
        self.integers[Header.OVERFLOWED] = 0
        for negative in self.negatives:
            overflown |= negative.has_overflown()
        return overflown

    def texts(self) -> list[str]:
        """Return the texts that conditions compare with, those of patterns under NOT included."""
        texts = list(self.program.texts.values())
        return texts + [text for negative in self.negatives for text in negative.texts()]

    def set_texts(self, operands: Operands) -> None:
        """Put in the integers that stand for the texts of conditions."""
        at = self.integers[Header.WHOLES_AT]
        for place, text in self.program.texts.items():
            self.integers[at + place] = operands.texts.code_of(text)
        for negative in self.negatives:
            negative.set_texts(operands)

    def set_classes(self, states: ClassStates) -> None:
        """Put in which states the events of each class take."""
        self.states = states
        kept = self.integers[: self._size()]
        at = len(kept) + states.at
        at[states.at == 0] = len(kept)  # the empty list
        where = len(kept) + len(states.lists)
        moves = self._moves(states)
        self.integers = np.concatenate([kept, states.lists, at, *moves])
        self.integers[Header.CLASS_AT] = where
        self.integers[Header.MOVES_AT] = 0
        if moves:  # those of events of no class stand before
            self.integers[Header.MOVES_AT] = where + len(at) + moves[0].shape[0] // (len(at) + 1)
        for negative, states_of_negative in zip(self.negatives, states.negatives, strict=True):
            negative.set_classes(states_of_negative)

    def may_begin(self, classes: Ints) -> NDArray[np.bool_]:
        """Return which events, given by their classes (below 0: of none), may begin a match."""
        integers = self.integers
        listed = integers[integers[Header.CLASS_AT] + np.maximum(classes, 0)]
        masks = np.where(integers[listed] > 0, integers[listed - 1], 0)
        begins = integers[integers[Header.NEXT_AT]]
        return np.asarray((classes >= 0) & (masks & begins != 0))

    @property
    def moves(self) -> Ints:
        """[1 + class, state + 2]: where events lead to, as `Header.MOVES_AT` tells it."""
        width = int(self.integers[Header.STATES]) + 2
        return self.integers[self.integers[Header.MOVES_AT] - width :].reshape(-1, width)

    def _moves(self, states: ClassStates) -> list[Ints]:
        """Return where an event of each class leads to; nothing where that is not one state."""
        count = int(self.integers[Header.STATES])
        if not self.compares_neighbours or self.integers[Header.STRATEGY] == ANY:
            return []
        if (len(states.at) + 1) * (count + 2) > MOST_MOVES:
            return []
        masks = np.where(states.at > 0, states.lists[states.at - 1], 0)
        begin = int(self.integers[Header.NEXT_AT])
        taken = masks[:, None] & self.integers[begin : begin + count + 1]
        if np.any(taken & (taken - 1)):
            return []
        moves = np.full((len(masks) + 1, count + 2), -1, dtype=np.int64)
        for state in range(count):
            moves[1:, :-1][taken == 1 << state] = state
        moves[0, -1], moves[1:, -1] = 0, masks != 0
        return [moves.reshape(-1)]

    def _size(self) -> int:
        """Return how many of the integers are not about classes: the last are integer constants."""
        return int(self.integers[Header.WHOLES_AT]) + len(self.program.wholes)


class ClassStates:
    """The states of a template that an event of each class takes, for the classes seen so far.

    `at[class]` is where the list of states begins in `lists`, its length first; before it, the
    states as bits.
    """

    def __init__(self, template: MatchTemplate, classes: Classes, size: int) -> None:
        self.at = np.zeros(size, dtype=np.int64)
        self.lists = np.zeros(1, dtype=np.int64)  # the empty list, of classes that no state takes
        self.negatives = tuple(ClassStates(n, classes, size) for n in template.negatives)
        self.taken: dict[int, tuple[int, ...]] = {}  # by class: its states
        self._classes = classes
        self._states = template.states

    def learn(self, codes: Sequence[int], numbers: Sequence[int]) -> None:
        """Take in classes: their codes, and the numbers that `at` knows them by."""
        lists = self.lists.tolist()
        if len(numbers) and max(numbers) >= len(self.at):
            self.at = np.concatenate([self.at, np.zeros(max(numbers) + 1, dtype=np.int64)])
        for code, number in zip(codes, numbers, strict=True):
            kind, true = self._classes.decode(int(code))
            taken = [n for n, s in enumerate(self._states) if s.type == kind and s.needs <= true]
            if taken:
                self.taken[number] = tuple(taken)
                self.at[number] = len(lists) + 1
                lists += [sum({1 << bit_of(state) for state in taken}), len(taken), *taken]
        self.lists = np.array(lists, dtype=np.int64)
        for negative in self.negatives:
            negative.learn(codes, numbers)


def bit_of(state: int) -> int:
    """Return the bit that stands for a state in a set of them."""
    return min(state, LAST_BIT)
