# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What the operator enters: a batch acts as it lies in Arrow's memory, or windows are closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import kernel
from elsinore.kernels.arrow import column_of
from elsinore.operators.slots import KeyTable, lend
from elsinore.trends.columns import CLASS, GROUP, KEY, TIME
from elsinore.trends.core.arrays import FOREVER, Codes, Doubles, Ints
from elsinore.trends.moments import end_waiting
from elsinore.trends.run import DONE, GROW, Columns, leave, pass_edge, run
from elsinore.trends.wide import wide_kernel

NO_SLOTS, ALL_SLOTS, LISTED_SLOTS = 0, 1, 2  # whose windows are to be closed

MORE_SLOTS, MORE_LENT = 4, 5  # how it ends, too: the store needs more slots, or those who lend them


@kernel
def arrive(
    headers: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    known: Ints,
    batch: int,
    lent: KeyTable,
    slots: Codes,
    addends: Doubles,
    ranks: Ints,
) -> int:
    """Let the events of the batch at an address act; return how it ended, as `run` does.

    The header is the only one of `headers`. slots: [event], to be filled with the slots that keys
    are `lent`; nothing where a key is its own slot.

    With `header.closing` the windows of slots are closed instead that end by `header.until`: of all
    slots, or of the LISTED_SLOTS. What is not done is gone on with from `header.begin` on.
    """
    header = headers[0]
    if header.closing != NO_SLOTS:
        how = _close_slots(header, ints, doubles, program, slots)
    else:
        keys, times = column_of(batch, KEY, np.int32), column_of(batch, TIME, np.int64)
        header.end = len(times)
        if len(slots) != 0:
            done = lend(
                lent.table, lent.key, lent.last, lent.free, lent.count, keys, times, slots, 0
            )
            if done < len(keys):
                return MORE_LENT
            keys = slots
        if header.one_slot == 0 and keys.max() >= header.slot:
            return MORE_SLOTS
        groups, codes = column_of(batch, GROUP, np.int32), column_of(batch, CLASS, np.int64)
        events = Columns(times, keys, groups, codes, known, addends, ranks)
        how = run(header, ints, doubles, program, events)
    if how == DONE:
        header.begin = 0
        header.closing = NO_SLOTS
    return how


@wide_kernel(linked=True)
def _close_slots(header: Any, ints: Ints, doubles: Doubles, program: Ints, listed: Codes) -> int:
    """Close the windows of slots that end by `header.until`; see `arrive`.

    Of moments those act before that are over; FOREVER: all do, and slots are free after it. Returns
    how it ended; where that is before the last slot, `header.begin` is the one to go on with.
    """
    until = header.until
    end = len(listed) if header.closing == LISTED_SLOTS else header.slot
    for turn in range(header.begin, end):
        slot = np.int64(listed[turn]) if header.closing == LISTED_SLOTS else turn
        if ints[header.key + slot] < 0:
            continue
        edge = until >= ints[header.edge + slot] or until == FOREVER
        if edge and header.totals + 2 * header.most_closed > header.row:
            header.begin = turn
            return GROW
        if ints[header.waiting + slot] != 0 and ints[header.time + slot] < until:
            end_waiting(header, ints, doubles, program, slot)
        if until == FOREVER:
            leave(header, ints, doubles, program, slot)
        elif edge:
            pass_edge(header, ints, doubles, program, slot, until)
            ints[header.time + slot] = max(ints[header.time + slot], until)
    return DONE
