"""What the kernels of indexed windows read of a query and keep of a window, as words.

A query is one array of words: a head (CLASSES_AT and so on tell where its tables begin), tables of
equal rows, and lists, their length first. What is kept is one arena of integers, whose parts the
head and the tables tell, and a table of sums: the window's total, nodes, what the events of a
moment amount to, and trees.

A *node* is what is kept of a state: the sum of all trends that end there, and *trees*, sums by the
order of a column. A *read* is what an event may go on with: a node, or ranges of one of its trees,
between the *cuts* that bound them.
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
    ENDS,  # list of lists of nodes: whose trends are complete for each of the finals
    NODES_AT,
    TREES_AT,
    CUT_READS_AT,
    CUTS_AT,
    CLASSES_AT,  # [class] -> list of nodes that it empties, followed by that of states it takes
    FOUND,  # first row of sums for what a moment's events amount to
    KEYS,  # [row] room to sort, four times, and to count digits
    SORTED,  # where in the arena is which rows are sorted
    HEAD,
) = range(15 + 1)

# a state, where lists of classes tell: whether trends start in it, its row of addends, the row of
# sums of a node that it reads all of (TOTAL, which is nothing, if none), how many other reads it
# has, and these; then how many nodes it is kept in, and these
START, FIELDS, WHOLE, READS, STATE = range(5)
# a state's read: how it looks up, the row of sums that is all of a node, or else a tree, and where
# in the arena are, for each row, the event's ranks or those that bound a range
HOW, OF, FIRST, LAST, READ = range(5)
# a node that a state is kept in: its row of sums, whether events empty it, how many trees it has,
# and of each: which it is, where in the arena the ranks of rows are
NODE_ROW, LOGGED, KEPT_TREES, KEEP = range(4)
KEPT_TREE = 2

# a node: its trees, whether it holds an empty trend at first
OF_NODE, SEED, NODE = range(3)
# a tree: how it sums, its first row of sums; where in the arena is how many ranks it has, how many
# were entered since it was emptied, and which; the ranks of rows; the column that puts events in
# order (RANKED_BEFORE: it has the ranks of an earlier tree), whether it is turned round, columns
# that must be known, [class] flags of what is ranked, the reads by cuts of all that have its ranks;
# where in the arena is how many rows are sorted, behind that two halves to be filled in turn: their
# keys and, behind the room for these and one more, their numbers
KIND, BASE, SIZE, ENTERED, LOG, RANKS, AXIS, TURNED, KNOWN, ENTERS, OF_TREE, KEPT, TREE = range(13)
# by numbers that go on from call to call: row 0, the first row that is sorted, the one behind the
# last; in which half of a tree's room they are
SORTED_FIRST, SORTED_LOW, SORTED_HIGH, SORTED_HALF, SORTED_WORDS = range(5)
# a read by cuts: where in the arena its ranges are put, its cuts, [class] flags of who reads
LOW, HIGH, CUTS, READERS, CUT_READ = range(5)
# a cut: its operator, whether it is the range's end, columns of previous and current event, shift
OPERATOR, IS_HIGH, BEFORE, AFTER, SHIFT, CUT = range(6)

RANKED_BEFORE = -1
PREFIX, POINT, RANGE = range(3)  # kinds of trees: Fenwick's, single cells, sums of halves
# ways to look up: all of a node; of the event's own rank those below, up to or at it; its range
ALL, OWN_BELOW, OWN_UP_TO, OWN, CUT_OUT = range(5)
BELOW, UP_TO, FROM_ON, ABOVE = range(4)  # operators: previous < current, <=, >=, >

TOTAL, FIRST_NODE = 0, 1  # rows of sums
DIGITS = 4 * 256  # places to count digits of sorted numbers
