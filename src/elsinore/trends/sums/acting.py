# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""How events act: one when it comes, many of a class together, beside what waits, or on clocks.

An event that is a moment of its own takes the steps of its class at once (`act_now`). Where others
of its time may follow, what it adds is told at once, yet not added before the moment is over
(`gain`; see `elsinore.trends.core.gains`). Moments of one event each, all of one class, act
together (`act_in_turn`), and the events of one class of a moment as well (`act_class`): on lanes,
or on the clocks of the groups that share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import Doubles, Ints, Shares
from elsinore.trends.core.mixtures import compose_touched, note
from elsinore.trends.core.numbers import LIMIT
from elsinore.trends.core.plain import GREAT, add_cells, are_beyond, take_plain
from elsinore.trends.core.recurrence import composed
from elsinore.trends.core.step import (
    FIRST,
    LANES,
    LENGTH,
    LOOP,
    MOST_MOMENTS,
    ROW,
    SINGLE,
    act_once,
    act_plainly,
    get_powers,
    repeat,
    step,
)
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sharing.bursts import OF_GROUP, SECTION_WORDS, STEPS, count_costs
from elsinore.trends.sharing.clock import NUMBER as GROUP_NUMBER
from elsinore.trends.sharing.clock import settle_group
from elsinore.trends.sharing.parts import move
from elsinore.trends.sums.class_layout import (
    ALL_STEPS,
    CELLS,
    DIRECT,
    FAMILY,
    GAIN_CELLS,
    GAINS,
    QUICK,
    SECTIONS,
    TOUCHES,
)

# of the compiler's one type for numbers: a literal would be another, and compiled apart
ONCE, TOGETHER = np.int64(1), np.int64(0)

REPEATED = 2  # what a repeated step counts among those that act on lanes

WILD = 2.0**64  # greater addends, infinities and NaN act at once: they would spoil a clock's sums


@wide_kernel(inline=True)
def act_now(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    shares: Shares,
) -> None:
    """Let the event that was brought last, a moment of its own, take the steps of its class.

    That is DIRECT, no moment waits in the slot, and no burst is looked at. What comes before the
    steps does the same for few cells and for one: to count `SEQ(A, B+, C)` with 1,000 keys takes
    0.72 times as long so.
    """
    steps, cells = program[kind + DIRECT], program[kind + CELLS]
    if shares is not None:
        ints[header.asleep + slot] -= 1
    to, to_rank = header.waiting_addends + slot * header.addend, header.waiting_ranks
    to_rank += slot * header.rank
    if cells != 0 and ints[header.big + slot] == 0 and not are_beyond(header, doubles, to, GREAT):
        base = header.cells + slot * header.cell
        if add_cells(doubles, program, cells, base, to):
            get_all_powers(header, ints, doubles, program, steps, slot)
        return
    at = steps + 1
    if program[steps] == 1 and program[at + SINGLE] != 0 and program[at + LANES] == 1:
        base = header.cells + slot * header.cell
        cell = base + program[at + FIRST]
        mine, source = doubles[cell], doubles[base + program[at + FIRST + ROW]]
        total = composed(mine, source, 1.0 + float(program[at + LOOP]), 1.0)
        if total < LIMIT and ints[header.big + slot] == 0:
            doubles[cell] = total
            return
    _take_steps(header, ints, doubles, program, steps, slot, 1.0, to, to_rank, TOGETHER)


@wide_kernel(inline=True)
def gain(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    shares: Shares,
) -> bool:
    """Add to a slot's gains what the event that was brought last adds; return whether it can be.

    Others of its time may have come and may follow; no burst is looked at.
    """
    steps, cells = program[kind + GAINS], program[kind + GAIN_CELLS]
    to = header.waiting_addends + slot * header.addend
    if steps == 0 or ints[header.big + slot] != 0 or are_beyond(header, doubles, to, GREAT):
        return False
    if shares is not None:
        if ints[header.asleep + slot] <= 1:
            return False
        ints[header.asleep + slot] -= 1
    if cells == 0:
        gain_steps(header, ints, doubles, program, steps, slot, to)
    elif add_cells(doubles, program, cells, header.cells + slot * header.cell, to):
        get_all_powers(header, ints, doubles, program, steps, slot)
    return True


@wide_kernel(linked=True)
def gain_steps(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, steps: int, slot: int, addends: int
) -> None:
    """Add to gains what an event adds by a list of steps, and to cells that have none at once."""
    at, cells = steps + 1, header.cells + slot * header.cell
    last = header.ungained + header.gained
    into = cells + header.cell - last
    for _ in range(program[steps]):
        to = into if program[at + FIRST] < last else cells
        none = header.waiting_ranks  # where gains are there are no extremes
        take_plain(header, ints, doubles, program, at, slot, 1.0, addends, none, to)
        at += program[at + LENGTH]


