# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Runs of the automaton NFA^b, event by event, all predicates looked at on each edge.

A run is a partial match: its state, its registers, its version in the buffer that all share
(`versions`). An event is looked at by every run; where an edge takes it, the run is extended, and,
as it may also skip the event, it is cloned (SASE+, Section 4; SASE++, Section 5.1, has the terms).

With `ZSTREAM`, events wait in a buffer for each state, and are looked at by runs only when one
comes that may end a match while no buffer on some way to it is empty (ZStream, Section 4.2: a round
of assembly begins there, and what is older than the window allows is dropped before it).

What kernels are passed is told in `elsinore.matches.search`; the registers of run n are the row
ROOM + n of `held` and `numbers`, those before are for the match that is being constructed.
`whole_stack` has more room: the number of entries, the entry of the event under way by state, the
time of the latest event by state.
"""

from __future__ import annotations

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts
from elsinore.matches.evaluation.counters import (
    ACTIVE,
    AT_ONCE,
    CANDIDATES,
    FREE_RUNS,
    GO,
    GO_BEGIN,
    GO_CONSTRUCT,
    LISTED_RUNS,
    LOOKED,
    NEXT_CHOICE,
    NEXT_EVENT,
    NEXT_RUN,
    PEAK,
    READY,
    ROOM,
    RUNS,
    STORED,
    VERSIONS,
    ZSTREAM,
)
from elsinore.matches.evaluation.versions import (
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
from elsinore.matches.evaluation.windows import DEFERRED, events_of_key, leave_key
from elsinore.matches.interpret import STACK
from elsinore.matches.keyed import END_ROW, PASSED, REACHED, first_at
from elsinore.matches.reach import (
    CONTIGUOUS,
    ENDING,
    LAST_BIT,
    MASK,
    NEXT,
    NEXT_AT,
    ROW,
    TAKES,
)
from elsinore.matches.scan import FIRST_CALL, NO_WINDOW, next_window
from elsinore.matches.search import (
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
from elsinore.matches.search import STATE as PATH_STATE
from elsinore.matches.select import clear_registers, give_out, select

NO_RUNS, NO_BUFFER = 20, 21  # progress[STATUS]: there is no room for more runs, or for their events
FAR = 2  # what an edge has in LOOKS_AT


@kernel(borrows=True)
def scan_runs(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints,
    keys: Ints,
    events: Ints,
    progress: Ints,
    runs: Ints,
    buffer: Ints,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
) -> None:
    """Go on from where `progress` says, key by key; progress[STATUS] says why it stopped."""
    while progress[SEGMENT] < len(keys):
        count = events_of_key(tables, integers, keys, events, progress)
        if progress[NEXT_EVENT] < 0:
            if not begin_window(tables, integers, keys, events, count, progress):
                leave_key(progress)
                continue
            clear_registers(tables, constants, held, numbers)
            begin_runs(tables, progress, runs, whole_stack)
        look_at_events(
            tables, constants, doubles, integers, negatives, keys, events, progress, runs, buffer,
            path, held, numbers, stack, whole_stack, found, counted, paths,
        )  # fmt: skip
        if progress[STATUS] != DONE:
            return
        progress[NEXT_EVENT] = -1
        progress[BEGIN] = progress[UNTO] + 1


@kernel(borrows=True)
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


@kernel(borrows=True)
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


@kernel(borrows=True)
def look_at_events(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints,
    keys: Ints,
    events: Ints,
    progress: Ints,
    runs: Ints,
    buffer: Ints,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
) -> None:
    """Let all runs look at the events of a window, one after another, and begin new ones."""
    states, strategy = tables[STATES], tables[STRATEGY]
    within = progress[WITHIN] if progress[SLIDE] == 0 else NO_WINDOW
    steps = 0
    while progress[NEXT_EVENT] <= progress[LAST]:
        at = progress[NEXT_EVENT]
        if at >= progress[READY] and not is_triggered(
            tables, integers, events, progress, within, whole_stack
        ):
            return
        row = events[at, ROW]
        time, moment, listed = integers[TIME, row], integers[MOMENT, row], events[at, TAKES]
        if within >= 0 and progress[ZSTREAM] == 1:
            trigger = events[progress[READY] - 1, ROW]
            if integers[TIME, trigger] - time > within:  # it waited too long
                progress[NEXT_EVENT] = at + 1
                continue
        place, choice = progress[NEXT_RUN], progress[NEXT_CHOICE]
        while place <= progress[ACTIVE]:  # the last one is none: a run begins
            is_start = place == progress[ACTIVE]
            run, source = -1, -1
            if not is_start:
                run = runs[place, LISTED]
                source = runs[run, STATE]
                steps += 1
                if (within >= 0 and time - runs[run, BEGAN] > within) or (
                    runs[run, UNTIL] >= 0 and moment > runs[run, UNTIL]
                ):
                    runs[run, STATE] = -1
                if (
                    runs[run, STATE] < 0
                    or runs[run, LATEST] == moment
                    or events[at, MASK] & tables[tables[NEXT_AT] + source + 1] == 0
                    or progress[GO] == GO_BEGIN
                ):
                    place, choice = place + 1, 0
                    continue
            while choice < tables[listed]:
                target = tables[listed + 1 + choice]
                edge = tables[tables[EDGE_AT] + (source + 1) * states + target]
                if edge < 0:
                    choice += 1
                    continue
                length = 0 if is_start else runs[run, LENGTH]
                status = room_for(progress, buffer, runs, path, paths, length)
                if status == DONE and steps > progress[BUDGET]:
                    status = TOO_LONG
                if status == NO_BUFFER:
                    before = progress[VERSIONS]
                    progress[VERSIONS] = prune(
                        buffer, runs, progress[LISTED_RUNS], before, states, whole_stack
                    )
                    status = DONE if progress[VERSIONS] < before // 2 else NO_BUFFER
                if status != DONE:
                    progress[NEXT_RUN], progress[NEXT_CHOICE] = place, choice
                    progress[STATUS] = status
                    progress[STEPS] += steps
                    return
                choice += 1
                if not takes(
                    tables, constants, doubles, integers, negatives, progress, runs, buffer, row,
                    run, edge, held, numbers, stack, whole_stack,
                ):  # fmt: skip
                    continue
                if strategy == NEXT and not is_start:
                    runs[run, UNTIL] = moment
                extend_run(
                    tables, doubles, integers, progress, runs, buffer, row, run, target, held,
                    numbers, whole_stack,
                )  # fmt: skip
                if tables[FAILED] > 0:
                    progress[STATUS] = BROKEN
                    return
                if (
                    tables[tables[END_AT] + target] > -2
                    and row >= progress[FRESH]
                    and progress[GO] == GO_CONSTRUCT
                ):
                    construct(
                        tables, constants, doubles, integers, negatives, keys, progress, runs,
                        buffer, path, held, numbers, stack, whole_stack, found, counted, paths,
                    )  # fmt: skip
                if tables[tables[ENDS_AT] + target] == 1:  # nothing follows: the run is over
                    progress[LISTED_RUNS] -= 1
                    progress[FREE_RUNS] += 1
                if progress[STATUS] != DONE:
                    progress[NEXT_RUN], progress[NEXT_CHOICE] = place, choice
                    progress[STEPS] += steps
                    return
            place, choice = place + 1, 0
        end_event(tables, progress, runs, whole_stack)
    progress[STEPS] += steps


@kernel(borrows=True)
def room_for(
    progress: Ints,
    buffer: Ints,
    runs: Ints,
    path: Ints,
    paths: Shorts,
    length: int,
) -> int:
    """Return whether there is room for a run one longer than `length` and for its match: DONE."""
    if progress[LISTED_RUNS] >= len(runs):
        return NO_RUNS
    if progress[VERSIONS] >= len(buffer):
        return NO_BUFFER
    if length + 2 >= len(path):
        return DEEP
    if progress[FOUND] >= progress[AT_ONCE] or progress[FILLED] + length + 1 > len(paths):
        return FULL
    return DONE


@kernel(borrows=True)
def takes(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints,
    progress: Ints,
    runs: Ints,
    buffer: Ints,
    row: int,
    run: int,
    edge: int,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
) -> bool:
    """Return whether a run (below 0: none yet) may take an event by an edge."""
    looks = tables[tables[LOOKS_AT] + edge]
    if looks == 0:
        return True
    registers, previous = NO_STEP, NOTHING
    if run >= 0:
        registers = progress[ROOM] + run
        previous = buffer[buffer[runs[run, VERSION], ENTRY], EVENT]
        if looks & NEAR != 0:
            progress[LOOKED] += tables[tables[tables[NEAR_AT] + edge]]
            if not are_neighbours(
                tables, edge, constants, doubles, integers, negatives, row, previous,
                progress[FIRST], held, numbers, stack, whole_stack,
            ):  # fmt: skip
                return False
    if looks & FAR == 0:
        return True
    progress[LOOKED] += tables[tables[tables[CHECK_AT] + edge]]
    return all_hold(
        tables, tables[tables[CHECK_AT] + edge], constants, doubles, integers, row, previous,
        registers, registers, held, numbers, stack, whole_stack,
    )  # fmt: skip


@kernel(borrows=True)
def extend_run(
    tables: Ints,
    doubles: Doubles,
    integers: Ints,
    progress: Ints,
    runs: Ints,
    buffer: Ints,
    row: int,
    run: int,
    target: int,
    held: Ints,
    numbers: Doubles,
    whole_stack: Ints,
) -> None:
    """Put a clone of a run (below 0: a new one) that takes an event at the end of the list."""
    progress[FREE_RUNS] -= 1
    clone = runs[progress[FREE_RUNS], FREE]
    runs[progress[LISTED_RUNS], LISTED] = clone
    progress[LISTED_RUNS] += 1
    progress[RUNS] += 1
    progress[PEAK] = max(progress[PEAK], progress[LISTED_RUNS])
    before = -1
    runs[clone, LENGTH], runs[clone, BEGAN] = 1, integers[TIME, row]
    if run >= 0:
        before = runs[run, VERSION]
        runs[clone, LENGTH], runs[clone, BEGAN] = runs[run, LENGTH] + 1, runs[run, BEGAN]
        place = progress[ROOM] + run
        for register in range(held.shape[1]):
            held[1, register] = held[place, register]
        for register in range(numbers.shape[1]):
            numbers[1, register] = numbers[place, register]
        select(tables, target, row, 2, doubles, integers, held, numbers)
    else:
        select(tables, target, row, 1, doubles, integers, held, numbers)
    last = 2 if run >= 0 else 1
    place = progress[ROOM] + clone
    for register in range(held.shape[1]):
        held[place, register] = held[last, register]
    for register in range(numbers.shape[1]):
        numbers[place, register] = numbers[last, register]
    progress[STORED] += store(buffer, progress[VERSIONS], before, row, target, whole_stack)
    runs[clone, STATE], runs[clone, VERSION] = target, progress[VERSIONS]
    progress[VERSIONS] += 1
    runs[clone, LATEST], runs[clone, UNTIL] = integers[MOMENT, row], -1
    if tables[STRATEGY] == CONTIGUOUS:
        runs[clone, UNTIL] = integers[MOMENT, row] + 1


@kernel(borrows=True)
def construct(
    tables: Ints,
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    negatives: Ints,
    keys: Ints,
    progress: Ints,
    runs: Ints,
    buffer: Ints,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
) -> None:
    """Give out the match of the run that is listed last, if what is left to look at holds."""
    progress[CANDIDATES] += 1
    run = runs[progress[LISTED_RUNS] - 1, LISTED]
    if tables[DEFERRED] == 1 and not set_end(integers, keys, progress, runs[run, BEGAN]):
        return
    depth = runs[run, LENGTH] - 1
    version = runs[run, VERSION]
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
            select(
                tables, path[step, PATH_STATE], path[step, AT], step + 1, doubles, integers, held,
                numbers,
            )  # fmt: skip
    else:
        place = progress[ROOM] + run
        for register in range(held.shape[1]):
            held[depth + 1, register] = held[place, register]
        for register in range(numbers.shape[1]):
            numbers[depth + 1, register] = numbers[place, register]
    if is_match(
        tables, constants, doubles, integers, negatives, progress, path, depth, held, numbers,
        stack, whole_stack,
    ):  # fmt: skip
        give_out(tables, progress, path, depth, held, numbers, found, counted, paths)


@kernel(borrows=True)
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


@kernel(borrows=True)
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


@kernel(borrows=True)
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
