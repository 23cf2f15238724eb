# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Moments: the events of a key at one time act together, and read what was before them.

Simultaneous events do not precede one another. So a key's latest moment waits until a later event
comes or a window ends; meanwhile events of one class in turn are one *run*: how many they are, the
sum of each of their addends and the least of each of their ranks. The first run of a moment lies in
its slot, the others in a list of their own. Where events bring no addends and no ranks, moments of
one event each, all of one class, wait together: they are a *series*. Before it may be those of
other classes of its family, a *mixture* (`elsinore.trends.core.mixtures`).

A class is the words NUMBER to SECTIONS, and from there on how many sections it has and of each what
`sharing.bursts` tells; the first is of no group.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import take
from elsinore.kernels.slots import give_back
from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.gains import add_gains
from elsinore.trends.core.mixtures import compose_touched, end_mixture, note
from elsinore.trends.core.numbers import LIMIT
from elsinore.trends.core.plain import add_cells, is_great, take_plain
from elsinore.trends.core.step import (
    FIRST,
    LANES,
    LENGTH,
    LOOP,
    MOST_MOMENTS,
    NO_VALUE,
    ROW,
    SINGLE,
    act_once,
    act_plainly,
    get_powers,
    repeat,
    step,
)
from elsinore.trends.sharing.bursts import (
    OF_GROUP,
    SECTION_WORDS,
    STEPS,
    arrive,
    count_costs,
    forget_bursts,
)
from elsinore.trends.sharing.clock import NUMBER as GROUP_NUMBER
from elsinore.trends.sharing.clock import settle_group
from elsinore.trends.sharing.parts import move
from elsinore.trends.wide import wide_kernel

# a class: its number, its order among those of one moment (higher ones first), whether it reads
# what it changes, whether its moments may wait together, lists of the blocks that it reads and
# changes, of what it empties, of the bursts that it breaks and of the holders to be settled before;
# the list of all its steps, of whatever group; that list again where each can be repeated
# on its own, and its moments may wait together, or else 0; its family, or 0; and where that takes
# note of its events, if it is a single step on lanes that are their own predecessors, or else -1;
# the list of all its steps where an event that is a moment of its own had better act when it comes;
# the list of its cells where such an event had better take these (`core.plain`), or else 0;
# the list of all its steps where what an event adds can be told at once, though others of its time
# may follow (`core.gains`), or else 0, and that of cells where it had better take these, or else 0;
# and the list of lanes of families that it touches (`core.mixtures`), where such an event can act
# beside a mixture, or else 0
NUMBER, ORDER, APART, SERIAL, READS, CHANGES, RESETS, BREAKS, RUNS, ALL_STEPS = range(10)
QUICK, FAMILY, NOTED, BEHIND, DIRECT, CELLS, GAINS, GAIN_CELLS, TOUCHES = range(10, 19)
SECTIONS = 19

GAINING = np.int64(-1)  # in place of how many events wait: what those so far add is known

# a reset: its block, first cell, length, rows, distance between them, and likewise its extremes
RESET_BLOCK, LATE, CELL, LONG, ROWS, STRIDE, OUTLIER, OUTLIER_ROWS, OUTLIER_STRIDE = range(9)
RESET_WORDS = 9
EARLY, LATE_ONES, ALL = np.int64(0), np.int64(1), np.int64(-1)

# of the compiler's one type for numbers: a literal would be another, and compiled apart
ONCE, ROOT, TOGETHER = np.int64(1), np.int64(0), np.int64(0)

BLOCKS = 2  # the program's word that tells where blocks are; each is six words:
# first cell, cells, first extreme, extremes
BLOCK_WORDS = 4

REPEATED = 2  # what a repeated step counts among those that act on lanes

WILD = 2.0**64  # greater addends, infinities and NaN act at once: they would spoil a clock's sums


@wide_kernel
def _look_at_bursts(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    time: int,
    moments: int,
    dynamic: bool,
) -> None:
    """End and begin bursts where the class is another than that of the event before."""
    if ints[header.asleep + slot] != 0:
        ints[header.asleep + slot] = max(0, ints[header.asleep + slot] - moments)
        if ints[header.asleep + slot] == 0:
            forget_bursts(header, ints, doubles, slot)
    elif ints[header.last_class + slot] != program[kind + NUMBER]:
        ints[header.last_class + slot] = program[kind + NUMBER]
        arrive(
            header,
            ints,
            doubles,
            program,
            program[kind + BREAKS],
            program[kind + RUNS],
            kind + SECTIONS,
            slot,
            time,
            dynamic,
        )


