# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Parts: cohorts of a group that have taken the same events of a burst, and so have one clock.

A burst begins with all cohorts in one part. An event that some of a part's cohorts take and others
do not cuts it in two: from there on each has a clock of its own, and the clock that both had until
then is the snapshot at that event (HAMLET, Definition 9; the predicates are local ones). What an
event costs is so the number of parts, not of queries. No lane need be looked at for a cut: its mark
is one on the clock that was copied. Parts come together again where all lanes are up to date.

A class of events tells which cohorts take it by three words or more: whether those listed are the
takers, or are all others; how many are listed; and they.
"""

from __future__ import annotations

from typing import Any

from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sharing.clock import (
    ADDENDS,
    CLOCKS,
    COHORT,
    COHORTS,
    DEPTH,
    NUMBER,
    STACKS,
    clock_of,
    first_stack,
    first_weight,
    is_full,
    settle_group,
    tick,
)

WHOLE = -1  # of a part, in place of how many of its cohorts are listed: all of them


@wide_kernel(linked=True)
def unite(header: Any, ints: Ints, program: Ints, group: int, slot: int) -> None:
    """Bring all cohorts of a group together in one part; their clocks are at their beginning."""
    place = slot * header.group + program[group + NUMBER]
    first = slot * header.cohort + program[group + COHORT]
    for cohort in range(first, first + program[group + COHORTS]):
        ints[header.part + cohort] = 0
    ints[header.parts + place] = 1
    ints[header.cohorts_in + clock_of(header, program, group, slot, 0)] = program[group + COHORTS]


@wide_kernel(linked=True)
def align(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, group: int, slot: int, takers: int
) -> None:
    """Cut parts until each takes an event as a whole or not at all; list those that take it.

    Where there would be too many parts, all lanes are brought up to date and all begin in one.
    """
    number = program[group + NUMBER]
    place = slot * header.group + number
    cuts = _count_listed(header, ints, program, group, slot, takers)
    if ints[header.parts + place] + cuts > program[group + CLOCKS]:
        _forget_listed(header, ints, program, group, slot)
        settle_group(header, ints, doubles, program, group, slot)
        unite(header, ints, program, group, slot)
        ints[header.joins + place] += 1
        cuts = _count_listed(header, ints, program, group, slot, takers)
    if cuts > 0:
        _cut_parts(header, ints, doubles, program, group, slot, takers)
        ints[header.cuts + place] += cuts
        if ints[header.shared + place] != 0:
            ints[header.event_snapshots + number] += cuts
            ints[header.most_parts + number] = max(
                ints[header.most_parts + number], ints[header.parts + place]
            )
    movers, first = 0, clock_of(header, program, group, slot, 0)
    for part in range(ints[header.parts + place]):
        if (ints[header.listed + part] == WHOLE) == (program[takers] != 0):
            ints[header.mover + first + movers] = part
            movers += 1
    ints[header.movers + place] = movers
    _forget_listed(header, ints, program, group, slot)


@wide_kernel(linked=True)
def _count_listed(
    header: Any, ints: Ints, program: Ints, group: int, slot: int, takers: int
) -> int:
    """Count how many of each part's cohorts are listed; return how many parts are to be cut."""
    part_of = header.part + slot * header.cohort + program[group + COHORT]
    first = clock_of(header, program, group, slot, 0)
    for place in range(takers + 2, takers + 2 + program[takers + 1]):
        ints[header.listed + ints[part_of + program[place]]] += 1
    cuts = 0
    for part in range(ints[header.parts + slot * header.group + program[group + NUMBER]]):
        listed = ints[header.listed + part]
        if listed == ints[header.cohorts_in + first + part]:
            ints[header.listed + part] = WHOLE
        elif listed > 0:
            cuts += 1
    return cuts


@wide_kernel(linked=True)
def _forget_listed(header: Any, ints: Ints, program: Ints, group: int, slot: int) -> None:
    """Make the numbers of listed cohorts ready for the next event."""
    for part in range(ints[header.parts + slot * header.group + program[group + NUMBER]]):
        ints[header.listed + part] = 0


@wide_kernel(linked=True)
def _cut_parts(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, group: int, slot: int, takers: int
) -> None:
    """Move listed cohorts to new parts, but those of parts that are listed as a whole."""
    place = slot * header.group + program[group + NUMBER]
    part_of = header.part + slot * header.cohort + program[group + COHORT]
    first = clock_of(header, program, group, slot, 0)
    before = ints[header.parts + place]
    for part in range(before):
        ints[header.half + part] = 0  # no part that is cut off is the first
    for word in range(takers + 2, takers + 2 + program[takers + 1]):
        cohort = part_of + program[word]
        part = ints[cohort]
        if ints[header.listed + part] == WHOLE:
            continue
        half = ints[header.half + part]
        if half == 0:
            half = ints[header.parts + place]
            ints[header.parts + place] = half + 1
            ints[header.half + part] = half
            ints[header.listed + half] = WHOLE
            ints[header.cohorts_in + first + half] = 0
            _copy_clock(header, ints, doubles, program, group, slot, part, half)
        ints[cohort] = half
        ints[header.cohorts_in + first + part] -= 1
        ints[header.cohorts_in + first + half] += 1


@wide_kernel(linked=True)
def _copy_clock(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    group: int,
    slot: int,
    part: int,
    copy: int,
) -> None:
    """Let the clock of a new part show what that of another does."""
    of = clock_of(header, program, group, slot, part)
    to = clock_of(header, program, group, slot, copy)
    ints[header.ticks + to] = ints[header.ticks + of]
    doubles[header.doublings + to] = doubles[header.doublings + of]
    doubles[header.odd + to] = doubles[header.odd + of]
    of = first_weight(header, program, group, slot, part)
    to = first_weight(header, program, group, slot, copy)
    for number in range(program[program[group + ADDENDS]]):
        doubles[header.weights + to + number] = doubles[header.weights + of + number]
        doubles[header.errors + to + number] = doubles[header.errors + of + number]
    of = first_stack(header, program, group, slot, part)
    to = first_stack(header, program, group, slot, copy)
    for number in range(program[program[group + STACKS]]):
        size = ints[header.sizes + of + number]
        ints[header.sizes + to + number] = size
        from_rank, to_rank = (of + number) * DEPTH, (to + number) * DEPTH
        for depth in range(size):
            ints[header.stacked + to_rank + depth] = ints[header.stacked + from_rank + depth]
            ints[header.when + to_rank + depth] = ints[header.when + from_rank + depth]


@wide_kernel(linked=True)
def move(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    group: int,
    slot: int,
    entry: int,
    events: float,
    moments: int,
) -> None:
    """Let an entry's events, in so many moments, move the clocks of the parts that take them."""
    first = header.mover + clock_of(header, program, group, slot, 0)
    movers = ints[header.movers + slot * header.group + program[group + NUMBER]]
    for place in range(first, first + movers):
        if is_full(header, ints, doubles, program, group, slot, ints[place]):
            settle_group(header, ints, doubles, program, group, slot)
    for place in range(first, first + movers):
        tick(header, ints, doubles, program, group, slot, ints[place], entry, events, moments)
