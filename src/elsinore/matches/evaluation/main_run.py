# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Postponing: one run for all matches that begin with an event (SASE++, Sections 5.1 and 5.2).

This *main run* takes every event whose type and window fit, without the predicates between events:
what it comes to, the intermediate match, has the events of every match. With *early filters* it
looks at those predicates whose class allows it, against all that it took: where one is false that
stays false for any part of them, the event is not taken; where all are true and stay true, it is
SAFE, and they need not be looked at again.

An event is looked at for each edge that may take it: `labels` [member, edge]. `flags` [edge,
condition] say what the truth of a condition on an edge allows, and behind them, [edges + state,
condition], that of a condition on the whole match where it ends in a state. `members` are the
events taken, with the columns of `events`: which states took them are the bits of MASK.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Bytes, Doubles, Ints
from elsinore.matches.evaluation.counters import EARLY, EDGES, LOOKED, RUNS, STORED
from elsinore.matches.interpret import STACK, value_of
from elsinore.matches.reach import LAST_BIT, MASK, ROW, TAKES, WHEN, reach
from elsinore.matches.search import (
    CHECK_AT,
    CODE_AT,
    EDGE_AT,
    END_AT,
    ENDS_AT,
    FAILED,
    FINAL_AT,
    FRESH,
    NEAR_AT,
    NO_STEP,
    NOTHING,
    STATES,
    all_hold,
)
from elsinore.matches.select import select

STAYS_TRUE, STAYS_FALSE = 1, 2  # bits of `flags`
UNSAFE, SAFE, OUT = 0, 1, 2  # labels
# Rows of the registers: of the main run without its latest event, with it, and with an end.
SCRATCH, TAKEN, ENDED = 1, 2, 3
NONE_YET = 2**62  # the moment of the first event that a state took
SINCE = STACK + 1  # in `whole_stack`: these moments, by state


