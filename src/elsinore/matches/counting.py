# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""How many ways there are to complete a match, from the window's end backwards.

What kernels here are passed is told in `elsinore.matches.search`. Edges whose one condition
compares an attribute with one of the event before it have trees of sums, each with one behind it
that tells how soon a match ends; they are behind the sums of states in `sums`, made ready by
`elsinore.matches.ranks`. Each has an entry in the tables: the state it leads to, the row of
`integers` with places in the tree, the row with how many places count for an event before, where
the tree begins and how many places it has.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Registers, Relevant, Rules, Values
from elsinore.matches.interpret import STACK
from elsinore.matches.reach import ROW, TAKES, WHEN
from elsinore.matches.search import (
    BEGIN,
    EDGE_AT,
    END_AT,
    EVENTS,
    FIRST,
    FRESH,
    LAST,
    NEAR_AT,
    STATES,
    TIME,
    WAY_AT,
    WAYS_TO,
    WITHIN,
    are_neighbours,
)

ORDERED_AT = 29  # a place in the header of `tables` (`elsinore.matches.tables.Header`)
TARGET, PLACE_ROW, BOUND_ROW, TREE_AT, TREE_SIZE = range(5)  # of an entry
ENTRY = 5
FAR = np.int64(2**63 - 1)  # beyond all times
LONG = 64  # events of a window from which on trees are faster


@kernel(borrows=True, linked=True)
def put_in(
    tables: Ints,
    ordered: int,
    integers: Ints,
    row: int,
    state: int,
    ways: float,
    soon: float,
    stack: Doubles,
) -> None:
    """Add the ways of a row in a state to the trees of edges that lead there; 0: clear its path.

    soon: how many events there are from the end of the first match on.
    """
    edges = tables[ordered]
    for edge in range(edges):
        entry = tables[ordered + 1 + edge]
        if entry < 0 or tables[entry + TARGET] != state:
            continue
        place = integers[tables[entry + PLACE_ROW], row]
        if place < 0:
            continue
        tree, size = tables[entry + TREE_AT], tables[entry + TREE_SIZE]
        place += 1
        while place <= size:
            ending = tree + size + 1 + place
            if ways == 0.0:
                stack[tree + place], stack[ending] = 0.0, 0.0
            else:
                stack[tree + place] += ways
                stack[ending] = max(stack[ending], soon)
            place += place & -place


@kernel(borrows=True, linked=True)
def sum_before(tables: Ints, entry: int, integers: Ints, row: int, stack: Doubles) -> float:
    """Return the ways of all rows in the tree that may follow a row."""
    tree = tables[entry + TREE_AT]
    place = integers[tables[entry + BOUND_ROW], row]
    total = 0.0
    while place > 0:
        total += stack[tree + place]
        place -= place & -place
    return total


@kernel(borrows=True, linked=True)
def soonest_before(tables: Ints, entry: int, integers: Ints, row: int, stack: Doubles) -> float:
    """Return how soon a match ends by some row in the tree that may follow a row (see `put_in`)."""
    tree = tables[entry + TREE_AT] + tables[entry + TREE_SIZE] + 1
    place = integers[tables[entry + BOUND_ROW], row]
    soon = 0.0
    while place > 0:
        soon = max(soon, stack[tree + place])
        place -= place & -place
    return soon


