"""What moves ask of events and of what lies between them, and where events are kept."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.graph.interpret import Conditions, choose
from elsinore.trends.graph.layout import NO_GUARD, STORED, Program, Stream, Stretch
from elsinore.trends.keyed import Flags, Ints

NEVER_FREE = np.int64(2**62)  # after any moment


@kernel
def threshold(program: Program, stretch: Stretch, guard: int, moment: int) -> int:
    """Return the first moment after which nothing forbidden lies before `moment`; -1: none lies.

    Events of that moment or later may go on with an event of `moment`.
    """
    if guard == NO_GUARD:
        return -1
    lists = program.lists
    at = program.guards[guard]
    ways = lists[at]
    least = NEVER_FREE
    for _ in range(ways):
        at += 1
        last = np.int64(-1)
        negatives = lists[at]
        for place in range(at + 1, at + 1 + negatives):
            last = max(last, stretch.latest[lists[place], moment])
        at += negatives
        least = min(least, last)
    return least


@kernel
def stored_entries(
    program: Program, stream: Stream, stretch: Stretch, automaton: int, lists: Ints
) -> int:
    """Lay out lists of events, one for each state whose events are kept; return their length."""
    automata = len(program.automata) - 1
    first, last = program.automata[automaton], program.automata[automaton + 1]
    for state in range(first, last + 1):
        lists[state, 0] = 0
    for row in range(stretch.begins[0], stretch.begins[stretch.moments]):
        kind = stream.classes[row]
        if kind >= 0:
            place = kind * automata + automaton
            for at in range(program.fits[place], program.fits[place + 1]):
                state = program.lists[at]
                if program.state[state, STORED]:
                    lists[state, 0] += 1
    total = 0
    for state in range(first, last):
        count = lists[state, 0]
        lists[state, 0] = total
        total += count
    return total


@kernel
def all_hold(
    conditions: Conditions,
    lists: Ints,
    begin: int,
    end: int,
    events: Ints,
    first: int,
    count: int,
    row: int,
) -> Flags:
    """Return for some events whether all conditions of a list hold between them and a row.

    The conditions are lists[begin : end]; the events are told as for `choose`.
    """
    chosen = conditions.chosen
    chosen[:count] = 1
    for at in range(begin, end):
        choose(conditions, lists[at], events, first, count, row)
    return chosen
