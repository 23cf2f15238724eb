"""Sharing bursts: events move a group's clock; holders catch up when they are read.

All events of a group act alike on each of its holders: with c the number of trends that end in the
holder and s that in its other predecessors, each adds c + s to c. As s does not change meanwhile
(whoever is about to change it settles the holder first), N events make of c, and of a sum y with ys
that of the predecessors, to which event t contributes v_t for each trend it ends,

    c' = 2**N * (c + s) - s
    y' = 2**N * (y + ys) - ys + 2**(N-1) * (c + s) * (v_1 + ... + v_N)

So a burst's action is known by N and by sums of v, kept once per key and group: N and sums since a
mark are differences of the clock. Each holder's c and y are its value of the snapshot that the
burst propagates (HAMLET, Section 3.3 and Table 4), looked up when something else needs them.

The least value since a mark is found on a stack: of the values so far those that none after them
undercuts, in order; the least since a mark is the first that came after it.
"""

from __future__ import annotations

import math

from elsinore.numeric.kernels import LIMB_BITS, THRESHOLD, add, normalise, scale
from elsinore.trends.arrays import FOREVER, Codes, Doubles, Flags, Ints, Program, State
from elsinore.trends.exponents.kernels import begin_exponents
from elsinore.trends.lazy.arrays import (
    ADDEND_WIDTH,
    BURSTS,
    DECISIONS,
    DEPTH,
    ERROR,
    HEAD,
    LENGTH,
    MERGES,
    PRESENT,
    SHARED,
    SNAPSHOTS,
    SPAN,
    SPLITS,
    SUM,
    TOUCHED,
    WILD,
    Bursts,
    Clocks,
    Groups,
)
from elsinore.trends.wide import wide_kernel

MEMORY = 16.0  # bursts that an average looks back on
FIRST_LENGTH = 4.0  # what a burst's length is taken for before the first has ended
DULL = 3  # after so many bursts not worth sharing nothing is decided
NAP = 256  # for so many of the key's events


@wide_kernel
def benefit(
    length: float, touched: float, eager: float, lazy: float, settling: float, boundary: float
) -> float:
    """Return what sharing a burst saves; positive means share.

    Shared     = length * lazy + touched * settling + boundary
    Non-shared = length * eager

    (HAMLET, Definition 12, where sums take the place of single events: `eager` is k updates, and
    `touched` the snapshots whose values are looked up at the graphlet's end.)

    >>> benefit(20.0, 1.0, 10.0, 1.0, 5.0, 10.0)
    165.0
    """
    return length * (eager - lazy) - touched * settling - boundary


@wide_kernel
def decide(
    averages: Doubles,
    eager: Doubles,
    lazy: Doubles,
    settling: Doubles,
    boundary: float,
    group: int,
    holders: int,
) -> float:
    """Return the benefit that is to be expected of sharing a group's next burst."""
    length = averages[group, LENGTH]
    touched = averages[group, TOUCHED]
    if length < 0.0:
        length = FIRST_LENGTH
    if touched < 0.0:
        touched = 0.5 * holders
    return benefit(length, touched, eager[group], lazy[group], settling[group], boundary)


@wide_kernel
def decide_often(bursts: Bursts, groups: Groups, times: int) -> float:
    """Decide so many times for nothing, to measure how long it takes."""
    total = 0.0
    averages, eager, lazy, settling = bursts.averages, groups.eager, groups.lazy, groups.settling
    boundary = groups.boundary[0]
    for turn in range(times):
        total += decide(averages, eager, lazy, settling, boundary, turn % eager.shape[0], 1)
    return total


@wide_kernel
def _averaged(before: float, now: float) -> float:
    """Return a running average with one more value."""
    return now if before < 0.0 else before + (now - before) / MEMORY


@wide_kernel
def _shifted(mantissa: float, exponent: int, events: float) -> tuple[float, int]:
    """Return a number times 2**events, normal."""
    if mantissa == 0.0:
        return 0.0, 0
    limbs = int(events) // LIMB_BITS
    return normalise(math.ldexp(mantissa, int(events) - limbs * LIMB_BITS), exponent + limbs)


@wide_kernel
def _gone(now: float, then: float, now_error: float, then_error: float) -> float:
    """Return now - then of sums kept with their rounding errors: what came before cancels out."""
    gone = now - then
    back = gone - now
    return gone + ((now - (gone - back)) - (then + back) + (now_error - then_error))


