"""The coarse engine's inner loop: per-node sums, updated event by event.

For node p of the merged template, the cells of p hold sums over all trends that end in p so far:
their number c[p] and, for each linear aggregate, the sum y[p] of what their events contribute. An
event that may take p adds

    x = start(p) + sum of c[s] over the predecessors s of p     to c[p], and
        sum of y[s] over the predecessors + contribution * x    to y[p]

(COGRA's coarse granularity: HAMLET's Equations 1 to 3 without edges between events). One cell
exists per window that may be open at once; a sum's windows lie side by side. MIN and MAX ride along
in ranks, integers whose order is the values' order.

Simultaneous events do not precede one another: where the stream has them, a node keeps what it was
before the present moment, and predecessors are read from there.

Numbers are extended-range (`elsinore.numeric`): plain doubles until one of a key's numbers passes
2**384, and pairs with an exponent for that key from then on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from elsinore.numeric.kernels import THRESHOLD, add, scale

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.uint8]
Words = NDArray[np.uint32]

NEVER = np.int64(np.iinfo(np.int64).min)  # before all times; also a stamp that matches none
BEFORE_ALL = np.int64(-(2**62))  # before the index of any window
FOREVER = np.int64(np.iinfo(np.int64).max)  # after all times; also the least of no values

# how a run over a batch ends; after GROW, EXPONENTS and COMPILE it is resumed where it stopped
DONE, GROW, EXPONENTS, COMPILE, DISORDER = 0, 1, 2, 3, 4

UNKNOWN = np.int32(-2)  # a class that has not been compiled yet

# what an event adds to a sum: nothing, one, or of attribute a the value (VALUE + 2a) or presence
NOTHING, ONE, VALUE = 0, 1, 2


class Program(NamedTuple):
    """What each class of events does; every array is read only.

    Runs of one array in another are given by where they begin: `sums[u] : sums[u + 1]` are the sums
    of update u.
    """

    words: Words  # updates as `_act` reads them
    acts: Ints  # [class + 1] -> words; empty where some windows overlap
    updates: Ints  # [class + 1] -> updates
    node: Codes  # [update] -> the node it changes
    lanes: Codes  # [update] -> windows side by side in each of the node's sums
    opening: Ints  # [update] -> first entry of its window kind in `State.opened`
    start: Flags  # [update] -> whether a trend may start there
    sums: Ints  # [update + 1] -> sums, the number of trends first
    target: Ints  # [sum] -> first cell
    contribution: Codes  # [sum] -> NOTHING, ONE, VALUE + 2a or VALUE + 2a + 1
    terms: Ints  # [sum + 1] -> terms
    term: Ints  # [term] -> first cell of a predecessor's sum
    term_node: Codes  # [term] -> that predecessor
    extremes: Ints  # [update + 1] -> extremes
    extreme_target: Ints  # [extreme] -> first entry in `State.extremes`
    attribute: Codes  # [extreme] -> 2a (least) or 2a + 1 (greatest value of attribute a), or -1
    compared: Ints  # [extreme + 1] -> predecessors
    compared_extreme: Ints  # [predecessor] -> its first extreme, or -1 where it has none
    compared_cell: Ints  # [predecessor] -> first cell of its number of trends
    compared_node: Codes  # [predecessor] -> the node
    node_cell: Ints  # [node + 1] -> cells
    node_extreme: Ints  # [node + 1] -> extremes
    within: Ints  # [window kind] -> length, FOREVER for the whole stream
    step: Ints
    origin: Ints
    overlap: Codes  # [window kind] -> windows open at once
    openings: Ints  # [window kind] -> first entry in `State.opened`
    kind_cell: Ints  # [window kind + 1] -> cells
    kind_extreme: Ints  # [window kind + 1] -> extremes
    queries: Ints  # [window kind + 1] -> queries
    query_sums: Ints  # [query + 1] -> its linear fields, the number of trends first
    end: Ints  # [field + 1] -> ends
    end_cell: Ints  # [end] -> first cell to add up
    query_extremes: Ints  # [query + 1] -> its extremes
    extreme_end: Ints  # [extreme field + 1] -> ends
    extreme_end_cell: Ints  # [end] -> first extreme to compare


class State(NamedTuple):
    """What is known of each key, one row a slot."""

    cells: Doubles  # [slot, cell]
    powers: Codes  # [slot, cell], or [0, 0] while no number needs an exponent
    extremes: Ints  # [slot, extreme]
    cells_before: (
        Doubles  # the same before the moment in `stamp`; [0, 0] where none are simultaneous
    )
    powers_before: Codes
    extremes_before: Ints
    stamp: Ints  # [slot, node] -> the moment it last changed
    opened: Doubles  # [slot, opening] -> 1 where the window is open
    first: Ints  # [slot, window kind] -> first open window
    last: Ints  # [slot, window kind] -> last open window
    edge: Ints  # [slot] -> when the next window opens or closes
    time: Ints  # [slot] -> the key's last time
    key: Codes  # [slot] -> the key that has it, or -1
    group: Codes  # [slot] -> that key's group
    big: Flags  # [slot] -> whether its numbers have exponents


class Totals(NamedTuple):
    """Sums over closed windows, a row for each (query, group, window) seen, found by hashing."""

    table: Ints  # open addressing: row or -1; its length is a power of two
    query: Codes
    group: Codes
    window: Ints
    cells: Doubles  # [row, field]
    powers: Codes
    extremes: Ints  # [row, extreme]
    count: Ints  # [1] -> rows in use


@njit(cache=True, nogil=True, inline="always")
def _hash(query: int, group: int, window: int) -> int:
    """Mix three numbers into one (multiplicative hashing with odd constants)."""
    mixed = np.uint64(query) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(group) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= np.uint64(window) * np.uint64(0x165667B19E3779F9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(mixed >> np.uint64(20))


@njit(cache=True, nogil=True)
def find_total(totals: Totals, query: int, group: int, window: int) -> int:
    """Return the row of (query, group, window), a new empty one where there is none."""
    mask = totals.table.shape[0] - 1
    place = _hash(query, group, window) & mask
    while True:
        row = totals.table[place]
        if row < 0:
            row = totals.count[0]
            totals.count[0] += 1
            totals.table[place] = row
            totals.query[row] = query
            totals.group[row] = group
            totals.window[row] = window
            totals.cells[row] = 0.0
            totals.powers[row] = 0
            totals.extremes[row] = FOREVER
            return row
        if (
            totals.window[row] == window
            and totals.group[row] == group
            and totals.query[row] == query
        ):
            return row
        place = (place + 1) & mask


@njit(cache=True, nogil=True)
def rebuild_table(totals: Totals) -> None:
    """Enter all rows in use into an empty table."""
    totals.table[:] = -1
    mask = totals.table.shape[0] - 1
    for row in range(totals.count[0]):
        place = _hash(totals.query[row], totals.group[row], totals.window[row]) & mask
        while totals.table[place] >= 0:
            place = (place + 1) & mask
        totals.table[place] = row


@njit(cache=True, nogil=True)
def _close_window(
    program: Program, state: State, totals: Totals, slot: int, kind: int, window: int, group: int
) -> None:
    """Add what a key has in one window to its group's totals, and empty the window."""
    m = program.overlap[kind]
    lane = window % m
    cells = state.cells
    big = state.big[slot] != 0
    for query in range(program.queries[kind], program.queries[kind + 1]):
        first = program.query_sums[query]
        found = False
        for e in range(program.end[first], program.end[first + 1]):
            found |= cells[slot, program.end_cell[e] + lane] != 0.0
        if not found:
            continue
        row = find_total(totals, query, group, window)
        for field in range(first, program.query_sums[query + 1]):
            total, total_power = totals.cells[row, field - first], totals.powers[row, field - first]
            for e in range(program.end[field], program.end[field + 1]):
                cell = program.end_cell[e] + lane
                power = state.powers[slot, cell] if big else np.int32(0)
                total, total_power = add(total, total_power, cells[slot, cell], power)
            totals.cells[row, field - first] = total
            totals.powers[row, field - first] = total_power
        first = program.query_extremes[query]
        for field in range(first, program.query_extremes[query + 1]):
            for e in range(program.extreme_end[field], program.extreme_end[field + 1]):
                totals.extremes[row, field - first] = min(
                    totals.extremes[row, field - first],
                    state.extremes[slot, program.extreme_end_cell[e] + lane],
                )
    for cell in range(program.kind_cell[kind] + lane, program.kind_cell[kind + 1], m):
        cells[slot, cell] = 0.0
    if big:
        for cell in range(program.kind_cell[kind] + lane, program.kind_cell[kind + 1], m):
            state.powers[slot, cell] = 0
    for cell in range(program.kind_extreme[kind] + lane, program.kind_extreme[kind + 1], m):
        state.extremes[slot, cell] = FOREVER


