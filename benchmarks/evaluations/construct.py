# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Making the matches of an intermediate match (SASE++, Section 5.1: result construction).

The subsets of a main run's events are gone through depth first, in the order of time. A predicate
that was postponed is looked at when its event is added: what fails is not gone on with. Events that
lead to no end by their types are not tried, nor predicates of those that are SAFE.
"""

from __future__ import annotations

from benchmarks.evaluations.arrays import Given, Registers, Rules, Values
from benchmarks.evaluations.checks import (
    AT,
    BEGIN,
    BEGIN_CHOICE,
    BROKEN,
    BUDGET,
    CHECK_AT,
    CHOICE,
    DEEP,
    DEPTH,
    DONE,
    EDGE,
    EDGE_AT,
    END_AT,
    EVENT,
    FAILED,
    FAR,
    FILLED,
    FIRST,
    FOUND,
    FRESH,
    FULL,
    LOOKS_AT,
    MOMENT,
    NEAR,
    NEAR_AT,
    NO_STEP,
    NOTHING,
    PAUSE_AT,
    PAUSED,
    PLACE,
    SEGMENT,
    STAGE,
    STATE,
    STATES,
    STATUS,
    STEPS,
    TOO_LONG,
    UNTO,
    WAY_AT,
    all_hold,
    are_neighbours,
    is_match,
)
from benchmarks.evaluations.kernels import kernel
from benchmarks.evaluations.main_counters import (
    AT_ONCE,
    CANDIDATES,
    GO,
    GO_BEGIN,
    GO_CONSTRUCT,
    LOOKED,
    MEMBERS,
)
from benchmarks.evaluations.main_run import OUT, SAFE, MainRun, take_all
from benchmarks.evaluations.reach import ALIVE, LAST_BIT, NEXT_AT, ROW, TAKES, WHEN
from benchmarks.evaluations.registers import clear_registers, give_out, select
from benchmarks.evaluations.windows import events_of_key, leave_key, next_window
from elsinore.matches.arrays import Ints

ADDED, NEXT_ONE = 0, 1  # what is next for the last event of a path


@kernel
def scan_main_runs(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    events: Ints,
    progress: Ints,
    run: MainRun,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Go on from where `progress` says, key by key; progress[STATUS] says why it stopped."""
    clear_registers(tables, rules, registers)
    while progress[SEGMENT] < len(keys):
        count = events_of_key(tables, values.integers, keys, events, progress)
        if not next_window(tables, values.integers, keys, events, count, progress):
            leave_key(progress)
            continue
        while progress[BEGIN] <= progress[UNTO]:
            if progress[MEMBERS] < 0:
                progress[MEMBERS] = 0
                if progress[GO] != GO_BEGIN:
                    progress[MEMBERS] = take_all(
                        tables, rules, values, events, progress, run, registers
                    )
            if progress[MEMBERS] > 0 and progress[GO] == GO_CONSTRUCT:
                construct(tables, rules, values, progress, run, path, registers, given)
                if progress[STATUS] != DONE:
                    return
            progress[MEMBERS] = -1
            progress[BEGIN] += 1
            if progress[STEPS] > progress[PAUSE_AT]:
                progress[STATUS] = PAUSED
                return