@wide_kernel(inline=True)
def _is_wild(header: Any, doubles: Doubles, addends: int) -> bool:
    """Return whether some addend is beyond what a clock adds up."""
    wild = False
    for place in range(addends, addends + header.addend):
        wild |= not abs(doubles[place]) <= WILD
    return wild


@wide_kernel(inline=True)
def _settle_sections(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, kind: int, slot: int
) -> None:
    """Settle the groups whose clocks a class's events would move."""
    sections = kind + SECTIONS
    for number in range(1, program[sections]):
        section = sections + 1 + SECTION_WORDS * number
        settle_group(header, ints, doubles, program, program[section + OF_GROUP], slot)


@wide_kernel(inline=True)
def _keep_before(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, kind: int, slot: int
) -> None:
    """Keep what the blocks that a class changes are before the present moment."""
    changes = program[kind + CHANGES]
    for place in range(changes + 1, changes + 1 + program[changes]):
        block = program[place]
        if ints[header.stamp + block] == header.moment:
            continue
        ints[header.stamp + block] = header.moment
        at = program[BLOCKS] + block * BLOCK_WORDS
        first, from_slot = program[at], slot * header.cell
        for cell in range(first, first + program[at + 1]):
            doubles[header.cells_before + cell] = doubles[header.cells + from_slot + cell]
            doubles[header.powers_before + cell] = doubles[header.powers + from_slot + cell]
        first, from_slot = program[at + 2], slot * header.extreme
        for extreme in range(first, first + program[at + 3]):
            value = ints[header.extremes + from_slot + extreme]
            ints[header.extremes_before + extreme] = value


@wide_kernel
def _empty(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, kind: int, slot: int, late: int
) -> None:
    """Empty the nodes that a class's events empty: those read by it later than the others.

    late: EARLY the others, LATE_ONES those that are read, or ALL.
    """
    resets = program[kind + RESETS]
    at = resets + 1
    for _ in range(program[resets]):
        if late < 0 or program[at + LATE] == late:
            for row in range(program[at + ROWS]):
                first = slot * header.cell + program[at + CELL] + row * program[at + STRIDE]
                for cell in range(first, first + program[at + LONG]):
                    doubles[header.cells + cell] = 0.0
                    doubles[header.powers + cell] = 0.0
            for row in range(program[at + OUTLIER_ROWS]):
                first = slot * header.extreme + program[at + OUTLIER]
                first += row * program[at + OUTLIER_STRIDE]
                for extreme in range(first, first + program[at + LONG]):
                    ints[header.extremes + extreme] = NO_VALUE
        at += RESET_WORDS


@wide_kernel(inline=True)
def bring(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    slot: int,
    addends: Doubles,
    first_addend: int,
    ranks: Ints,
    first_rank: int,
) -> None:
    """Let an event's addends and ranks be the first of its slot's moment."""
    to = header.waiting_addends + slot * header.addend
    for number in range(header.addend):
        doubles[to + number] = addends[first_addend + number]
    to = header.waiting_ranks + slot * header.rank
    for number in range(header.rank):
        ints[to + number] = ranks[first_rank + number]


@wide_kernel(inline=True)
def wait(header: Any, ints: Ints, kind: int, slot: int) -> None:
    """Let the event that was brought last be the first of its slot's moment."""
    ints[header.waiting + slot] = 1
    ints[header.since + slot] = ints[header.time + slot]
    ints[header.waiting_class + slot] = kind


