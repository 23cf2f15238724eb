# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Clocks: what the events of a group have done so far, and holders that catch up with it.

All events of a group act alike on each lane of its holders: with c the number of trends that end in
the lane and s that in its other predecessors, n simultaneous events add n * (c + s) to c. As s does
not change meanwhile (whoever is about to change it settles the lane first), what a run of moments
with n_1, n_2, ... events does is told by two numbers, whatever the lane: of c, and of a sum y with
ys that of the predecessors, they make

    c' = A * (c + s) - s                     A = (1 + n_1) * (1 + n_2) * ...
    y' = A * (y + ys) - ys + A*w * (c + s)   w = v_1 / (1 + n_1) + v_2 / (1 + n_2) + ...

where v_j is the sum of what the moment's events contribute. The clock of a key and part of a group
(`elsinore.trends.sharing.parts`) keeps A as
2**doublings * odd and, of each addend, odd * w, so that whole numbers stay whole. A lane bears as
its *mark* what the clock showed when its sums were right last; what came since is a quotient and a
difference. Each lane's c and y are its value of the snapshot that the burst propagates (HAMLET,
Section 3.3 and Table 4), looked up when something else needs them.

The least rank since a mark is found on a stack: of the ranks so far those that none after them
undercuts, in order; the least since a mark is the first that came after it.

A group is the words NUMBER to HOLDERS; a holder the words GROUP to FIRST, and then its sums and
extremes, much as those of a step:

    cell, addend of the group (or NOTHING), terms, their cells, twins, their cells
    extreme, stack of the group (or NOTHING), compared, for each its extreme and cell, twins, and
    their extremes
"""

from __future__ import annotations

from typing import Any

from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.numbers import factor, normal, plus
from elsinore.trends.core.recurrence import gained_with_power, least_reached
from elsinore.trends.core.step import EACH, NO_VALUE, NOTHING
from elsinore.trends.core.totals import add_up
from elsinore.trends.core.wide import wide_kernel

# a group: its number, addends (the list of them), first weight of its clocks, stacks (the list of
# their ranks), the first of them, its first mark and weight of marks, the list of its holders, its
# lanes, its first clock, how many clocks it has, its first cohort, how many cohorts it has
NUMBER, ADDENDS, WEIGHT, STACKS, STACK, MARK, MARK_WEIGHT, HOLDERS, LANES = range(9)
CLOCK, CLOCKS, COHORT, COHORTS, GROUP_WORDS = range(9, 14)

# a holder: its group, cohort in the group, first mark and weight of marks, lanes, sums, extremes
GROUP, OWN_COHORT, OWN_MARK, OWN_WEIGHT, OWN_LANES, SUMS, EXTREMES, FIRST = range(8)

DEPTH = 32  # ranks kept to find the least since a mark; when they are that many, holders settle
ODD = 2.0**24  # from here on holders settle: odd * w is to stay exact for small numbers


@wide_kernel(inline=True)
def clock_of(header: Any, program: Ints, group: int, slot: int, part: int) -> int:
    """Return which of all clocks is that of a part of a key's group."""
    return slot * header.clock + program[group + CLOCK] + part


@wide_kernel(inline=True)
def part_of(header: Any, ints: Ints, program: Ints, at: int, slot: int) -> int:
    """Return the part that a holder is in."""
    group = program[at + GROUP]
    cohort = program[group + COHORT] + program[at + OWN_COHORT]
    return ints[header.part + slot * header.cohort + cohort]


@wide_kernel(inline=True)
def first_weight(header: Any, program: Ints, group: int, slot: int, part: int) -> int:
    """Return the first of the weights of a part's clock."""
    width = program[program[group + ADDENDS]]
    return slot * header.weight + program[group + WEIGHT] + part * width


@wide_kernel(inline=True)
def first_stack(header: Any, program: Ints, group: int, slot: int, part: int) -> int:
    """Return the first of the stacks of a part's clock."""
    width = program[program[group + STACKS]]
    return slot * header.stack + program[group + STACK] + part * width