@kernel(borrows=True, linked=True)
def completions(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    relevant: Relevant,
    last: int,
    progress: Ints,
    registers: Registers,
) -> None:
    """Count the ways to complete a match: `ways` [event, state], for progress[BEGIN] to `last`.

    And behind these, [event, states + state]: at which event the first of such matches ends; the
    number of events where there is none. So `last` may lie behind progress[LAST], the window's end:
    what ends later is told from what does not. There are no more ways in the window than are
    counted then: up to the window's end there are just so many.

    A match ends at row progress[FRESH] or later. An event in a state adds up, over the states that
    may follow, the ways of all later events; or, where a condition on neighbours or a NOT decides,
    of each later event that it lets through. (The number of paths of a directed graph without
    cycles, from its ends backwards.) In a long window the ways of later events whose attribute
    compares as it should are read off a tree of sums (Fenwick 1994): n log n, not n * n.
    """
    events, ways, sums, integers = relevant.events, relevant.ways, relevant.sums, values.integers
    states, begin, never = tables[STATES], progress[BEGIN], float(progress[EVENTS])
    ordered = tables[ORDERED_AT] if last - begin >= LONG else 0
    for state in range(states):
        sums[STACK + state] = 0.0
        sums[STACK + states + state] = never
    done = last  # the ways of events after it have been added up
    for at in range(last, begin - 1, -1):
        while events[done, WHEN] > events[at, WHEN]:
            add_up(tables, ordered, integers, relevant, done, never)
            done -= 1
        for state in range(states):
            ways[at, state] = 0.0
            ways[at, states + state] = never
        listed = events[at, TAKES]
        for place in range(listed + 1, listed + 1 + tables[listed]):
            state = tables[place]
            ends = tables[tables[END_AT] + state] > -2 and events[at, ROW] >= progress[FRESH]
            ways[at, state] = 1.0 if ends else 0.0
            ways[at, states + state] = float(at) if ends else never
            for target in range(states):
                if sums[STACK + target] != 0.0:
                    add_following(
                        tables, rules, values, relevant, at, state, target, (ordered, done, last),
                        progress, registers,
                    )  # fmt: skip
    progress[WAYS_TO] = last
    if ordered > 0:
        for at in range(done + 1, last + 1):
            listed, row = events[at, TAKES], events[at, ROW]
            for place in range(listed + 1, listed + 1 + tables[listed]):
                put_in(tables, ordered, integers, row, tables[place], 0.0, 0.0, sums)


@kernel(borrows=True, linked=True)
def add_up(
    tables: Ints, ordered: int, integers: Ints, relevant: Relevant, at: int, never: float
) -> None:
    """Add the ways of event `at` to the sums of its states, and to the trees."""
    ways, sums, states = relevant.ways, relevant.sums, tables[STATES]
    row, listed = relevant.events[at, ROW], relevant.events[at, TAKES]
    for place in range(listed + 1, listed + 1 + tables[listed]):
        state = tables[place]
        count, ending = ways[at, state], ways[at, states + state]
        sums[STACK + state] += count
        sums[STACK + states + state] = min(sums[STACK + states + state], ending)
        if ordered > 0 and count > 0.0:
            put_in(tables, ordered, integers, row, state, count, never - ending, sums)


@kernel(borrows=True, linked=True)
def add_following(
    tables: Ints,
    rules: Rules | None,
    values: Values,
    relevant: Relevant,
    at: int,
    state: int,
    target: int,
    frame: tuple[int, int, int],
    progress: Ints,
    registers: Registers,
) -> None:
    """Add to the ways of event `at` in a state those of later events that follow in another.

    frame: where trees are listed (0: there are none), the event after which ways have been added
    up, the last event.
    """
    events, ways, sums, states = relevant.events, relevant.ways, relevant.sums, tables[STATES]
    ordered, done, last = frame
    edge = tables[tables[EDGE_AT] + (state + 1) * states + target]
    if edge < 0:
        return
    row = events[at, ROW]
    count, ending = ways[at, state], ways[at, states + state]
    if tables[tables[tables[NEAR_AT] + edge]] == 0 and tables[tables[WAY_AT] + edge] < 0:
        count += sums[STACK + target]
        ending = min(ending, sums[STACK + states + target])
    elif ordered > 0 and tables[ordered + 1 + edge] >= 0:
        entry = tables[ordered + 1 + edge]
        count += sum_before(tables, entry, values.integers, row, sums)
        soon = soonest_before(tables, entry, values.integers, row, sums)
        ending = min(ending, float(progress[EVENTS]) - soon)
    else:
        latest = FAR
        if last > progress[LAST]:
            latest = values.integers[TIME, row] + progress[WITHIN]
        for later in range(done + 1, last + 1):
            if values.integers[TIME, events[later, ROW]] > latest:
                break
            if ways[later, target] > 0.0 and are_neighbours(
                tables, edge, rules, values, events[later, ROW], row, progress[FIRST], registers
            ):
                count += ways[later, target]
                ending = min(ending, ways[later, states + target])
    ways[at, state] = count
    ways[at, states + state] = ending