@wide_kernel
def _settle_extremes(
    words: Ints,
    at: int,
    count: int,
    lanes: int,
    since: float,
    reached: Doubles,
    cells: Doubles,
    extremes: Ints,
    sizes: Ints,
    when: Doubles,
    rank: Ints,
) -> None:
    """Bring a holder's MIN and MAX up to date, in the windows where trends are reached."""
    for _ in range(count):
        target, stack, compared = words[at], words[at + 1], words[at + 2]
        at += 3
        own = FOREVER
        if stack >= 0:
            for place in range(stack * DEPTH, stack * DEPTH + sizes[stack]):
                if when[place] > since:
                    own = rank[place]
                    break
        for lane in range(lanes):
            if reached[lane] == 0.0:
                continue
            best = own
            for p in range(at, at + 2 * compared, 2):
                if words[p] >= 0 and cells[words[p + 1] + lane] != 0.0:
                    best = min(best, extremes[words[p] + lane])
            extremes[target + lane] = min(extremes[target + lane], best)
        at += 2 * compared
        twins = words[at]
        for t in range(at + 1, at + 1 + twins):
            for lane in range(lanes):
                if reached[lane] != 0.0:
                    twin = words[t] + lane
                    extremes[twin] = min(extremes[twin], extremes[target + lane])
        at += 1 + twins


@wide_kernel
def _settle_big(
    words: Ints,
    at: int,
    events: float,
    clock: Doubles,
    mark: Doubles,
    opened: Doubles,
    cells: Doubles,
    powers: Codes,  # [1, cell]
    reached: Doubles,
) -> None:
    """Bring a holder's sums up to date in numbers with exponents; clock, mark: its own."""
    lanes, opening, sums = words[at + 3], words[at + 4], words[at + 5]
    for lane in range(lanes):
        others, others_power = 0.0, 0
        if opening >= 0:
            others = opened[opening + lane]
        place = at + HEAD
        count, terms = words[place] + lane, words[place + 2]
        place += 3
        for t in range(place, place + terms):
            cell = words[t] + lane
            others, others_power = add(others, others_power, cells[cell], powers[0, cell])
        beside = place + terms
        place = beside + 1 + words[beside]
        trends, trends_power = add(others, others_power, cells[count], powers[0, count])
        reached[lane] = trends
        if trends == 0.0:
            continue
        for _ in range(1, sums):
            target, entry, terms = words[place] + lane, words[place + 1], words[place + 2]
            place += 3
            before, before_power = 0.0, 0
            for t in range(place, place + terms):
                cell = words[t] + lane
                before, before_power = add(before, before_power, cells[cell], powers[0, cell])
            place += terms
            before, before_power = add(before, before_power, cells[target], powers[0, target])
            value, power = _shifted(before, before_power, events)
            value, power = add(value, power, -before, before_power)
            if entry >= 0:
                weight = clock[entry] - mark[entry]
                if entry % ADDEND_WIDTH == SUM:
                    weight = _gone(clock[entry], mark[entry], clock[entry + 1], mark[entry + 1])
                own, own_power = scale(trends, trends_power, weight)
                own, own_power = _shifted(own, own_power, events - 1.0)
                value, power = add(value, power, own, own_power)
            place = _add_beside(words, place, target, lane, value, power, cells, powers)
        value, power = _shifted(trends, trends_power, events)
        value, power = add(value, power, -trends, trends_power)
        _add_beside(words, beside, count, lane, value, power, cells, powers)


@wide_kernel
def _add_beside(
    words: Ints,
    place: int,
    target: int,
    lane: int,
    value: float,
    power: int,
    cells: Doubles,
    powers: Codes,  # [1, cell]
) -> int:
    """Add a number to a cell, and to those of twins told from `place` on; return where they end."""
    cells[target], powers[0, target] = add(cells[target], powers[0, target], value, power)
    end = place + 1 + words[place]
    for t in range(place + 1, end):
        twin = words[t] + lane
        cells[twin], powers[0, twin] = add(cells[twin], powers[0, twin], value, power)
    return end