@njit(cache=True, nogil=True)
def advance(program: Program, state: State, totals: Totals, slot: int, time: int) -> None:
    """Close a key's windows that end at or before `time`; open those that hold `time`."""
    group = state.group[slot]
    edge = FOREVER
    alive = False
    for kind in range(program.within.shape[0]):
        within = program.within[kind]
        if within == FOREVER:
            first = np.int64(0)
            last = np.int64(0)
        else:
            since = time - program.origin[kind]
            first = (since - within) // program.step[kind] + 1
            last = since // program.step[kind]
            start = program.origin[kind] + first * program.step[kind]
            edge = min(edge, program.origin[kind] + (last + 1) * program.step[kind])
            if first <= last:
                edge = min(edge, start + within)
        m = program.overlap[kind]
        for window in range(state.first[slot, kind], state.last[slot, kind] + 1):
            if window < first:
                _close_window(program, state, totals, slot, kind, window, group)
                state.opened[slot, program.openings[kind] + window % m] = 0.0
            else:
                alive = True
        for window in range(max(first, state.last[slot, kind] + 1), last + 1):
            state.opened[slot, program.openings[kind] + window % m] = 1.0
        state.first[slot, kind] = first
        state.last[slot, kind] = last
    state.edge[slot] = edge
    if not alive:
        state.big[slot] = 0


