# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Bursts: when they begin and end, and whether to share them (HAMLET, Section 4).

Sharing a group and not sharing it are two states, with a price for going from one to the other.
What a burst would have cost in the other state is known when it has ended; where these regrets add
up to more than the price, the state changes. So `dynamic` loses little to either static mode,
whatever the stream.
"""

from __future__ import annotations

from typing import Any

from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.sharing.clock import (
    LANES,
    NUMBER,
    OWN_LANES,
    clear_clock,
    settle_group,
    settle_lane,
)
from elsinore.trends.wide import wide_kernel

GROUPS = 1  # the program's word that tells where the list of groups is: their number, then they
MEMORY = 16.0  # bursts that an average looks back on
DULL = 3  # after so many bursts not worth sharing nothing is looked at
NAP = 256  # for so many of the key's events, twice as many each time that nothing has changed
LONGEST = 5  # doublings of that, at most


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
def decide(header: Any, ints: Ints, doubles: Doubles, group: int, saved: float) -> None:
    """Take note of what sharing a burst saved or would have saved; change the state if it pays.

    Going back to single events costs that all lanes are settled; sharing begins for half of that,
    so that what is shared first is worth it.
    """
    average = doubles[header.benefits + group]
    doubles[header.benefits + group] = (
        saved if ints[header.decisions + group] == 0 else average + (saved - average) / MEMORY
    )
    ints[header.decisions + group] += 1
    price = doubles[header.price + group]
    if ints[header.wanted + group] == 0:
        regret = max(0.0, doubles[header.regret + group] + saved)
        change = regret > 0.5 * price
    else:
        regret = max(0.0, doubles[header.regret + group] - saved)
        change = regret > price
    if change:
        ints[header.wanted + group] = 1 - ints[header.wanted + group]
        regret = 0.0
    doubles[header.regret + group] = regret


@wide_kernel
def decide_often(header: Any, ints: Ints, doubles: Doubles, times: int) -> None:
    """Decide so many times, to measure how long it takes: for a copy of what is known."""
    for turn in range(times):
        decide(header, ints, doubles, turn % header.group, 1.0 if turn % 3 == 0 else -1.0)


@wide_kernel
def end_burst(header: Any, ints: Ints, doubles: Doubles, slot: int, number: int) -> None:
    """Take note of a burst that has ended, if there was one."""
    place = slot * header.group + number
    events = ints[header.burst + place]
    if events < 0:
        return
    ints[header.burst + place] = -1
    if events == 0:
        return
    ints[header.length + place] = ints[header.acts + place]
    ints[header.moved + place] = ints[header.moves + place]
    ints[header.bursts + number] += 1
    ints[header.shared_bursts + number] += ints[header.shared + place]
    record = header.records
    if record < header.record:
        header.records = record + 1
        ints[header.record_group + record] = number
        ints[header.record_time + record] = ints[header.began + place]
        ints[header.record_events + record] = events
        ints[header.record_shared + record] = ints[header.shared + place]
        doubles[header.record_benefit + record] = doubles[header.benefits + number]


@wide_kernel
def end_bursts(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Take note of a key's bursts, all of which end."""
    for number in range(header.group):
        end_burst(header, ints, doubles, slot, number)


@wide_kernel
def clear_bursts(header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int) -> None:
    """Make an emptied slot ready for the next key; what is shared stays."""
    groups = program[GROUPS]
    for place in range(groups + 1, groups + 1 + program[groups]):
        clear_clock(header, ints, doubles, program, program[place], slot)
    for place in range(slot * header.group, (slot + 1) * header.group):
        ints[header.burst + place] = -1
        ints[header.length + place] = 0
        ints[header.touched + place] = 0
    ints[header.last_class + slot] = -1
    ints[header.dull + slot] = 0
    ints[header.asleep + slot] = 0
    ints[header.naps + slot] = 0


@wide_kernel
def settle_slot(header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int) -> None:
    """Bring all lanes of a slot up to date."""
    groups = program[GROUPS]
    for place in range(groups + 1, groups + 1 + program[groups]):
        settle_group(header, ints, doubles, program, program[place], slot)


