# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Where a sweep over NEXT and CONTIGUOUS trends keeps what: words, slots and entries in arenas.

For each key there is a slot for each window that may be open at once. A slot has a row of totals,
one for each query, then for each state that is kept a row of sums, of the state's own lanes, and
for states with a list the entry that it begins with. In a row come all lanes of a field, then those
of the next. Integers are in one arena: words, scratch for extremes, keys, slots, entries. Sums are
in the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.keyed import Doubles, Flags, Ints

# states: those that are kept; lanes: queries; cells: lanes of kept states in all; width and ranks:
# sums and extremes of the totals
_SIZES = "states lanes cells fields extremes width ranks"
_WINDOWS = "contiguous overlap within every origin"  # overlap: open at once; the rest as `Wanted`
# of scratch for extremes; of slots, what one takes, and whether with room for what waits
_PLACES = "scratch int_slots double_slots int_slot double_slot tail"
# int_entry and double_entry: what one takes; held: where in one its attributes begin; `entries`:
# how many were begun
_ENTRIES = "int_entries double_entries int_entry double_entry held room entries unused"
# the slot acted on; the place of the event in columns of so many rows, and if it waits
_NOW = "slot_ints slot_doubles row rows waits"
# which keys; the next event, which events' columns are at hand from which on, the totals given out
_SWEEP = "at_keys first_key keys at begin given"
HEADER = np.dtype(
    [
        (name, np.int64)
        for names in (_SIZES, _WINDOWS, _PLACES, _ENTRIES, _NOW, _SWEEP)
        for name in names.split()
    ]
)

# a state's words: whether trends start in it, the queries whose trends end in it or NONE, how they
# are kept, how many lanes it has and where these begin among those of all states, what an event
# adds: how many fields, how many extremes, and where they stand; a list of the attributes that its
# entries keep, or ALL where there are none; and how many moves lead into it
NUMBER, START, END, KEPT, LANES, OFFSET, FIELDS, EXTREMES, ADDED, HELD, INTO, STATE = range(12)
# a move: the state before, how its trends are kept, where its lanes begin, how many it has, which
# of them each lane goes on with or ALL, whether the entries there stand in order, and how many
# conditions, each a row of forms whose LEFT tells where an entry has the earlier event's attribute
BEFORE, HOW, FROM, OF, MAP, SORTED, ASKED, MOVE = range(8)
# a class: how many states its events take, how they act, and for each state its place and lanes
TAKES, ACTS, CLASS = range(3)
TOGETHER_WITH_OTHERS, ALONE, IN_ONE_LANE = 0, 1, 2  # how an event acts where none has its time
NOWHERE, TOGETHER, APART = 0, 1, 2  # how the trends that end in a state are kept
ALL = 0  # in place of a list of lanes, of ends, or of which lane goes on with which
PLACES = 1  # where the words tell the place of each state that is kept

# what a slot has beside a number for each state: what marks sums that are there. Under CONTIGUOUS
# it rises with each moment, so that nothing needs to be cleared
SERIAL, ALIVE = 0, 1
TAKEN, GROWN = 1, 2  # what waits in a state for the moment to be over: ends, beginnings

# words of an entry: the next one or NONE; extremes; then the code of each attribute that is held,
# and whether there is a value
FOLLOWING, ENTRY = 0, 1
NONE = -1

NOTHING, SOME, TOO_LARGE = 0, 1, 2  # what a state found: no trends, some, numbers too large
LARGE = 2.0**900  # no step of plain doubles leads from below this to infinity


class Compared(NamedTuple):
    """The columns that conditions read, one after another: attribute * rows + row.

    See `Conditions`; the header tells the number of rows.
    """

    codes: Ints
    known: Flags


class Added(NamedTuple):
    """The columns of what events add to sums, and are ranked by, one after another likewise."""

    values: Doubles
    present: Flags
    orders: Ints
    ordered: Flags