@wide_kernel(forced=True)
def _settle_plain(
    words: Ints,
    at: int,
    events: float,
    clock: Doubles,
    mark: Doubles,
    opened: Doubles,
    cells: Doubles,
    rows: Doubles,
) -> bool:
    """Bring a holder's sums up to date in plain doubles; rows[1]: trends reached, by window."""
    lanes, opening, sums = words[at + 3], words[at + 4], words[at + 5]
    others, trends, before = rows[0], rows[1], rows[2]
    factor = math.ldexp(1.0, int(events))
    gain = factor - 1.0
    passed = False
    place = at + HEAD
    count, terms = words[place], words[place + 2]
    place += 3
    if opening >= 0:
        for lane in range(lanes):
            others[lane] = opened[opening + lane]
    else:
        for lane in range(lanes):
            others[lane] = 0.0
    for t in range(place, place + terms):
        source = words[t]
        for lane in range(lanes):
            others[lane] += cells[source + lane]
    beside = place + terms
    place = beside + 1 + words[beside]
    for lane in range(lanes):
        trends[lane] = others[lane] + cells[count + lane]
    for _ in range(1, sums):
        target, entry, terms = words[place], words[place + 1], words[place + 2]
        place += 3
        weight = 0.0
        if entry >= 0:
            weight = clock[entry] - mark[entry]
            if entry % ADDEND_WIDTH == SUM:
                weight = _gone(clock[entry], mark[entry], clock[entry + 1], mark[entry + 1])
            weight *= 0.5 * factor
        for lane in range(lanes):
            before[lane] = 0.0
        for t in range(place, place + terms):
            source = words[t]
            for lane in range(lanes):
                before[lane] += cells[source + lane]
        place += terms
        for lane in range(lanes):
            before[lane] = gain * (cells[target + lane] + before[lane]) + weight * trends[lane]
            value = cells[target + lane] + before[lane]
            cells[target + lane] = value
            passed |= abs(value) >= THRESHOLD
        twins = words[place]
        for t in range(place + 1, place + 1 + twins):
            for lane in range(lanes):
                value = cells[words[t] + lane] + before[lane]
                cells[words[t] + lane] = value
                passed |= abs(value) >= THRESHOLD
        place += 1 + twins
    for lane in range(lanes):
        value = cells[count + lane] + gain * trends[lane]
        cells[count + lane] = value
        passed |= value >= THRESHOLD
    for t in range(beside + 1, beside + 1 + words[beside]):
        for lane in range(lanes):
            value = cells[words[t] + lane] + gain * trends[lane]
            cells[words[t] + lane] = value
            passed |= value >= THRESHOLD
    return passed


@wide_kernel(forced=True)
def _settle(
    words: Ints,
    first_word: Ints,
    holders: Ints,
    begin: int,
    end: int,
    clock: Doubles,
    mark: Doubles,
    opened: Doubles,
    cells: Doubles,
    powers: Codes,
    extremes: Ints,
    sizes: Ints,
    when: Doubles,
    rank: Ints,
    big: bool,
    rows: Doubles,
) -> int:
    """Bring holders[begin:end] up to date; see `settle`. Arrays of state are one key's rows.

    A holder is the words (first entry of its clock, of its mark, their width, windows side by side,
    first entry of its windows in `State.opened` or -1, sums, extremes, first word of those); then
    for each sum (target, entry of the clock that tells its addend or -1, terms), its terms, and the
    number of its twins' sums and these; and for each extreme (target, its stack or -1, compared),
    what it is compared with, and its twins' likewise.
    """
    behind = 0
    passed = False
    for place in range(begin, end):
        at = first_word[holders[place]]
        first, own, width = words[at], words[at + 1], words[at + 2]
        since = mark[own]
        events = clock[first] - since
        if events == 0.0:
            continue
        behind += 1
        own_clock, own_mark = clock[first : first + width], mark[own : own + width]
        if big:
            _settle_big(words, at, events, own_clock, own_mark, opened, cells, powers, rows[1])
        else:
            passed |= _settle_plain(words, at, events, own_clock, own_mark, opened, cells, rows)
        if words[at + 6] != 0:
            _settle_extremes(
                words,
                words[at + 7],
                words[at + 6],
                words[at + 3],
                since,
                rows[1],
                cells,
                extremes,
                sizes,
                when,
                rank,
            )
        for entry in range(width):
            own_mark[entry] = own_clock[entry]
    return -behind if passed else behind


