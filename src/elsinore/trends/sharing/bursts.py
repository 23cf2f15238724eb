# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Bursts: when they begin and end, and whether to share them (HAMLET, Section 4).

What sharing a burst saves, or would have saved, is known when it has ended: its steps are counted.
`elsinore.trends.benefit` has the formula and the rule by which the state changes.
"""

from __future__ import annotations

from typing import Any

from elsinore.trends.benefit import benefit, changes
from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sharing.clock import (
    COHORTS,
    LANES,
    NUMBER,
    OWN_LANES,
    clear_clocks,
    settle_group,
    settle_lane,
)
from elsinore.trends.sharing.parts import align, unite

# what a class does to a group: where the group is, the list of steps, what these cost in tenths of
# nanoseconds, and which cohorts take it (see `parts`); of no group, all but the steps is 0
OF_GROUP, STEPS, COSTS, TAKERS, SECTION_WORDS = range(5)

GROUPS = 1  # the program's word that tells where the list of groups is: their number, then they
EASIER = 0.5  # of the price of going back to single events is that of beginning to share
MEMORY = 16.0  # bursts that an average looks back on
DULL = 3  # after so many bursts not worth sharing nothing is looked at
STILL_DULL = 2  # after so many of those where that was so before; of the first nothing is known
NAP = 256  # for so many of the key's events, twice as many each time that nothing has changed
LONGEST = 7  # doublings of that, at most
LONG = 5_000.0  # nanoseconds of a burst, lane by lane, after which the next one begins, ...
TURNS = 100  # ... and so many changes of class in it
MOST_JOINS = 2  # of a burst's parts; where there would be more, lanes one by one are cheaper


@wide_kernel(linked=True)
def decide(header: Any, ints: Ints, doubles: Doubles, group: int, saved: float) -> None:
    """Take note of what sharing a burst saved or would have saved; change the state if it pays.

    Going back to single events costs that all lanes are settled; sharing begins for half of that,
    so that what is shared first is worth it. Bursts are shared only while they are expected to
    save something, which is the running average: of short bursts now and then a few in turn would
    have paid, though most do not.
    """
    average = doubles[header.benefits + group]
    if saved != 0.0:  # else nothing is known of an earlier burst
        average = saved if average == 0.0 else average + (saved - average) / MEMORY
        doubles[header.benefits + group] = average
    ints[header.decisions + group] += 1
    price = doubles[header.price + group]
    shares = ints[header.wanted + group] != 0
    if not shares:
        price *= EASIER
    regret = doubles[header.regret + group]
    change, left = changes(regret, saved, shares, price)
    if average <= 0.0 and shares:
        change, left = True, 0.0
    elif average <= 0.0 and change:
        change, left = False, regret + saved
    doubles[header.regret + group] = left
    ints[header.wanted + group] = int(shares != change)


@wide_kernel
def decide_often(header: Any, ints: Ints, doubles: Doubles, times: int) -> None:
    """Decide so many times, to measure how long it takes: for a copy of what is known."""
    for turn in range(times):
        decide(header, ints, doubles, turn % header.group, 1.0 if turn % 3 == 0 else -1.0)


@wide_kernel(linked=True)
def end_burst(header: Any, ints: Ints, doubles: Doubles, slot: int, number: int) -> None:
    """Take note of a burst that has ended, if there was one; record it where there is room."""
    place = slot * header.group + number
    events = ints[header.burst + place]
    if events < 0:
        return
    if events == 0:
        ints[header.burst + place] = -1
        return
    shared = ints[header.shared + place]
    ints[header.bursts + number] += 1
    ints[header.shared_bursts + number] += shared
    ints[header.parted_bursts + number] += shared != 0 and ints[header.parts + place] > 1
    ints[header.burst + place] = -1
    record = header.records
    if record < header.record:
        header.records = record + 1
        ints[header.record_group + record] = number
        ints[header.record_key + record] = ints[header.key + slot]
        ints[header.record_time + record] = ints[header.began + place]
        ints[header.record_events + record] = events
        ints[header.record_shared + record] = shared
        doubles[header.record_benefit + record] = doubles[header.expected + place]


@wide_kernel(linked=True)
def end_bursts(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Take note of a key's bursts, all of which end."""
    for number in range(header.group):
        end_burst(header, ints, doubles, slot, number)


@wide_kernel(linked=True)
def clear_bursts(header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int) -> None:
    """Make an emptied slot ready for the next key; what is shared stays."""
    groups = program[GROUPS]
    for place in range(groups + 1, groups + 1 + program[groups]):
        clear_clocks(header, ints, doubles, program, program[place], slot)
    forget_bursts(header, ints, doubles, slot)
    for number in range(header.group):
        ints[header.parts + slot * header.group + number] = 0
        ints[header.unweighed + number] -= ints[header.asleep + slot]
    ints[header.dull + slot] = 0
    ints[header.asleep + slot] = 0
    ints[header.naps + slot] = 0


