"""Where a sweep over NEXT and CONTIGUOUS trends keeps what: words, slots and entries in arenas.

For each key there is a slot for each window that may be open at once. A slot has, of all lanes, a
row of totals, one of sums for each state, and for states with a list the entry that it begins with.
Integers are in one arena: words, scratch for extremes, keys, slots, entries. Sums are in the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.graph.layout import Stream
from elsinore.trends.keyed import Doubles, Flags, Ints

_SIZES = "states lanes width ranks"  # width: sums of all lanes; ranks: their extremes
_WINDOWS = "contiguous overlap within every origin"  # overlap: open at once; the rest as `Wanted`
# of scratch for extremes; of slots, what one takes, and whether with room for what waits
_PLACES = "scratch int_slots double_slots int_slot double_slot tail"
_ENTRIES = "int_entries double_entries room entries unused"  # of which `entries` were begun
_NOW = "slot_ints slot_doubles row rows waits"  # the slot acted on; the event, and if it waits
_SWEEP = "at_keys first_key keys at given"  # which keys; the next event, the totals given out
HEADER = np.dtype(
    [
        (name, np.int64)
        for names in (_SIZES, _WINDOWS, _PLACES, _ENTRIES, _NOW, _SWEEP)
        for name in names.split()
    ]
)

# a state's words: whether trends start in it, the lanes whose trends end in it or NONE, how they
# are kept, how many moves lead into it, and what an event adds: how many fields, how many extremes,
# and where they stand
NUMBER, START, END, KEPT, FIELDS, EXTREMES, ADDED, INTO, STATE = range(9)
# a move: the state before, how its trends are kept, how many conditions, each a row of forms
BEFORE, HOW, ASKED, MOVE = range(4)
NOWHERE, TOGETHER, APART = 0, 1, 2  # how the trends that end in a state are kept
ALL = 0  # in place of a list of lanes

# what a slot has beside a number for each state: what marks sums that are there. Under CONTIGUOUS
# it rises with each moment, so that nothing needs to be cleared
SERIAL, ALIVE = 0, 1
TAKEN, GROWN = 1, 2  # what waits in a state for the moment to be over: ends, beginnings

ROW, FOLLOWING, ENTRY = 0, 1, 2  # words of an entry: the event, the next entry or NONE; extremes
NONE = -1

NOTHING, SOME, TOO_LARGE = 0, 1, 2  # what a state found: no trends, some, numbers too large
LARGE = 2.0**900  # no step of plain doubles leads from below this to infinity


class Compared(NamedTuple):
    """The columns that conditions read, one after another: attribute * rows + row.

    See `Conditions`; the header tells the number of rows.
    """

    codes: Ints
    numbers: Doubles
    known: Flags


class Events(NamedTuple):
    """What is read of events beside their class, key and time."""

    compared: Compared
    stream: Stream


@kernel(borrows=True, linked=True)
def go_to(header: Any, slot: int) -> None:
    """Make a slot the one that is acted on."""
    header.slot_ints = header.int_slots + slot * header.int_slot
    header.slot_doubles = header.double_slots + slot * header.double_slot
