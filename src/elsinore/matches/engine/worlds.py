# cython: infer_types=True
"""The search for matches of events with uncertain times (SASE++, Section 5.3).

The events of a key are in the order of their earliest possible times; an event may follow another
if it can be later than that one's earliest time. Each match that is extended has its confidence
(`elsinore.matches.engine.confidence`): below the threshold it is left, as no extension is more
probable. Events that NOT forbids make a complete match less probable (Section 2.3): one that can
lie in one gap of it alone contributes a factor. If another one could lie in several gaps, or the
query has NOTs of another kind, `elsinore.matches.cases` computes the confidence.
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import CLASS, TIME, Index
from elsinore.matches.engine.confidence import chance_of_match, chance_so_far
from elsinore.matches.engine.followers import follows
from elsinore.matches.engine.graph import enter
from elsinore.matches.engine.possible import FAR as _FAR
from elsinore.matches.engine.possible import (
    Worlds,
    chance_between,
    count_of,
    first_point,
    last_point,
)
from elsinore.matches.engine.tables import FOREVER as _FOREVER
from elsinore.matches.engine.tables import Program, Search
from elsinore.matches.engine.windows import first_at, first_event

FAR = cython.declare(cython.longlong, _FAR)
FOREVER = cython.declare(cython.longlong, _FOREVER)
BY_CASES = -1.0  # instead of a confidence that `elsinore.matches.cases` is to compute
UNKNOWN = cython.declare(cython.double, BY_CASES)


@cython.nogil
def begins_probably(program: Program, search: Search, worlds: Worlds, node: Index) -> cython.bint:
    """Return whether a match that begins with a node reaches the threshold."""
    put_step(search, worlds, 0, node)
    row: Index = worlds.steps[0].row
    worlds.steps[0].has_new = program.is_deferred or row >= search.keys[search.key].new_row
    return is_probable(search, worlds, 0)


@cython.nogil
def put_step(search: Search, worlds: Worlds, depth: Index, node: Index) -> cython.void:
    """Make a node the step at a depth."""
    worlds.steps[depth].row = search.events[search.nodes[node].event].row
    worlds.steps[depth].set = worlds.sets[search.nodes[node].state]


@cython.nogil
def is_probable(search: Search, worlds: Worlds, depth: Index) -> cython.bint:
    """Return whether the match up to a step reaches the threshold; count the times summed up."""
    for step in range(0 if worlds.has_sets else depth, depth + 1):
        search.steps += count_of(worlds.possible, worlds.steps[step].row)
    chance: cython.double = chance_so_far(worlds, depth)
    return chance > 0.0 and chance >= worlds.threshold


@cython.nogil
def is_confident(program: Program, search: Search, worlds: Worlds) -> cython.bint:
    """Return whether a match is due and reaches the threshold; keep its confidence.

    That is unknown if it is to be computed case by case.
    """
    depth: Index = search.depth
    if not worlds.steps[depth].has_new:
        return False
    if program.is_deferred and not is_over(search, worlds):
        return False
    worlds.near_count = 0
    chance: cython.double = UNKNOWN
    if worlds.has_gaps < 0:
        pass
    elif not worlds.has_gaps or look_around(program, search, worlds):
        worlds.summed = 0
        worlds.budget = search.budget - search.steps
        chance = chance_of_match(worlds, depth)
        search.steps += worlds.summed
        if chance <= 0.0 or chance < worlds.threshold:
            return False
    if worlds.register >= 0:
        search.numbers[depth + 1, worlds.register] = chance
    return True


@cython.nogil
def is_over(search: Search, worlds: Worlds) -> cython.bint:
    """Return whether the window of the match has passed by now, and had not before."""
    passed: cython.longlong = search.keys[search.key].passed
    reached: cython.longlong = search.keys[search.key].reached
    if search.slide > 0:
        return passed <= worlds.window_end < reached
    if search.within < 0:
        return reached == FOREVER
    latest: cython.longlong = search.values.integers[worlds.high, worlds.steps[0].row]
    return passed <= latest + search.within < reached


@cython.nogil
def look_around(program: Program, search: Search, worlds: Worlds) -> cython.bint:
    """Find the events that could lie in a gap of the match; return False if one has a choice."""
    lowest: cython.longlong = worlds.window_begin
    highest: cython.longlong = worlds.window_end
    if worlds.within >= 0:
        lowest = first_point(worlds.possible, worlds.steps[search.depth].row) - worlds.within
        highest = last_point(worlds.possible, worlds.steps[0].row) + worlds.within
    row: Index = search.first_row
    end_row: Index = search.keys[search.key].end_row
    if lowest > -FAR:
        row = first_at(search, row, end_row, lowest - worlds.longest)
    while row < end_row and search.values.integers[TIME, row] <= highest:
        is_in_one: cython.bint = False
        if not is_bound(worlds, search.depth, row):
            for gap in range(search.depth + 2):
                if not may_break(program, search, worlds, gap, row, lowest, highest):
                    continue
                if is_in_one:
                    return False
                is_in_one = True
                worlds.near[worlds.near_count].row = row
                worlds.near[worlds.near_count].gap = gap
                worlds.near_count += 1
        row += 1
    return True


@cython.nogil
def may_break(
    program: Program,
    search: Search,
    worlds: Worlds,
    gap: Index,
    row: Index,
    lowest: cython.longlong,
    highest: cython.longlong,
) -> cython.bint:
    """Return whether an event that NOT forbids in a gap of the match could lie there.

    The first gap begins at time `lowest`, the last one ends at `highest`.
    """
    depth: Index = search.depth
    guard: Index = program.states[search.nodes[search.frames[depth].node].state].guard
    if gap <= depth:
        guard = program.edges[search.frames[gap].edge].guard
    number: Index = search.values.integers[CLASS, row]
    if program.guards[guard].is_free or number < 0:
        return False
    way: Index = program.guards[guard].ways  # there is no other
    is_forbidden: cython.bint = False
    for place in range(program.ways[way].negatives, program.ways[way].negatives_end):
        if program.forbids[program.negatives[place], number]:
            is_forbidden = True
    if not is_forbidden:
        return False
    after: cython.longlong = lowest - 1
    before: cython.longlong = highest + 1
    if gap > 0:
        after = first_point(worlds.possible, worlds.steps[gap - 1].row)
    if gap <= depth:
        before = last_point(worlds.possible, worlds.steps[gap].row)
    return chance_between(worlds.possible, row, after, before) > 0.0


@cython.nogil
def set_reach(search: Search, worlds: Worlds) -> cython.void:
    """Set between which times the next event may be, and the first node that it may have."""
    depth: Index = search.depth
    row: Index = worlds.steps[depth].row
    event: Index = search.nodes[search.frames[depth].node].event
    earliest: cython.longlong = FAR
    for place in range(count_of(worlds.possible, row)):
        if worlds.has_sets or worlds.mass[depth, place] > 0.0:
            earliest = worlds.possible.points[worlds.possible.starts[row] + place]
            break
    step: Index = depth
    if worlds.steps[depth].set >= 0:  # the next event is later than all of the set
        while step > 0 and worlds.steps[step - 1].set == worlds.steps[depth].set:
            step -= 1
            earliest = max(earliest, first_point(worlds.possible, worlds.steps[step].row))
    worlds.steps[depth].earliest = earliest
    latest: cython.longlong = worlds.window_end
    if worlds.within >= 0:
        latest = last_point(worlds.possible, worlds.steps[0].row) + worlds.within
    worlds.steps[depth].latest = latest
    following: Index = first_event(search, 0, earliest - worlds.longest + 1)
    if worlds.has_sets:  # events of a set may be simultaneous
        following = min(following, event + 1)
    worlds.steps[depth].node = (
        search.node_count if following == search.event_count else search.events[following].node
    )


@cython.nogil
def extend_probably(program: Program, search: Search, worlds: Worlds) -> cython.bint:
    """Extend the match by the next node that may follow; return whether there was one."""
    depth: Index = search.depth
    previous: Index = search.frames[depth].row
    state: Index = search.nodes[search.frames[depth].node].state
    while worlds.steps[depth].node < search.node_count:
        node: Index = worlds.steps[depth].node
        event: Index = search.nodes[node].event
        if search.events[event].time > worlds.steps[depth].latest:
            break
        worlds.steps[depth].node += 1
        target: Index = search.nodes[node].state
        for edge in range(program.states[state].edges, program.states[state].edges_end):
            if program.edges[edge].target == target:
                break
        else:
            continue
        row: Index = search.events[event].row
        if not may_be_later(worlds, depth, row, target) or is_bound(worlds, depth, row):
            continue
        if not follows(program, search, edge, row, previous, depth + 1):
            continue
        put_step(search, worlds, depth + 1, node)
        if not is_probable(search, worlds, depth + 1):
            continue
        worlds.steps[depth + 1].has_new = (
            worlds.steps[depth].has_new or row >= search.keys[search.key].new_row
        )
        search.depth = depth + 1
        enter(search, node, edge)
        return True
    return False


@cython.nogil
def may_be_later(worlds: Worlds, depth: Index, row: Index, target: Index) -> cython.bint:
    """Return whether the times of an event let it follow the step at a depth in a state.

    A set has its events in the order of rows, so that each set is searched once.
    """
    if worlds.steps[depth].set >= 0 and worlds.steps[depth].set == worlds.sets[target]:
        return row >= worlds.steps[depth].row
    return last_point(worlds.possible, row) > worlds.steps[depth].earliest


@cython.nogil
def is_bound(worlds: Worlds, depth: Index, row: Index) -> cython.bint:
    """Return whether the match has an event."""
    for step in range(depth + 1):  # noqa: SIM110 - compiled
        if worlds.steps[step].row == row:
            return True
    return False
