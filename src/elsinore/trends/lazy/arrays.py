"""What is kept to share bursts: clocks that tick with events, and marks of when holders were read.

A *group* has one clock per key: the number of its events so far and, of each attribute that is
summed up, the sum and number of their values. A *holder* (a node of the merged template, with all
its open windows) bears the mark of the clock at which its sums were right last.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.trends.arrays import Codes, Doubles, Flags, Ints

DEPTH = 32  # values kept to find the least since a mark; when they are that many, holders settle
SPAN = 512.0  # events after which plain doubles settle: 2**384 * 2**512 is still a double
WILD = 2.0**64  # greater addends, infinities and NaN act at once: they would spoil a clock's sums
RECORDS = 2**16  # bursts recorded at most

HEAD = 8  # words of a holder before its sums

# what a clock holds: events, and for each addend its sum, the sum's rounding error, its number
EVENTS, SUM, ERROR, PRESENT, ADDEND_WIDTH = 0, 1, 2, 3, 3

# what is counted of each group
BURSTS, SHARED, SPLITS, MERGES, SNAPSHOTS, DECISIONS, COUNTS = 0, 1, 2, 3, 4, 5, 6

# running averages of each group, for its decisions
LENGTH, TOUCHED, AVERAGES = 0, 1, 2


class Groups(NamedTuple):
    """Groups and their holders, and what each class of events means to them; read only."""

    members: Ints  # [group + 1] -> member
    member: Ints  # [member] -> holder
    clock: Ints  # [group + 1] -> first entry of its clock
    addends: Ints  # [group + 1] -> addends
    addend: Ints  # [addend] -> attribute
    stacks: Ints  # [group + 1] -> stacks
    ranked: Ints  # [stack] -> 2a (least) or 2a + 1 (greatest value of attribute a)
    every: Ints  # [holder] -> itself
    group: Ints  # [holder]
    marks: Ints  # [1] -> entries of a key's marks
    words: Ints  # holders as `_settle` reads them
    first_word: Ints  # [holder] -> words
    kind_holders: Ints  # [window kind + 1] -> holders
    eager: Doubles  # [group] -> what an event costs if it acts on all holders
    lazy: Doubles  # [group] -> what an event costs if it only moves the clock
    settling: Doubles  # [group] -> what it costs to bring one holder up to date
    eager_big: Doubles  # the same where numbers have exponents
    settling_big: Doubles
    boundary: Doubles  # [1] -> what it costs that a burst begins and ends
    runs: Ints  # [class + 1] -> runs of holders of one group to settle before such an event
    run_group: Ints  # [run]
    run: Ints  # [run + 1] -> places in `settled`
    settled: Ints  # [place] -> holder
    ticks: Ints  # [class + 1] -> ticks
    tick_group: Ints  # [tick] -> the group whose clock moves
    section: Ints  # [class + tick + 1] -> updates; first those of no group, then tick by tick
    section_act: Ints  # the same -> words
    breaks: Ints  # [class + 1] -> groups whose burst such an event ends
    broken: Ints


class Clocks(NamedTuple):
    """What is known of each key; one row a slot."""

    clock: Doubles  # [slot, entry]
    mark: Doubles  # [slot, entry]
    base: Doubles  # [slot, group] -> events at which all holders were settled
    shared: Flags  # [slot, group] -> whether its events only move the clock
    burst: Ints  # [slot, group] -> events of the burst in progress, -1 where there is none
    began: Ints  # [slot, group] -> its first event's time
    benefit: Doubles  # [slot, group] -> what was expected of sharing it
    touches: Doubles  # [slot, group] -> holders read since the burst before it began
    sizes: Ints  # [slot, stack] -> values on it
    when: Doubles  # [slot, stack * DEPTH + place] -> the event that a value came with
    rank: Ints  # likewise -> the value, as a rank; ascending
    last: Ints  # [slot] -> class of the event before, -1 where nothing is known of it
    dull: Ints  # [slot] -> bursts in turn that were not worth sharing
    asleep: Ints  # [slot] -> events that act at once, whatever they are, before bursts count again


class Bursts(NamedTuple):
    """What is known of each group over all keys, and records of bursts."""

    averages: Doubles  # [group, LENGTH or TOUCHED]
    counts: Ints  # [group, BURSTS ...]
    group: Codes  # [record]
    time: Ints  # [record]
    events: Ints  # [record]
    was_shared: Flags  # [record]
    benefit: Doubles  # [record]
    recorded: Ints  # [1] -> records in use


def new_clocks(groups: Groups, slots: int, *, shared: bool) -> Clocks:
    """Return the clocks of `slots` empty slots; `shared`: all groups share from the start."""
    number = len(groups.eager)
    stacks = len(groups.ranked)
    return Clocks(
        clock=np.zeros((slots, int(groups.clock[-1]))),
        mark=np.zeros((slots, int(groups.marks[0]))),
        base=np.zeros((slots, number)),
        shared=np.full((slots, number), shared, dtype=np.uint8),
        burst=np.full((slots, number), -1, dtype=np.int64),
        began=np.zeros((slots, number), dtype=np.int64),
        benefit=np.zeros((slots, number)),
        touches=np.zeros((slots, number)),
        sizes=np.zeros((slots, stacks), dtype=np.int64),
        when=np.zeros((slots, stacks * DEPTH)),
        rank=np.zeros((slots, stacks * DEPTH), dtype=np.int64),
        last=np.full(slots, -1, dtype=np.int64),
        dull=np.zeros(slots, dtype=np.int64),
        asleep=np.zeros(slots, dtype=np.int64),
    )


def new_bursts(groups: Groups, *, record: bool) -> Bursts:
    """Return that nothing is known of any group yet; `record`: with room for records."""
    number = len(groups.eager)
    rows = RECORDS if record else 0
    return Bursts(
        averages=np.full((number, AVERAGES), -1.0),
        counts=np.zeros((number, COUNTS), dtype=np.int64),
        group=np.zeros(rows, dtype=np.int32),
        time=np.zeros(rows, dtype=np.int64),
        events=np.zeros(rows, dtype=np.int64),
        was_shared=np.zeros(rows, dtype=np.uint8),
        benefit=np.zeros(rows),
        recorded=np.zeros(1, dtype=np.int64),
    )