@njit(cache=True, nogil=True)
def close_all(program: Program, state: State, totals: Totals, slot: int) -> None:
    """Close all of a key's windows and leave the slot empty."""
    group = state.group[slot]
    for kind in range(program.within.shape[0]):
        for window in range(state.first[slot, kind], state.last[slot, kind] + 1):
            _close_window(program, state, totals, slot, kind, window, group)
    clear(state, slot)


@njit(cache=True, nogil=True)
def clear(state: State, slot: int) -> None:
    """Make an emptied slot ready for the next key."""
    state.stamp[slot] = NEVER
    state.opened[slot] = 0.0
    state.first[slot] = 0
    state.last[slot] = BEFORE_ALL
    state.edge[slot] = NEVER
    state.time[slot] = NEVER
    state.key[slot] = -1
    state.big[slot] = 0


@njit(cache=True, nogil=True)
def close_until(
    program: Program, state: State, totals: Totals, begin: int, time: int, most: int
) -> int:
    """Close all keys' windows that end at or before `time`, from slot `begin` on.

    Returns the slot it stopped at because `totals` must grow first, or the number of slots.
    """
    for slot in range(begin, state.key.shape[0]):
        if totals.count[0] + most > totals.query.shape[0]:
            return slot
        if state.key[slot] < 0:
            continue
        if time == FOREVER:
            close_all(program, state, totals, slot)
        elif time >= state.edge[slot]:
            advance(program, state, totals, slot, time)
            state.time[slot] = max(state.time[slot], time)
    return state.key.shape[0]