class Events(NamedTuple):
    """What is read of events beside their class, key and time."""

    compared: Compared
    added: Added


@kernel(borrows=True, linked=True)
def add_or_put(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    fresh: bool,
    several: int,
    sums: int,
    more: int,
    extremes: int,
    more_extremes: int,
) -> None:
    """Add sums and extremes of lanes to others, or put them in their place where these are fresh.

    several: how many lanes.
    """
    for cell in range(several * header.fields):
        before = 0.0 if fresh else doubles[sums + cell]
        doubles[sums + cell] = before + doubles[more + cell]
    for rank in range(several * header.extremes):
        least = FOREVER if fresh else ints[extremes + rank]
        ints[extremes + rank] = min(least, ints[more_extremes + rank])


@kernel(borrows=True, inline=True)
def add_all(
    header: Any, ints: Ints, doubles: Doubles, place: int, move: int, sums: int, extremes: int
) -> None:
    """Add to scratch of a state, in all its lanes, what stands somewhere for those before them."""
    if ints[move + MAP] != ALL:
        _add_chosen(header, ints, doubles, place, move, sums, extremes)
        return
    scratch = ints[place + OFFSET] * header.fields
    rank_scratch = header.scratch + ints[place + OFFSET] * header.extremes
    for cell in range(ints[place + LANES] * header.fields):
        doubles[scratch + cell] += doubles[sums + cell]
    for rank in range(ints[place + LANES] * header.extremes):
        ints[rank_scratch + rank] = min(ints[rank_scratch + rank], ints[extremes + rank])


@kernel(borrows=True, linked=True)
def _add_chosen(
    header: Any, ints: Ints, doubles: Doubles, place: int, move: int, sums: int, extremes: int
) -> None:
    """Do what `add_all` does where the lanes before are others."""
    several, before, chosen = ints[place + LANES], ints[move + OF], ints[move + MAP]
    scratch = ints[place + OFFSET] * header.fields
    rank_scratch = header.scratch + ints[place + OFFSET] * header.extremes
    for field in range(header.fields):
        here, there = scratch + field * several, sums + field * before
        if before == 1:
            number = doubles[there]
            for lane in range(several):
                doubles[here + lane] += number
        else:
            for lane in range(several):
                doubles[here + lane] += doubles[there + ints[chosen + lane]]
    for extreme in range(header.extremes):
        here, there = rank_scratch + extreme * several, extremes + extreme * before
        for lane in range(several):
            least = min(ints[here + lane], ints[there + ints[chosen + lane]])
            ints[here + lane] = least


@kernel(borrows=True, linked=True)
def add_some(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    place: int,
    move: int,
    lanes: int,
    sums: int,
    extremes: int,
) -> None:
    """Do what `add_all` does for a list of lanes."""
    several, before = ints[place + LANES], ints[move + OF]
    scratch = ints[place + OFFSET] * header.fields
    rank_scratch = header.scratch + ints[place + OFFSET] * header.extremes
    for at in range(lanes + 1, lanes + 1 + ints[lanes]):
        here, there = ints[at], lane_before(ints, move, ints[at])
        for field in range(header.fields):
            number = doubles[sums + field * before + there]
            doubles[scratch + field * several + here] += number
        for extreme in range(header.extremes):
            rank = rank_scratch + extreme * several + here
            ints[rank] = min(ints[rank], ints[extremes + extreme * before + there])


@kernel(borrows=True, linked=True)
def lane_before(ints: Ints, move: int, lane: int) -> int:
    """Return the lane of the state before that a lane goes on with."""
    return lane if ints[move + MAP] == ALL else ints[ints[move + MAP] + lane]


@kernel(borrows=True, linked=True)
def go_to(header: Any, slot: int) -> None:
    """Make a slot the one that is acted on."""
    header.slot_ints = header.int_slots + slot * header.int_slot
    header.slot_doubles = header.double_slots + slot * header.double_slot
