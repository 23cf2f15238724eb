"""The arrays that the graph path's kernels read: a query's automata and the events.

An automaton's states are numbered through with those of the others: first come the patterns under
NOT, innermost first, and the query's own is the last.
"""

from __future__ import annotations

from typing import NamedTuple

from elsinore.trends.keyed import Doubles, Flags, Ints, KeyedEvents, as_entered

ANY, NEXT, CONTIGUOUS = 0, 1, 2  # strategies

# how a move finds what it extends: a sum over all earlier events, a sum over those after some
# moment, or one event after another
POOL, SLIDE, SCAN = 0, 1, 2

NO_GUARD = 0  # the guard that is always free
REFUSED = -1  # no trend starts, or ends, in the state


# columns of `Program.state`; those that begin runs of something end where the next row's begin
MOVES = 0  # moves into it
START = 1  # guard under which a trend starts in it, or REFUSED
END = 2  # guard under which a trend ends in it, or REFUSED
SIDE = 3  # which of the patterns that AND joins it is of
ANCHOR = 4  # whether its event becomes the anchor
POOLED = 5  # whether some move reads the sum over its events
STORED = 6  # whether some move reads its events one by one
SLIDES = 7  # sliding sums over its events
ONWARD = 8  # place in `lists` of its own moves that ask for something

# columns of `Program.move`
SOURCE, TARGET = 0, 1
GUARD = 2  # what must not lie between
WAY = 3  # POOL, SLIDE or SCAN
SUM = 4  # number of its sliding sum, or -1
CONDITIONS = 5  # place in `lists` of the conditions between the neighbours
CHECKS = 6  # and of those between the anchor's event and the later one

STRATEGY, SIDES, AMBIGUOUS, ANCHORED = 0, 1, 2, 3  # places in `Program.shape`


class Program(NamedTuple):
    """A query's automata. Few arrays, as each of them makes every call longer."""

    automata: Ints  # [automaton + 1] -> states
    state: Ints  # [state + 1, column]
    move: Ints  # [move + 1, column], in the order of their targets
    guards: Ints  # [guard] -> place in `lists` of: ways; for each, negatives; these (automata)
    fits: Ints  # [class * automata + automaton (+ 1)] -> place in `lists` of the states
    lists: Ints
    linear: Ints  # [state, linear field] -> what an event adds
    extreme: Ints  # [state, extreme] -> 2a (least) or 2a + 1 (greatest of attribute a), or -1
    steps: Ints  # [class, own state] -> bits of the targets of moves that ask for nothing;
    # [class, -1] -> bits of the own states with a move to look at event by event
    shape: Ints


class Stream(NamedTuple):
    """What is known of each event."""

    classes: Ints  # [row] -> class among those that occur, or -1
    values: Doubles  # [attribute, row]; see `KeyedEvents`
    present: Flags
    orders: Ints
    ordered: Flags


def stream_of(events: KeyedEvents, classes: Ints) -> Stream:
    """Return events as kernels read them."""
    return Stream(
        classes,
        as_entered(events.values),
        as_entered(events.present),
        as_entered(events.orders),
        as_entered(events.ordered),
    )


class Stretch(NamedTuple):
    """The events of one key in one window, moment by moment.

    `latest[n, m]` is the last moment in which a match of negative n begins that has ended before
    moment m, or -1: if any match lies between two events, this one does. `latest[n, moments]` is of
    all matches.
    """

    begins: Ints  # [moment + 1] -> rows
    latest: Ints  # [automaton, moment + 1]
    moments: int  # how many