@njit(cache=True, nogil=True, inline="always")
def _act(
    words: Words, begin: int, end: int, cells: Doubles, opened: Doubles, parts: Doubles
) -> bool:
    """Let an event act on its nodes: the sums of `_update` where windows do not overlap.

    cells, opened: one key's. parts: [contribution] -> what the event contributes. An update is the
    words (length, 0 or opening + 1, sums) and then for each sum (target, contribution, terms) and
    its terms: one array read from left to right, and unsigned so that no index is checked for
    counting from the end.
    """
    passed = False
    at = np.uint64(begin)
    one = np.uint64(1)
    while at < np.uint64(end):
        after = at + np.uint64(words[at])
        opening = words[at + one]
        sums = words[at + np.uint64(2)]
        count = np.uint64(words[at + np.uint64(3)])
        terms = words[at + np.uint64(5)]
        at += np.uint64(6)
        trends = opened[np.uint64(opening) - one] if opening != 0 else 0.0
        for _ in range(terms):
            trends += cells[np.uint64(words[at])]
            at += one
        if trends != 0.0:
            for _ in range(1, sums):
                target = np.uint64(words[at])
                what = np.uint64(words[at + one])
                terms = words[at + np.uint64(2)]
                at += np.uint64(3)
                added = cells[target]
                for _ in range(terms):
                    added += cells[np.uint64(words[at])]
                    at += one
                if what != 0 and parts[what] != 0.0:
                    added += trends * parts[what]
                cells[target] = added
                passed |= abs(added) >= THRESHOLD
            trends += cells[count]
            cells[count] = trends
            passed |= trends >= THRESHOLD
        at = after
    return passed


@njit(cache=True, nogil=True, inline="always")
def _keep_before(program: Program, state: State, slot: int, node: int, moment: int) -> None:
    """Keep what a node is before the present moment, at its first change in it."""
    if state.stamp[slot, node] == moment:
        return
    state.stamp[slot, node] = moment
    for cell in range(program.node_cell[node], program.node_cell[node + 1]):
        state.cells_before[slot, cell] = state.cells[slot, cell]
    if state.big[slot] != 0:
        for cell in range(program.node_cell[node], program.node_cell[node + 1]):
            state.powers_before[slot, cell] = state.powers[slot, cell]
    for cell in range(program.node_extreme[node], program.node_extreme[node + 1]):
        state.extremes_before[slot, cell] = state.extremes[slot, cell]


@njit(cache=True, nogil=True, inline="always")
def _update(
    program: Program,
    state: State,
    slot: int,
    update: int,
    moment: int,
    remember: bool,
    event: int,
    values: Doubles,
    present: Flags,
) -> bool:
    """Let an event act on one node, in plain doubles; return whether a number passed 2**384."""
    cells = state.cells
    first = program.sums[update]
    last = program.sums[update + 1]
    passed = False
    for lane in range(program.lanes[update]):
        trends = 0.0
        if program.start[update] != 0:
            trends = state.opened[slot, program.opening[update] + lane]
        for t in range(program.terms[first], program.terms[first + 1]):
            if remember and state.stamp[slot, program.term_node[t]] == moment:
                trends += state.cells_before[slot, program.term[t] + lane]
            else:
                trends += cells[slot, program.term[t] + lane]
        if trends == 0.0:
            continue
        for number in range(first + 1, last):
            added = 0.0
            for t in range(program.terms[number], program.terms[number + 1]):
                if remember and state.stamp[slot, program.term_node[t]] == moment:
                    added += state.cells_before[slot, program.term[t] + lane]
                else:
                    added += cells[slot, program.term[t] + lane]
            what = program.contribution[number]
            if what == ONE:
                added += trends
            elif what != NOTHING:
                attribute = (what - VALUE) >> 1
                if present[attribute, event] != 0:
                    added += trends if what & 1 == 1 else trends * values[attribute, event]
            value = cells[slot, program.target[number] + lane] + added
            cells[slot, program.target[number] + lane] = value
            passed |= abs(value) >= THRESHOLD
        value = cells[slot, program.target[first] + lane] + trends
        cells[slot, program.target[first] + lane] = value
        passed |= value >= THRESHOLD
    return passed