@kernel
def construct(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    run: MainRun,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Give out the matches of a main run's events; called again, go on where it stopped."""
    listed, row = run.members[0, TAKES], run.members[0, ROW]
    depth, stage, choice = progress[DEPTH], progress[STAGE], progress[BEGIN_CHOICE]
    if depth < 0:
        choice = 0
    steps = 0
    while True:
        if depth < 0:  # the next state that the first event may be taken by
            if choice == tables[listed]:
                break
            state = tables[listed + 1 + choice]
            choice += 1
            edge = tables[tables[EDGE_AT] + state]
            if edge < 0 or (run.members[0, ALIVE] >> min(state, LAST_BIT)) & 1 == 0:
                continue
            checks = tables[tables[CHECK_AT] + edge]
            if tables[checks] > 0:
                progress[LOOKED] += tables[checks]
                if not all_hold(
                    tables, checks, rules, values, row, NOTHING, NO_STEP, NO_STEP, registers
                ):
                    continue
            path[0, AT], path[0, STATE], path[0, EDGE], path[0, PLACE] = row, state, edge, 0
            depth, stage = 0, ADDED
        state, at = path[depth, STATE], path[depth, AT]
        if stage == ADDED:
            if progress[FOUND] >= progress[AT_ONCE] or progress[FILLED] + depth + 1 > len(
                given.paths
            ):
                progress[STATUS] = FULL
                break
            if depth + 2 >= len(path) or steps > progress[BUDGET]:
                progress[STATUS] = DEEP if depth + 2 >= len(path) else TOO_LONG
                break
            steps += 1
            select(tables, state, at, depth + 1, values, registers)
            if tables[FAILED] > 0:
                progress[STATUS] = BROKEN
                return
            place = path[depth, PLACE] + 1
            while (
                place < progress[MEMBERS]
                and run.members[place, WHEN] == values.integers[MOMENT, at]
            ):
                place += 1
            path[depth, EVENT], path[depth, CHOICE] = place, 0
            stage = NEXT_ONE
            if tables[tables[END_AT] + state] > -2 and at >= progress[FRESH]:
                progress[CANDIDATES] += 1
                if is_match(tables, rules, values, progress, path, depth, registers):
                    give_out(tables, progress, path, depth, registers, given)
                    if progress[STATUS] != DONE:
                        break
        if add(tables, rules, values, progress, run, path, depth, registers):
            depth += 1
            stage = ADDED
        else:
            depth -= 1
    progress[STEPS] += steps
    progress[DEPTH], progress[STAGE], progress[BEGIN_CHOICE] = depth, stage, choice


@kernel
def add(
    tables: Ints,
    rules: Rules,
    values: Values,
    progress: Ints,
    run: MainRun,
    path: Ints,
    depth: int,
    registers: Registers,
) -> bool:
    """Put the next event that may follow behind a path; return whether there was one."""
    states = tables[STATES]
    state, row = path[depth, STATE], path[depth, AT]
    place, choice = path[depth, EVENT], path[depth, CHOICE]
    wanted = tables[tables[NEXT_AT] + state + 1]
    while place < progress[MEMBERS]:
        if run.members[place, ALIVE] & wanted == 0:
            place += 1
            choice = 0
            continue
        listed, current = run.members[place, TAKES], run.members[place, ROW]
        while choice < tables[listed]:
            target = tables[listed + 1 + choice]
            choice += 1
            edge = tables[tables[EDGE_AT] + (state + 1) * states + target]
            if edge < 0 or (run.members[place, ALIVE] >> min(target, LAST_BIT)) & 1 == 0:
                continue
            label = run.labels[place, edge]
            if label == OUT:
                continue
            looks = tables[tables[LOOKS_AT] + edge]
            is_near = looks & NEAR != 0 and (label != SAFE or tables[tables[WAY_AT] + edge] >= 0)
            if is_near:
                progress[LOOKED] += tables[tables[tables[NEAR_AT] + edge]]
                if not are_neighbours(
                    tables, edge, rules, values, current, row, progress[FIRST], registers
                ):
                    continue
            if looks & FAR != 0 and label != SAFE:
                progress[LOOKED] += tables[tables[tables[CHECK_AT] + edge]]
                if not all_hold(
                    tables, tables[tables[CHECK_AT] + edge], rules, values, current, row, depth + 1,
                    depth + 1, registers,
                ):  # fmt: skip
                    continue
            path[depth, EVENT], path[depth, CHOICE] = place, choice
            path[depth + 1, AT], path[depth + 1, STATE] = current, target
            path[depth + 1, EDGE], path[depth + 1, PLACE] = edge, place
            return True
        choice = 0
        place += 1
    path[depth, EVENT] = place
    return False