@wide_kernel(linked=True)
def act_beside(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    shares: Shares,
) -> bool:
    """Let an event that is a moment of its own act where a mixture waits, which goes on after it.

    Only the lanes that both touch are brought up to date. Returns False, and does nothing, where
    the mixture has to end.
    """
    first, moments = ints[header.waiting_class + slot], ints[header.series + slot] + 1
    mixed = ints[header.mixed + slot] + moments
    family, touches = program[first + FAMILY], program[kind + TOUCHES]
    if mixed > MOST_MOMENTS:
        return False
    if shares is not None and ints[header.asleep + slot] <= mixed + 1:
        return False
    if moments != 0:
        note(header, ints, program, program[first + QUICK], slot, moments)
        ints[header.mixed + slot] = mixed
        ints[header.series + slot] = -1  # the latest is not to be noted again
    if not compose_touched(header, ints, doubles, program, touches, family, slot):
        return False
    if shares is not None:
        ints[header.asleep + slot] -= 1
    act_in_turn(header, ints, doubles, program, program[kind + QUICK], slot, ONCE)
    return True


@wide_kernel(linked=True)
def get_all_powers(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, steps: int, slot: int
) -> None:
    """Bring all numbers that a list of steps has changed into their normal form."""
    at = steps + 1
    for _ in range(program[steps]):
        get_powers(header, ints, doubles, program, at, slot)
        at += program[at + LENGTH]


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


@wide_kernel(linked=True)
def repeat_steps(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, steps: int, slot: int, moments: int
) -> None:
    """Let so many moments of one event each act on the lanes of a list of steps."""
    at = steps + 1
    for _ in range(program[steps]):
        repeat(header, ints, doubles, program, at, slot, moments)
        at += program[at + LENGTH]


@wide_kernel(inline=True)
def act_class(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    slot: int,
    entry: int,
    events: float,
    moments: int,
    apart: int,
    shares: Shares,
) -> None:
    """Let events of one class act: on the clocks of what is shared, else on lanes.

    events: how many there are in each of so many moments, one after another. apart: 1 where all
    that they touch is settled, and what was before the moment is kept.
    """
    kind, shared = ints[header.entry_class + entry], 0
    if shares is not None and ints[header.asleep + slot] == 0:
        shared = _count_in_bursts(header, ints, doubles, program, kind, slot, events, moments)
    if shares is not None and shared != 0 and apart == 0:
        _act_by_sections(header, ints, doubles, program, kind, slot, entry, events, moments)
    elif moments > 1 and program[kind + QUICK] != 0:
        repeat_steps(header, ints, doubles, program, program[kind + ALL_STEPS], slot, moments)
    else:
        addends, ranks = ints[header.entry_addends + entry], ints[header.entry_ranks + entry]
        steps = program[kind + ALL_STEPS]
        for _ in range(moments):
            _take_steps(header, ints, doubles, program, steps, slot, events, addends, ranks, apart)


@wide_kernel(linked=True)
def _count_in_bursts(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    events: float,
    moments: int,
) -> int:
    """Count events in the bursts of their groups, and their costs; return 1 if one is shared."""
    sections, shared = kind + SECTIONS, 0
    acts = REPEATED if moments > 1 and program[kind + QUICK] != 0 else moments
    for number in range(1, program[sections]):
        section = sections + 1 + SECTION_WORDS * number
        place = slot * header.group + program[program[section + OF_GROUP] + GROUP_NUMBER]
        shared |= ints[header.shared + place]
        if program[kind + FAMILY] != 0:  # they would act together
            acts = REPEATED if ints[header.burst + place] == 0 else 0
        count_costs(header, ints, doubles, program, section, slot, acts)
        ints[header.burst + place] += int(events) * moments
    return shared


@wide_kernel(linked=True)
def _act_by_sections(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    entry: int,
    events: float,
    moments: int,
) -> None:
    """Let events act section by section, on the clock of a group that shares its burst."""
    addends, ranks = ints[header.entry_addends + entry], ints[header.entry_ranks + entry]
    sections = kind + SECTIONS
    for number in range(program[sections]):
        section = sections + 1 + SECTION_WORDS * number
        group, steps = program[section + OF_GROUP], program[section + STEPS]
        if number > 0:
            place = slot * header.group + program[group + GROUP_NUMBER]
            if ints[header.shared + place] != 0:
                if not are_beyond(header, doubles, addends, WILD):
                    move(header, ints, doubles, program, group, slot, entry, events, moments)
                    continue
                settle_group(header, ints, doubles, program, group, slot)
        if moments > 1 and program[kind + QUICK] != 0:
            repeat_steps(header, ints, doubles, program, steps, slot, moments)
            continue
        for _ in range(moments):
            _take_steps(
                header, ints, doubles, program, steps, slot, events, addends, ranks, TOGETHER
            )


@wide_kernel(linked=True)
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
        elif not take_plain(
            header, ints, doubles, program, at, slot, events, addends, ranks, cells
        ):
            step(header, ints, doubles, program, at, slot, events, addends, ranks, apart)
        at += program[at + LENGTH]
