"""The arrays that the kernels work on, and what the numbers in them stand for.

Records hold what belongs to one thing. Where a record says where a run of others begins, the next
record says where it ends; so each array of such records has one more than there are things.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.trends.core.arrays import Codes, Doubles, Ints

Flags = NDArray[np.uint8]
Words = NDArray[np.uint64]
Records = Any  # an array of one of the types of records below

# how the events of a set are compared with the event before them: not at all; the values up to the
# event's own, or below it, are its predecessors' (of inverted ones: from it on, above it); equals
PLAIN, PREFIX, STRICT, EQUAL = 0, 1, 2, 3
MIXED = 4  # of a set whose members compare in several ways, each a condition of its own

DYNAMIC, ALWAYS, ALONE = 0, 1, 2  # modes of sharing

# what a column is: the holder whose own it is, or
SNAPSHOT, DEAD = -1, -2
# where a holder is: its own column, or
SHARED, EMPTY = -1, -2

# rows of Work.cells, powers and least: sums over the trends that end in a state; what comes into it
# from the start and from other states; what the present moment adds; of fine nodes, what it was
# before it
NOW, INPUT, ADDED, BEFORE = 0, 1, 2, 3

# entries of Graph.info: columns in use and there; the latest snapshot that began a graphlet, or -1;
# where in the set's list the epoch ends; whether a number has an exponent; rows; forms there is
# room for; where its block begins, in Graphs.doubles and Graphs.ints; the first column that is not
# dead
COLUMNS, WIDTH, LATEST, UNTIL, BIG, ROWS, FORMS, AT, AT_INTS, ALIVE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
# of its index, by rank: where past epochs begin, where the present one does and where it ends; how
# many past ones there are, where each of these ends and the time of its last event
FIRST, PRESENT, END, EPOCHS, ENDS = 10, 11, 12, 13, 14
MOST_EPOCHS = 32  # past ones; more are merged into one
LASTS = ENDS + MOST_EPOCHS
INFO = LASTS + MOST_EPOCHS
# entries of Graphs.used: how much of `doubles` and `codes`, and of `ints`, is given away; the most
# bytes that graphs took so far
DOUBLES_USED, INTS_USED, PEAK = 0, 1, 2
TOTAL = np.int64(0)  # the row of Graph.rows that holds the sum of all rows; indices come after it

# entries of Work.counts
BURSTS, GRAPHLETS, SHARED_GRAPHLETS, SPLITS, MERGES = 0, 1, 2, 3, 4
GRAPHLET_SNAPSHOTS, EVENT_SNAPSHOTS, MOST, DECISIONS, CYCLES, LAST_SHARED = 5, 6, 7, 8, 9, 10
# what the present burst's sharing is expected to save; what sharing has lost against that; bursts
# into which something new came; how many such there are in a window (below 0: it is not known yet),
# and into which part of its members something comes; how many snapshots are expected to stand;
# whether no more holders are to share. From COUNTS on, for each opening: CHANGED as it opened
BENEFIT, REGRET, CHANGED, EXPECTED, REACHED, STANDING, EBBS = 11, 12, 13, 14, 15, 16, 17
COUNTS = 18

# dead columns go where they are more than one of so many
MUST, IF_FEW, IF_SOME, IF_MANY = np.int64(2**31), np.int64(8), np.int64(4), np.int64(2)
ROWS_STAY, ROWS_GO = np.int64(1), np.int64(0)  # what becomes of an index when its graph moves

# why bursts are complete: a window's edge, before the events of a moment or within them
EDGE, BROKEN, INSIDE = 0, 1, 2
# where a run is: what comes next, the key, the moment's first row and that after it, whether it
# completes bursts, the phase, the place in the queue of complete bursts and how many they are
# and the first row of the burst, of which a part may be done
STEP, KEY, ROW, AFTER, BREAKS, PHASE, PLACE, COUNT, BEGAN, PLACES = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9

# rows of Work.masks: the groups that share a burst; those that take all of its events, and some of
# them; from COUNTED on, digits of the number of events at which each group differs from the most
CHOSEN, EVERY, SOME, COUNTED = 0, 1, 2, 3
DIGITS = 3
MASKS = COUNTED + DIGITS


def _records(*fields: tuple[str, type]) -> np.dtype[np.void]:
    return np.dtype(list(fields), align=True)


STATE = _records(
    ("field", np.int64),  # its first state field, the number of trends
    ("extreme", np.int64),  # its first state extreme
    ("preds", np.int64),  # in `lists`: the other states right before it
    ("succs", np.int64),  # in `lists`: the fine nodes right after it
    ("start", np.int64),  # whether a trend may start there
    ("window", np.int64),  # window kind
    ("home", np.int64),  # its set; -1: coarse
)
FIELD = _records(
    ("address", np.int64),  # its first cell
    ("what", np.int64),  # NOTHING, ONE, VALUE + 2a or VALUE + 2a + 1
    ("slot", np.int64),  # which number of a shared form carries the contribution, or 0
)
EXTREME = _records(
    ("least", np.int64),  # its first entry
    ("ranked", np.int64),  # 2a (least) or 2a + 1 (greatest value of attribute a), or -1
    ("extreme_slot", np.int64),  # the same as `slot`, or -1
)
KIND = _records(  # window kinds
    ("within", np.int64),  # length, FOREVER for the whole stream
    ("step", np.int64),
    ("origin", np.int64),
    ("overlap", np.int64),  # lanes
    ("openings", np.int64),  # its first entry in Work.opened
    ("kind_states", np.int64),  # in `lists`
    ("kind_queries", np.int64),  # in `lists`
)
QUERY = _records(
    ("ends", np.int64),  # in `lists`: its accepting states
    ("fields", np.int64),  # how many linear fields it has
    ("extremes", np.int64),
)
SET = _records(
    ("members", np.int64),
    ("groups", np.int64),  # members with equal local predicates
    ("words", np.int64),  # of a mask over the groups
    ("set_cell", np.int64),  # its first cell; those of its holders' numbers of trends come first
    ("set_least", np.int64),
    ("holders", np.int64),  # in `lists`: each holder's member
    ("set_kinds", np.int64),  # in `lists`: its window kinds
    ("predecessors", np.float64),  # p of the cost model
    ("values", np.int64),  # numbers in a column: of trends, then of sums
    ("carried", np.int64),  # extremes in a column
    ("adjacent", np.int64),  # PLAIN, PREFIX, STRICT, EQUAL or MIXED
    ("conditions", np.int64),  # the ways in which its members compare
    ("inverted", np.int64),  # whether values are compared from the greatest down
    ("current", np.int64),  # the row of Events.compared with the event's value
    ("previous", np.int64),  # the row with that of the event before it
    ("feeds", np.int64),  # whether a fine node stands right after one of its members
)
MEMBER = _records(
    ("member", np.int64),
    ("group", np.int64),
    ("condition", np.int64),  # how it compares: the place among its set's conditions
)
CONDITION = _records(  # all as for a set
    ("compared", np.int64),
    ("inverted", np.int64),
    ("current", np.int64),
    ("previous", np.int64),
)
CLASS = _records(
    ("coarse", np.int64),  # in `lists`: coarse states that its events take
    ("breaks", np.int64),  # in `lists`: sets whose bursts they complete
    ("enters", np.int64),  # its first entry
)
ENTRY = _records(  # a class in a set
    ("takers", np.int64),  # in `lists`: the members that take it
    ("masks", np.int64),  # its first word in `mask`
    ("entered", np.int64),  # the set
    ("everyone", np.int64),  # whether all members take it
)
LISTED = _records(("row", np.int64), ("entry", np.int64), ("time", np.int64))
FLAGS = _records(
    ("is_touched", np.uint8),  # a coarse state that the present moment changes
    ("dirty", np.uint8),  # a fine node whose inputs have changed
    ("stale", np.uint8),  # a fine node whose cells are not what its graph says
)
OPEN = _records(("first", np.int64), ("last", np.int64))  # windows of a kind
BURST = _records(
    ("low", np.int64),  # the burst of a set: rows of its list
    ("high", np.int64),
    ("oldest", np.int64),  # first row of its list that an open window may hold
)


class Program(NamedTuple):
    """A unit's states, windows, queries and sharing sets; all read only."""

    states: Records
    fields: Records
    extremes: Records
    kinds: Records
    queries: Records
    sets: Records
    members: Records
    conditions: Records
    lists: Ints
    slot_what: Ints  # [set, number] -> the contribution that shared forms carry there
    slot_ranked: Ints  # [set, extreme]


