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

from typing import NamedTuple

from benchmarks.evaluations.arrays import Bytes, Registers, Rules, Values
from benchmarks.evaluations.checks import (
    BEGIN,
    CHECK_AT,
    CODE_AT,
    EDGE_AT,
    END_AT,
    ENDS_AT,
    FAILED,
    FINAL_AT,
    FRESH,
    LAST,
    NEAR_AT,
    NO_STEP,
    NOTHING,
    STATES,
    all_hold,
)
from benchmarks.evaluations.interpret import STACK, value_of
from benchmarks.evaluations.kernels import kernel
from benchmarks.evaluations.main_counters import EARLY, EDGES, LOOKED, RUNS, STORED
from benchmarks.evaluations.reach import LAST_BIT, MASK, ROW, TAKES, WHEN, reach
from benchmarks.evaluations.registers import copy_registers, select
from elsinore.matches.arrays import Ints

STAYS_TRUE, STAYS_FALSE = 1, 2  # bits of `flags`
UNSAFE, SAFE, OUT = 0, 1, 2  # labels
# Rows of the registers: of the main run without its latest event, with it, and with an end.
SCRATCH, TAKEN, ENDED = 1, 2, 3
NONE_YET = 2**62  # the moment of the first event that a state took
SINCE = STACK + 1  # in `whole_stack`: these moments, by state


class MainRun(NamedTuple):
    """The main run of a beginning, and what may be looked at early."""

    members: Ints  # [event taken, column]
    labels: Bytes  # [event taken, edge]
    flags: Bytes  # [edge, condition], and behind them [edges + state, condition]


@kernel
def take_all(
    tables: Ints,
    rules: Rules,
    values: Values,
    events: Ints,
    progress: Ints,
    run: MainRun,
    registers: Registers,
) -> int:
    """Make the main run from event progress[BEGIN] to progress[LAST]; return how many it took.

    None where it comes to no end.
    """
    begin, members = progress[BEGIN], run.members
    for state in range(tables[STATES]):
        rules.whole_stack[SINCE + state] = NONE_YET
    copy_registers(0, TAKEN, registers)
    for column in range(MASK):
        members[0, column] = events[begin, column]
    members[0, MASK] = states_begun(tables, rules, values, progress, members, registers)
    if members[0, MASK] == 0:
        return 0
    progress[RUNS] += 1
    early = progress[EARLY] == 1
    early, is_ended = admit(tables, rules, values, progress, members, 0, early, registers)
    count = 1
    for at in range(begin + 1, progress[LAST] + 1):
        if events[at, WHEN] == events[begin, WHEN]:
            continue
        for column in range(MASK):
            members[count, column] = events[at, column]
        bits = states_taken(tables, rules, values, progress, run, count, early, registers)
        if bits == 0:
            continue
        members[count, MASK] = bits
        early, ends = admit(tables, rules, values, progress, members, count, early, registers)
        is_ended = is_ended or ends
        count += 1
    progress[STORED] += count
    if not is_ended:
        return 0
    reach(tables, members, count, progress[FRESH])
    return count


@kernel
def states_begun(
    tables: Ints, rules: Rules, values: Values, progress: Ints, members: Ints, registers: Registers
) -> int:
    """Return the states that a match may begin in with the first member, as bits."""
    row, listed, bits = members[0, ROW], members[0, TAKES], 0
    for place in range(listed + 1, listed + 1 + tables[listed]):
        edge = tables[tables[EDGE_AT] + tables[place]]
        if edge < 0:
            continue
        checks = tables[tables[CHECK_AT] + edge]
        if progress[EARLY] == 1 and tables[checks] > 0:
            progress[LOOKED] += tables[checks]
            if not all_hold(
                tables, checks, rules, values, row, NOTHING, NO_STEP, NO_STEP, registers
            ):
                continue
        bits |= 1 << min(tables[place], LAST_BIT)
    return bits


