# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""What the operator enters: a batch acts as it lies in Arrow's memory, or windows are closed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel
from elsinore.kernels.arrow import array_at, column_of, is_there, let_go, validity_of
from elsinore.kernels.pointers import pointed
from elsinore.operators.slots import TABLE_WORDS
from elsinore.trends.core.arrays import (
    ALONE,
    FOREVER,
    SHARING,
    Codes,
    Columns,
    Doubles,
    Ints,
    Shares,
)
from elsinore.trends.core.given_out import take_totals
from elsinore.trends.core.lending import lend, table_at
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sums.moments import end_waiting
from elsinore.trends.sums.run import DONE, GROW, leave, pass_edge, run
from elsinore.trends.sums.store import STATE
from elsinore.trends.values.columns import CLASS, GROUP, KEY, TIME

# words of a call, first those that are 0 between calls: the address of a batch, 0: there is none
# that has not acted; whose windows are to be closed after it; how many slots a batch's keys are
# lent, or are LISTED
BATCH, CLOSING, SLOT_COUNT, OF_CALL = range(4)
# by when the windows end that are closed; where those slots are; where totals are put that are
# given out, the next row, how many have room, and how many were given
UNTIL, SLOTS, WHOLES, CELLS, CODES, PLACE, ROOM, GIVEN = range(OF_CALL, OF_CALL + 8)
# what is read and written, each by where it begins and its length: the header, which is alone, the
# store's arenas, the program, the places of classes in it; and who lends slots
HEADERS, INTS, DOUBLES, PROGRAM, KNOWN, LENT = range(GIVEN + 1, GIVEN + 13, 2)
CALL = LENT + TABLE_WORDS

NO_SLOTS, ALL_SLOTS, LISTED_SLOTS = 0, 1, 2  # whose windows are to be closed

# how it ends, too: the store needs more slots, or those who lend them, or totals room to be put
MORE_SLOTS, MORE_LENT, MORE_ROOM = np.int64(4), np.int64(5), np.int64(6)

HEADER = STATE.header
NO_GROUP = -1
ALONE_SECONDS, SHARING_SECONDS = 21.0, 30.0  # that compiling takes without and with sharing
MANY_TOTALS = 2**14  # are given out as soon as they are final, in place of more room for them


@kernel(seconds=ALONE_SECONDS)
def arrive(call: Ints, addends: Doubles, ranks: Ints) -> int:
    """Let the events of a batch act, of a unit that shares no bursts, then close windows.

    See `_arrive`.
    """
    return _arrive(call, addends, ranks, ALONE)


@kernel(seconds=SHARING_SECONDS)
def arrive_sharing(call: Ints, addends: Doubles, ranks: Ints) -> int:
    """Let the events of a batch act, of a unit with sharing groups, then close windows.

    See `_arrive`.
    """
    return _arrive(call, addends, ranks, SHARING)


@kernel(borrows=True, linked=True)
def _arrive(call: Ints, addends: Doubles, ranks: Ints, shares: Shares) -> int:
    """Let the events of a batch act, then close windows; return how it ended, as `run` does.

    `call` tells what is to be done, and where all is that this takes: one array is sooner passed
    than eight. What is not done is gone on with from `header.begin` on. Totals that are final then
    are given out: of windows that were closed for all slots, with `header.one_slot` of all groups
    but the last, and many of them where each key is a group of its own. shares: None of a unit
    without sharing groups: what is for bursts and clocks is then not compiled, here and in all that
    is called.
    """
    header = array_at(call[HEADERS], 1, HEADER)[0]
    ints, doubles = pointed(_lent(call, INTS, np.int64)), pointed(_lent(call, DOUBLES, np.float64))
    program, known = pointed(_lent(call, PROGRAM, np.int64)), pointed(_lent(call, KNOWN, np.int64))
    closing, until, group = call[CLOSING], FOREVER, np.int64(NO_GROUP)
    call[GIVEN], how = 0, DONE
    if call[BATCH] != 0:
        how = _act(header, ints, doubles, program, known, call, addends, ranks, shares)
        if how == DONE:
            let_go(call[BATCH])
            call[BATCH], header.begin = 0, 0
    if how == DONE and closing != NO_SLOTS:
        until = call[UNTIL]
        listed = array_at(call[SLOTS], call[SLOT_COUNT], np.int32)
        how = _close_slots(header, ints, doubles, program, closing, until, listed, shares)
    elif header.one_slot != 0:
        group = ints[header.group_code]
    if how != DONE:
        return how
    many = header.bucket == 0 and header.totals >= MANY_TOTALS
    if header.totals != 0 and (closing == ALL_SLOTS or group != NO_GROUP or many):
        room = call[ROOM]
        if call[PLACE] + header.totals > room:
            return MORE_ROOM
        outliers, fields = header.outlier, header.field
        call[GIVEN] = take_totals(
            header,
            ints,
            doubles,
            until,
            group,
            array_at(call[WHOLES], (1 + outliers) * room, np.int64),
            array_at(call[CELLS], fields * room, np.float64),
            array_at(call[CODES], (2 + fields) * room, np.int32),
            call[PLACE],
        )
    header.begin = 0
    call[:OF_CALL] = 0
    return DONE