@wide_kernel(linked=True)
def tick(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    group: int,
    slot: int,
    part: int,
    entry: int,
    events: float,
    moments: int,
) -> None:
    """Let a part's clock that is not full move on by moments of so many events each.

    entry: of the present moment, whose events these are. There is more than one moment only where
    events bring no addends and no ranks.
    """
    addends, ranks = ints[header.entry_addends + entry], ints[header.entry_ranks + entry]
    place = clock_of(header, program, group, slot, part)
    half, odd = 0.5, 1.0
    if events == 1.0:
        doubles[header.doublings + place] += moments
    else:
        rest = int(events) + 1
        half = 1.0
        while rest % 2 == 0:
            rest //= 2
            half *= 0.5
            doubles[header.doublings + place] += 1.0
        odd = float(rest)
    before = doubles[header.odd + place]
    doubles[header.odd + place] = before * odd
    now = ints[header.ticks + place] + 1
    ints[header.ticks + place] = now
    wanted = program[group + ADDENDS]
    for number in range(program[wanted]):
        addend = program[wanted + 1 + number]
        value = events * moments if addend == EACH else doubles[addends + addend]
        at = first_weight(header, program, group, slot, part) + number
        doubles[header.errors + at] *= odd
        weight = doubles[header.weights + at] * odd
        value *= before * half
        after = weight + value
        back = after - weight
        doubles[header.errors + at] += (weight - (after - back)) + (value - back)
        doubles[header.weights + at] = after
    wanted = program[group + STACKS]
    for number in range(program[wanted]):
        rank = ints[ranks + program[wanted + 1 + number]]
        if rank != NO_VALUE:
            stack = first_stack(header, program, group, slot, part) + number
            _push(header, ints, stack, rank, now)


@wide_kernel(inline=True)
def _push(header: Any, ints: Ints, stack: int, rank: int, now: int) -> None:
    """Put a rank on a stack that is not full, and off it those that it undercuts."""
    size = ints[header.sizes + stack]
    bottom = stack * DEPTH
    while size > 0 and ints[header.stacked + bottom + size - 1] >= rank:
        size -= 1
    ints[header.stacked + bottom + size] = rank
    ints[header.when + bottom + size] = now
    ints[header.sizes + stack] = size + 1


@wide_kernel(inline=True)
def is_full(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, group: int, slot: int, part: int
) -> bool:
    """Return whether a part's clock can go no further before all holders are settled."""
    if doubles[header.odd + clock_of(header, program, group, slot, part)] > ODD:
        return True
    first = first_stack(header, program, group, slot, part)
    for stack in range(first, first + program[program[group + STACKS]]):
        if ints[header.sizes + stack] == DEPTH:
            return True
    return False


@wide_kernel(linked=True)
def settle_lane(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, at: int, slot: int, lane: int
) -> bool:
    """Bring one lane of a holder up to date; return whether it was behind."""
    group, part = program[at + GROUP], part_of(header, ints, program, at, slot)
    place = clock_of(header, program, group, slot, part)
    mark = slot * header.mark + program[at + OWN_MARK] + lane
    since = ints[header.mark_ticks + mark]
    if ints[header.ticks + place] == since:
        return False
    ratio = doubles[header.odd + place] / doubles[header.mark_odd + mark]
    doublings = doubles[header.doublings + place] - doubles[header.mark_doublings + mark]
    gain, gain_power = factor(ratio, doublings)
    if gain_power == 0.0:
        gain -= 1.0
    trends, trends_power = _settle_sums(
        header, ints, doubles, program, at, slot, lane, part, gain, gain_power
    )
    if program[at + EXTREMES] != 0 and trends != 0.0:
        _settle_extremes(header, ints, doubles, program, at, slot, lane, since)
    count = slot * header.cell + program[at + FIRST] + lane
    twins = at + FIRST + 3 + program[at + FIRST + 2]
    trends, trends_power = normal(trends * gain, trends_power + gain_power)
    _add_beside(header, ints, doubles, program, count, twins, slot, lane, trends, trends_power)
    begin_lane(header, ints, doubles, program, at, slot, lane)
    return True