@wide_kernel(linked=True)
def forget_bursts(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Begin to look at a key's bursts; of those in progress the beginning was not seen."""
    for place in range(slot * header.group, (slot + 1) * header.group):
        ints[header.burst + place] = -1
        _forget_costs(header, ints, doubles, place)
    ints[header.last_class + slot] = -1


@wide_kernel(inline=True)
def _forget_costs(header: Any, ints: Ints, doubles: Doubles, place: int) -> None:
    """Begin to count what a burst costs."""
    ints[header.acts + place] = 0
    doubles[header.eager + place] = 0.0
    ints[header.moves + place] = 0
    ints[header.turns + place] = 0
    ints[header.cuts + place] = 0
    ints[header.touched + place] = 0
    ints[header.joins + place] = 0


@wide_kernel(linked=True)
def settle_slot(header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int) -> None:
    """Bring all lanes of a slot up to date."""
    groups = program[GROUPS]
    for place in range(groups + 1, groups + 1 + program[groups]):
        settle_group(header, ints, doubles, program, program[place], slot)


@wide_kernel(linked=True)
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
    brought up to date; those that are long end, so that the rest is decided anew; for those that
    it begins it is seen whether to share them; and those that it goes on are cut where only some
    take it. The words are: at `breaks` the list of groups' numbers; at `runs` the number of runs,
    of each its group and the list of its holders; at `sections` how many sections the class has,
    and those.
    """
    for place in range(breaks + 1, breaks + 1 + program[breaks]):
        if ints[header.burst + slot * header.group + program[place]] >= 0:
            end_burst(header, ints, doubles, slot, program[place])
    _settle_runs(header, ints, doubles, program, runs, slot)
    for number in range(1, program[sections]):
        section = sections + 1 + SECTION_WORDS * number
        group = program[section + OF_GROUP]
        place = slot * header.group + program[group + NUMBER]
        if (
            ints[header.burst + place] < 0
            or ints[header.parts + place] == 0
            or doubles[header.eager + place] > LONG
            or ints[header.turns + place] > TURNS
            or (dynamic and ints[header.joins + place] > MOST_JOINS)
        ):
            if dynamic:
                end_burst(header, ints, doubles, slot, program[group + NUMBER])
            if ints[header.burst + place] < 0:
                ints[header.burst + place] = 0
                ints[header.began + place] = time
            _judge(header, ints, doubles, program, group, slot, dynamic)
        ints[header.turns + place] += program[group + COHORTS] > 1
        if ints[header.shared + place] != 0 or ints[header.joins + place] <= MOST_JOINS:
            align(header, ints, doubles, program, group, slot, program[section + TAKERS])
    if ints[header.dull + slot] >= (DULL if ints[header.naps + slot] == 0 else STILL_DULL):
        ints[header.dull + slot] = 0
        lazy = 0
        for place in range(slot * header.group, (slot + 1) * header.group):
            lazy |= ints[header.shared + place]
        if lazy == 0:
            _end_seen(header, ints, doubles, slot)
            ints[header.asleep + slot] = NAP << ints[header.naps + slot]
            for number in range(header.group):
                ints[header.unweighed + number] += ints[header.asleep + slot]
            ints[header.naps + slot] = min(ints[header.naps + slot] + 1, LONGEST)


@wide_kernel(linked=True)
def _end_seen(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Take note of a key's bursts, of whose events from the present one on nothing is seen."""
    for number in range(header.group):
        place = slot * header.group + number
        ints[header.burst + place] += ints[header.burst + place] == 0  # it has begun with that one
        end_burst(header, ints, doubles, slot, number)


@wide_kernel(linked=True)
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


@wide_kernel(linked=True)
def _judge(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, group: int, slot: int, dynamic: bool
) -> None:
    """Decide whether to share a burst by the one before it, all of whose costs are known now.

    Parts that bursts were cut into while each lane was worked on by itself, to know what sharing
    would have cost, are forgotten where sharing begins: none of their clocks has moved.
    """
    number = program[group + NUMBER]
    place = slot * header.group + number
    acts = ints[header.acts + place]
    if dynamic:
        saved = _saved(header, ints, doubles, program, group, slot)
        decide(header, ints, doubles, number, saved)
        if saved > 0.0:
            ints[header.dull + slot] = 0
            ints[header.naps + slot] = 0
        else:
            ints[header.dull + slot] += 1
    _forget_costs(header, ints, doubles, place)
    wanted, shared = ints[header.wanted + number], ints[header.shared + place]
    if dynamic and wanted != 0 and shared == 0:
        ints[header.merges + number] += 1
    elif dynamic and wanted == 0 and shared != 0:
        settle_group(header, ints, doubles, program, group, slot)
        ints[header.splits + number] += 1
    ints[header.shared + place] = wanted
    doubles[header.expected + place] = doubles[header.benefits + number]
    parts = ints[header.parts + place]
    if wanted == 0 or shared == 0 or parts == 0:
        unite(header, ints, program, group, slot)
    elif (parts - 1) * acts * doubles[header.lazy + number] > doubles[header.price + number]:
        settle_group(header, ints, doubles, program, group, slot)
        unite(header, ints, program, group, slot)
        ints[header.joins + place] = 1


@wide_kernel(linked=True)
def _saved(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, group: int, slot: int
) -> float:
    """Return what sharing a burst has saved, or would have.

    Separate are the updates of all lanes by each event, propagation are the moves of the parts'
    clocks, and snapshots are made at events and looked up where a graphlet ends.
    """
    number = program[group + NUMBER]
    place = slot * header.group + number
    if ints[header.acts + place] == 0:
        return 0.0
    if ints[header.joins + place] > MOST_JOINS:
        return -doubles[header.price + number]
    moving = ints[header.moves + place] * doubles[header.lazy + number]
    moving += ints[header.turns + place] * header.turn
    touched = min(ints[header.touched + place], program[group + LANES])
    snapshots = touched * doubles[header.settling + number]
    snapshots += ints[header.cuts + place] * header.cut
    snapshots += ints[header.joins + place] * doubles[header.price + number]
    return benefit(doubles[header.eager + place], moving, snapshots, header.boundary)


@wide_kernel(linked=True)
def count_costs(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, section: int, slot: int, acts: int
) -> None:
    """Take note of what events of a section cost: they act so often on lanes, or would."""
    place = slot * header.group + program[program[section + OF_GROUP] + NUMBER]
    ints[header.acts + place] += acts
    ints[header.moves + place] += ints[header.movers + place]
    doubles[header.eager + place] += 0.1 * program[section + COSTS] * acts