@kernel
def read_sums(batch: int, places: Ints, addends: Doubles) -> None:
    """Fill addends with columns of doubles of the batch at an address, event after event.

    Each number is followed by whether it is there; a null is 0.
    """
    for number in range(len(places)):
        values, at = column_of(batch, places[number], np.float64), 2 * number
        bits, first = validity_of(batch, places[number])
        for row in range(len(values)):
            there = is_there(bits, first + row)
            addends[at] = values[row] if there else 0.0
            addends[at + 1] = 1.0 if there else 0.0
            at += 2 * len(places)


@kernel(borrows=True, inline=True)
def _lent(call: Ints, place: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return the array that words of a call tell of from a place on."""
    return array_at(call[place], call[place + 1], kind)


@kernel(borrows=True, linked=True)
def _act(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    known: Ints,
    call: Ints,
    addends: Doubles,
    ranks: Ints,
    shares: Shares,
) -> int:
    """Let the events of a call's batch act; see `arrive`."""
    batch = call[BATCH]
    keys, times = column_of(batch, KEY, np.int32), column_of(batch, TIME, np.int64)
    header.end = len(times)
    if call[SLOT_COUNT] != 0:
        slots = array_at(call[SLOTS], call[SLOT_COUNT], np.int32)
        lent = table_at(call, LENT)
        done = lend(lent.table, lent.key, lent.last, lent.free, lent.count, keys, times, slots, 0)
        if done < len(keys):
            return MORE_LENT
        keys = slots
    if header.one_slot == 0 and _greatest(keys) >= header.slot:
        return MORE_SLOTS
    groups, codes = column_of(batch, GROUP, np.int32), column_of(batch, CLASS, np.int64)
    events = Columns(
        pointed(times),
        pointed(keys),
        pointed(groups),
        pointed(codes),
        known,
        pointed(addends),
        pointed(ranks),
    )
    return run(header, ints, doubles, program, events, shares)


@kernel(borrows=True, linked=True)
def _greatest(keys: Codes) -> int:
    """Return the greatest of a batch's keys: Numba's `max` takes longer to compile."""
    greatest = np.int32(-1)
    for row in range(len(keys)):
        greatest = max(greatest, keys[row])
    return greatest


@wide_kernel(linked=True)
def _close_slots(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    closing: int,
    until: int,
    listed: Codes,
    shares: Shares,
) -> int:
    """Close the windows of slots that end by a time; see `arrive`.

    Of moments those act before that are over; FOREVER: all do, and slots are free after it. Returns
    how it ended; `header.begin` is the slot to go on with.
    """
    end = len(listed) if closing == LISTED_SLOTS else header.slot
    for turn in range(header.begin, end):
        header.begin = turn
        slot = np.int64(listed[turn]) if closing == LISTED_SLOTS else turn
        if ints[header.key + slot] < 0:
            continue
        edge = until >= ints[header.edge + slot] or until == FOREVER
        if edge and header.totals + 2 * header.most_closed > header.row:
            return GROW
        if ints[header.waiting + slot] != 0 and ints[header.time + slot] < until:
            end_waiting(header, ints, doubles, program, slot, shares)
        if until == FOREVER:
            leave(header, ints, doubles, program, slot, shares)
        elif edge:
            pass_edge(header, ints, doubles, program, slot, until, shares)
            ints[header.time + slot] = max(ints[header.time + slot], until)
    header.begin = end
    return DONE