@njit(cache=True, nogil=True, inline="always")
def _sum_big(
    program: Program, state: State, slot: int, number: int, lane: int, moment: int, remember: bool
) -> tuple[float, int]:
    """Return the sum of a sum's terms as an extended-range number."""
    total = 0.0
    total_power = np.int32(0)
    for t in range(program.terms[number], program.terms[number + 1]):
        cell = program.term[t] + lane
        if remember and state.stamp[slot, program.term_node[t]] == moment:
            value, power = state.cells_before[slot, cell], state.powers_before[slot, cell]
        else:
            value, power = state.cells[slot, cell], state.powers[slot, cell]
        total, total_power = add(total, total_power, value, power)
    return total, total_power


@njit(cache=True, nogil=True)
def _update_big(
    program: Program,
    state: State,
    slot: int,
    update: int,
    moment: int,
    remember: bool,
    event: int,
    values: Doubles,
    present: Flags,
) -> None:
    """Let an event act on one node, in numbers with exponents; the same sums as `_update`."""
    first = program.sums[update]
    for lane in range(program.lanes[update]):
        trends, trends_power = _sum_big(program, state, slot, first, lane, moment, remember)
        if program.start[update] != 0:
            opened = state.opened[slot, program.opening[update] + lane]
            trends, trends_power = add(trends, trends_power, opened, np.int32(0))
        if trends == 0.0:
            continue
        for number in range(first + 1, program.sums[update + 1]):
            added, power = _sum_big(program, state, slot, number, lane, moment, remember)
            what = program.contribution[number]
            factor = 1.0
            contributes = what != NOTHING
            if what >= VALUE:
                attribute = (what - VALUE) >> 1
                contributes = present[attribute, event] != 0
                if contributes and what & 1 == 0:
                    factor = values[attribute, event]
            if contributes:
                own, own_power = scale(trends, trends_power, factor)
                added, power = add(added, power, own, own_power)
            cell = program.target[number] + lane
            value, power = add(state.cells[slot, cell], state.powers[slot, cell], added, power)
            state.cells[slot, cell] = value
            state.powers[slot, cell] = power
        cell = program.target[first] + lane
        value, power = add(state.cells[slot, cell], state.powers[slot, cell], trends, trends_power)
        state.cells[slot, cell] = value
        state.powers[slot, cell] = power


@njit(cache=True, nogil=True, inline="always")
def _update_extremes(
    program: Program,
    state: State,
    slot: int,
    update: int,
    moment: int,
    remember: bool,
    event: int,
    orders: Ints,
    ordered: Flags,
) -> None:
    """Let an event act on one node's MIN and MAX; before `_update` changes the number of trends.

    best = min(best, best of the predecessors in which a trend ends, the event's own rank), if any
    trend ends in the event at all.
    """
    for number in range(program.extremes[update], program.extremes[update + 1]):
        attribute = program.attribute[number]
        own = FOREVER
        if attribute >= 0 and ordered[attribute >> 1, event] != 0:
            own = orders[attribute >> 1, event]
            if attribute & 1 == 1:
                own = ~own
        for lane in range(program.lanes[update]):
            best = own
            reached = (
                program.start[update] != 0
                and state.opened[slot, program.opening[update] + lane] != 0.0
            )
            for p in range(program.compared[number], program.compared[number + 1]):
                cell = program.compared_cell[p] + lane
                place = program.compared_extreme[p]
                if remember and state.stamp[slot, program.compared_node[p]] == moment:
                    if state.cells_before[slot, cell] != 0.0:
                        reached = True
                        if place >= 0:
                            best = min(best, state.extremes_before[slot, place + lane])
                elif state.cells[slot, cell] != 0.0:
                    reached = True
                    if place >= 0:
                        best = min(best, state.extremes[slot, place + lane])
            if reached:
                place = program.extreme_target[number] + lane
                state.extremes[slot, place] = min(state.extremes[slot, place], best)