@wide_kernel(inline=True)
def act_now(header: Any, ints: Ints, doubles: Doubles, program: Ints, kind: int, slot: int) -> None:
    """Let the event that was brought last, a moment of its own, take the steps of its class.

    That is DIRECT, no moment waits in the slot, and no burst is looked at.
    """
    steps, cells = program[kind + DIRECT], program[kind + CELLS]
    if header.group != 0:
        ints[header.asleep + slot] -= 1
    to, to_rank = header.waiting_addends + slot * header.addend, header.waiting_ranks
    to_rank += slot * header.rank
    if cells != 0 and ints[header.big + slot] == 0 and not is_great(header, doubles, to):
        base = header.cells + slot * header.cell
        if add_cells(doubles, program, cells, base, base, to):
            _get_all_powers(header, ints, doubles, program, steps, slot)
        return
    at = steps + 1
    if program[steps] == 1 and program[at + SINGLE] != 0 and program[at + LANES] == 1:
        base = header.cells + slot * header.cell
        cell = base + program[at + FIRST]
        mine, source = doubles[cell], doubles[base + program[at + FIRST + ROW]]
        total = mine + (float(program[at + LOOP]) * mine + source)
        if total < LIMIT and ints[header.big + slot] == 0:
            doubles[cell] = total
            return
    _take_steps(header, ints, doubles, program, steps, slot, 1.0, to, to_rank, TOGETHER)


@wide_kernel(inline=True)
def gain(header: Any, ints: Ints, doubles: Doubles, program: Ints, kind: int, slot: int) -> bool:
    """Add to a slot's gains what the event that was brought last adds; return whether it can be.

    Others of its time may have come and may follow; no burst is looked at.
    """
    steps, cells = program[kind + GAINS], program[kind + GAIN_CELLS]
    to = header.waiting_addends + slot * header.addend
    if steps == 0 or ints[header.big + slot] != 0 or is_great(header, doubles, to):
        return False
    if header.group != 0:
        if ints[header.asleep + slot] <= 1:
            return False
        ints[header.asleep + slot] -= 1
    into = header.gains + slot * header.gain
    if cells != 0:
        add_cells(doubles, program, cells, header.cells + slot * header.cell, into, to)
    else:
        _gain_steps(header, ints, doubles, program, steps, slot, to, into)
    return True


@wide_kernel
def _gain_steps(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    steps: int,
    slot: int,
    addends: int,
    into: int,
) -> None:
    """Add to gains what an event adds by a list of steps."""
    at = steps + 1
    for _ in range(program[steps]):
        take_plain(header, ints, doubles, program, at, slot, 1.0, addends, into)
        at += program[at + LENGTH]


@wide_kernel
def act_beside(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, kind: int, slot: int
) -> bool:
    """Let an event that is a moment of its own act where a mixture waits, which goes on after it.

    Only the lanes that both touch are brought up to date. Returns False, and does nothing, where
    the mixture has to end.
    """
    first, moments = ints[header.waiting_class + slot], ints[header.series + slot] + 1
    mixed = ints[header.mixed + slot] + moments
    family, touches = program[first + FAMILY], program[kind + TOUCHES]
    if mixed > MOST_MOMENTS or (header.group != 0 and ints[header.asleep + slot] <= mixed + 1):
        return False
    if moments != 0:
        note(header, ints, program, program[first + QUICK], slot, moments)
        ints[header.mixed + slot] = mixed
        ints[header.series + slot] = -1  # the latest is not to be noted again
    if not compose_touched(header, ints, doubles, program, touches, family, slot):
        return False
    if header.group != 0:
        ints[header.asleep + slot] -= 1
    act_in_turn(header, ints, doubles, program, program[kind + QUICK], slot, ONCE)
    return True


@wide_kernel
def _get_all_powers(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, steps: int, slot: int
) -> None:
    """Bring all numbers that a list of steps has changed into their normal form."""
    at = steps + 1
    for _ in range(program[steps]):
        get_powers(header, ints, doubles, program, at, slot)
        at += program[at + LENGTH]


@wide_kernel
def join(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    kind: int,
    slot: int,
    addends: Doubles,
    first_addend: int,
    ranks: Ints,
    first_rank: int,
) -> bool:
    """Let an event join the moment of its slot; return False where there is no room for it yet."""
    last, first = ints[header.chain + slot], ints[header.waiting + slot] != GAINING
    if first and last < 0 and ints[header.waiting_class + slot] == kind:
        ints[header.waiting + slot] += 1
        to = header.waiting_addends + slot * header.addend
        to_rank = header.waiting_ranks + slot * header.rank
    elif last >= 0 and ints[header.run_class + last] == kind:
        ints[header.run_events + last] += 1
        to = header.run_addends + last * header.addend
        to_rank = header.run_ranks + last * header.rank
    else:
        run = take(ints, header.run_free)
        if run < 0:
            return False
        ints[header.run_next + run] = last
        ints[header.chain + slot] = run
        ints[header.run_class + run] = kind
        ints[header.run_events + run] = 1
        to = header.run_addends + run * header.addend
        for number in range(header.addend):
            doubles[to + number] = addends[first_addend + number]
        to = header.run_ranks + run * header.rank
        for number in range(header.rank):
            ints[to + number] = ranks[first_rank + number]
        return True
    for number in range(header.addend):
        doubles[to + number] += addends[first_addend + number]
    for number in range(header.rank):
        ints[to_rank + number] = min(ints[to_rank + number], ranks[first_rank + number])
    return True