@wide_kernel(forced=True)
def settle(
    groups: Groups,
    clocks: Clocks,
    state: State,
    rows: Doubles,
    slot: int,
    holders: Ints,
    begin: int,
    end: int,
) -> int:
    """Bring holders[begin:end] up to date.

    rows: [3, lane], for work. Returns how many were behind; negative where a number has passed
    2**384.
    """
    big = state.big[slot] != 0
    return _settle(
        groups.words,
        groups.first_word,
        holders,
        begin,
        end,
        clocks.clock[slot],
        clocks.mark[slot],
        state.opened[slot],
        state.cells[slot],
        state.powers[slot if big else 0 : slot + 1 if big else 0],
        state.extremes[slot],
        clocks.sizes[slot],
        clocks.when[slot],
        clocks.rank[slot],
        big,
        rows,
    )


@wide_kernel
def settle_group(
    groups: Groups,
    clocks: Clocks,
    bursts: Bursts,
    state: State,
    rows: Doubles,
    slot: int,
    group: int,
) -> bool:
    """Bring all holders of a group up to date; return whether a number has passed 2**384."""
    if clocks.base[slot, group] == clocks.clock[slot, groups.clock[group]]:
        return False
    behind = settle(
        groups,
        clocks,
        state,
        rows,
        slot,
        groups.member,
        groups.members[group],
        groups.members[group + 1],
    )
    bursts.counts[group, SNAPSHOTS] += abs(behind)
    clocks.base[slot, group] = clocks.clock[slot, groups.clock[group]]
    for stack in range(groups.stacks[group], groups.stacks[group + 1]):
        clocks.sizes[slot, stack] = 0
    return behind < 0


@wide_kernel
def settle_all(
    groups: Groups, clocks: Clocks, bursts: Bursts, state: State, rows: Doubles, slot: int
) -> bool:
    """Bring all holders of a key up to date; return whether a number has passed 2**384."""
    passed = False
    for group in range(groups.eager.shape[0]):
        passed |= settle_group(groups, clocks, bursts, state, rows, slot, group)
    return passed


@wide_kernel
def settle_edge(
    groups: Groups,
    clocks: Clocks,
    bursts: Bursts,
    program: Program,
    state: State,
    rows: Doubles,
    slot: int,
    time: int,
) -> bool:
    """End a key's bursts and bring holders up to date whose windows open or close at `time`."""
    passed = False
    clocks.last[slot] = -1
    for group in range(groups.eager.shape[0]):
        end_burst(clocks, bursts, slot, group)
    if state.big[slot] != 0:  # its numbers may become plain: no span may be left open
        for group in range(groups.eager.shape[0]):
            clocks.touches[slot, group] += groups.members[group + 1] - groups.members[group]
        return settle_all(groups, clocks, bursts, state, rows, slot)
    for kind in range(program.within.shape[0]):
        first, last = 0, 0
        within = program.within[kind]
        if within != FOREVER:
            since = time - program.origin[kind]
            first = (since - within) // program.step[kind] + 1
            last = since // program.step[kind]
        if first == state.first[slot, kind] and last == state.last[slot, kind]:
            continue
        begin, end = groups.kind_holders[kind], groups.kind_holders[kind + 1]
        for holder in range(begin, end):
            group = groups.group[holder]
            clock = clocks.clock[slot, groups.clock[group]]
            clocks.touches[slot, group] += 1.0
            if clock != clocks.mark[slot, groups.words[groups.first_word[holder] + 1]]:
                bursts.counts[group, SNAPSHOTS] += 1
        passed |= settle(groups, clocks, state, rows, slot, groups.every, begin, end) < 0
    return passed


@wide_kernel
def end_burst(clocks: Clocks, bursts: Bursts, slot: int, group: int) -> None:
    """Take note of a burst that has ended, if there was one."""
    events = clocks.burst[slot, group]
    if events < 0:
        return
    clocks.burst[slot, group] = -1
    if events == 0:
        return
    bursts.averages[group, LENGTH] = _averaged(bursts.averages[group, LENGTH], float(events))
    bursts.counts[group, BURSTS] += 1
    bursts.counts[group, SHARED] += clocks.shared[slot, group]
    record = bursts.recorded[0]
    if record < bursts.time.shape[0]:
        bursts.recorded[0] = record + 1
        bursts.group[record] = group
        bursts.time[record] = clocks.began[slot, group]
        bursts.events[record] = events
        bursts.was_shared[record] = clocks.shared[slot, group]
        bursts.benefit[record] = clocks.benefit[slot, group]


