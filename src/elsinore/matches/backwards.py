# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Matches worked out from their ends, for many queries in one pass over the events.

For SKIP TILL NEXT MATCH and CONTIGUOUS where no two events of a key are simultaneous, an event that
may follow a match can stand in one state only, and nothing follows where a match ends. Then what
comes after an event in a state is one continuation, whatever came before: its last event, and what
the registers will hold of it. Going through a key's events from the last one backwards, each
state's continuation is kept in a few numbers, a *slot*; an event that goes on from state s in state
t makes s's slot of t's and itself, and one that begins a match gives out the slot of its state.
Nothing is looked at twice, however long matches and windows are, and states of several queries that
go on alike share a slot.

`elsinore.matches.together` writes the program: for each class of events what it begins, and what it
extends. A slot holds the last row, the row that comes next, and a number for each register.
"""

from __future__ import annotations

from numpy import uint64 as at  # places are never below 0: nothing is counted from the end

from elsinore.kernels import kernel
from elsinore.matches.arrays import Ints, Shorts, Values
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW
from elsinore.matches.reach import CLASS
from elsinore.matches.search import TIME, pair_holds

# Entries of `span`: keys and rows to go through, and whether to give nothing out; then of each lane
# where in `found` its latest match stands.
FIRST_KEY, END_KEY, FIRST, END, QUIET, LANES = range(6)
NEXT, SLOT = 1, 2  # of a slot: the row that comes next, and the first register
BEGIN, EXTEND = 5, 6  # of an entry: where it tells what the event does to the numbers of a slot


@kernel(borrows=True)
def go_back(
    program: Ints, slots: Ints, values: Values, keys: Ints, span: Ints, found: Shorts
) -> None:
    """Go through the rows of `span`, the last one first, and give out what begins there.

    `program` tells for each class, of no class first, where its entries are: the number of those
    that begin matches, and of those that extend them, first. `slots` are those now, and behind them
    those after a key's last event. A match in `found` is its first row, its last, and registers.
    """
    for key in range(span[END_KEY] - 1, span[FIRST_KEY] - 1, -1):
        begins_at, fresh = keys[key, FIRST_ROW], keys[key, NEW_ROW]
        if fresh >= keys[key, END_ROW]:
            continue
        first, end = max(begins_at, span[FIRST]), min(keys[key, END_ROW], span[END])
        if end == keys[key, END_ROW]:
            for number in range(len(slots) // 2):
                slots[number] = slots[len(slots) // 2 + number]
        if span[QUIET] == 1:
            fresh = keys[key, END_ROW]
        for row in range(end - 1, first - 1, -1):
            entry = program[at(1 + values.integers[CLASS, row])]
            begins, extends = program[at(entry)], program[at(entry + 1)]
            entry += 2
            for _ in range(begins):
                begin(program, entry, slots, values.integers, row, fresh, span, found)
                entry += BEGIN + 2 * program[at(entry)]
            for _ in range(extends):
                extend(program, entry, slots, values, row, begins_at)
                entry += EXTEND + 2 * program[at(entry)] + 4 * program[at(entry + 4)]


@kernel(inline=True, borrows=True)
def begin(
    program: Ints,
    entry: int,
    slots: Ints,
    integers: Ints,
    row: int,
    fresh: int,
    span: Ints,
    found: Shorts,
) -> None:
    """Give out the match that begins with `row`, if there is one that ends at `fresh` or later.

    `program[entry]`: how many registers there are, the slot that goes on from the row, whether that
    must come right behind, WITHIN (below 0: none), the lane. Then for each register the number
    below which it becomes `row` here, and what is added to it.
    """
    slot = program[at(entry + 1)]
    last = slots[at(slot)]
    if last < fresh or (program[at(entry + 2)] == 1 and slots[at(slot + NEXT)] != row + 1):
        return
    within = program[at(entry + 3)]
    if within >= 0 and integers[TIME, last] - integers[TIME, row] > within:
        return
    lane, count = at(LANES + program[at(entry + 4)]), program[at(entry)]
    place = span[lane] - (2 + count)
    span[lane] = place
    found[at(place)], found[at(place + 1)] = row, last
    for number in range(count):
        value = slots[at(slot + SLOT + number)]
        if value < program[at(entry + BEGIN + 2 * number)]:
            value = row
        found[at(place + 2 + number)] = value + program[at(entry + BEGIN + 1 + 2 * number)]


@kernel(inline=True, borrows=True)
def extend(program: Ints, entry: int, slots: Ints, values: Values, row: int, first: int) -> None:
    """Let `row` follow a state: its slot is made of the one that goes on from `row`.

    `program[entry]`: how many registers there are, the slot that goes on from the row, whether that
    must come right behind, the slot that is made, the number of conditions, whether the match ends
    here; then registers as in `begin`, and comparisons with the row before (`pair_holds`).
    """
    count, source, slot = program[at(entry)], program[at(entry + 1)], program[at(entry + 3)]
    pairs = entry + EXTEND + 2 * count
    for pair in range(pairs, pairs + 4 * program[at(entry + 4)], 4):
        if row == first or not pair_holds(program, pair, values, row, row - 1):
            return  # that nothing follows right behind is told by NEXT
    last = slots[at(source)]
    if program[at(entry + 5)] == 1:
        last = row
    elif program[at(entry + 2)] == 1 and slots[at(source + NEXT)] != row + 1:
        last = -1
    slots[at(slot)], slots[at(slot + NEXT)] = last, row
    if last < 0:
        return
    for number in range(count):
        value = slots[at(source + SLOT + number)]
        if value < program[at(entry + EXTEND + 2 * number)]:
            value = row
        slots[at(slot + SLOT + number)] = value + program[at(entry + EXTEND + 1 + 2 * number)]