@wide_kernel(inline=True)
def end_waiting(header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int) -> None:
    """Let what waits in a slot act: as a series or a mixture where no burst is looked at."""
    if ints[header.waiting + slot] == GAINING and ints[header.chain + slot] < 0:
        add_gains(header, ints, doubles, slot)
        ints[header.waiting + slot] = 0
    elif (
        program[ints[header.waiting_class + slot] + QUICK] != 0
        and ints[header.waiting + slot] == 1
        and ints[header.chain + slot] < 0
        and (
            header.group == 0
            or ints[header.asleep + slot]
            > ints[header.series + slot] + ints[header.mixed + slot] + 1
        )
    ):
        end_series(header, ints, doubles, program, slot)
    else:
        end_moment(header, ints, doubles, program, slot, header.dynamic != 0)


@wide_kernel
def end_moment(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int, dynamic: bool
) -> None:
    """Let the events that wait in a slot act, class by class where that is the same."""
    time = ints[header.time + slot]
    kind = ints[header.waiting_class + slot]
    gaining = ints[header.waiting + slot] == GAINING
    entries, apart = 1, program[kind + APART]
    ints[header.entry_class] = kind
    ints[header.entry_events] = ints[header.waiting + slot]
    ints[header.entry_addends] = header.waiting_addends + slot * header.addend
    ints[header.entry_ranks] = header.waiting_ranks + slot * header.rank
    ints[header.entry_order] = 0
    series = ints[header.series + slot]
    if ints[header.mixed + slot] != 0:
        if series != 0:
            note(header, ints, program, program[kind + QUICK], slot, series)
        if header.group != 0:
            ints[header.asleep + slot] -= series + ints[header.mixed + slot]
        series = 0
        end_mixture(header, ints, doubles, program, program[kind + FAMILY], slot)
    if series != 0 and ints[header.waiting + slot] == 1 and ints[header.chain + slot] < 0:
        series += 1  # the present moment is one more of them
        entries = 0
    ints[header.waiting + slot] = 0
    ints[header.series + slot] = 0
    if ints[header.chain + slot] >= 0:
        entries = _gather_classes(header, ints, doubles, program, slot, 0 if gaining else 1)
        _put_in_order(header, ints, program, entries)
        apart = 1 if gaining else _reads_what_changed(header, ints, program, entries)
    for place in range(-1 if series != 0 else 0, entries):
        together, events, moments, entry = 0, 1.0, series, 0
        began = ints[header.since + slot]
        if place >= 0:
            entry, moments = ints[header.entry_order + place], 1
            kind = ints[header.entry_class + entry]
            events = float(ints[header.entry_events + entry])
            together, began = apart, time
            if place == 0 and apart != 0:
                _prepare_together(header, ints, doubles, program, slot, time, entries, dynamic)
        if together == 0:
            if header.group != 0:
                _look_at_bursts(header, ints, doubles, program, kind, slot, began, moments, dynamic)
            if program[program[kind + RESETS]] != 0:
                _empty(header, ints, doubles, program, kind, slot, EARLY)
        _act(header, ints, doubles, program, kind, slot, entry, events, moments, together)
        if together == 0 and program[program[kind + RESETS]] != 0:
            _empty(header, ints, doubles, program, kind, slot, LATE_ONES)
    if gaining:
        add_gains(header, ints, doubles, slot)


