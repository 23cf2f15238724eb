"""Computing and applying the actions of panes.

Row j + 1 of an action is what the pane makes of one trend that ended in node j before it: in the
cells of node p, how many trends it becomes that end in p, and what their events in the pane add to
each sum. Row 0 is what begins in the pane. With counts c, sums y and actions M, after the pane

    c'[p] = M[0, p] + sum over j of c[j] * M[j + 1, p]
    y'[p] = My[0, p] + sum over j of c[j] * My[j + 1, p] + y[j] * M[j + 1, p]

All numbers are in extended range; MIN and MAX are ranks, their least per row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel
from elsinore.numeric.extended import add, normalise, scale
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.updates import NOTHING, VALUE

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.uint8]


class Steps(NamedTuple):
    """What each class of events does; runs are given by where they begin, as in `Program`."""

    resets: Ints  # [class + 1] -> resets
    emptied: Codes  # [reset] -> the node it empties
    first_cell: Ints  # [node + 1] -> cells
    first_extreme: Ints  # [node + 1] -> extremes
    updates: Ints  # [class + 1] -> updates
    start: Flags  # [update] -> whether a trend may start there
    node: Codes  # [update] -> the node
    sums: Ints  # [update + 1] -> sums, the number of trends first
    target: Codes  # [sum] -> cell
    contribution: Codes  # [sum] -> NOTHING, ONE, VALUE + 2a or VALUE + 2a + 1
    terms: Ints  # [sum + 1] -> terms
    term: Codes  # [term] -> cell of a predecessor's sum
    extremes: Ints  # [update + 1] -> extremes
    extreme_target: Codes  # [extreme] -> place among extremes
    attribute: Codes  # [extreme] -> 2a or 2a + 1, or -1
    compared: Ints  # [extreme + 1] -> predecessors
    compared_extreme: Codes  # [predecessor] -> its extreme, or -1
    compared_cell: Codes  # [predecessor] -> cell of its number of trends


class Sources(NamedTuple):
    """Where a node's sums have their counterparts in other nodes."""

    count: Codes  # [node] -> cell of its number of trends
    node: Codes  # [cell] -> its node
    place: Codes  # [cell, node] -> the cell of the same sum in that node, or -1
    extreme_node: Codes  # [extreme] -> its node
    extreme_place: Codes  # [extreme, node] -> the same extreme in that node, or -1


@kernel
def act(
    steps: Steps,
    begin: int,
    end: int,
    times: Ints,
    classes: Codes,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    by_time: bool,
    cells: Doubles,
    powers: Codes,
    extremes: Ints,
) -> None:
    """Make a pane's action of the identity: `cells`, `powers`, `extremes`, by row.

    Events of one moment read what was there before it: what they add waits until the moment ends,
    and so do resets, which come before.
    """
    rows = cells.shape[0]
    added = np.zeros_like(cells)
    added_powers = np.zeros_like(powers)
    least = np.full_like(extremes, FOREVER)
    first = begin
    for event in range(begin, end):
        kind = classes[event]
        for update in range(steps.updates[kind], steps.updates[kind + 1]):
            sums = steps.sums[update]
            for row in range(rows):
                trends = 1.0 if steps.start[update] != 0 and row == 0 else 0.0
                power = np.int32(0)
                for t in range(steps.terms[sums], steps.terms[sums + 1]):
                    cell = steps.term[t]
                    trends, power = add(trends, power, cells[row, cell], powers[row, cell])
                if trends == 0.0:
                    continue
                for number in range(sums, steps.sums[update + 1]):
                    total, total_power = trends, power
                    if number > sums:
                        total, total_power = 0.0, np.int32(0)
                        for t in range(steps.terms[number], steps.terms[number + 1]):
                            cell = steps.term[t]
                            total, total_power = add(
                                total, total_power, cells[row, cell], powers[row, cell]
                            )
                        what = steps.contribution[number]
                        factor = 1.0 if what != NOTHING else 0.0
                        if what >= VALUE:
                            attribute = (what - VALUE) >> 1
                            if present[attribute, event] == 0:
                                factor = 0.0
                            elif what & 1 == 0:
                                factor = values[attribute, event]
                        if factor != 0.0:
                            own, own_power = scale(trends, power, factor)
                            total, total_power = add(total, total_power, own, own_power)
                    target = steps.target[number]
                    total, total_power = add(
                        added[row, target], added_powers[row, target], total, total_power
                    )
                    added[row, target] = total
                    added_powers[row, target] = total_power
                for number in range(steps.extremes[update], steps.extremes[update + 1]):
                    best = FOREVER
                    attribute = steps.attribute[number]
                    if attribute >= 0 and ordered[attribute >> 1, event] != 0:
                        best = orders[attribute >> 1, event]
                        if attribute & 1 == 1:
                            best = ~best
                    for p in range(steps.compared[number], steps.compared[number + 1]):
                        place = steps.compared_extreme[p]
                        if place >= 0 and cells[row, steps.compared_cell[p]] != 0.0:
                            best = min(best, extremes[row, place])
                    target = steps.extreme_target[number]
                    least[row, target] = min(least[row, target], best)
        if event + 1 < end and by_time and times[event + 1] == times[event]:
            continue
        for later in range(first, event + 1):
            kind = classes[later]
            for reset in range(steps.resets[kind], steps.resets[kind + 1]):
                node = steps.emptied[reset]
                one, after = steps.first_cell[node], steps.first_cell[node + 1]
                cells[:, one:after] = 0.0
                powers[:, one:after] = 0
                one, after = steps.first_extreme[node], steps.first_extreme[node + 1]
                extremes[:, one:after] = FOREVER
        for later in range(first, event + 1):
            kind = classes[later]
            for update in range(steps.updates[kind], steps.updates[kind + 1]):
                for number in range(steps.sums[update], steps.sums[update + 1]):
                    cell = steps.target[number]
                    for row in range(rows):
                        total, power = add(
                            cells[row, cell],
                            powers[row, cell],
                            added[row, cell],
                            added_powers[row, cell],
                        )
                        cells[row, cell] = total
                        powers[row, cell] = power
                        added[row, cell] = 0.0
                        added_powers[row, cell] = 0
                for number in range(steps.extremes[update], steps.extremes[update + 1]):
                    target = steps.extreme_target[number]
                    for row in range(rows):
                        extremes[row, target] = min(extremes[row, target], least[row, target])
                        least[row, target] = FOREVER
        first = event + 1


