"""The coarse engine's arrays: what its kernels read and what they change."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.uint8]
Words = NDArray[np.uint32]

NEVER = np.int64(np.iinfo(np.int64).min)  # before all times; also a stamp that matches none
BEFORE_ALL = np.int64(-(2**62))  # before the index of any window
FOREVER = np.int64(np.iinfo(np.int64).max)  # after all times; also the least of no values

# how a run over a batch ends; after GROW, EXPONENTS and COMPILE it is resumed where it stopped
DONE, GROW, EXPONENTS, COMPILE, DISORDER = 0, 1, 2, 3, 4

UNKNOWN = np.int32(-2)  # a class that has not been compiled yet

# what an event adds to a sum: nothing, one, or of attribute a the value (VALUE + 2a) or presence
NOTHING, ONE, VALUE = 0, 1, 2


class Program(NamedTuple):
    """What each class of events does; every array is read only.

    Runs of one array in another are given by where they begin: `sums[u] : sums[u + 1]` are the sums
    of update u.
    """

    resets: Ints  # [class + 1] -> resets
    emptied: Codes  # [reset] -> the node it empties
    late: Flags  # [reset] -> whether it is emptied only after the updates, which read it
    words: Words  # updates as `_act` reads them
    acts: Ints  # [class + 1] -> words
    updates: Ints  # [class + 1] -> updates
    node: Codes  # [update] -> the node it changes
    lanes: Codes  # [update] -> windows side by side in each of the node's sums
    opening: Ints  # [update] -> first entry of its window kind in `State.opened`
    start: Flags  # [update] -> whether a trend may start there
    sums: Ints  # [update + 1] -> sums, the number of trends first
    target: Ints  # [sum] -> first cell
    contribution: Codes  # [sum] -> NOTHING, ONE, VALUE + 2a or VALUE + 2a + 1
    terms: Ints  # [sum + 1] -> terms
    term: Ints  # [term] -> first cell of a predecessor's sum
    term_node: Codes  # [term] -> that predecessor
    extremes: Ints  # [update + 1] -> extremes
    extreme_target: Ints  # [extreme] -> first entry in `State.extremes`
    attribute: Codes  # [extreme] -> 2a (least) or 2a + 1 (greatest value of attribute a), or -1
    compared: Ints  # [extreme + 1] -> predecessors
    compared_extreme: Ints  # [predecessor] -> its first extreme, or -1 where it has none
    compared_cell: Ints  # [predecessor] -> first cell of its number of trends
    compared_node: Codes  # [predecessor] -> the node
    node_cell: Ints  # [node + 1] -> cells
    node_extreme: Ints  # [node + 1] -> extremes
    within: Ints  # [window kind] -> length, FOREVER for the whole stream
    step: Ints
    origin: Ints
    overlap: Codes  # [window kind] -> windows open at once
    openings: Ints  # [window kind] -> first entry in `State.opened`
    kind_cell: Ints  # [window kind + 1] -> cells
    kind_extreme: Ints  # [window kind + 1] -> extremes
    seeds: Ints  # [window kind + 1] -> seeds
    seed_cell: Ints  # [seed] -> first cell of its number of trends
    queries: Ints  # [window kind + 1] -> queries
    query_sums: Ints  # [query + 1] -> its linear fields, the number of trends first
    end: Ints  # [field + 1] -> ends
    end_cell: Ints  # [end] -> first cell to add up
    query_extremes: Ints  # [query + 1] -> its extremes
    extreme_end: Ints  # [extreme field + 1] -> ends
    extreme_end_cell: Ints  # [end] -> first extreme to compare


class State(NamedTuple):
    """What is known of each key, one row a slot."""

    cells: Doubles  # [slot, cell]
    powers: Codes  # [slot, cell], or [0, 0] while no number needs an exponent
    extremes: Ints  # [slot, extreme]
    cells_before: (
        Doubles  # the same before the moment in `stamp`; [0, 0] where none are simultaneous
    )
    powers_before: Codes
    extremes_before: Ints
    cells_added: Doubles  # the same, what that moment added; [0, 0] unless nodes are emptied
    powers_added: Codes
    extremes_added: Ints
    stamp: Ints  # [slot, node] -> the moment it last changed
    opened: Doubles  # [slot, opening] -> 1 where the window is open
    first: Ints  # [slot, window kind] -> first open window
    last: Ints  # [slot, window kind] -> last open window
    edge: Ints  # [slot] -> when the next window opens or closes
    time: Ints  # [slot] -> the key's last time
    key: Codes  # [slot] -> the key that has it, or -1
    group: Codes  # [slot] -> that key's group
    big: Flags  # [slot] -> whether its numbers have exponents


class Totals(NamedTuple):
    """Sums over closed windows, a row for each (query, group, window) seen, found by hashing."""

    table: Ints  # open addressing: row or -1; its length is a power of two
    query: Codes
    group: Codes
    window: Ints
    cells: Doubles  # [row, field]
    powers: Codes
    extremes: Ints  # [row, extreme]
    count: Ints  # type: ignore[assignment]  # [1] -> rows in use; no tuple's count