@wide_kernel(inline=True)
def end_series(header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int) -> None:
    """Let moments of one event each act, the latest of a class whose steps are QUICK."""
    steps = program[ints[header.waiting_class + slot] + QUICK]
    moments, mixed = ints[header.series + slot] + 1, ints[header.mixed + slot]
    ints[header.waiting + slot] = 0
    ints[header.series + slot] = 0
    if header.group != 0:
        ints[header.asleep + slot] -= moments + mixed
    if mixed != 0:
        note(header, ints, program, steps, slot, moments)
        family = program[ints[header.waiting_class + slot] + FAMILY]
        end_mixture(header, ints, doubles, program, family, slot)
    else:
        act_in_turn(header, ints, doubles, program, steps, slot, moments)


@wide_kernel(inline=True)
def act_in_turn(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, steps: int, slot: int, moments: int
) -> None:
    """Let moments of one event each of a class, one after another, take its steps."""
    if moments == 1:
        at = steps + 1
        for _ in range(program[steps]):
            act_once(header, ints, doubles, program, at, slot, 1.0)
            at += program[at + LENGTH]
    else:
        repeat_steps(header, ints, doubles, program, steps, slot, moments)


@wide_kernel
def repeat_steps(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, steps: int, slot: int, moments: int
) -> None:
    """Let so many moments of one event each act on the lanes of a list of steps."""
    at = steps + 1
    for _ in range(program[steps]):
        repeat(header, ints, doubles, program, at, slot, moments)
        at += program[at + LENGTH]


@wide_kernel(inline=True)
def _act(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    entry: int,
    events: float,
    moments: int,
    apart: int,
) -> None:
    """Let events of one class act: on the clocks of what is shared, else on lanes.

    events: how many there are in each of so many moments, one after another. apart: 1 where all
    that they touch is settled, and what was before the moment is kept.
    """
    addends, ranks = ints[header.entry_addends + entry], ints[header.entry_ranks + entry]
    sections = kind + SECTIONS
    quick = moments > 1 and program[kind + QUICK] != 0
    shared = 0
    if ints[header.asleep + slot] == 0:
        for number in range(1, program[sections]):
            section = sections + 1 + SECTION_WORDS * number
            place = slot * header.group + program[program[section + OF_GROUP] + GROUP_NUMBER]
            shared |= ints[header.shared + place]
            acts = REPEATED if quick else moments
            if program[kind + FAMILY] != 0:  # they would act together
                acts = REPEATED if ints[header.burst + place] == 0 else 0
            count_costs(header, ints, doubles, program, section, slot, acts)
            ints[header.burst + place] += int(events) * moments
    if apart != 0 or shared == 0:
        steps = program[kind + ALL_STEPS]
        if quick:
            repeat_steps(header, ints, doubles, program, steps, slot, moments)
            return
        for _ in range(moments):
            _take_steps(header, ints, doubles, program, steps, slot, events, addends, ranks, apart)
        return
    for number in range(program[sections]):
        section = sections + 1 + SECTION_WORDS * number
        group, steps = program[section + OF_GROUP], program[section + STEPS]
        if number > 0:
            place = slot * header.group + program[group + GROUP_NUMBER]
            if ints[header.shared + place] != 0:
                if not _is_wild(header, doubles, addends):
                    move(header, ints, doubles, program, group, slot, entry, events, moments)
                    continue
                settle_group(header, ints, doubles, program, group, slot)
        if quick:
            repeat_steps(header, ints, doubles, program, steps, slot, moments)
            continue
        for _ in range(moments):
            _take_steps(header, ints, doubles, program, steps, slot, events, addends, ranks, apart)


@wide_kernel
def _take_steps(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    steps: int,
    slot: int,
    events: float,
    addends: int,
    ranks: int,
    apart: int,
) -> None:
    """Let simultaneous events take a list of steps."""
    at, cells = steps + 1, header.cells + slot * header.cell
    for _ in range(program[steps]):
        if apart != 0 or ints[header.big + slot] != 0:
            step(header, ints, doubles, program, at, slot, events, addends, ranks, apart)
        elif program[at + SINGLE] != 0:
            act_plainly(header, ints, doubles, program, at, slot, events)
        elif not take_plain(header, ints, doubles, program, at, slot, events, addends, cells):
            step(header, ints, doubles, program, at, slot, events, addends, ranks, apart)
        at += program[at + LENGTH]