@wide_kernel(linked=True)
def begin_lane(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, at: int, slot: int, lane: int
) -> None:
    """Mark a lane as up to date."""
    group, part = program[at + GROUP], part_of(header, ints, program, at, slot)
    place = clock_of(header, program, group, slot, part)
    mark = slot * header.mark + program[at + OWN_MARK] + lane
    ints[header.mark_ticks + mark] = ints[header.ticks + place]
    doubles[header.mark_doublings + mark] = doubles[header.doublings + place]
    doubles[header.mark_odd + mark] = doubles[header.odd + place]
    width = program[program[group + ADDENDS]]
    mine = slot * header.mark_weight + program[at + OWN_WEIGHT] + lane * width
    clock = first_weight(header, program, group, slot, part)
    for number in range(width):
        doubles[header.mark_weights + mine + number] = doubles[header.weights + clock + number]
        doubles[header.mark_errors + mine + number] = doubles[header.errors + clock + number]


@wide_kernel(linked=True)
def _settle_sums(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    slot: int,
    lane: int,
    part: int,
    gain: float,
    gain_power: float,
) -> tuple[float, float]:
    """Bring all sums of a lane but its number of trends up to date; return c + s."""
    trends, trends_power, place = _with_predecessors(
        header, doubles, program, at + FIRST, slot, lane
    )
    if trends == 0.0:
        return 0.0, 0.0
    group = program[at + GROUP]
    width = program[program[group + ADDENDS]]
    clock = first_weight(header, program, group, slot, part)
    own = slot * header.mark_weight + program[at + OWN_WEIGHT] + lane * width
    mark = slot * header.mark + program[at + OWN_MARK] + lane
    place_of_clock = clock_of(header, program, group, slot, part)
    ratio = doubles[header.odd + place_of_clock] / doubles[header.mark_odd + mark]
    doublings = doubles[header.doublings + place_of_clock] - doubles[header.mark_doublings + mark]
    for _ in range(1, program[at + SUMS]):
        target, addend = program[place] + lane, program[place + 1]
        value, power, end = _with_predecessors(header, doubles, program, place, slot, lane)
        value, power = normal(value * gain, power + gain_power)
        if addend != NOTHING:
            weight = _gone(
                doubles[header.weights + clock + addend],
                doubles[header.mark_weights + own + addend] * ratio,
                doubles[header.errors + clock + addend],
                doubles[header.mark_errors + own + addend] * ratio,
            )
            weight, shift = factor(weight / doubles[header.mark_odd + mark], doublings)
            value, power = gained_with_power(value, power, 1.0, trends, trends_power, weight, shift)
            value, power = normal(value, power)
        twins = place + 3 + program[place + 2]
        _add_beside(
            header,
            ints,
            doubles,
            program,
            slot * header.cell + target,
            twins,
            slot,
            lane,
            value,
            power,
        )
        place = end
    return trends, trends_power


@wide_kernel(linked=True)
def _with_predecessors(
    header: Any, doubles: Doubles, program: Ints, place: int, slot: int, lane: int
) -> tuple[float, float, int]:
    """Return a sum of a lane and its predecessors, and where the holder's next sum begins."""
    cell = slot * header.cell + program[place] + lane
    total, power = doubles[header.cells + cell], doubles[header.powers + cell]
    total, power, twins = add_up(header, doubles, program, place + 2, slot, lane, total, power)
    return total, power, twins + 1 + program[twins]


@wide_kernel(inline=True)
def _gone(now: float, then: float, now_error: float, then_error: float) -> float:
    """Return now - then of sums kept with their rounding errors: what came before cancels out."""
    gone = now - then
    back = gone - now
    return gone + ((now - (gone - back)) - (then + back) + (now_error - then_error))


