"""The second stage: a key's actions, in the order of time, to sums of windows.

With counts c and sums y by node, and an action's numbers M (see `ActionShape`), after the action

    c'[p] = M[0, p] + sum over j of c[j] * M[row of j, p]
    y'[p] = My[0, p] + sum over j of c[j] * My[row of j, p] + y[j] * M[row of j, p]

where j are the nodes that lead to p; where p itself has no row there, c[p] and y[p] are added. Sums
of windows are numbers of `elsinore.trends.engine.numbers`; MIN and MAX are ranks, their least.
"""

from __future__ import annotations

from typing import Any

import cython

from elsinore.trends.engine.constants import Number
from elsinore.trends.engine.numbers import pairs, plus, times


@cython.cclass
class Folding:
    """The tables of `elsinore.trends.actions.shape.Sources`, and room for sums before an action.

    `before`, `before_powers` and `before_least` are of one window; behind its cells is one that is
    0.
    """

    first: cython.longlong[::1]
    counts: cython.longlong[::1]
    stays: cython.longlong[::1]
    leading: cython.longlong[::1]
    same: cython.longlong[::1]
    first_rank: cython.longlong[::1]
    rank_counts: cython.longlong[::1]
    rank_stays: cython.longlong[::1]
    rank_leading: cython.longlong[::1]
    rank_same: cython.longlong[::1]
    before: cython.double[::1]
    before_powers: cython.double[::1]
    before_least: cython.longlong[::1]

    def __init__(self, sources: Any, room: Any) -> None:
        self.first, self.counts, self.stays = sources.cells
        self.leading, self.same = sources.numbers
        self.first_rank, self.rank_counts, self.rank_stays = sources.extremes
        self.rank_leading, self.rank_same = sources.ranks
        self.before, self.before_powers, self.before_least = room


def fold(
    tables: Folding,
    windows: cython.const_longlong[:, ::1],
    actions: cython.const_double[:, ::1],
    ranks: cython.const_longlong[:, :],
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
                    least[window, place] = least_after(tables, place, actions, ranks, action)


@cython.nogil
def sum_after(
    tables: Folding,
    cell: cython.Py_ssize_t,
    actions: cython.const_double[:, ::1],
    action: cython.Py_ssize_t,
) -> Number:
    """Return a sum after an action."""
    first: cython.longlong = tables.first[cell]
    ahead: cython.longlong = tables.first[tables.counts[cell]] - first
    total: Number = plus(Number(0.0, 0.0), times(Number(1.0, 0.0), actions[action, first]))
    place: cython.Py_ssize_t
    if tables.stays[cell] != 0:
        total = plus(total, Number(tables.before[cell], tables.before_powers[cell]))
    for place in range(first + 1, tables.first[cell + 1]):
        own: cython.longlong = tables.leading[place]
        same: cython.longlong = tables.same[place]
        # what becomes of the trends' own sum, and what their number adds to it
        total = plus(total, product_of(tables, own, actions[action, place]))
        total = plus(total, product_of(tables, same, actions[action, place + ahead]))
    return total


@cython.inline
@cython.nogil
def product_of(tables: Folding, cell: cython.longlong, factor: cython.double) -> Number:
    """Return a sum before the action times a number of it; nothing times anything is nothing."""
    if factor == 0.0:
        return Number(0.0, 0.0)
    return times(Number(tables.before[cell], tables.before_powers[cell]), factor)


@cython.nogil
def least_after(
    tables: Folding,
    extreme: cython.Py_ssize_t,
    actions: cython.const_double[:, ::1],
    ranks: cython.const_longlong[:, :],
    action: cython.Py_ssize_t,
) -> cython.longlong:
    """Return the least rank after an action."""
    first: cython.longlong = tables.first_rank[extreme]
    ahead: cython.longlong = tables.first[tables.rank_counts[extreme]] - first
    best: cython.longlong = ranks[action, first]
    place: cython.Py_ssize_t
    if tables.rank_stays[extreme] != 0:
        best = min(best, tables.before_least[extreme])
    for place in range(first + 1, tables.first_rank[extreme + 1]):
        own: cython.longlong = tables.rank_leading[place]
        same: cython.longlong = tables.rank_same[place]
        if actions[action, place + ahead] != 0.0 and tables.before[own] != 0.0:
            best = min(best, ranks[action, place])
            if same >= 0:
                best = min(best, tables.before_least[same])
    return best


def add_up(
    sums: cython.const_double[:, ::1],
    powers: cython.const_double[:, ::1],
    rows: cython.const_longlong[::1],
    cells: cython.const_longlong[::1],
    totals: cython.double[::1],
    total_powers: cython.double[::1],
) -> None:
    """Put the sum of some cells of each row into `totals` and `total_powers`."""
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    with cython.nogil:
        for row in range(rows.shape[0]):
            total: Number = Number(0.0, 0.0)
            for place in range(cells.shape[0]):
                mantissa: cython.double = sums[rows[row], cells[place]]
                total = plus(total, Number(mantissa, powers[rows[row], cells[place]]))
            totals[row] = total.mantissa
            total_powers[row] = total.power


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
