"""Trends that hold an anchor, those of many anchors at once: each anchor is a lane.

An event goes on with the trends of those anchors for which its checks hold. Where no move looks at
single events, an anchor's trends are one sum for each state, so that one sweep over a window's
events serves as many anchors as a condition is looked at for at once. It does for them what a sweep
for each anchor does (`elsinore.trends.graph.runs`), with 2,000 anchors in a thirtieth of the time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.addends import NOTHING
from elsinore.trends.graph.guards import all_hold, threshold
from elsinore.trends.graph.interpret import Conditions
from elsinore.trends.graph.layout import (
    ANCHOR,
    ANY,
    CHECKS,
    END,
    MOVES,
    POOL,
    REFUSED,
    SOURCE,
    STRATEGY,
    WAY,
    Program,
    Stream,
    Stretch,
)
from elsinore.trends.graph.sums import TOTAL, Sums, add_rows, add_to, clear_rows, contribute, put
from elsinore.trends.keyed import Ints

ROW, MOMENT, STATE = 0, 1, 2  # columns of seeds


class Lanes(NamedTuple):
    """Anchors, a lane each, and rows of sums for them.

    A sum of all lanes is `width` rows of `sums`: from row `at` on that of the present event, then
    for each state those of earlier events, for each state those of the present moment, and that of
    the trends that have ended.
    """

    seeds: Ints  # [seed, column], in the order of time
    sums: Sums
    seeded: int  # the row of what the first seed amounts to
    at: int
    width: int


@kernel
def blocks(states: int) -> int:
    """Return how many sums of all lanes there are."""
    return 2 + 2 * states


@kernel
def in_lanes(program: Program) -> bool:
    """Return whether the trends of an anchor are sums by state, of whatever events they are."""
    if program.shape[STRATEGY] != ANY:
        return False
    states = len(program.state) - 1
    begin = program.state[program.automata[-2], MOVES]
    for move in range(begin, program.state[states, MOVES]):
        if program.move[move, WAY] != POOL:
            return False
    return True


@kernel
def sweep_lanes(
    program: Program,
    conditions: Conditions,
    stream: Stream,
    stretch: Stretch,
    lanes: Lanes,
    begin: int,
    count: int,
) -> None:
    """Add to the total all trends that hold the seeds `begin` to `begin + count` - 1."""
    sums, seeds, width = lanes.sums, lanes.seeds, lanes.width
    automata = len(program.automata) - 1
    states = len(program.state) - 1
    clear_rows(sums, lanes.at, lanes.at + blocks(states) * width)
    ended = lanes.at + (blocks(states) - 1) * width
    every = np.ones(width, dtype=np.uint8)
    active = 0  # lanes whose anchors are past
    for moment in range(seeds[begin, MOMENT] + 1, stretch.moments):
        while active < count and seeds[begin + active, MOMENT] < moment:
            seed = begin + active
            row = lanes.at + (1 + seeds[seed, STATE]) * width + active
            put(sums, row, sums, lanes.seeded + seed)
            active += 1
        waiting = False
        single = stretch.begins[moment] + 1 == stretch.begins[moment + 1]
        for row in range(stretch.begins[moment], stretch.begins[moment + 1]):
            kind = stream.classes[row]
            if kind < 0:
                continue
            place = kind * automata + automata - 1
            for at in range(program.fits[place], program.fits[place + 1]):
                state = program.lists[at]
                if program.state[state, ANCHOR] or not _reach(
                    program, conditions, lanes, begin, active, state, row
                ):
                    continue
                if _contributes(program, state):
                    for lane in range(lanes.at, lanes.at + active):
                        if sums.cells[lane, 0] != 0.0:
                            contribute(program, stream, state, row, sums, lane)
                target = lanes.at + (1 + state) * width
                if not single or program.fits[place] + 1 < program.fits[place + 1]:
                    waiting = True  # others of the moment must not see it
                    target += states * width
                add_rows(sums, target, lanes.at, every, active)
                end = program.state[state, END]
                if end != REFUSED and threshold(program, stretch, end, stretch.moments) <= moment:
                    add_rows(sums, ended, lanes.at, every, active)
        if waiting:
            for state in range(program.automata[-2], states):
                earlier = lanes.at + (1 + state) * width
                later = earlier + states * width
                add_rows(sums, earlier, later, every, active)
                clear_rows(sums, later, later + active)
    for lane in range(active):
        add_to(sums, TOTAL, ended + lane)


@kernel
def _reach(
    program: Program,
    conditions: Conditions,
    lanes: Lanes,
    begin: int,
    active: int,
    state: int,
    row: int,
) -> bool:
    """Add up what an event may go on with in a state; return whether that is anything."""
    clear_rows(lanes.sums, lanes.at, lanes.at + active)
    reached = False
    for move in range(program.state[state, MOVES], program.state[state + 1, MOVES]):
        source = lanes.at + (1 + program.move[move, SOURCE]) * lanes.width
        first, last = program.move[move, CHECKS], program.move[move + 1, CHECKS]
        chosen = all_hold(conditions, program.lists, first, last, lanes.seeds, begin, active, row)
        reached |= add_rows(lanes.sums, lanes.at, source, chosen, active)
    return reached


@kernel
def _contributes(program: Program, state: int) -> bool:
    """Return whether an event in a state adds to more than the number of trends."""
    for f in range(1, program.linear.shape[1]):
        if program.linear[state, f] != NOTHING:
            return True
    return bool(np.any(program.extreme[state] >= 0))