@wide_kernel
def arrive(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    breaks: int,
    runs: int,
    sections: int,
    slot: int,
    time: int,
    dynamic: bool,
) -> None:
    """Get a key ready for an event of another class than the one before it.

    The bursts that it breaks end; the holders that it reads or whose predecessors it changes are
    brought up to date; for those that it begins it is seen whether to share them. The words are:
    at `breaks` the list of groups' numbers; at `runs` the number of runs, of each its group and the
    list of its holders; at `sections` those of the class (see `moments`).
    """
    for place in range(breaks + 1, breaks + 1 + program[breaks]):
        if ints[header.burst + slot * header.group + program[place]] >= 0:
            end_burst(header, ints, doubles, slot, program[place])
    _settle_runs(header, ints, doubles, program, runs, slot)
    for number in range(1, program[sections]):
        group = program[sections + 1 + 2 * number]
        place = slot * header.group + program[group + NUMBER]
        if ints[header.burst + place] < 0:
            _begin_burst(header, ints, doubles, program, group, slot, time, dynamic)
    if ints[header.dull + slot] >= DULL:
        ints[header.dull + slot] = 0
        lazy = 0
        for place in range(slot * header.group, (slot + 1) * header.group):
            lazy |= ints[header.shared + place]
        if lazy == 0:
            ints[header.asleep + slot] = NAP << ints[header.naps + slot]
            ints[header.naps + slot] = min(ints[header.naps + slot] + 1, LONGEST)


@wide_kernel
def _settle_runs(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, runs: int, slot: int
) -> None:
    """Bring the holders of some runs up to date, and count how many lanes were touched."""
    at = runs + 1
    for _ in range(program[runs]):
        number, holders = program[program[at] + NUMBER], program[at + 1]
        place = slot * header.group + number
        shared = ints[header.shared + place] != 0
        for run in range(at + 2, at + 2 + holders):
            lanes = program[program[run] + OWN_LANES]
            if not shared:
                ints[header.touched + place] += lanes
                continue
            for lane in range(lanes):
                if settle_lane(header, ints, doubles, program, program[run], slot, lane):
                    ints[header.touched + place] += 1
                    ints[header.snapshots + number] += 1
        at += 2 + holders


@wide_kernel
def _begin_burst(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    group: int,
    slot: int,
    time: int,
    dynamic: bool,
) -> None:
    """Begin a burst; decide by the one before it, all of whose costs are known now."""
    number = program[group + NUMBER]
    place = slot * header.group + number
    ints[header.burst + place] = 0
    ints[header.acts + place] = 0
    ints[header.moves + place] = 0
    ints[header.began + place] = time
    length = ints[header.length + place]
    touched = min(ints[header.touched + place], program[group + LANES])
    ints[header.touched + place] = 0
    if not dynamic:
        ints[header.shared + place] = ints[header.wanted + number]
        return
    saved = 0.0
    if length > 0:
        saved = benefit(
            float(length),
            float(touched),
            doubles[header.eager + number],
            doubles[header.lazy + number] * ints[header.moved + place] / length,
            doubles[header.settling + number],
            header.boundary,
        )
    decide(header, ints, doubles, number, saved)
    if saved > 0.0:
        ints[header.dull + slot] = 0
        ints[header.naps + slot] = 0
    else:
        ints[header.dull + slot] += 1
    wanted, shared = ints[header.wanted + number], ints[header.shared + place]
    if wanted != 0 and shared == 0:
        ints[header.merges + number] += 1
    elif wanted == 0 and shared != 0:
        settle_group(header, ints, doubles, program, group, slot)
        ints[header.splits + number] += 1
    ints[header.shared + place] = wanted


@wide_kernel
def wake(header: Any, ints: Ints, slot: int) -> None:
    """Begin to look at a key's bursts again; of those in progress the beginning was not seen."""
    for place in range(slot * header.group, (slot + 1) * header.group):
        ints[header.burst + place] = -1
        ints[header.length + place] = 0
        ints[header.touched + place] = 0
    ints[header.last_class + slot] = -1
