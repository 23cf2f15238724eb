# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The classes of a moment's events: one entry of each, ordered by what reads what.

An entry is a class, its number of events, and where its addends and ranks are. In their order what
is read stands before what changes it, where that can be: then classes act one after another, and
nothing of what was before the moment has to be kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels.slots import give_back
from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sums.class_layout import APART, CHANGES, NUMBER, ORDER, READS
from elsinore.trends.sums.waiting import join_events

ROOT = np.int64(0)  # of the compiler's one type for numbers: a literal would be compiled apart


@wide_kernel(linked=True)
def gather_classes(
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
            join_events(header, ints, doubles, to, to_rank, doubles, addends, ints, ranks)
        following = ints[header.run_next + run]
        give_back(ints, header.run_free, run)  # nothing is taken before the entries have acted
        run = following
    ints[header.chain + slot] = -1
    for entry in range(entries):
        ints[header.entry_of + program[ints[header.entry_class + entry] + NUMBER]] = -1
    return entries


@wide_kernel(linked=True)
def put_in_order(header: Any, ints: Ints, program: Ints, entries: int) -> None:
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


@wide_kernel(linked=True)
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
def reads_what_changed(header: Any, ints: Ints, program: Ints, entries: int) -> int:
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
