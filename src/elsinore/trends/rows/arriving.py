# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The rows of a batch that are wanted, put behind those that wait, read where Arrow has them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.kernels.arrow import array_at, column_of, is_there, let_go, validity_of
from elsinore.operators.ranks import INFINITE, MAGNITUDE
from elsinore.operators.slots import TABLE_WORDS
from elsinore.trends.core.arrays import NEVER
from elsinore.trends.core.lending import lend, table_at
from elsinore.trends.keyed import Codes, Flags, Ints
from elsinore.trends.values.columns import CLASS, GROUP, KEY, TIME

# words of the head, first those of a batch: its next row, how many rows were taken, how many some
# state takes; where they are put, and where the first row is that waits; whether keys come one
# after another, and the one that goes on then; the batch's address, how many rows are lent slots
TURN, TAKEN, MATCHED, AT, FIRST, ONE_SLOT, CURRENT, BATCH, SLOT_COUNT, OF_BATCH = range(10)
# whether rows that no state takes are taken too, whether classes have places, whether all rows that
# wait are of one key
KEEPS_ALL, NUMBERED, ONE_KEY = range(OF_BATCH, OF_BATCH + 3)
# where room is for the slots of a batch's rows, and for the rows that are taken; where the columns
# of `Waiting` are, how many attributes are compared, and how many rows have room; who lends slots
SLOTS, CHOSEN, COLUMNS = range(ONE_KEY + 1, ONE_KEY + 4)
ATTRIBUTES, ROOM, LENT = range(COLUMNS + 6, COLUMNS + 9)
HEAD = LENT + TABLE_WORDS
SIGN = np.int64(63)  # the bit of a double that is its sign

# how a batch is gone through; after the others but DISORDER it is gone on with
DONE, DISORDER, MORE_LENT = np.int64(0), np.int64(1), np.int64(2)
MORE_KEYS, NEW_CLASS = np.int64(3), np.int64(4)


class Waiting(NamedTuple):
    """Columns of the rows that wait, with room behind them."""

    keys: Codes
    groups: Codes
    times: Ints
    classes: Ints  # places of classes, or they themselves
    compared: Ints  # [attribute, row]
    known: Flags


@kernel
def take_rows(head: Ints, last: Ints, places: Ints, doubles: Ints) -> int:
    """Put the rows of a batch that are wanted behind those that wait, as the head tells.

    Its rows are lent slots, or else a key is its own; those that are taken are listed in turn. When
    all are it is let go of.
    last: [key] -> the time of its last row, kept up to date; with ONE_SLOT of the current one.
    places: [class] -> its place, below 0 where it has none yet. doubles: pairs of a column of the
    batch and the row of `compared` that it is encoded in.
    """
    batch, waiting = head[BATCH], _waiting_at(head)
    keys, times = column_of(batch, KEY, np.int32), column_of(batch, TIME, np.int64)
    groups, codes = column_of(batch, GROUP, np.int32), column_of(batch, CLASS, np.int64)
    chosen = array_at(head[CHOSEN], len(keys), np.int64)
    if head[SLOT_COUNT] != 0:
        slots, lent = array_at(head[SLOTS], head[SLOT_COUNT], np.int32), table_at(head, LENT)
        done = lend(lent.table, lent.key, lent.last, lent.free, lent.count, keys, times, slots, 0)
        if done < len(keys):
            return MORE_LENT
        keys = slots
    how, taken, matched = DONE, head[TAKEN], head[MATCHED]
    keeps_all, one_slot, numbered = head[KEEPS_ALL] != 0, head[ONE_SLOT] != 0, head[NUMBERED] != 0
    row = head[TURN]
    while row < len(keys):
        key, code, time = np.int64(keys[row]), codes[row], times[row]
        if (key if keeps_all else code) < 0:
            row += 1
            continue
        kind = code
        if numbered:
            kind = np.int64(-1) if code < 0 else places[code]
            if code >= 0 and kind < 0:
                how = NEW_CLASS
                break
        lane = np.int64(0) if one_slot else key
        if lane >= len(last):
            how = MORE_KEYS
            break
        if one_slot and key != head[CURRENT]:
            head[CURRENT] = key
            last[0] = NEVER
        if time < last[lane]:
            how = DISORDER
            break
        last[lane] = time
        at = head[AT] + taken
        waiting.keys[at], waiting.groups[at] = key, groups[row]
        waiting.times[at], waiting.classes[at] = time, kind
        if key != waiting.keys[head[FIRST]]:
            head[ONE_KEY] = 0
        chosen[taken] = row
        taken += 1
        matched += code >= 0
        row += 1
    head[TURN], head[TAKEN], head[MATCHED] = row, taken, matched
    if how == DONE:
        for pair in range(0, len(doubles), 2):
            _encode(batch, doubles[pair], waiting, doubles[pair + 1], head[AT], chosen, taken)
        let_go(batch)
    return how


@kernel(linked=True)
def _waiting_at(head: Ints) -> Waiting:
    """Return the columns of the rows that wait."""
    attributes, room = head[ATTRIBUTES], head[ROOM]
    size = attributes * room
    return Waiting(
        array_at(head[COLUMNS], room, np.int32),
        array_at(head[COLUMNS + 1], room, np.int32),
        array_at(head[COLUMNS + 2], room, np.int64),
        array_at(head[COLUMNS + 3], room, np.int64),
        array_at(head[COLUMNS + 4], size, np.int64).reshape((attributes, room)),
        array_at(head[COLUMNS + 5], size, np.uint8).reshape((attributes, room)),
    )


@kernel(linked=True)
def _encode(
    batch: int, place: int, waiting: Waiting, row: int, at: int, chosen: Ints, count: int
) -> None:
    """Encode chosen doubles of a column as `ComparedColumns` does, each by its bits."""
    bits, (there, first) = column_of(batch, place, np.int64), validity_of(batch, place)
    for turn in range(count):
        word = bits[chosen[turn]]
        size = word & MAGNITUDE
        known = size <= INFINITE and is_there(there, first + chosen[turn])
        code = word ^ ((word >> SIGN) & MAGNITUDE)
        waiting.compared[row, at + turn] = code if known and size != 0 else 0
        waiting.known[row, at + turn] = known