@kernel
def states_taken(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    run: MainRun,
    count: int,
    early: bool,
    registers: Registers,
) -> int:
    """Return the states that the main run takes event `count` in, as bits; label its edges."""
    states, first_row, bits = tables[STATES], run.members[0, ROW], 0
    row, moment = run.members[count, ROW], run.members[count, WHEN]
    listed = run.members[count, TAKES]
    for place in range(listed + 1, listed + 1 + tables[listed]):
        target = tables[place]
        is_taken = False
        for source in range(states):
            edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
            if edge < 0 or rules.whole_stack[SINCE + source] >= moment:
                continue
            label = UNSAFE
            if early:
                label = look(tables, rules, values, progress, edge, row, first_row, run, registers)
            run.labels[count, edge] = label
            if label != OUT:
                is_taken = True
        if is_taken and early and tables[tables[ENDS_AT] + target] == 1:
            is_taken = may_end(
                tables, rules, values, progress, target, row, first_row, run, registers
            )
        if is_taken:
            bits |= 1 << min(target, LAST_BIT)
    return bits


@kernel
def admit(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    members: Ints,
    count: int,
    early: bool,
    registers: Registers,
) -> tuple[bool, bool]:
    """Let the main run take an event in; return whether to filter early on, and if it may end."""
    row, moment, listed = members[count, ROW], members[count, WHEN], members[count, TAKES]
    is_ended = False
    for place in range(listed + 1, listed + 1 + tables[listed]):
        state = tables[place]
        if (members[count, MASK] >> min(state, LAST_BIT)) & 1 == 0:
            continue
        rules.whole_stack[SINCE + state] = min(rules.whole_stack[SINCE + state], moment)
        if tables[tables[END_AT] + state] > -2 and row >= progress[FRESH]:
            is_ended = True
        early = early and takes_in(tables, values, state, row, registers)
    return early, is_ended


@kernel
def takes_in(tables: Ints, values: Values, state: int, row: int, registers: Registers) -> bool:
    """Take an event into the registers of the main run; return whether these are of use still.

    A user's aggregate may fail for so many events, and not for those of any match.
    """
    copy_registers(TAKEN, SCRATCH, registers)
    select(tables, state, row, TAKEN, values, registers)
    if tables[FAILED] > 0:
        tables[FAILED] = 0
        return False
    return True


@kernel
def look(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    edge: int,
    row: int,
    first_row: int,
    run: MainRun,
    registers: Registers,
) -> int:
    """Return the label of an event for an edge, by the conditions that can be looked at early."""
    label = SAFE
    for kind in range(2):
        listed = tables[tables[NEAR_AT if kind == 0 else CHECK_AT] + edge]
        for place in range(listed + 1, listed + 1 + tables[listed]):
            flag = run.flags[edge, tables[place]]
            if flag == 0:
                label = UNSAFE
                continue
            progress[LOOKED] += 1
            value = value_of(
                tables, tables[tables[CODE_AT] + tables[place]], rules, values, row, first_row,
                TAKEN, TAKEN, registers,
            )  # fmt: skip
            if value == 0.0 and flag & STAYS_FALSE:
                return OUT
            if value != 1.0 or flag & STAYS_TRUE == 0:
                label = UNSAFE
    return label


@kernel
def may_end(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    state: int,
    row: int,
    first_row: int,
    run: MainRun,
    registers: Registers,
) -> bool:
    """Return whether a match may end with an event, by conditions on the whole of it."""
    listed = tables[FINAL_AT]
    is_ready = False
    for place in range(listed + 1, listed + 1 + tables[listed]):
        if run.flags[progress[EDGES] + state, tables[place]] & STAYS_FALSE == 0:
            continue
        if not is_ready:
            select(tables, state, row, ENDED, values, registers)
            if tables[FAILED] > 0:
                tables[FAILED] = 0
                return True
            is_ready = True
        progress[LOOKED] += 1
        value = value_of(
            tables, tables[tables[CODE_AT] + tables[place]], rules, values, row, first_row, ENDED,
            ENDED, registers,
        )  # fmt: skip
        if value == 0.0:
            return False
    return True