class Actions(NamedTuple):
    """What events of each class do."""

    classes: Records
    entries: Records
    lists: Ints
    mask: Words  # a bit per group that takes an entry


class Events(NamedTuple):
    """The events, as in `KeyedEvents` and `ComparedColumns`; which enter each set, in order."""

    times: Ints
    values: Doubles
    present: Flags
    orders: Ints
    ordered: Flags
    compared: Ints
    known: Flags
    lists: Ints  # [set + 1] -> listed
    begins: Ints  # [set] -> the first of these rows; before it are events of calls before this one
    listed: Records


class Keys(NamedTuple):
    """The events key after key: where each begins, which of its windows are wanted.

    Wanted are those that end after `done` and at or before `until`. classes: [row] -> the number of
    the event's actions, or -1.
    """

    starts: Ints  # [key + 1]
    done: Ints
    until: Ints
    classes: Codes
    resumed: bool  # whether the one key goes on from what is known of it
    stays: bool  # whether windows that end later are opened all the same, and kept
    counted: Ints  # [key] bursts that begin before it were counted in an earlier call
    again: Doubles  # [set, CYCLES + 1] -> what `Work.counts` counts of these once more


class Mode(NamedTuple):
    """How to work: `sharing` is DYNAMIC, ALWAYS or ALONE.

    Prices as `benefit.as_array` gives them: `cost` for plain sets, `ordered_cost` for others.
    """

    sharing: int
    by_time: bool
    cost: Doubles
    ordered_cost: Doubles
    record: bool