@wide_kernel
def end_bursts(clocks: Clocks, bursts: Bursts, slot: int) -> None:
    """Take note of a key's bursts, all of which end."""
    for group in range(clocks.burst.shape[1]):
        end_burst(clocks, bursts, slot, group)


@wide_kernel
def is_news(
    breaks: Ints, runs: Ints, ticks: Ints, tick_group: Ints, burst: Ints, slot: int, kind: int
) -> bool:
    """Return whether there is anything for `arrive` to do; arguments as in Groups and Clocks."""
    if breaks[kind] != breaks[kind + 1] or runs[kind] != runs[kind + 1]:
        return True
    for tick in range(ticks[kind], ticks[kind + 1]):  # noqa: SIM110  (compiled as it stands)
        if burst[slot, tick_group[tick]] < 0:
            return True
    return False


@wide_kernel(forced=True)
def arrive(
    groups: Groups,
    clocks: Clocks,
    bursts: Bursts,
    state: State,
    rows: Doubles,
    slot: int,
    kind: int,
    time: int,
    dynamic: bool,
) -> bool:
    """Get a key ready for an event of another class than the one before it.

    The bursts that it breaks end; the holders that it reads or whose predecessors it changes are
    brought up to date; of the bursts that it begins it is decided whether to share them. May be
    repeated. Returns whether a number has passed 2**384.
    """
    passed = False
    burst, shared, touches = clocks.burst, clocks.shared, clocks.touches
    clock, base, counts = clocks.clock, clocks.base, bursts.counts
    first, run_group, run_start = groups.clock, groups.run_group, groups.run
    averages = bursts.averages
    big = state.big[slot] != 0
    for b in range(groups.breaks[kind], groups.breaks[kind + 1]):
        group = groups.broken[b]
        if burst[slot, group] >= 0:
            end_burst(clocks, bursts, slot, group)
    for run in range(groups.runs[kind], groups.runs[kind + 1]):
        group = run_group[run]
        begin, end = run_start[run], run_start[run + 1]
        if shared[slot, group] == 0:
            touches[slot, group] += end - begin
            continue
        if clock[slot, first[group]] == base[slot, group]:
            continue
        behind = settle(groups, clocks, state, rows, slot, groups.settled, begin, end)
        passed |= behind < 0
        touches[slot, group] += abs(behind)
        counts[group, SNAPSHOTS] += abs(behind)
    for tick in range(groups.ticks[kind], groups.ticks[kind + 1]):
        group = groups.tick_group[tick]
        if burst[slot, group] >= 0:
            continue
        burst[slot, group] = 0
        clocks.began[slot, group] = time
        if not dynamic:
            continue
        holders = groups.members[group + 1] - groups.members[group]
        if averages[group, LENGTH] >= 0.0:
            touched = min(touches[slot, group], float(holders))
            averages[group, TOUCHED] = _averaged(averages[group, TOUCHED], touched)
        touches[slot, group] = 0.0
        saved = decide(
            averages,
            groups.eager_big if big else groups.eager,
            groups.lazy,
            groups.settling_big if big else groups.settling,
            groups.boundary[0],
            group,
            holders,
        )
        clocks.benefit[slot, group] = saved
        counts[group, DECISIONS] += 1
        clocks.dull[slot] = clocks.dull[slot] + 1 if saved <= 0.0 else 0
        if saved > 0.0 and shared[slot, group] == 0:
            shared[slot, group] = 1
            counts[group, MERGES] += 1
        elif saved <= 0.0 and shared[slot, group] != 0:
            passed |= settle_group(groups, clocks, bursts, state, rows, slot, group)
            shared[slot, group] = 0
            counts[group, SPLITS] += 1
    if clocks.dull[slot] >= DULL:
        clocks.dull[slot] = 0
        lazy = False
        for group in range(shared.shape[1]):
            lazy |= shared[slot, group] != 0
        if not lazy:
            clocks.asleep[slot] = NAP
    return passed