@wide_kernel(linked=True)
def _add_beside(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    target: int,
    twins: int,
    slot: int,
    lane: int,
    value: float,
    power: float,
) -> None:
    """Add a number to a cell, and to those of its twins."""
    total, top = plus(doubles[header.cells + target], doubles[header.powers + target], value, power)
    doubles[header.cells + target] = total
    doubles[header.powers + target] = top
    if top > 0.0:
        ints[header.big + slot] = 1
    for place in range(twins + 1, twins + 1 + program[twins]):
        cell = slot * header.cell + program[place] + lane
        total, top = plus(doubles[header.cells + cell], doubles[header.powers + cell], value, power)
        doubles[header.cells + cell] = total
        doubles[header.powers + cell] = top
        if top > 0.0:
            ints[header.big + slot] = 1


@wide_kernel(linked=True)
def _settle_extremes(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    at: int,
    slot: int,
    lane: int,
    since: int,
) -> None:
    """Bring the MIN and MAX of a lane that trends reach up to date."""
    part = part_of(header, ints, program, at, slot)
    cells = header.cells + slot * header.cell + lane
    extremes = header.extremes + slot * header.extreme + lane
    place = at + FIRST
    for _ in range(program[at + SUMS]):
        place += 3 + program[place + 2]
        place += 1 + program[place]
    for _ in range(program[at + EXTREMES]):
        target, own, compared = program[place], program[place + 1], program[place + 2]
        place += 3
        best = ints[extremes + target]
        if own != NOTHING:
            stack = first_stack(header, program, program[at + GROUP], slot, part) + own
            for entry in range(stack * DEPTH, stack * DEPTH + ints[header.sizes + stack]):
                if ints[header.when + entry] > since:
                    best = min(best, ints[header.stacked + entry])
                    break
        for _ in range(compared):
            if program[place] >= 0:
                trends = doubles[cells + program[place + 1]]
                best = least_reached(best, ints[extremes + program[place]], trends)
            place += 2
        ints[extremes + target] = best
        for twin in range(place + 1, place + 1 + program[place]):
            ints[extremes + program[twin]] = min(ints[extremes + program[twin]], best)
        place += 1 + program[place]


@wide_kernel(linked=True)
def settle_group(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, group: int, slot: int
) -> int:
    """Bring all lanes of a group's holders up to date, and its clocks back to their beginning.

    Returns how many lanes were behind.
    """
    number = program[group + NUMBER]
    first = clock_of(header, program, group, slot, 0)
    parts = ints[header.parts + slot * header.group + number]
    ticks = 0
    for clock in range(first, first + parts):
        ticks += ints[header.ticks + clock]
    if ticks == 0:
        return 0
    behind = 0
    holders = program[group + HOLDERS]
    for holder in range(holders + 1, holders + 1 + program[holders]):
        at = program[holder]
        for lane in range(program[at + OWN_LANES]):
            if settle_lane(header, ints, doubles, program, at, slot, lane):
                behind += 1
    ints[header.snapshots + number] += behind
    clear_clocks(header, ints, doubles, program, group, slot)
    return behind


@wide_kernel(linked=True)
def clear_clocks(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, group: int, slot: int
) -> None:
    """Bring a group's clocks and its holders' marks back to their beginning."""
    parts = ints[header.parts + slot * header.group + program[group + NUMBER]]
    first = clock_of(header, program, group, slot, 0)
    for clock in range(first, first + parts):
        ints[header.ticks + clock] = 0
        doubles[header.doublings + clock] = 0.0
        doubles[header.odd + clock] = 1.0
    width = program[program[group + ADDENDS]]
    first = first_weight(header, program, group, slot, 0)
    for weight in range(first, first + parts * width):
        doubles[header.weights + weight] = 0.0
        doubles[header.errors + weight] = 0.0
    first = slot * header.mark + program[group + MARK]
    for mark in range(first, first + program[group + LANES]):
        ints[header.mark_ticks + mark] = 0
        doubles[header.mark_doublings + mark] = 0.0
        doubles[header.mark_odd + mark] = 1.0
    first = slot * header.mark_weight + program[group + MARK_WEIGHT]
    for mark in range(first, first + program[group + LANES] * width):
        doubles[header.mark_weights + mark] = 0.0
        doubles[header.mark_errors + mark] = 0.0
    first = first_stack(header, program, group, slot, 0)
    for stack in range(first, first + parts * program[program[group + STACKS]]):
        ints[header.sizes + stack] = 0