class Work(NamedTuple):
    """What is known of the present key. A cell: a sum over a state's trends in one window."""

    cells: Doubles  # [NOW..BEFORE, cell] extended-range numbers
    powers: Codes
    least: Ints  # [NOW..BEFORE, extreme]
    flags: Records  # [state]
    touched: Ints  # coarse states that the present moment changes; the last entry: how many
    open: Records  # [window kind]
    opened: Doubles  # [opening] -> 1 where the window is open and wanted
    queue: Ints  # sets whose bursts are complete
    edge: Ints  # [1] -> when the next window opens or closes
    bursts: Records  # [set]
    weight: Doubles  # [group] -> holders to be shared; -1 for a set's first: to be counted
    masks: Words  # [MASKS, word], for the present burst
    worth: Doubles  # [digits, 2] -> what sharing such a group saves: in any case, and per holder
    counts: Doubles  # [set, COUNTS and openings]


class Graphs(NamedTuple):
    """The graphs of all sets, block by block."""

    info: Ints  # [set, INFO]
    used: Ints  # [3] -> see DOUBLES_USED and what follows
    doubles: Doubles
    codes: Codes  # the exponents of `doubles`
    ints: Ints


class Rows(NamedTuple):
    """Rows of extended-range numbers and of extremes, one after another in flat arrays."""

    numbers: Doubles
    powers: Codes
    least: Ints
    width: int  # columns there are


class Shape(NamedTuple):
    """What rows are like: numbers and extremes in a column, columns there are and in use.

    All columns before `first` are dead: rows are added without them. As long as none of a graph's
    numbers has passed 2**384 the exponents of its rows are all 0, and are not looked at: `big` is
    false.
    """

    values: int
    carried: int
    width: int
    first: int
    columns: int
    big: bool


class Graph(NamedTuple):
    """The shared graph of one set: the snapshot table and the rows of its events.

    A row has numbers of `width` columns each: numbers[(row * values + v) * width + column]. Rows:
    the total, then those of the index by rank, of which a MIXED set has one for each condition.
    """

    info: Ints
    table: Doubles  # [column, cell] -> the snapshot's value
    table_powers: Codes
    table_least: Ints  # [column, extreme]
    rows: Rows
    keys: Ints  # [row - 1] -> the value of an index's row, ascending in either index
    used: Ints  # [row - 1] -> 0 until a row is an index's: till then it may hold anything
    holder: Ints  # [column] -> holder, SNAPSHOT or DEAD
    column: Ints  # [holder] -> column, SHARED or EMPTY
    # for the present burst, all as wide as a row:
    unit: Rows  # what comes in at each event
    form: Rows  # one for each event of the present moment
    what: Ints  # what an event adds
    ranked: Ints
    group: Ints  # [column] -> its holder's group, or -1
    kept: Ints  # [column], while columns are dropped
    chosen: Ints  # [holder] -> the column it is to have, or -1


class Out(NamedTuple):
    """The results so far, and the records of bursts."""

    used: Ints  # [3] -> rows and records in use; the cycles that a run took
    place: Ints  # [row, 3] -> query, key, window
    cells: Doubles
    powers: Codes
    extremes: Ints
    record: Ints  # [record, 5] -> set, first row, events, queries, shared
    benefit: Doubles
    sharers: Words  # [record, word] -> a bit for each group of the set that shared
