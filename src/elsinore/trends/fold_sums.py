"""The sums of a window after an action, and the pairs of trends of AND, compiled.

With counts c and sums y by node, and an action's numbers M (see `ActionShape`), after the action

    c'[p] = M[0, p] + sum over j of c[j] * M[row of j, p]
    y'[p] = My[0, p] + sum over j of c[j] * My[row of j, p] + y[j] * M[row of j, p]

where j are the nodes that lead to p; where p itself has no row there, c[p] and y[p] are added. Sums
and numbers are those of `elsinore.trends.engine.numbers`; MIN and MAX are ranks, their least.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.trends.engine.constants import Number
from elsinore.trends.engine.numbers import pairs, plus, product


@cython.cclass
class Folding:
    """The terms of sums and extremes after an action, and the values of a window before it.

    Sum c has the terms first[c] to first[c + 1]: each is the sum in a cell before the action (-1:
    1) times a number of the action (-1: 1). Extreme x is the least of the terms first_rank[x] to
    first_rank[x + 1]: a rank of the action and the extreme before it, if any (-1: none). A term
    with a cell counts only if the cell has trends and the number of the action is not 0.
    """

    first: cython.longlong[::1]
    cells: cython.longlong[::1]
    numbers: cython.longlong[::1]
    first_rank: cython.longlong[::1]
    rank_cells: cython.longlong[::1]
    rank_numbers: cython.longlong[::1]
    ranks: cython.longlong[::1]
    extremes: cython.longlong[::1]
    before: cython.double[::1]
    before_powers: cython.double[::1]
    before_least: cython.longlong[::1]

    def __init__(self, sums: Any, ranks: Any) -> None:
        self.first, self.cells, self.numbers = sums
        self.first_rank, self.rank_cells, self.rank_numbers, self.ranks, self.extremes = ranks
        self.before, self.before_powers = np.zeros((2, len(sums[0]) - 1))
        self.before_least = np.zeros(len(ranks[0]) - 1, np.int64)


@cython.cclass
class Numbers:
    """The numbers of actions, [action, number], and their ranks, [action, rank]."""

    mantissas: cython.const_double[:, ::1]
    powers: cython.const_double[:, ::1]
    ranks: cython.const_longlong[:, ::1]

    def __init__(self, mantissas: Any, powers: Any, ranks: Any) -> None:
        self.mantissas, self.powers, self.ranks = mantissas, powers, ranks


def fold(
    tables: Folding,
    windows: cython.const_longlong[:, ::1],
    actions: Numbers,
    sums: cython.double[:, ::1],
    powers: cython.double[:, ::1],
    least: cython.longlong[:, ::1],
) -> None:
    """Let actions windows[w, 0] to windows[w, 1] - 1 act on window w."""
    window: cython.Py_ssize_t
    action: cython.Py_ssize_t
    place: cython.Py_ssize_t
    cells: cython.Py_ssize_t = tables.first.shape[0] - 1
    extremes: cython.Py_ssize_t = tables.first_rank.shape[0] - 1
    with cython.nogil:
        for window in range(windows.shape[0]):
            for action in range(windows[window, 0], windows[window, 1]):
                for place in range(cells):
                    tables.before[place] = sums[window, place]
                    tables.before_powers[place] = powers[window, place]
                for place in range(extremes):
                    tables.before_least[place] = least[window, place]
                for place in range(cells):
                    total: Number = sum_after(tables, place, actions, action)
                    sums[window, place] = total.mantissa
                    powers[window, place] = total.power
                for place in range(extremes):
                    least[window, place] = least_after(tables, place, actions, action)


@cython.nogil
def sum_after(
    tables: Folding, cell: cython.Py_ssize_t, actions: Numbers, action: cython.Py_ssize_t
) -> Number:
    """Return a sum after an action."""
    total: Number = Number(0.0, 0.0)
    term: cython.Py_ssize_t
    for term in range(tables.first[cell], tables.first[cell + 1]):
        source: cython.longlong = tables.cells[term]
        number: cython.longlong = tables.numbers[term]
        part: Number = Number(1.0, 0.0)
        if source >= 0:
            part = Number(tables.before[source], tables.before_powers[source])
        if number >= 0:
            factor: Number = Number(
                actions.mantissas[action, number], actions.powers[action, number]
            )
            part = factor if source < 0 else product(part, factor)
        total = plus(total, part)
    return total


@cython.nogil
def least_after(
    tables: Folding, extreme: cython.Py_ssize_t, actions: Numbers, action: cython.Py_ssize_t
) -> cython.longlong:
    """Return the least rank after an action."""
    best: cython.longlong = actions.ranks[action, tables.ranks[tables.first_rank[extreme]]]
    term: cython.Py_ssize_t
    for term in range(tables.first_rank[extreme], tables.first_rank[extreme + 1]):
        cell: cython.longlong = tables.rank_cells[term]
        if cell >= 0 and (
            tables.before[cell] == 0.0
            or actions.mantissas[action, tables.rank_numbers[term]] == 0.0
        ):
            continue
        best = min(best, actions.ranks[action, tables.ranks[term]])
        if tables.extremes[term] >= 0:
            best = min(best, tables.before_least[tables.extremes[term]])
    return best


def pairs_of_rows(
    sums: cython.const_double[:, ::1],
    powers: cython.const_double[:, ::1],
    totals: cython.double[::1],
    total_powers: cython.double[::1],
) -> None:
    """Put the pairs of trends of each column of `sums` into `totals` and `total_powers`.

    sums: [0, 1, 2] the numbers of trends of the one pattern, of the other and of both.
    """
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(totals.shape[0]):
            total: Number = pairs(
                Number(sums[0, row], powers[0, row]),
                Number(sums[1, row], powers[1, row]),
                Number(sums[2, row], powers[2, row]),
            )
            totals[row] = total.mantissa
            total_powers[row] = total.power
