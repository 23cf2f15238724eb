"""Bursts that are not shared, and those whose graphlet is known in one go."""

from __future__ import annotations

import numpy as np

from elsinore.trends.core.extended import scale
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.forms import plus, times
from elsinore.trends.hamlet.layout import (
    BEFORE,
    NOW,
    Actions,
    Events,
    Mode,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.masks import has, has_others
from elsinore.trends.hamlet.seats import end_of_moment
from elsinore.trends.hamlet.states import add_to_cell, take, with_input


@wide_kernel(linked=True)
def alone(
    program: Program,
    actions: Actions,
    work: Work,
    events: Events,
    mode: Mode,
    number: int,
    low: int,
    high: int,
    shared: Words,
    some_share: bool,
) -> None:
    """Process a burst for each holder that does not share it (HAMLET, Equations 1 to 3).

    Where no predicate tells predecessors apart, an event's count is what went before plus what came
    in: x = inputs + cells, and cells += x.
    """
    begin, end = program.sets[number].set_cell, program.sets[number + 1].set_cell
    counts = program.sets[number + 1].holders - program.sets[number].holders
    simple = program.sets[number].values == 1 and program.sets[number].carried == 0
    i = low
    while i < high:
        j = end_of_moment(events, mode.by_time, i, high)
        if (
            simple
            and j == i + 1
            and not some_share
            and actions.entries[events.listed[i].entry].everyone != 0
        ):
            # in place, because every holder stands for itself
            for cell in range(begin, begin + counts):
                x, x_power = with_input(work, NOW, cell)
                add_to_cell(work, NOW, cell, x, x_power)
            i = j
            continue
        source = BEFORE if j > i + 1 else NOW
        if source == BEFORE:
            for cell in range(begin, end):
                work.cells[BEFORE, cell] = work.cells[NOW, cell]
                work.powers[BEFORE, cell] = work.powers[NOW, cell]
            for place in range(program.sets[number].set_least, program.sets[number + 1].set_least):
                work.least[BEFORE, place] = work.least[NOW, place]
        for e in range(i, j):
            entry, row = events.listed[e].entry, events.listed[e].row
            if some_share and not has_others(actions, entry, shared):
                continue
            for t in range(actions.entries[entry].takers, actions.entries[entry + 1].takers):
                member = actions.lists[t]
                if some_share and has(shared, program.members[member].group):
                    continue
                state = program.members[member].member
                if simple:
                    cell = program.fields[program.states[state].field].address
                    for _ in range(program.kinds[program.states[state].window].overlap):
                        x, x_power = with_input(work, source, cell)
                        add_to_cell(work, NOW, cell, x, x_power)
                        cell += 1
                else:
                    take(program, work, events, state, row, source, NOW)
        i = j


@wide_kernel(linked=True)
def double(
    program: Program,
    work: Work,
    number: int,
    events: Events,
    by_time: bool,
    low: int,
    high: int,
    shared: Words,
) -> None:
    """Process a plain shared burst that all who share take whole, COUNT(*) alone: one snapshot.

    After an event the sum of the coefficients is twice what it was and one; after m events of one
    moment, m + 1 times that and m.
    """
    total, power = 0.0, 0
    i = low
    while i < high:
        j = end_of_moment(events, by_time, i, high)
        x, x_power = plus(total, power, 1.0, 0)
        if j - i > 1:
            x, x_power = scale(x, x_power, np.float64(j - i))
        total, power = plus(total, power, x, x_power)
        i = j
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        if not has(shared, program.members[m].group):
            continue
        state = program.members[m].member
        cell = program.fields[program.states[state].field].address
        for _ in range(program.kinds[program.states[state].window].overlap):
            x, x_power = with_input(work, NOW, cell)
            if x != 0.0:
                x, x_power = times(x, x_power, total, power)
                add_to_cell(work, NOW, cell, x, x_power)
            cell += 1