@kernel(borrows=True)
def take_all(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    events: Ints,
    begin: int,
    last: int,
    progress: Ints,
    members: Ints,
    labels: Bytes,
    flags: Bytes,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> int:
    """Make the main run from event `begin` up to `last`; return how many events it took.

    None where it comes to no end.
    """
    states = tables[STATES]
    first_row, first_moment, listed = events[begin, ROW], events[begin, WHEN], events[begin, TAKES]
    for state in range(states):
        whole_stack[SINCE + state] = NONE_YET
    early = progress[EARLY] == 1
    copy_registers(0, TAKEN, held, numbers)
    bits, is_ended = 0, False
    for place in range(listed + 1, listed + 1 + tables[listed]):
        state = tables[place]
        edge = tables[tables[EDGE_AT] + state]
        if edge < 0:
            continue
        checks = tables[tables[CHECK_AT] + edge]
        if early and tables[checks] > 0:
            progress[LOOKED] += tables[checks]
            if not all_hold(
                tables, checks, constants, doubles, integers, first_row, NOTHING, NO_STEP, NO_STEP,
                held, numbers, stack, whole_stack,
            ):  # fmt: skip
                continue
        bits |= 1 << min(state, LAST_BIT)
        whole_stack[SINCE + state] = first_moment
        if tables[tables[END_AT] + state] > -2 and first_row >= progress[FRESH]:
            is_ended = True
        early = early and takes_in(tables, doubles, integers, state, first_row, held, numbers)
    if bits == 0:
        return 0
    progress[RUNS] += 1
    members[0, ROW], members[0, WHEN] = first_row, first_moment
    members[0, TAKES], members[0, MASK] = listed, bits
    count = 1
    for at in range(begin + 1, last + 1):
        row, moment, listed = events[at, ROW], events[at, WHEN], events[at, TAKES]
        if moment == first_moment:
            continue
        bits = 0
        for place in range(listed + 1, listed + 1 + tables[listed]):
            target = tables[place]
            is_taken = False
            for source in range(states):
                if whole_stack[SINCE + source] >= moment:
                    continue
                edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
                if edge < 0:
                    continue
                label = UNSAFE
                if early:
                    label = look(
                        tables, constants, doubles, integers, progress, edge, row, first_row,
                        flags, held, numbers, stack, whole_stack,
                    )  # fmt: skip
                labels[count, edge] = label
                if label != OUT:
                    is_taken = True
            if is_taken and early and tables[tables[ENDS_AT] + target] == 1:
                is_taken = may_end(
                    tables, constants, doubles, integers, progress, target, row, first_row,
                    flags, held, numbers, stack, whole_stack,
                )  # fmt: skip
            if is_taken:
                bits |= 1 << min(target, LAST_BIT)
        if bits == 0:
            continue
        members[count, ROW], members[count, WHEN] = row, moment
        members[count, TAKES], members[count, MASK] = listed, bits
        count += 1
        for place in range(listed + 1, listed + 1 + tables[listed]):
            target = tables[place]
            if (bits >> min(target, LAST_BIT)) & 1 == 0:
                continue
            whole_stack[SINCE + target] = min(whole_stack[SINCE + target], moment)
            if tables[tables[END_AT] + target] > -2 and row >= progress[FRESH]:
                is_ended = True
            early = early and takes_in(tables, doubles, integers, target, row, held, numbers)
    progress[STORED] += count
    if not is_ended:
        return 0
    reach(tables, members, count, progress[FRESH])
    return count


@kernel(borrows=True)
def copy_registers(source: int, target: int, held: Ints, numbers: Doubles) -> None:
    """Copy a row of the registers."""
    for register in range(held.shape[1]):
        held[target, register] = held[source, register]
    for register in range(numbers.shape[1]):
        numbers[target, register] = numbers[source, register]


@kernel(borrows=True)
def takes_in(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    state: int,
    row: int,
    held: Ints,
    numbers: Doubles,
) -> bool:
    """Take an event into the registers of the main run; return whether these are of use still.

    A user's aggregate may fail for so many events, and not for those of any match.
    """
    copy_registers(TAKEN, SCRATCH, held, numbers)
    select(tables, state, row, TAKEN, doubles, integers, held, numbers)
    if tables[FAILED] > 0:
        tables[FAILED] = 0
        return False
    return True


@kernel(borrows=True)
def look(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    progress: Ints,
    edge: int,
    row: int,
    first_row: int,
    flags: Bytes,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> int:
    """Return the label of an event for an edge, by the conditions that can be looked at early."""
    label = SAFE
    for kind in range(2):
        listed = tables[tables[NEAR_AT if kind == 0 else CHECK_AT] + edge]
        for place in range(listed + 1, listed + 1 + tables[listed]):
            flag = flags[edge, tables[place]]
            if flag == 0:
                label = UNSAFE
                continue
            progress[LOOKED] += 1
            value = value_of(
                tables, tables[tables[CODE_AT] + tables[place]], constants, doubles, integers, row,
                first_row, TAKEN, TAKEN, held, numbers, stack, whole_stack,
            )  # fmt: skip
            if value == 0.0 and flag & STAYS_FALSE:
                return OUT
            if value != 1.0 or flag & STAYS_TRUE == 0:
                label = UNSAFE
    return label


@kernel(borrows=True)
def may_end(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    progress: Ints,
    state: int,
    row: int,
    first_row: int,
    flags: Bytes,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether a match may end with an event, by conditions on the whole of it."""
    listed = tables[FINAL_AT]
    is_ready = False
    for place in range(listed + 1, listed + 1 + tables[listed]):
        if flags[progress[EDGES] + state, tables[place]] & STAYS_FALSE == 0:
            continue
        if not is_ready:
            select(tables, state, row, ENDED, doubles, integers, held, numbers)
            if tables[FAILED] > 0:
                tables[FAILED] = 0
                return True
            is_ready = True
        progress[LOOKED] += 1
        value = value_of(
            tables, tables[tables[CODE_AT] + tables[place]], constants, doubles, integers, row,
            first_row, ENDED, ENDED, held, numbers, stack, whole_stack,
        )  # fmt: skip
        if value == 0.0:
            return False
    return True
