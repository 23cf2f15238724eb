# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Runs of the automaton NFA^b, event by event, all predicates looked at on each edge.

A run is a partial match: its state, its registers, its version in the buffer that all share
(`versions`). An event is looked at by every run; where an edge takes it, the run is extended, and,
as it may also skip the event, it is cloned (SASE+, Section 4; SASE++, Section 5.1, has the terms).

With `ZSTREAM`, events wait in a buffer for each state, and are looked at by runs only when one
comes that may end a match while no buffer on some way to it is empty (ZStream, Section 4.2: a round
of assembly begins there, and what is older than the window allows is dropped before it).

What kernels are passed is told in `benchmarks.evaluations.checks`. Registers of run n are the row
ROOM + n of `bound_rows` and `numbers`, those before are for the match that is being constructed.
`whole_stack` has more room: the number of entries, the entry of the event under way by state, the
time of the latest event by state.
"""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.evaluations.arrays import Given, Registers, Rules, Values
from benchmarks.evaluations.checks import (
    AT,
    BEGIN,
    BROKEN,
    BUDGET,
    CHECK_AT,
    COUNTED,
    DEEP,
    DONE,
    EDGE,
    EDGE_AT,
    END_AT,
    ENDS_AT,
    FAILED,
    FAR,
    FILLED,
    FINAL_AT,
    FIRST,
    FOUND,
    FRESH,
    FROM,
    FULL,
    HAS_LATE,
    HIGHEST,
    LAST,
    LOOKS_AT,
    LOWEST,
    MOMENT,
    NEAR,
    NEAR_AT,
    NO_STEP,
    NOTHING,
    SEGMENT,
    SLIDE,
    STATES,
    STATUS,
    STEPS,
    STRATEGY,
    TIME,
    TOO_LONG,
    UNTO,
    WINDOW,
    WITHIN,
    all_hold,
    are_neighbours,
    is_match,
)
from benchmarks.evaluations.checks import STATE as PATH_STATE
from benchmarks.evaluations.counters import (
    ACTIVE,
    FREE_RUNS,
    LISTED_RUNS,
    NEXT_CHOICE,
    NEXT_EVENT,
    NEXT_RUN,
    READY,
    ROOM,
    VERSIONS,
    ZSTREAM,
)
from benchmarks.evaluations.interpret import STACK
from benchmarks.evaluations.kernels import kernel
from benchmarks.evaluations.main_counters import (
    AT_ONCE,
    CANDIDATES,
    GO,
    GO_BEGIN,
    GO_CONSTRUCT,
    LOOKED,
    PEAK,
    RUNS,
    STORED,
)
from benchmarks.evaluations.reach import (
    CONTIGUOUS,
    ENDING,
    LAST_BIT,
    MASK,
    NEXT,
    NEXT_AT,
    ROW,
    TAKES,
    WHEN,
)
from benchmarks.evaluations.registers import clear_registers, copy_registers, give_out, select
from benchmarks.evaluations.rows import first_at
from benchmarks.evaluations.versions import (
    BEFORE,
    BEGAN,
    ENTRY,
    EVENT,
    FREE,
    IN_STATE,
    LATEST,
    LENGTH,
    LISTED,
    STATE,
    UNTIL,
    VERSION,
    prune,
    store,
)
from benchmarks.evaluations.windows import (
    DEFERRED,
    END_ROW,
    FIRST_CALL,
    NO_WINDOW,
    PASSED,
    REACHED,
    events_of_key,
    leave_key,
    next_window,
)
from elsinore.matches.arrays import Ints, Shorts

NO_RUNS, NO_BUFFER = 20, 21  # progress[STATUS]: there is no room for more runs, or for their events


class Runs(NamedTuple):
    """The runs [run, column], and the events and versions that they share."""

    table: Ints
    buffer: Ints


@kernel
def scan_runs(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    events: Ints,
    progress: Ints,
    runs: Runs,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Go on from where `progress` says, key by key; progress[STATUS] says why it stopped."""
    while progress[SEGMENT] < len(keys):
        count = events_of_key(tables, values.integers, keys, events, progress)
        if progress[NEXT_EVENT] < 0:
            if not begin_window(tables, values.integers, keys, events, count, progress):
                leave_key(progress)
                continue
            clear_registers(tables, rules, registers)
            begin_runs(tables, progress, runs.table, rules.whole_stack)
        look_at_events(tables, rules, values, keys, events, progress, runs, path, registers, given)
        if progress[STATUS] != DONE:
            return
        progress[NEXT_EVENT] = -1
        progress[BEGIN] = progress[UNTO] + 1


