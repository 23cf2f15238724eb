# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Moments: the events of a key at one time act together, and read what was before them.

Simultaneous events do not precede one another. So a key's latest moment waits until a later event
comes or a window ends (`elsinore.trends.sums.waiting`). Then its events act, class by class where
that is the same, and else on what was before them, which is kept meanwhile; or what they add, which
was known when they came, is added now (`elsinore.trends.core.gains`). Where events bring no addends
and no ranks, moments of one event each, all of one class, wait together: they are a *series*.
Before it may be those of other classes of its family, a *mixture*
(`elsinore.trends.core.mixtures`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import Doubles, Ints, Shares
from elsinore.trends.core.gains import add_gains
from elsinore.trends.core.mixtures import end_mixture, note
from elsinore.trends.core.step import NO_VALUE
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sharing.bursts import OF_GROUP, SECTION_WORDS, arrive, forget_bursts
from elsinore.trends.sharing.clock import settle_group
from elsinore.trends.sums.acting import ONCE, act_class, act_in_turn
from elsinore.trends.sums.class_layout import (
    APART,
    BLOCK_WORDS,
    BLOCKS,
    BREAKS,
    CELL,
    CHANGES,
    FAMILY,
    LATE,
    LONG,
    NUMBER,
    OUTLIER,
    OUTLIER_ROWS,
    OUTLIER_STRIDE,
    QUICK,
    RESET_WORDS,
    RESETS,
    ROWS,
    RUNS,
    SECTIONS,
    STRIDE,
)
from elsinore.trends.sums.gathering import gather_classes, put_in_order, reads_what_changed
from elsinore.trends.sums.waiting import GAINING

# which of what a class empties: the others, those that it reads, all
EARLY, LATE_ONES, ALL = np.int64(0), np.int64(1), np.int64(-1)


@wide_kernel(inline=True)
def end_waiting(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int, shares: Shares
) -> None:
    """Let what waits in a slot act: as a series or a mixture where no burst is looked at."""
    if ints[header.waiting + slot] == GAINING:
        add_gains(header, ints, doubles, slot)
        ints[header.waiting + slot] = 0
    elif (
        program[ints[header.waiting_class + slot] + QUICK] != 0
        and ints[header.waiting + slot] == 1
        and ints[header.chain + slot] < 0
        and (
            shares is None
            or ints[header.asleep + slot]
            > ints[header.series + slot] + ints[header.mixed + slot] + 1
        )
    ):
        end_series(header, ints, doubles, program, slot, shares)
    else:
        end_moment(header, ints, doubles, program, slot, shares)


@wide_kernel(linked=True)
def end_moment(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int, shares: Shares
) -> None:
    """Let the events that wait in a slot act, class by class where that is the same."""
    time = ints[header.time + slot]
    kind = ints[header.waiting_class + slot]
    gaining = ints[header.waiting + slot] < 0
    entries, apart = 1, program[kind + APART]
    ints[header.entry_class] = kind
    ints[header.entry_events] = ints[header.waiting + slot]
    ints[header.entry_addends] = header.waiting_addends + slot * header.addend
    ints[header.entry_ranks] = header.waiting_ranks + slot * header.rank
    ints[header.entry_order] = 0
    series = ints[header.series + slot]
    if ints[header.mixed + slot] != 0:
        _end_noted(header, ints, doubles, program, kind, slot, series, shares)
        series = 0
    if series != 0 and ints[header.waiting + slot] == 1 and ints[header.chain + slot] < 0:
        series += 1  # the present moment is one more of them
        entries = 0
    ints[header.waiting + slot] = 0
    ints[header.series + slot] = 0
    if ints[header.chain + slot] >= 0:
        entries = gather_classes(header, ints, doubles, program, slot, 0 if gaining else 1)
        put_in_order(header, ints, program, entries)
        apart = 1 if gaining else reads_what_changed(header, ints, program, entries)
    for place in range(-1 if series != 0 else 0, entries):
        together, events, moments, entry = 0, 1.0, series, 0
        began = ints[header.since + slot]
        if place >= 0:
            entry, moments = ints[header.entry_order + place], 1
            kind = ints[header.entry_class + entry]
            events = float(ints[header.entry_events + entry])
            together, began = apart, time
            if place == 0 and apart != 0:
                _prepare_together(header, ints, doubles, program, slot, time, entries, shares)
        if together == 0:
            if shares is not None:
                _look_at_bursts(header, ints, doubles, program, kind, slot, began, moments)
            if program[program[kind + RESETS]] != 0:
                _empty(header, ints, doubles, program, kind, slot, EARLY)
        act_class(header, ints, doubles, program, slot, entry, events, moments, together, shares)
        if together == 0 and program[program[kind + RESETS]] != 0:
            _empty(header, ints, doubles, program, kind, slot, LATE_ONES)
    if gaining:
        add_gains(header, ints, doubles, slot)


@wide_kernel(inline=True)
def end_series(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int, shares: Shares
) -> None:
    """Let moments of one event each act, the latest of a class whose steps are QUICK."""
    kind, moments = ints[header.waiting_class + slot], ints[header.series + slot] + 1
    ints[header.waiting + slot] = 0
    ints[header.series + slot] = 0
    if ints[header.mixed + slot] != 0:
        _end_noted(header, ints, doubles, program, kind, slot, moments, shares)
        return
    if shares is not None:
        ints[header.asleep + slot] -= moments
    act_in_turn(header, ints, doubles, program, program[kind + QUICK], slot, moments)


@wide_kernel(inline=True)
def _end_noted(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    moments: int,
    shares: Shares,
) -> None:
    """Let a slot's mixture act, and so many moments of a class of its family after it."""
    if moments != 0:
        note(header, ints, program, program[kind + QUICK], slot, moments)
    if shares is not None:
        ints[header.asleep + slot] -= moments + ints[header.mixed + slot]
    end_mixture(header, ints, doubles, program, program[kind + FAMILY], slot)


@wide_kernel(linked=True)
def _look_at_bursts(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    kind: int,
    slot: int,
    time: int,
    moments: int,
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
            header.dynamic != 0,
        )


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


@wide_kernel(linked=True)
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
def _prepare_together(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    slot: int,
    time: int,
    entries: int,
    shares: Shares,
) -> None:
    """Settle what the entries of a moment touch, keep what was before it, empty what they empty."""
    header.moment += 1
    if shares is not None:
        for place in range(entries):
            kind = ints[header.entry_class + ints[header.entry_order + place]]
            _look_at_bursts(header, ints, doubles, program, kind, slot, time, ONCE)
        for entry in range(entries):
            kind = ints[header.entry_class + entry]
            _settle_sections(header, ints, doubles, program, kind, slot)
    for entry in range(entries):
        _keep_before(header, ints, doubles, program, ints[header.entry_class + entry], slot)
    for entry in range(entries):
        _empty(header, ints, doubles, program, ints[header.entry_class + entry], slot, ALL)
