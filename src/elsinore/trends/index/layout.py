"""What the kernels of indexed windows read of a query and keep of a window, as words.

A query is one array of words: a head (STATES_AT and so on tell where its tables begin), tables of
equal rows, and lists, their length first. What is kept is one arena of integers, whose parts the
head tells too, and a table of sums: the window's total, nodes, what the events of a moment amount
to, and trees.

A *node* is what is kept of a state: the sum of all trends that end there, and *trees*, sums by the
order of a column. A *read* is what an event may go on with: a node, or a range of one of its trees,
between the *cuts* that bound it.
"""

from __future__ import annotations

# the head
(
    BY_TIME,  # whether events of one time are one moment
    OVERLAP,  # whether windows overlap, so that events are ranked for several at once
    ROOM,  # rows that are ranked at once, at most
    NODES,
    TREES,
    RESETS,  # whether any event empties a node
    ENDS,  # list of the nodes whose trends are complete
    STATES_AT,
    NODES_AT,
    TREES_AT,
    READS_AT,
    CUTS_AT,
    CLASSES_AT,  # [class] -> list of nodes that it empties, followed by that of states it takes
    FOUND,  # first row of sums for what a moment's events amount to
    SIZES,  # parts of the arena: [tree] how many ranks it has
    ENTERED,  # [tree] how many ranks were entered since it was emptied
    LOG,  # [tree, row] those ranks, where a node is emptied by events
    RANK,  # [tree, row] an event's rank, -1 for none
    LOW,  # [slot, row] first rank that an event follows by a read
    HIGH,  # [slot, row] and the one after the last
    KEYS,  # [row] room to sort, four times, and to count digits
    HEAD,
) = range(22)

# a state: whether trends start in it, its reads, the nodes it is kept in, its row of addends
START, READS, KEPT, FIELDS, STATE = range(5)
# a node: its trees, whether it holds an empty trend at first, whether events empty it
OF_NODE, SEED, EMPTIED, NODE = range(4)
# a tree: how it sums, the column that puts events in order, whether it is turned round, its first
# row of sums, columns that must be known, [class] flags of what is entered, its reads by cuts
KIND, AXIS, TURNED, BASE, KNOWN, ENTERS, OF_TREE, TREE = range(8)
# a read: its node; its tree; how it looks it up; its slot; its cuts; [class] flags of who reads
FROM, IN, HOW, SLOT, CUTS, READERS, READ = range(7)
# a cut: its operator, whether it is the range's end, columns of previous and current event, shift
OPERATOR, IS_HIGH, BEFORE, AFTER, SHIFT, CUT = range(6)

PREFIX, POINT, RANGE = range(3)  # kinds of trees: Fenwick's, single cells, sums of halves
# ways to look up: all of a node; of the event's own rank those below, up to or at it; its range
ALL, OWN_BELOW, OWN_UP_TO, OWN, CUT_OUT = range(5)
BELOW, UP_TO, FROM_ON, ABOVE = range(4)  # operators: previous < current, <=, >=, >

TOTAL, FIRST_NODE = 0, 1  # rows of sums
DIGITS = 8 * 256  # places to count digits of sorted numbers
