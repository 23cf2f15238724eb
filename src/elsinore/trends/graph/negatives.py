"""When the matches of patterns under NOT begin and end.

Of all matches that have ended before a moment only the one that begins last matters (see
`layout.Stretch`). Hence for each event and state it is enough to keep

    b(e, q) = the last moment in which a match may begin whose latest event is e, in state q
            = e's own moment if a match may start there, else
              the greatest b(e', p) over the events e' that may precede e and moves p -> q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.graph.guards import all_hold, stored_entries, threshold
from elsinore.trends.graph.interpret import CHUNK, Conditions
from elsinore.trends.graph.layout import (
    CONDITIONS,
    END,
    GUARD,
    MOVES,
    POOL,
    SOURCE,
    START,
    STORED,
    WAY,
    Program,
    Stream,
    Stretch,
)
from elsinore.trends.keyed import Ints

# columns of `Beginnings.lists`
BASE = 0  # first entry of a state
SIZE = 1  # entries of earlier moments
GROWN = 2  # and of this one
GREATEST = 3  # last moment in which a match begins, of those at earlier moments
PRESENT = 4  # and at this one

ROW, MOMENT, BEGIN = 0, 1, 2  # columns of `Beginnings.events`


class Beginnings(NamedTuple):
    """Events by the state they stand in, and the last moment in which their matches begin."""

    lists: Ints  # [state + 1, column]
    events: Ints  # [entry, column]


@kernel
def search(program: Program, conditions: Conditions, stream: Stream, stretch: Stretch) -> None:
    """Fill `stretch.latest` for all automata but the last."""
    states = program.automata[-1]
    for automaton in range(len(program.automata) - 2):
        lists = np.zeros((states + 1, 5), dtype=np.int64)
        room = stored_entries(program, stream, stretch, automaton, lists)
        for state in range(states):
            lists[state, GREATEST] = -1
            lists[state, PRESENT] = -1
        found = Beginnings(lists, np.empty((room, 3), dtype=np.int64))
        _search_one(program, conditions, stream, stretch, automaton, found)


@kernel
def _search_one(
    program: Program,
    conditions: Conditions,
    stream: Stream,
    stretch: Stretch,
    automaton: int,
    found: Beginnings,
) -> None:
    automata = len(program.automata) - 1
    first, last = program.automata[automaton], program.automata[automaton + 1]
    latest = stretch.latest[automaton]
    latest[0] = -1
    for moment in range(stretch.moments):
        ended = latest[moment]
        for row in range(stretch.begins[moment], stretch.begins[moment + 1]):
            kind = stream.classes[row]
            if kind < 0:
                continue
            place = kind * automata + automaton
            for at in range(program.fits[place], program.fits[place + 1]):
                state = program.lists[at]
                start = program.state[state, START]
                if start >= 0 and threshold(program, stretch, start, moment) < 0:
                    begin = np.int64(moment)
                else:
                    begin = _extended(program, conditions, stretch, found, state, moment, row)
                if begin < 0:
                    continue
                found.lists[state, PRESENT] = max(found.lists[state, PRESENT], begin)
                if program.state[state, STORED]:
                    entry = found.lists[state, BASE] + found.lists[state, GROWN]
                    found.events[entry, ROW] = row
                    found.events[entry, MOMENT] = moment
                    found.events[entry, BEGIN] = begin
                    found.lists[state, GROWN] += 1
                end = program.state[state, END]
                if end >= 0 and threshold(program, stretch, end, stretch.moments) <= moment:
                    ended = max(ended, begin)
        latest[moment + 1] = ended
        for state in range(first, last):
            found.lists[state, GREATEST] = found.lists[state, PRESENT]
            found.lists[state, SIZE] = found.lists[state, GROWN]


@kernel
def _extended(
    program: Program,
    conditions: Conditions,
    stretch: Stretch,
    found: Beginnings,
    state: int,
    moment: int,
    row: int,
) -> int:
    """Return the last moment in which a match begins that an event extends; -1 for none."""
    begin = np.int64(-1)
    for move in range(program.state[state, MOVES], program.state[state + 1, MOVES]):
        source = program.move[move, SOURCE]
        if program.move[move, WAY] == POOL:
            begin = max(begin, found.lists[source, GREATEST])
            continue
        if found.lists[source, GREATEST] <= begin:
            continue
        low = threshold(program, stretch, program.move[move, GUARD], moment)
        asked, after = program.move[move, CONDITIONS], program.move[move + 1, CONDITIONS]
        first = found.lists[source, BASE]
        last = first + found.lists[source, SIZE]
        while last > first:
            count = min(last - first, CHUNK)
            last -= count
            if found.events[last + count - 1, MOMENT] < max(low, begin + 1):
                break
            chosen = all_hold(
                conditions, program.lists, asked, after, found.events, last, count, row
            )
            for event in range(count):
                if chosen[event] and found.events[last + event, MOMENT] >= low:
                    begin = max(begin, found.events[last + event, BEGIN])
    return begin