@wide_kernel
def _gather_classes(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int, entries: int
) -> int:
    """Make one entry of all runs of a class; `entries` are there already; return how many.

    An entry is a class, its number of events, and where its addends and ranks are.
    """
    if entries != 0:
        ints[header.entry_of + program[ints[header.entry_class] + NUMBER]] = 0
    run = ints[header.chain + slot]
    while run >= 0:
        kind = ints[header.run_class + run]
        addends, ranks = header.run_addends + run * header.addend, header.run_ranks
        ranks += run * header.rank
        entry = ints[header.entry_of + program[kind + NUMBER]]
        if entry < 0:
            ints[header.entry_of + program[kind + NUMBER]] = entries
            ints[header.entry_class + entries] = kind
            ints[header.entry_events + entries] = ints[header.run_events + run]
            ints[header.entry_addends + entries] = addends
            ints[header.entry_ranks + entries] = ranks
            entries += 1
        else:
            ints[header.entry_events + entry] += ints[header.run_events + run]
            to, to_rank = ints[header.entry_addends + entry], ints[header.entry_ranks + entry]
            for number in range(header.addend):
                doubles[to + number] += doubles[addends + number]
            for number in range(header.rank):
                ints[to_rank + number] = min(ints[to_rank + number], ints[ranks + number])
        following = ints[header.run_next + run]
        give_back(ints, header.run_free, run)  # nothing is taken before the entries have acted
        run = following
    ints[header.chain + slot] = -1
    for entry in range(entries):
        ints[header.entry_of + program[ints[header.entry_class + entry] + NUMBER]] = -1
    return entries


@wide_kernel
def _put_in_order(header: Any, ints: Ints, program: Ints, entries: int) -> None:
    """Order entries: what is read before what changes it, where that can be (a heap sort)."""
    for entry in range(entries):
        ints[header.entry_order + entry] = entry
    for root in range(entries // 2 - 1, -1, -1):
        _sift(header, ints, program, root, entries)
    for last in range(entries - 1, 0, -1):
        top = ints[header.entry_order]
        ints[header.entry_order] = ints[header.entry_order + last]
        ints[header.entry_order + last] = top
        _sift(header, ints, program, ROOT, last)


@wide_kernel
def _sift(header: Any, ints: Ints, program: Ints, root: int, end: int) -> None:
    """Let an entry sink in a heap whose least order is on top."""
    entry = ints[header.entry_order + root]
    order = program[ints[header.entry_class + entry] + ORDER]
    while 2 * root + 1 < end:
        child = 2 * root + 1
        least = program[ints[header.entry_class + ints[header.entry_order + child]] + ORDER]
        if child + 1 < end:
            other = ints[header.entry_class + ints[header.entry_order + child + 1]]
            if program[other + ORDER] < least:
                child += 1
                least = program[other + ORDER]
        if least >= order:
            break
        ints[header.entry_order + root] = ints[header.entry_order + child]
        root = child
    ints[header.entry_order + root] = entry


@wide_kernel(inline=True)
def _reads_what_changed(header: Any, ints: Ints, program: Ints, entries: int) -> int:
    """Return 1 if, in their order, some entry reads or empties what one before it changes."""
    header.moment += 1
    for place in range(entries):
        kind = ints[header.entry_class + ints[header.entry_order + place]]
        if program[kind + APART] != 0:
            return 1
        reads = program[kind + READS]
        for read in range(reads + 1, reads + 1 + program[reads]):
            if ints[header.stamp + program[read]] == header.moment:
                return 1
        changes = program[kind + CHANGES]
        for change in range(changes + 1, changes + 1 + program[changes]):
            ints[header.stamp + program[change]] = header.moment
    return 0


@wide_kernel(inline=True)
def _prepare_together(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    slot: int,
    time: int,
    entries: int,
    dynamic: bool,
) -> None:
    """Settle what the entries of a moment touch, keep what was before it, empty what they empty."""
    header.moment += 1
    if header.group != 0:
        for place in range(entries):
            kind = ints[header.entry_class + ints[header.entry_order + place]]
            _look_at_bursts(header, ints, doubles, program, kind, slot, time, ONCE, dynamic)
        for entry in range(entries):
            kind = ints[header.entry_class + entry]
            _settle_sections(header, ints, doubles, program, kind, slot)
    for entry in range(entries):
        _keep_before(header, ints, doubles, program, ints[header.entry_class + entry], slot)
    for entry in range(entries):
        _empty(header, ints, doubles, program, ints[header.entry_class + entry], slot, ALL)