@wide_kernel
def wake(clocks: Clocks, slot: int) -> None:
    """Begin to look at a key's bursts again; of those in progress the beginning was not seen."""
    clocks.burst[slot] = -1
    clocks.touches[slot] = 0.0
    clocks.last[slot] = -1


@wide_kernel
def is_wild(
    addends: Ints, addend: Ints, group: int, event: int, values: Doubles, present: Flags
) -> bool:
    """Return whether an event's values are beyond what a clock adds up."""
    for a in range(addends[group], addends[group + 1]):
        attribute = addend[a]
        if present[attribute, event] != 0 and not abs(values[attribute, event]) <= WILD:
            return True
    return False


@wide_kernel
def is_full(
    first: Ints,
    clock: Doubles,
    base: Doubles,
    stacks: Ints,
    sizes: Ints,
    slot: int,
    group: int,
    big: bool,
) -> bool:
    """Return whether a clock can go no further before all holders are brought up to date.

    first: [group] -> its clock's first entry; the others as in Groups and Clocks.
    """
    if not big and clock[slot, first[group]] - base[slot, group] >= SPAN:
        return True
    for stack in range(stacks[group], stacks[group + 1]):  # noqa: SIM110
        if sizes[slot, stack] == DEPTH:
            return True
    return False


@wide_kernel
def move(
    first: Ints,
    clock: Doubles,
    addends: Ints,
    addend: Ints,
    stacks: Ints,
    ranked: Ints,
    sizes: Ints,
    when: Doubles,
    rank: Ints,
    slot: int,
    group: int,
    event: int,
    values: Doubles,
    present: Flags,
    orders: Ints,
    ordered: Flags,
) -> None:
    """Let a clock move on by an event; the group is not full and the event not wild.

    first: [group] -> its clock's first entry; the others as in Groups and Clocks.
    """
    at = first[group]
    now = clock[slot, at] + 1.0
    clock[slot, at] = now
    for a in range(addends[group], addends[group + 1]):
        attribute = addend[a]
        if present[attribute, event] != 0:
            value = values[attribute, event]
            before = clock[slot, at + SUM]
            after = before + value
            back = after - before
            clock[slot, at + SUM] = after
            clock[slot, at + ERROR] += (before - (after - back)) + (value - back)
            clock[slot, at + PRESENT] += 1.0
        at += ADDEND_WIDTH
    for stack in range(stacks[group], stacks[group + 1]):
        attribute = ranked[stack] >> 1
        if ordered[attribute, event] != 0:
            own = orders[attribute, event]
            if ranked[stack] & 1 == 1:
                own = ~own
            size = sizes[slot, stack]
            bottom = stack * DEPTH
            while size > 0 and rank[slot, bottom + size - 1] >= own:
                size -= 1
            rank[slot, bottom + size] = own
            when[slot, bottom + size] = now
            sizes[slot, stack] = size + 1


@wide_kernel
def settle_until(
    groups: Groups,
    clocks: Clocks,
    bursts: Bursts,
    program: Program,
    state: State,
    rows: Doubles,
    time: int,
) -> bool:
    """Get all keys ready to have windows closed that end at or before `time`.

    Returns whether a number has passed 2**384.
    """
    passed = False
    for slot in range(state.key.shape[0]):
        if state.key[slot] < 0:
            continue
        if time == FOREVER:
            if settle_all(groups, clocks, bursts, state, rows, slot):
                begin_exponents(state, slot)
                passed = True
            end_bursts(clocks, bursts, slot)
            clear_clocks(clocks, slot)
        elif (
            time >= state.edge[slot]
            and clocks.asleep[slot] == 0
            and settle_edge(groups, clocks, bursts, program, state, rows, slot, time)
        ):
            begin_exponents(state, slot)
            passed = True
    return passed


@wide_kernel
def clear_clocks(clocks: Clocks, slot: int) -> None:
    """Make an emptied slot's clocks ready for the next key; what is shared stays."""
    clocks.clock[slot] = 0.0
    clocks.mark[slot] = 0.0
    clocks.base[slot] = 0.0
    clocks.burst[slot] = -1
    clocks.touches[slot] = 0.0
    clocks.sizes[slot] = 0
    clocks.last[slot] = -1
    clocks.dull[slot] = 0
    clocks.asleep[slot] = 0
