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

import numpy as np

from elsinore.kernels import kernel
from elsinore.numeric.kernels import THRESHOLD, add, scale
from elsinore.trends.arrays import (
    BEFORE_ALL,
    COMPILE,
    DISORDER,
    DONE,
    EXPONENTS,
    FOREVER,
    GROW,
    NEVER,
    NOTHING,
    ONE,
    UNKNOWN,
    VALUE,
    Codes,
    Doubles,
    Flags,
    Ints,
    Program,
    State,
    Totals,
    Words,
)
from elsinore.trends.exponents.kernels import begin_exponents, end_exponents
from elsinore.trends.lazy.arrays import SPAN, Bursts, Clocks, Groups
from elsinore.trends.lazy.kernels import (
    arrive,
    clear_clocks,
    end_bursts,
    is_full,
    is_news,
    is_wild,
    move,
    settle_all,
    settle_edge,
    settle_group,
    wake,
)
from elsinore.trends.wide import wide_kernel

__all__ = [
    "BEFORE_ALL",
    "COMPILE",
    "DISORDER",
    "DONE",
    "EXPONENTS",
    "FOREVER",
    "GROW",
    "NEVER",
    "NOTHING",
    "ONE",
    "UNKNOWN",
    "VALUE",
    "Codes",
    "Doubles",
    "Ints",
    "Program",
    "State",
    "Totals",
    "close_until",
    "rebuild_table",
    "run",
    "run_shared",
    "unknown_codes",
]


@wide_kernel(inline=True)
def _hash(query: int, group: int, window: int) -> int:
    """Mix three numbers into one (multiplicative hashing with odd constants)."""
    mixed = np.uint64(query) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(group) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= np.uint64(window) * np.uint64(0x165667B19E3779F9)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(mixed >> np.uint64(20))


@wide_kernel(forced=True)
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


@wide_kernel
def rebuild_table(totals: Totals) -> None:
    """Enter all rows in use into an empty table."""
    totals.table[:] = -1
    mask = totals.table.shape[0] - 1
    for row in range(totals.count[0]):
        place = _hash(totals.query[row], totals.group[row], totals.window[row]) & mask
        while totals.table[place] >= 0:
            place = (place + 1) & mask
        totals.table[place] = row


@wide_kernel(forced=True)
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


@wide_kernel(forced=True)
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
            for seed in range(program.seeds[kind], program.seeds[kind + 1]):
                state.cells[slot, program.seed_cell[seed] + window % m] = 1.0
        state.first[slot, kind] = first
        state.last[slot, kind] = last
    state.edge[slot] = edge
    if not alive:
        end_exponents(state, slot)


@wide_kernel
def close_all(program: Program, state: State, totals: Totals, slot: int) -> None:
    """Close all of a key's windows and leave the slot empty."""
    group = state.group[slot]
    for kind in range(program.within.shape[0]):
        for window in range(state.first[slot, kind], state.last[slot, kind] + 1):
            _close_window(program, state, totals, slot, kind, window, group)
    clear(state, slot)


@wide_kernel
def clear(state: State, slot: int) -> None:
    """Make an emptied slot ready for the next key."""
    state.stamp[slot] = NEVER
    state.opened[slot] = 0.0
    state.first[slot] = 0
    state.last[slot] = BEFORE_ALL
    state.edge[slot] = NEVER
    state.time[slot] = NEVER
    state.key[slot] = -1
    end_exponents(state, slot)


