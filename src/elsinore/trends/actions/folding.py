"""The second stage: a key's actions, in the order of time, to sums of windows.

With counts c and sums y by node, and an action's numbers M (see `ActionShape`), after the action

    c'[p] = M[0, p] + sum over j of c[j] * M[row of j, p]
    y'[p] = My[0, p] + sum over j of c[j] * My[row of j, p] + y[j] * M[row of j, p]

where j are the nodes that lead to p. Sums of windows are in extended range; MIN and MAX are ranks,
their least.
"""

# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.numeric.extended import add, normalise
from elsinore.trends.actions.shape import Sources
from elsinore.trends.core.arrays import Codes, Doubles, Ints
from elsinore.trends.core.recurrence import gained_extended, least_reached


class Sums(NamedTuple):
    """The sums of windows: [window, cell] in extended range, and [window, extreme]."""

    numbers: Doubles
    powers: Ints
    least: Ints


@kernel(borrows=True)
def fold(
    sources: Sources, windows: Ints, numbers: Doubles, extremes: Ints, sums: Sums, before: Sums
) -> None:
    """Let actions windows[w, 0] to windows[w, 1] - 1 act on window w of `sums`.

    numbers, extremes: [action, cell or extreme, row]. before: of one window, room for what it is
    before an action.
    """
    for window in range(len(windows)):
        for action in range(windows[window, 0], windows[window, 1]):
            for cell in range(len(sources.counts)):
                before.numbers[0, cell] = sums.numbers[window, cell]
                before.powers[0, cell] = sums.powers[window, cell]
            for extreme in range(len(sources.extreme_counts)):
                before.least[0, extreme] = sums.least[window, extreme]
            _apply(sources, window, action, numbers, extremes, sums, before)


@kernel(borrows=True, linked=True)
def _apply(
    sources: Sources,
    window: int,
    action: int,
    numbers: Doubles,
    action_extremes: Ints,
    sums: Sums,
    before: Sums,
) -> None:
    """Let an action act on a window's sums; `before` is what they were."""
    cells, extremes = len(sources.counts), len(sources.extreme_counts)
    rows = sources.leading.shape[1]
    there, there_powers, there_least = before.numbers, before.powers, before.least
    for cell in range(cells):
        count = sources.counts[cell]
        total, power = normalise(numbers[action, cell, 0], np.int64(0))
        for row in range(1, rows):
            own, place = sources.leading[cell, row], sources.same[cell, row]
            # what becomes of the trends' own sum, and what their number adds to it
            for of, number in ((own, cell), (place, count)):
                factor = numbers[action, number, row]
                if of >= 0 and factor != 0.0 and there[0, of] != 0.0:
                    total, power = gained_extended(
                        total, power, there[0, of], there_powers[0, of], factor
                    )
        sums.numbers[window, cell] = total
        sums.powers[window, cell] = power
    for extreme in range(extremes):
        count = sources.extreme_counts[extreme]
        best = action_extremes[action, extreme, 0]
        for row in range(1, rows):
            own = sources.extreme_leading[extreme, row]
            if own >= 0 and numbers[action, count, row] != 0.0:
                rank = action_extremes[action, extreme, row]
                place = sources.extreme_same[extreme, row]
                if place >= 0:
                    rank = min(rank, there_least[0, place])
                best = least_reached(best, rank, there[0, own])
        sums.least[window, extreme] = best


@kernel
def add_up(states: Doubles, powers: Ints, places: Ints) -> tuple[Doubles, Codes]:
    """Return for each row of `states` the sum of the cells in `places`."""
    sums = np.zeros(len(states))
    sum_powers = np.zeros(len(states), dtype=np.int32)
    for row in range(len(states)):
        total, power = 0.0, np.int64(0)
        for cell in places:
            total, power = add(total, power, states[row, cell], powers[row, cell])
        sums[row] = total
        sum_powers[row] = power
    return sums, sum_powers
