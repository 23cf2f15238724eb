# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Events one after another of slots whose moments wait as gains: most, where many are simultaneous.

A kernel of its own, so that the loop over all events (`elsinore.trends.sums.run`) stays as small
where no two events are simultaneous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import Columns, Doubles, Ints, Shares
from elsinore.trends.core.gains import FEW, add_few, add_gains, get_cells_powers
from elsinore.trends.core.plain import GREAT, add_cells
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sums.acting import gain_steps, get_all_powers
from elsinore.trends.sums.class_layout import GAIN_CELLS, GAINS, QUICK
from elsinore.trends.sums.waiting import GAINING


@wide_kernel(linked=True)
def gain_along(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    events: Columns,
    turn: int,
    shares: Shares,
) -> int:
    """Let events from `turn` on join the gains of their slots, or begin new ones after these.

    Event `turn` is of the key that its slot has. Returns the first that does not: at which a window
    ends, that had better wait as a series, that has no gains, or whose slot has something else
    waiting, or numbers with powers. What the header tells is looked up once: for all the compiler
    knows it is another after each number that is written.
    """
    times, keys, codes, known = events.times, events.keys, events.codes, events.known
    time_of, waiting_of = np.uint64(header.time), np.uint64(header.waiting)
    edge_of, big_of = np.uint64(header.edge), np.uint64(header.big)
    cells, width = np.uint64(header.cells), np.uint64(header.cell)
    gained, ungained = np.uint64(header.gained), np.uint64(header.ungained)
    addend, few = header.addend, header.gained <= FEW
    one_slot, first, matched = header.one_slot != 0, keys[turn], 0
    at, end = np.uint64(turn), np.uint64(header.end)  # a place not below 0 costs less
    while at < end:
        code = codes[at]
        if code < 0:
            at += np.uint64(1)
            continue
        kind, key, time = known[np.uint64(code)], keys[at], times[at]
        slot = np.uint64(0) if one_slot else np.uint64(key)
        before = ints[time_of + slot]
        if (
            kind < 0
            or (one_slot and key != first)  # a key's own slot has gains of none but it
            or ints[waiting_of + slot] != GAINING
            or time < before
            or time >= ints[edge_of + slot]
            or ints[big_of + slot] != 0
        ):
            break
        after = at + np.uint64(1)
        followed = after < end and keys[after] == key
        if followed and time != before and program[kind + QUICK] != 0:
            break
        steps, listed = program[kind + GAINS], program[kind + GAIN_CELLS]
        to = header.waiting_addends + np.int64(slot) * addend
        if steps == 0 or (
            addend != 0 and not _bring(doubles, to, events.addends, np.int64(at) * addend, addend)
        ):
            break
        base = cells + width * slot
        if few:
            gains = base + width - gained
            if add_few(doubles, base + ungained, gains, gained, time - before):
                get_cells_powers(header, ints, doubles, np.int64(slot))
                break
        elif time != before:
            add_gains(header, ints, doubles, np.int64(slot))
            if ints[big_of + slot] != 0:
                break
        if shares is not None:
            if ints[header.asleep + np.int64(slot)] <= 1:
                break
            ints[header.asleep + np.int64(slot)] -= 1
        if listed == 0:
            gain_steps(header, ints, doubles, program, steps, np.int64(slot), to)
        elif add_cells(doubles, program, listed, np.int64(base), to):
            get_all_powers(header, ints, doubles, program, steps, np.int64(slot))
        ints[time_of + slot] = time
        matched += 1
        at = after
    header.matched += matched
    return np.int64(at)


@wide_kernel(inline=True)
def _bring(doubles: Doubles, to: int, addends: Doubles, begin: int, count: int) -> bool:
    """Bring an event's addends to its slot; return whether none is too great for plain numbers."""
    beyond = False
    for number in range(np.uint64(count)):
        value = addends[np.uint64(begin) + number]
        doubles[np.uint64(to) + number] = value
        beyond |= not abs(value) <= GREAT
    return not beyond