@njit(cache=True, nogil=True)
def run(
    program: Program,
    state: State,
    totals: Totals,
    begin: int,
    times: Ints,
    keys: Codes,
    codes: Ints,
    known: Codes,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    groups: Codes,
    one_slot: bool,
    remember: bool,
    by_time: bool,
    most_closed: int,
    counters: Ints,
) -> tuple[int, int]:
    """Let events `begin`, `begin + 1`, ... act on their keys' states.

    times, keys, groups, codes: [event]; a code below 0 is of no interest. known: [code] -> class,
    -1 for one that acts on nothing, or UNKNOWN. values and present, orders and ordered: [attribute,
    event], what SUM and what MIN and MAX look at. With `one_slot` keys come one after another and
    share slot 0; otherwise a key is its own slot. `remember`: predecessors are read as they were
    before the present moment, which is a time with `by_time` and an event without. Returns how it
    ended and the event it ended at.
    """
    plain = not remember and program.acts.shape[0] == program.updates.shape[0]
    parts = np.zeros(VALUE + 2 * values.shape[0])
    parts[ONE] = 1.0
    for event in range(begin, times.shape[0]):
        code = codes[event]
        if code < 0:
            continue
        kind = known[code]
        if kind < 0:
            if kind == UNKNOWN:
                return COMPILE, event
            continue
        low = program.updates[kind]
        high = program.updates[kind + 1]
        if low == high:
            continue
        key = keys[event]
        slot = 0 if one_slot else key
        time = times[event]
        if state.key[slot] != key or time >= state.edge[slot]:
            if totals.count[0] + most_closed > totals.query.shape[0]:
                return GROW, event
            if state.key[slot] != key:
                if state.key[slot] >= 0:
                    close_all(program, state, totals, slot)
                state.key[slot] = key
                state.group[slot] = groups[event]
            if time < state.time[slot]:
                return DISORDER, event
            advance(program, state, totals, slot, time)
        if time < state.time[slot]:
            return DISORDER, event
        state.time[slot] = time
        counters[0] += 1
        moment = time if by_time else counters[0]
        passed = False
        big = state.big[slot] != 0
        if plain and not big:
            for attribute in range(values.shape[0]):
                there = present[attribute, event] != 0
                parts[VALUE + 2 * attribute] = values[attribute, event] if there else 0.0
                parts[VALUE + 2 * attribute + 1] = 1.0 if there else 0.0
            for update in range(low, high):
                _update_extremes(
                    program, state, slot, update, moment, remember, event, orders, ordered
                )
            passed = _act(
                program.words,
                program.acts[kind],
                program.acts[kind + 1],
                state.cells[slot],
                state.opened[slot],
                parts,
            )
            high = low
        for update in range(low, high):
            if remember:
                _keep_before(program, state, slot, program.node[update], moment)
            if program.extremes[update] != program.extremes[update + 1]:
                _update_extremes(
                    program, state, slot, update, moment, remember, event, orders, ordered
                )
            if big:
                _update_big(program, state, slot, update, moment, remember, event, values, present)
            else:
                passed |= _update(
                    program, state, slot, update, moment, remember, event, values, present
                )
        if passed:
            state.big[slot] = 1
            if state.powers.shape[0] == 0:
                return EXPONENTS, event + 1
    return DONE, times.shape[0]