@kernel(inline=True)
def _times(mantissa: float, exponent: int, other: float, power: int) -> tuple[float, int]:
    """Return the product of two normal numbers, normal."""
    return normalise(mantissa * other, exponent + power)


@kernel
def apply(
    sources: Sources,
    cells: Doubles,
    powers: Codes,
    extremes: Ints,
    action: Doubles,
    action_powers: Codes,
    action_extremes: Ints,
) -> None:
    """Let a pane act on a window's `cells`, `powers` [cell] and `extremes` [extreme]."""
    nodes = sources.count.shape[0]
    before, before_powers = cells.copy(), powers.copy()
    extremes_before = extremes.copy()
    for cell in range(cells.shape[0]):
        count = sources.count[sources.node[cell]]
        total, power = action[0, cell], action_powers[0, cell]
        for node in range(nodes):
            own = sources.count[node]
            if before[own] == 0.0:
                continue
            part, part_power = _times(
                before[own],
                before_powers[own],
                action[node + 1, cell],
                action_powers[node + 1, cell],
            )
            total, power = add(total, power, part, part_power)
            place = sources.place[cell, node]
            if cell != count and place >= 0:
                part, part_power = _times(
                    before[place],
                    before_powers[place],
                    action[node + 1, count],
                    action_powers[node + 1, count],
                )
                total, power = add(total, power, part, part_power)
        cells[cell] = total
        powers[cell] = power
    for extreme in range(extremes.shape[0]):
        count = sources.count[sources.extreme_node[extreme]]
        best = action_extremes[0, extreme]
        for node in range(nodes):
            if before[sources.count[node]] == 0.0 or action[node + 1, count] == 0.0:
                continue
            best = min(best, action_extremes[node + 1, extreme])
            place = sources.extreme_place[extreme, node]
            if place >= 0:
                best = min(best, extremes_before[place])
        extremes[extreme] = best


@kernel
def fold(
    sources: Sources,
    first: Ints,
    last: Ints,
    cells: Doubles,
    powers: Codes,
    extremes: Ints,
    states: Doubles,
    state_powers: Codes,
    least: Ints,
) -> None:
    """Let panes first[w], ..., last[w] - 1 act on the empty window w: states[w, cell] and so on."""
    for window in range(first.shape[0]):
        for pane in range(first[window], last[window]):
            apply(
                sources,
                states[window],
                state_powers[window],
                least[window],
                cells[pane],
                powers[pane],
                extremes[pane],
            )


@kernel
def add_up(states: Doubles, powers: Codes, places: Ints) -> tuple[Doubles, Codes]:
    """Return for each row of `states` the sum of the cells in `places`."""
    sums = np.zeros(states.shape[0])
    sum_powers = np.zeros(states.shape[0], dtype=np.int32)
    for row in range(states.shape[0]):
        total, power = 0.0, np.int32(0)
        for cell in places:
            total, power = add(total, power, states[row, cell], powers[row, cell])
        sums[row] = total
        sum_powers[row] = power
    return sums, sum_powers