@wide_kernel
def close_until(
    program: Program, state: State, totals: Totals, begin: int, time: int, most: int
) -> int:
    """Close all keys' windows that end at or before `time`, from slot `begin` on.

    Where groups share, `settle_until` comes first. Returns the slot it stopped at because `totals`
    must grow first, or the number of slots.
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


@wide_kernel(inline=True)
def _act(
    words: Words, begin: int, end: int, cells: Doubles, opened: Doubles, parts: Doubles
) -> bool:
    """Let an event act on its nodes: the sums of `_update` where windows do not overlap.

    cells, opened: one key's. parts: [contribution] -> what the event contributes. An update is the
    words (length, 0 or opening + 1, windows side by side, sums) and then for each sum (target,
    contribution, terms) and its terms: one array read from left to right, and unsigned so that no
    index is checked for counting from the end.
    """
    passed = False
    at = np.uint64(begin)
    one = np.uint64(1)
    while at < np.uint64(end):
        after = at + np.uint64(words[at])
        opening = words[at + one]
        sums = words[at + np.uint64(3)]
        count = np.uint64(words[at + np.uint64(4)])
        terms = words[at + np.uint64(6)]
        at += np.uint64(7)
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


@wide_kernel(inline=True)
def _act_wide(
    words: Words,
    begin: int,
    end: int,
    cells: Doubles,
    opened: Doubles,
    parts: Doubles,
    rows: Doubles,
) -> bool:
    """Let an event act on its nodes, on all open windows at once; rows: [2, lane], for work.

    The words are those of `_act`. Loops over windows do not branch, so that they are done by fours.
    """
    passed = False
    trends, added = rows[0], rows[1]
    at = begin
    while at < end:
        after = at + np.int64(words[at])
        opening = np.int64(words[at + 1])
        lanes = np.int64(words[at + 2])
        sums = np.int64(words[at + 3])
        count = np.int64(words[at + 4])
        terms = np.int64(words[at + 6])
        at += 7
        if opening != 0:
            for lane in range(lanes):
                trends[lane] = opened[opening - 1 + lane]
        else:
            for lane in range(lanes):
                trends[lane] = 0.0
        for _ in range(terms):
            source = np.int64(words[at])
            at += 1
            for lane in range(lanes):
                trends[lane] += cells[source + lane]
        for _ in range(1, sums):
            target = np.int64(words[at])
            what = np.int64(words[at + 1])
            terms = np.int64(words[at + 2])
            at += 3
            part = parts[what] if what != 0 else 0.0
            if part != 0.0:
                for lane in range(lanes):
                    added[lane] = trends[lane] * part if trends[lane] != 0.0 else 0.0
            else:
                for lane in range(lanes):
                    added[lane] = 0.0
            for _ in range(terms):
                source = np.int64(words[at])
                at += 1
                for lane in range(lanes):
                    added[lane] += cells[source + lane]
            for lane in range(lanes):
                value = cells[target + lane] + added[lane]
                cells[target + lane] = value
                passed |= abs(value) >= THRESHOLD
        for lane in range(lanes):
            value = cells[count + lane] + trends[lane]
            cells[count + lane] = value
            passed |= value >= THRESHOLD
        at = after
    return passed


@wide_kernel(inline=True)
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
    if state.cells_added.shape[0] != 0:
        for cell in range(program.node_cell[node], program.node_cell[node + 1]):
            state.cells_added[slot, cell] = 0.0
        if state.big[slot] != 0:
            for cell in range(program.node_cell[node], program.node_cell[node + 1]):
                state.powers_added[slot, cell] = 0
        for cell in range(program.node_extreme[node], program.node_extreme[node + 1]):
            state.extremes_added[slot, cell] = FOREVER


@wide_kernel
def _empty(
    program: Program, state: State, slot: int, node: int, moment: int, remember: bool
) -> None:
    """Leave in a node what the present moment adds to it, and nothing else."""
    if remember:
        _keep_before(program, state, slot, node, moment)
    for cell in range(program.node_cell[node], program.node_cell[node + 1]):
        state.cells[slot, cell] = state.cells_added[slot, cell] if remember else 0.0
    if state.big[slot] != 0:
        for cell in range(program.node_cell[node], program.node_cell[node + 1]):
            state.powers[slot, cell] = state.powers_added[slot, cell] if remember else 0
    for cell in range(program.node_extreme[node], program.node_extreme[node + 1]):
        state.extremes[slot, cell] = state.extremes_added[slot, cell] if remember else FOREVER


@wide_kernel(inline=True)
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
    apart = remember and state.cells_added.shape[0] != 0
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
            if apart:
                value = state.cells_added[slot, program.target[number] + lane] + added
                state.cells_added[slot, program.target[number] + lane] = value
                passed |= abs(value) >= THRESHOLD
        value = cells[slot, program.target[first] + lane] + trends
        cells[slot, program.target[first] + lane] = value
        passed |= value >= THRESHOLD
        if apart:
            state.cells_added[slot, program.target[first] + lane] += trends
    return passed


@wide_kernel(inline=True)
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


@wide_kernel(inline=True)
def _add_to(
    cells: Doubles, powers: Codes, slot: int, cell: int, added: float, added_power: int
) -> None:
    """Add an extended-range number to a cell."""
    value, power = add(cells[slot, cell], powers[slot, cell], added, added_power)
    cells[slot, cell] = value
    powers[slot, cell] = power


@wide_kernel
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
    apart = remember and state.cells_added.shape[0] != 0
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
            _add_to(state.cells, state.powers, slot, cell, added, power)
            if apart:
                _add_to(state.cells_added, state.powers_added, slot, cell, added, power)
        cell = program.target[first] + lane
        _add_to(state.cells, state.powers, slot, cell, trends, trends_power)
        if apart:
            _add_to(state.cells_added, state.powers_added, slot, cell, trends, trends_power)


@wide_kernel(inline=True)
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
                if remember and state.extremes_added.shape[0] != 0:
                    state.extremes_added[slot, place] = min(state.extremes_added[slot, place], best)


@kernel
def unknown_codes(codes: Ints, begin: int, known: Codes) -> Ints:
    """Return the codes from event `begin` on whose classes are unknown, each once."""
    found = np.empty(known.shape[0], dtype=np.int64)
    count = 0
    for event in range(begin, codes.shape[0]):
        code = codes[event]
        if code >= 0 and known[code] == UNKNOWN:
            known[code] = -1
            found[count] = code
            count += 1
    for place in range(count):
        known[found[place]] = UNKNOWN
    return found[:count].copy()


@wide_kernel(inline=True)
def _apply(
    program: Program,
    state: State,
    slot: int,
    updates: tuple[int, int],
    words: tuple[int, int],
    moment: int,
    remember: bool,
    wide: bool,
    event: int,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    parts: Doubles,
    rows: Doubles,
) -> bool:
    """Let an event act on nodes by updates[0]:updates[1], which are words[0]:words[1]."""
    passed = False
    big = state.big[slot] != 0
    low, high = updates
    if not remember and not big:
        for update in range(low, high):
            _update_extremes(program, state, slot, update, moment, remember, event, orders, ordered)
        if wide:
            return _act_wide(
                program.words,
                words[0],
                words[1],
                state.cells[slot],
                state.opened[slot],
                parts,
                rows,
            )
        return _act(program.words, words[0], words[1], state.cells[slot], state.opened[slot], parts)
    for update in range(low, high):
        if remember:
            _keep_before(program, state, slot, program.node[update], moment)
        if program.extremes[update] != program.extremes[update + 1]:
            _update_extremes(program, state, slot, update, moment, remember, event, orders, ordered)
        if big:
            _update_big(program, state, slot, update, moment, remember, event, values, present)
        else:
            passed |= _update(
                program, state, slot, update, moment, remember, event, values, present
            )
    return passed


@wide_kernel(inline=True)
def _run(
    sharing: bool,
    program: Program,
    groups: Groups,
    state: State,
    clocks: Clocks,
    bursts: Bursts,
    totals: Totals,
    rows: Doubles,
    parts: Doubles,
    begin: int,
    times: Ints,
    keys: Codes,
    codes: Ints,
    known: Codes,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    key_groups: Codes,
    one_slot: bool,
    remember: bool,
    by_time: bool,
    dynamic: bool,
    most_closed: int,
    counters: Ints,
) -> tuple[int, int]:
    """Let events `begin`, `begin + 1`, ... act on their keys' states.

    times, keys, key_groups, codes: [event]; a code below 0 is of no interest. known: [code] ->
    class, -1 for one that acts on nothing, or UNKNOWN. values and present, orders and ordered:
    [attribute, event], what SUM and what MIN and MAX look at. rows: [3, windows open at once] and
    parts: [contribution], for work. With `one_slot` keys come one after another and share slot 0;
    otherwise a key is its own slot. `sharing`: whether there are groups at all. `remember`:
    predecessors are read as they were before the present moment, which is a time with `by_time` and
    an event without. `dynamic`: whether to share is decided burst by burst. Returns how it ended
    and the event it ended at.
    """
    wide = False
    for kind in range(program.overlap.shape[0]):
        wide |= program.overlap[kind] > 1
    # fields are taken out of their tuples once: in the loop each would be counted as a reference
    updates = program.updates
    acts = program.acts
    resets = program.resets
    emptied = program.emptied
    late = program.late
    slot_key = state.key
    edges = state.edge
    slot_time = state.time
    big = state.big
    ticks = groups.ticks
    tick_group = groups.tick_group
    section_updates = groups.section
    section_acts = groups.section_act
    last_class = clocks.last
    asleep = clocks.asleep
    burst = clocks.burst
    is_shared = clocks.shared
    breaks = groups.breaks
    runs = groups.runs
    addends = groups.addends
    addend = groups.addend
    stacks = groups.stacks
    ranked = groups.ranked
    first_entry = groups.clock
    clock = clocks.clock
    base = clocks.base
    sizes = clocks.sizes
    when = clocks.when
    rank = clocks.rank
    count = totals.count
    room = totals.query
    bare = addend.shape[0] == 0 and ranked.shape[0] == 0  # clocks have nothing but events
    parts[ONE] = 1.0
    event = begin - 1
    while event + 1 < times.shape[0]:
        event += 1
        code = codes[event]
        if code < 0:
            continue
        kind = known[code]
        if kind < 0:
            if kind == UNKNOWN:
                return COMPILE, event
            continue
        low = updates[kind]
        high = updates[kind + 1]
        first_reset, last_reset = resets[kind], resets[kind + 1]
        if low == high and first_reset == last_reset:
            continue
        key = keys[event]
        slot = 0 if one_slot else key
        time = times[event]
        if slot_key[slot] != key or time >= edges[slot]:
            if count[0] + most_closed > room.shape[0]:
                return GROW, event
            if slot_key[slot] != key:
                if slot_key[slot] >= 0:
                    if sharing:
                        passed = settle_all(groups, clocks, bursts, state, rows, slot)
                        if passed and not begin_exponents(state, slot):
                            return EXPONENTS, event
                        end_bursts(clocks, bursts, slot)
                        clear_clocks(clocks, slot)
                    close_all(program, state, totals, slot)
                slot_key[slot] = key
                state.group[slot] = key_groups[event]
            if time < slot_time[slot]:
                return DISORDER, event
            if (
                sharing
                and asleep[slot] == 0
                and settle_edge(groups, clocks, bursts, program, state, rows, slot, time)
                and not begin_exponents(state, slot)
            ):
                return EXPONENTS, event
            advance(program, state, totals, slot, time)
        if time < slot_time[slot]:
            return DISORDER, event
        first_tick, last_tick, wild = 0, 0, False
        if sharing and asleep[slot] != 0:
            asleep[slot] -= 1
            if asleep[slot] == 0:
                wake(clocks, slot)
        elif sharing:
            first_tick, last_tick = ticks[kind], ticks[kind + 1]
            passed = False
            if last_class[slot] != kind:
                if is_news(breaks, runs, ticks, tick_group, burst, slot, kind):
                    passed = arrive(groups, clocks, bursts, state, rows, slot, kind, time, dynamic)
                last_class[slot] = kind
            for tick in range(first_tick, last_tick):
                wild |= is_wild(addends, addend, tick_group[tick], event, values, present)
            for tick in range(first_tick, last_tick):
                group = tick_group[tick]
                if is_shared[slot, group] != 0 and (
                    wild
                    or is_full(first_entry, clock, base, stacks, sizes, slot, group, big[slot] != 0)
                ):
                    passed |= settle_group(groups, clocks, bursts, state, rows, slot, group)
            if passed and not begin_exponents(state, slot):
                return EXPONENTS, event
        slot_time[slot] = time
        counters[0] += 1
        moment = time if by_time else counters[0]
        for attribute in range(values.shape[0]):
            there = present[attribute, event] != 0
            parts[VALUE + 2 * attribute] = values[attribute, event] if there else 0.0
            parts[VALUE + 2 * attribute + 1] = 1.0 if there else 0.0
        first_word, last_word = acts[kind], acts[kind + 1]
        if first_tick != last_tick:
            section = kind + first_tick
            high = section_updates[section + 1]
            last_word = section_acts[section + 1]
        for reset in range(first_reset, last_reset):
            if late[reset] == 0:
                _empty(program, state, slot, emptied[reset], moment, remember)
        alone = low == high and not wild  # whether clocks are all that moves
        passed = False
        tick = first_tick
        while True:  # the updates of no group, then each group's
            if low != high:
                passed |= _apply(
                    program,
                    state,
                    slot,
                    (low, high),
                    (first_word, last_word),
                    moment,
                    remember,
                    wide,
                    event,
                    values,
                    present,
                    orders,
                    ordered,
                    parts,
                    rows,
                )
            while tick != last_tick:
                group = tick_group[tick]
                burst[slot, group] += 1
                if wild or is_shared[slot, group] == 0:
                    alone = False
                    break
                move(
                    first_entry,
                    clock,
                    addends,
                    addend,
                    stacks,
                    ranked,
                    sizes,
                    when,
                    rank,
                    slot,
                    group,
                    event,
                    values,
                    present,
                    orders,
                    ordered,
                )
                tick += 1
            if tick == last_tick:
                break
            section = kind + tick + 1
            low, high = section_updates[section], section_updates[section + 1]
            first_word, last_word = section_acts[section], section_acts[section + 1]
            tick += 1
        for reset in range(first_reset, last_reset):
            if late[reset] != 0:
                _empty(program, state, slot, emptied[reset], moment, remember)
        if passed and not begin_exponents(state, slot):
            return EXPONENTS, event + 1
        if alone and first_tick != last_tick:
            # the rest of the burst, as far as nothing else happens to the key meanwhile
            before = event
            edge = edges[slot]
            if bare:
                most = times.shape[0]
                for tick in range(first_tick, last_tick):
                    group = tick_group[tick]
                    gone = clock[slot, first_entry[group]] - base[slot, group]
                    if big[slot] == 0:
                        most = min(most, event + 1 + np.int64(SPAN - gone))
                while event + 1 < most:
                    after = event + 1
                    if codes[after] != code or keys[after] != key:
                        break
                    if times[after] >= edge or times[after] < time:
                        break
                    event = after
                    time = times[event]
                for tick in range(first_tick, last_tick):
                    clock[slot, first_entry[tick_group[tick]]] += event - before
            while not bare and event + 1 < times.shape[0]:
                after = event + 1
                if codes[after] != code or keys[after] != key:
                    break
                if times[after] >= edge or times[after] < time:
                    break
                ready = True
                for tick in range(first_tick, last_tick):
                    group = tick_group[tick]
                    ready &= not is_full(
                        first_entry, clock, base, stacks, sizes, slot, group, big[slot] != 0
                    )
                    ready &= not is_wild(addends, addend, group, after, values, present)
                if not ready:
                    break
                event = after
                time = times[event]
                for tick in range(first_tick, last_tick):
                    move(
                        first_entry,
                        clock,
                        addends,
                        addend,
                        stacks,
                        ranked,
                        sizes,
                        when,
                        rank,
                        slot,
                        tick_group[tick],
                        event,
                        values,
                        present,
                        orders,
                        ordered,
                    )
            slot_time[slot] = time
            counters[0] += event - before
            for tick in range(first_tick, last_tick):
                burst[slot, tick_group[tick]] += event - before
    return DONE, times.shape[0]


@wide_kernel
def run(
    program: Program,
    groups: Groups,
    state: State,
    clocks: Clocks,
    bursts: Bursts,
    totals: Totals,
    rows: Doubles,
    parts: Doubles,
    begin: int,
    times: Ints,
    keys: Codes,
    codes: Ints,
    known: Codes,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    key_groups: Codes,
    one_slot: bool,
    remember: bool,
    by_time: bool,
    dynamic: bool,
    most_closed: int,
    counters: Ints,
) -> tuple[int, int]:
    """Let events act on their keys' states where nothing is shared; see `_run`."""
    return _run(
        False,
        program,
        groups,
        state,
        clocks,
        bursts,
        totals,
        rows,
        parts,
        begin,
        times,
        keys,
        codes,
        known,
        values,
        present,
        orders,
        ordered,
        key_groups,
        one_slot,
        remember,
        by_time,
        dynamic,
        most_closed,
        counters,
    )


@wide_kernel
def run_shared(
    program: Program,
    groups: Groups,
    state: State,
    clocks: Clocks,
    bursts: Bursts,
    totals: Totals,
    rows: Doubles,
    parts: Doubles,
    begin: int,
    times: Ints,
    keys: Codes,
    codes: Ints,
    known: Codes,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
    key_groups: Codes,
    one_slot: bool,
    remember: bool,
    by_time: bool,
    dynamic: bool,
    most_closed: int,
    counters: Ints,
) -> tuple[int, int]:
    """Let events act on their keys' states where groups share; see `_run`."""
    return _run(
        True,
        program,
        groups,
        state,
        clocks,
        bursts,
        totals,
        rows,
        parts,
        begin,
        times,
        keys,
        codes,
        known,
        values,
        present,
        orders,
        ordered,
        key_groups,
        one_slot,
        remember,
        by_time,
        dynamic,
        most_closed,
        counters,
    )