@kernel
def begin_window(
    tables: Ints, integers: Ints, keys: Ints, events: Ints, count: int, progress: Ints
) -> bool:
    """Set the window whose events are next, FROM to LAST; return whether there is one.

    Windows that begin with the match are looked at all together: a run ends with its own.
    """
    if count == 0:
        return False
    if progress[SLIDE] > 0 or progress[WITHIN] == NO_WINDOW:
        if not next_window(tables, integers, keys, events, count, progress):
            return False
    else:
        if progress[BEGIN] != FIRST_CALL:
            return False
        progress[FROM], progress[UNTO], progress[LAST] = 0, count - 1, count - 1
        progress[LOWEST], progress[WINDOW], progress[COUNTED] = -1, 0, 0
    progress[NEXT_EVENT] = progress[FROM]
    return True


@kernel
def begin_runs(tables: Ints, progress: Ints, runs: Ints, whole_stack: Ints) -> None:
    """Set all runs free, and the buffers empty."""
    progress[ACTIVE] = progress[LISTED_RUNS] = progress[NEXT_RUN] = progress[NEXT_CHOICE] = 0
    progress[VERSIONS], progress[FREE_RUNS] = 0, len(runs)
    progress[READY] = progress[NEXT_EVENT] if progress[ZSTREAM] == 1 else progress[LAST] + 1
    for run in range(len(runs)):
        runs[run, FREE] = len(runs) - 1 - run
    whole_stack[STACK] = 0
    for state in range(tables[STATES]):
        whole_stack[STACK + 1 + state] = -1
        whole_stack[STACK + 1 + tables[STATES] + state] = FIRST_CALL


