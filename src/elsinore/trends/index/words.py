"""What the kernels of indexed windows read of a query and of classes of events, as words.

A query is the words STATES to ORIGIN, and for each state of its template the words START to BEFORE.
A class of events is the list of the states that it takes, its length first.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from elsinore.model.expression import Operator
from elsinore.plan import TrendUnit
from elsinore.plan.template import Adjacent
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.hamlet.program import MOST_LOOKED_UP
from elsinore.trends.hamlet.sets import states_of
from elsinore.trends.updates import addend_codes, rank_codes

# the words of a query: its states, the list of those that trends end in, its windows, and how many
# different values are compared, where these are numbered from 0 on, or else 0
STATES, ACCEPTING, WITHIN, STEP, ORIGIN, VALUES, QUERY_WORDS = range(7)
# the words of a state: whether trends start in it; how many events before one it may follow (NONE
# of its own, values below, up to or EQUAL to its own); whether greater values come first; the rows
# of what is compared; the list of the states before it, itself among them where nothing is compared
START, COMPARED, INVERTED, CURRENT, PREVIOUS, BEFORE, STATE_WORDS = range(7)
NONE, BELOW, UP_TO, EQUAL = range(4)

_COMPARED = {
    Operator.LT: BELOW,
    Operator.GT: BELOW,
    Operator.LE: UP_TO,
    Operator.GE: UP_TO,
    Operator.EQ: EQUAL,
}


class QueryWords:
    """The words of a unit's only query; those of classes are added as they occur."""

    def __init__(self, unit: TrendUnit) -> None:
        self._unit = unit
        self._states = states_of(unit.templates, addend_codes(unit), rank_codes(unit))
        self._numbers: dict[int, int] = {}
        self._lists: list[int] = []

    def query(self, columns: ComparedColumns, values: int) -> Ints:
        """Return the query's words, with the rows of `columns` that its states compare.

        values: how many different ones there are, where they are numbered, or else 0.
        """
        template = self._unit.templates[0]
        window = template.query.window
        size = QUERY_WORDS + STATE_WORDS * len(self._states)
        lists: list[int] = []

        def listed(items: Iterable[int]) -> int:
            place, found = size + len(lists), list(items)
            lists.extend([len(found), *found])
            return place

        told = (
            (int(FOREVER), 1, 0) if window is None else (window.within, window.step, window.origin)
        )
        words = [len(self._states), listed(sorted(template.accepting)), *told, values]
        for number, state in enumerate(self._states):
            own = [number] if state.fine and state.adjacent is None else []
            compared = _compared(state.adjacent, columns)
            words += [int(state.start), *compared, listed([*state.before, *own])]
        return np.array([*words, *lists], dtype=np.int64)

    def classes(self, codes: NDArray[np.int64]) -> tuple[Ints, Ints]:
        """Return the place of the list of states that each event takes, -1 for none; the lists."""
        if self._unit.classes.size <= MOST_LOOKED_UP:
            occurring = np.zeros(self._unit.classes.size + 1, dtype=np.bool_)
            occurring[codes] = True  # the last stands for -1, what is of no interest
            table = np.full(len(occurring), -1, dtype=np.int64)
            for code in np.flatnonzero(occurring[:-1]).tolist():
                table[code] = self._class(code)
            found = table[codes]
        else:
            present, inverse = np.unique(codes, return_inverse=True)
            places = [-1 if code < 0 else self._class(code) for code in present.tolist()]
            found = np.array(places, dtype=np.int64)[inverse.reshape(-1)]
        return found, np.array(self._lists, dtype=np.int64)

    def _class(self, code: int) -> int:
        if code not in self._numbers:
            type_name, true = self._unit.classes.decode(code)
            taken = [
                number
                for number, state in enumerate(self._states)
                if state.type == type_name and state.needs <= true and not state.lacks & true
            ]
            self._numbers[code] = len(self._lists) if taken else -1
            self._lists += [len(taken), *taken] if taken else []
        return self._numbers[code]


def _compared(adjacent: Adjacent | None, columns: ComparedColumns) -> tuple[int, int, int, int]:
    """Return the words COMPARED to PREVIOUS of a state."""
    if adjacent is None:
        return NONE, 0, -1, -1
    inverted = adjacent.operator in {Operator.LT, Operator.LE}
    rows = columns.rows(adjacent.current, adjacent.previous)
    return (_COMPARED[adjacent.operator], int(inverted), *rows)
