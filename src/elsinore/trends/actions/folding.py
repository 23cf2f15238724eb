"""The second stage: a key's actions, in the order of time, to sums of windows.

With counts c and sums y by node, and an action's numbers M (see `ActionShape`), after the action

    c'[p] = M[0, p] + sum over j of c[j] * M[row of j, p]
    y'[p] = My[0, p] + sum over j of c[j] * My[row of j, p] + y[j] * M[row of j, p]

where j are the nodes that lead to p; where p itself has no row there, c[p] and y[p] are added. Sums
of windows are in extended range, and plain doubles as long as they can be; MIN and MAX are ranks,
their least.
"""

# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.numeric.extended import THRESHOLD
from elsinore.trends.actions.shape import COUNT, FIRST, LEADING, SAME, STAYS, Sources
from elsinore.trends.core.arrays import Codes, Doubles, Ints
from elsinore.trends.core.extended import add, normalise
from elsinore.trends.core.recurrence import gained, gained_extended, least_reached


class Sums(NamedTuple):
    """The sums of windows: [window, cell] in extended range, and [window, extreme]."""

    numbers: Doubles
    powers: Ints
    least: Ints


class Actions(NamedTuple):
    """What actions hold: [action, number], and [action, extreme] the rank."""

    numbers: Doubles
    ranks: Ints


@kernel(borrows=True)
def fold(sources: Sources, windows: Ints, actions: Actions, sums: Sums, before: Sums) -> None:
    """Let actions windows[w, 0] to windows[w, 1] - 1 act on window w of `sums`.

    before: of one window, room for what it is before an action, with a cell behind all that is 0.
    """
    cells, extremes = len(sources.cells) - 1, len(sources.extremes) - 1
    for window in range(len(windows)):
        plain = _are_plain(sums, window)
        for action in range(windows[window, 0], windows[window, 1]):
            for cell in range(cells):
                before.numbers[0, cell] = sums.numbers[window, cell]
            for extreme in range(extremes):
                before.least[0, extreme] = sums.least[window, extreme]
            if not (plain and _apply_plainly(sources, window, action, actions, sums, before)):
                for cell in range(cells):
                    before.powers[0, cell] = sums.powers[window, cell]
                _apply(sources, window, action, actions, sums, before)
                plain = _are_plain(sums, window)
            if extremes != 0:
                _take_least(sources, window, action, actions, sums, before)


@kernel(borrows=True, linked=True)
def _are_plain(sums: Sums, window: int) -> bool:
    """Return whether none of a window's sums has a power."""
    powers = 0
    for cell in range(sums.powers.shape[1]):
        powers |= sums.powers[window, cell]
    return powers == 0


@kernel(borrows=True, linked=True)
def _apply_plainly(
    sources: Sources, window: int, action: int, actions: Actions, sums: Sums, before: Sums
) -> bool:
    """Let an action act on a window's sums, which have no powers; return whether none needs one."""
    numbers, there, fits = actions.numbers, before.numbers, True
    for cell in range(len(sources.cells) - 1):
        first, count = sources.cells[cell, FIRST], sources.cells[cell, COUNT]
        ahead = sources.cells[count, FIRST] - first
        total = numbers[action, first]
        if sources.cells[cell, STAYS] != 0:
            total += there[0, cell]
        for place in range(first + 1, sources.cells[cell + 1, FIRST]):
            own, same = sources.numbers[place, LEADING], sources.numbers[place, SAME]
            trends = numbers[action, place + ahead]
            total += gained(there[0, same], trends, there[0, own], numbers[action, place])
        sums.numbers[window, cell] = total
        fits &= abs(total) < THRESHOLD
    return fits


@kernel(borrows=True, linked=True, rare=True)
def _apply(
    sources: Sources, window: int, action: int, actions: Actions, sums: Sums, before: Sums
) -> None:
    """Let an action act on a window's sums; `before` is what they were."""
    numbers, there, powers = actions.numbers, before.numbers, before.powers
    cells = len(sources.cells) - 1
    for cell in range(cells):
        first, count = sources.cells[cell, FIRST], sources.cells[cell, COUNT]
        ahead = sources.cells[count, FIRST] - first
        total, power = normalise(numbers[action, first], np.int64(0))
        if sources.cells[cell, STAYS] != 0:
            total, power = add(total, power, there[0, cell], powers[0, cell])
        for place in range(first + 1, sources.cells[cell + 1, FIRST]):
            own, same = sources.numbers[place, LEADING], sources.numbers[place, SAME]
            # what becomes of the trends' own sum, and what their number adds to it
            for of, number in ((own, place), (same, place + ahead)):
                factor = numbers[action, number]
                if of < cells and factor != 0.0 and there[0, of] != 0.0:
                    total, power = gained_extended(
                        total, power, there[0, of], powers[0, of], factor
                    )
        sums.numbers[window, cell] = total
        sums.powers[window, cell] = power


@kernel(borrows=True, linked=True)
def _take_least(
    sources: Sources, window: int, action: int, actions: Actions, sums: Sums, before: Sums
) -> None:
    """Let an action act on a window's extremes; `before` is what it was."""
    numbers, ranks = actions.numbers, actions.ranks
    for extreme in range(len(sources.extremes) - 1):
        first, count = sources.extremes[extreme, FIRST], sources.extremes[extreme, COUNT]
        ahead = sources.cells[count, FIRST] - first
        best = ranks[action, first]
        if sources.extremes[extreme, STAYS] != 0:
            best = min(best, before.least[0, extreme])
        for place in range(first + 1, sources.extremes[extreme + 1, FIRST]):
            own, same = sources.ranks[place, LEADING], sources.ranks[place, SAME]
            if numbers[action, place + ahead] != 0.0:
                rank = ranks[action, place]
                if same >= 0:
                    rank = min(rank, before.least[0, same])
                best = least_reached(best, rank, before.numbers[0, own])
        sums.least[window, extreme] = best


@kernel
def add_up(states: Doubles, powers: Ints, rows: Ints, places: Ints) -> tuple[Doubles, Codes]:
    """Return for some rows of `states` the sum of the cells in `places`."""
    sums = np.zeros(len(rows))
    sum_powers = np.zeros(len(rows), dtype=np.int32)
    for place, row in enumerate(rows):
        total, power = 0.0, np.int64(0)
        for cell in places:
            total, power = add(total, power, states[row, cell], powers[row, cell])
        sums[place] = total
        sum_powers[place] = power
    return sums, sum_powers