@kernel
def look_at_events(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    events: Ints,
    progress: Ints,
    runs: Runs,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Let all runs look at the events of a window, one after another, and begin new ones."""
    within, steps = progress[WITHIN] if progress[SLIDE] == 0 else NO_WINDOW, 0
    integers = values.integers
    while progress[NEXT_EVENT] <= progress[LAST] and progress[STATUS] == DONE:
        at = progress[NEXT_EVENT]
        if at >= progress[READY] and not is_triggered(
            tables, integers, events, progress, within, rules.whole_stack
        ):
            return
        if within >= 0 and progress[ZSTREAM] == 1:
            trigger = integers[TIME, events[progress[READY] - 1, ROW]]
            if trigger - integers[TIME, events[at, ROW]] > within:  # it waited too long
                progress[NEXT_EVENT] = at + 1
                continue
        while progress[NEXT_RUN] <= progress[ACTIVE]:  # the last one is none: a run begins
            if progress[NEXT_RUN] < progress[ACTIVE]:
                steps += 1
            if steps > progress[BUDGET]:
                progress[STATUS] = TOO_LONG
            elif may_extend(tables, integers, events, progress, runs.table, within):
                look(tables, rules, values, keys, events, progress, runs, path, registers, given)
            if progress[STATUS] != DONE:
                break
            progress[NEXT_RUN] += 1
            progress[NEXT_CHOICE] = 0
        if progress[STATUS] == DONE:
            end_event(tables, progress, runs.table, rules.whole_stack)
    progress[STEPS] += steps


@kernel
def may_extend(
    tables: Ints, integers: Ints, events: Ints, progress: Ints, table: Ints, within: int
) -> bool:
    """Return whether the next run may take the event by its type; end it where it is over."""
    if progress[NEXT_RUN] == progress[ACTIVE]:
        return True
    at, run = progress[NEXT_EVENT], table[progress[NEXT_RUN], LISTED]
    time, moment = integers[TIME, events[at, ROW]], events[at, WHEN]
    source = table[run, STATE]
    if (within >= 0 and time - table[run, BEGAN] > within) or (0 <= table[run, UNTIL] < moment):
        table[run, STATE] = -1
    return (
        table[run, STATE] >= 0
        and table[run, LATEST] != moment
        and events[at, MASK] & tables[tables[NEXT_AT] + source + 1] != 0
        and progress[GO] != GO_BEGIN
    )


@kernel
def look(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    events: Ints,
    progress: Ints,
    runs: Runs,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Let the next run look at the event, from its next choice on; progress[STATUS] says how far.

    The last of the runs is none: a new one begins.
    """
    row, listed = events[progress[NEXT_EVENT], ROW], events[progress[NEXT_EVENT], TAKES]
    run, source, length = -1, -1, 0
    if progress[NEXT_RUN] < progress[ACTIVE]:
        run = runs.table[progress[NEXT_RUN], LISTED]
        source, length = runs.table[run, STATE], runs.table[run, LENGTH]
    while progress[NEXT_CHOICE] < tables[listed] and progress[STATUS] == DONE:
        target = tables[listed + 1 + progress[NEXT_CHOICE]]
        edge = tables[tables[EDGE_AT] + (source + 1) * tables[STATES] + target]
        if edge >= 0 and not has_room(
            tables, progress, runs, path, given.paths, length, rules.whole_stack
        ):
            return
        progress[NEXT_CHOICE] += 1
        if edge < 0:
            continue
        if not takes(tables, rules, values, progress, runs, row, run, edge, registers):
            continue
        if tables[STRATEGY] == NEXT and run >= 0:
            runs.table[run, UNTIL] = values.integers[MOMENT, row]
        extend_run(tables, rules, values, progress, runs, row, run, target, registers)
        if tables[FAILED] > 0:
            progress[STATUS] = BROKEN
            return
        is_end = tables[tables[END_AT] + target] > -2 and row >= progress[FRESH]
        if is_end and progress[GO] == GO_CONSTRUCT:
            construct(tables, rules, values, keys, progress, runs, path, registers, given)
        if tables[tables[ENDS_AT] + target] == 1:  # nothing follows: the run is over
            progress[LISTED_RUNS] -= 1
            progress[FREE_RUNS] += 1


@kernel
def has_room(
    tables: Ints,
    progress: Ints,
    runs: Runs,
    path: Ints,
    paths: Shorts,
    length: int,
    whole_stack: Ints,
) -> bool:
    """Return whether there is room for a run one longer than `length`, and for its match.

    What no run leads to is left out of the buffer where that is full.
    """
    if progress[VERSIONS] >= len(runs.buffer):
        before = progress[VERSIONS]
        progress[VERSIONS] = prune(
            runs.buffer, runs.table, progress[LISTED_RUNS], before, tables[STATES], whole_stack
        )
        if progress[VERSIONS] >= before // 2:
            progress[STATUS] = NO_BUFFER
            return False
    if progress[LISTED_RUNS] >= len(runs.table):
        progress[STATUS] = NO_RUNS
    elif length + 2 >= len(path):
        progress[STATUS] = DEEP
    elif progress[FOUND] >= progress[AT_ONCE] or progress[FILLED] + length + 1 > len(paths):
        progress[STATUS] = FULL
    return progress[STATUS] == DONE


@kernel
def takes(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    runs: Runs,
    row: int,
    run: int,
    edge: int,
    registers: Registers,
) -> bool:
    """Return whether a run (below 0: none yet) may take an event by an edge."""
    looks = tables[tables[LOOKS_AT] + edge]
    if looks == 0:
        return True
    step, previous = NO_STEP, NOTHING
    if run >= 0:
        step = progress[ROOM] + run
        previous = runs.buffer[runs.buffer[runs.table[run, VERSION], ENTRY], EVENT]
        if looks & NEAR != 0:
            progress[LOOKED] += tables[tables[tables[NEAR_AT] + edge]]
            if not are_neighbours(
                tables, edge, rules, values, row, previous, progress[FIRST], registers
            ):
                return False
    if looks & FAR == 0:
        return True
    checks = tables[tables[CHECK_AT] + edge]
    progress[LOOKED] += tables[checks]
    return all_hold(tables, checks, rules, values, row, previous, step, step, registers)


@kernel
def extend_run(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    runs: Runs,
    row: int,
    run: int,
    target: int,
    registers: Registers,
) -> None:
    """Put a clone of a run (below 0: a new one) that takes an event at the end of the list."""
    table = runs.table
    progress[FREE_RUNS] -= 1
    clone = table[progress[FREE_RUNS], FREE]
    table[progress[LISTED_RUNS], LISTED] = clone
    progress[LISTED_RUNS] += 1
    progress[RUNS] += 1
    progress[PEAK] = max(progress[PEAK], progress[LISTED_RUNS])
    before, step = -1, 1
    table[clone, LENGTH], table[clone, BEGAN] = 1, values.integers[TIME, row]
    if run >= 0:
        before, step = table[run, VERSION], 2
        table[clone, LENGTH], table[clone, BEGAN] = table[run, LENGTH] + 1, table[run, BEGAN]
        copy_registers(progress[ROOM] + run, 1, registers)
    select(tables, target, row, step, values, registers)
    copy_registers(step, progress[ROOM] + clone, registers)
    progress[STORED] += store(
        runs.buffer, progress[VERSIONS], before, row, target, rules.whole_stack
    )
    table[clone, STATE], table[clone, VERSION] = target, progress[VERSIONS]
    progress[VERSIONS] += 1
    table[clone, LATEST], table[clone, UNTIL] = values.integers[MOMENT, row], -1
    if tables[STRATEGY] == CONTIGUOUS:
        table[clone, UNTIL] = values.integers[MOMENT, row] + 1


@kernel
def construct(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    progress: Ints,
    runs: Runs,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Give out the match of the run that is listed last, if what is left to look at holds."""
    progress[CANDIDATES] += 1
    table, buffer = runs.table, runs.buffer
    run = table[progress[LISTED_RUNS] - 1, LISTED]
    if tables[DEFERRED] == 1 and not set_end(values.integers, keys, progress, table[run, BEGAN]):
        return
    depth, version = table[run, LENGTH] - 1, table[run, VERSION]
    for step in range(depth, -1, -1):
        entry = buffer[version, ENTRY]
        path[step, AT], path[step, PATH_STATE] = buffer[entry, EVENT], buffer[entry, IN_STATE]
        version = buffer[version, BEFORE]
    source = -1
    for step in range(depth + 1):
        state = path[step, PATH_STATE]
        path[step, EDGE] = tables[tables[EDGE_AT] + (source + 1) * tables[STATES] + state]
        source = state
    if tables[HAS_LATE] == 1 or tables[tables[FINAL_AT]] > 0:
        for step in range(depth + 1):
            select(tables, path[step, PATH_STATE], path[step, AT], step + 1, values, registers)
    else:
        copy_registers(progress[ROOM] + run, depth + 1, registers)
    if is_match(tables, rules, values, progress, path, depth, registers):
        give_out(tables, progress, path, depth, registers, given)


@kernel
def set_end(integers: Ints, keys: Ints, progress: Ints, began: int) -> bool:
    """Return whether a window has passed by now, and had not before; set its last row.

    It matters to windows that begin with the match: others are looked at when they have passed.
    """
    within = progress[WITHIN]
    if progress[SLIDE] > 0 or within == NO_WINDOW:
        return True
    key = progress[SEGMENT]
    if not keys[key, PASSED] <= began + within < keys[key, REACHED]:
        return False
    row = first_at(integers, progress[FIRST], keys[key, END_ROW], began + within + 1)
    progress[HIGHEST] = row - 1
    return True


@kernel
def end_event(tables: Ints, progress: Ints, runs: Ints, whole_stack: Ints) -> None:
    """Take runs that are over off the list, and go on to the next event."""
    kept = 0
    for place in range(progress[LISTED_RUNS]):
        run = runs[place, LISTED]
        if runs[run, STATE] < 0:
            runs[progress[FREE_RUNS], FREE] = run
            progress[FREE_RUNS] += 1
        else:
            runs[kept, LISTED] = run
            kept += 1
    progress[LISTED_RUNS] = progress[ACTIVE] = kept
    progress[NEXT_RUN] = progress[NEXT_CHOICE] = 0
    progress[NEXT_EVENT] += 1
    for state in range(tables[STATES]):
        whole_stack[STACK + 1 + state] = -1


@kernel
def is_triggered(
    tables: Ints, integers: Ints, events: Ints, progress: Ints, within: int, whole_stack: Ints
) -> bool:
    """Buffer events up to one that begins a round of assembly; return whether there is one.

    It may end a match, and leads there from the beginning through states whose buffers hold an
    event of the window. Runs may look at all up to it: progress[READY].
    """
    states = tables[STATES]
    latest = STACK + 1 + states
    for at in range(progress[READY], progress[LAST] + 1):
        row, listed = events[at, ROW], events[at, TAKES]
        time = integers[TIME, row]
        for place in range(listed + 1, listed + 1 + tables[listed]):
            whole_stack[latest + tables[place]] = time
        if events[at, MASK] & tables[ENDING] == 0:
            continue
        filled = 0
        for state in range(states):
            if whole_stack[latest + state] != FIRST_CALL and (
                within < 0 or time - whole_stack[latest + state] <= within
            ):
                filled |= 1 << min(state, LAST_BIT)
        reached, before = tables[tables[NEXT_AT]] & filled, 0
        while reached != before:
            before = reached
            for state in range(states):
                if (reached >> min(state, LAST_BIT)) & 1:
                    reached |= tables[tables[NEXT_AT] + state + 1] & filled
        if reached & events[at, MASK] & tables[ENDING] != 0:
            progress[READY] = at + 1
            return True
    progress[READY] = progress[LAST] + 1
    return False
