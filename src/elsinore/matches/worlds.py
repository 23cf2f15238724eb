# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Matches of events with uncertain times, and how probable they are (SASE++, Sections 2.3 and 5.3).

An event has *points*, the times that are possible for it, ascending, each with a probability;
events are independent. A match binds events in an order, and its confidence is the probability that
their times ascend strictly in that order, and lie within the window. With `mass` f_j(t), the
probability that the first j events ascend and the j-th is at t, and p_j(t) that it is at t at all:

    f_j(t) = p_j(t) * sum of f_{j-1}(u) over u < t

One event more costs as many steps as the two have points. The sum of f_j never grows with j: what
is below the threshold is not gone on with.

What kernels are passed beside what those of `elsinore.matches.search` are: `worlds`. For sets of
events (`elsinore.matches.unordered`) `mass` [step, 0] is the confidence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Given, Ints, Registers, Rules, Values
from elsinore.matches.chances import PossibleTimes
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEW_ROW, first_at, first_window
from elsinore.matches.search import (
    AT,
    BACK,
    BUDGET,
    CHECK_AT,
    CHOICE,
    DEEP,
    DONE,
    EDGE,
    EDGE_AT,
    END_AT,
    EVENT,
    FAILED,
    LEAF,
    NEAR_AT,
    NO_STEP,
    NOTHING,
    PLACE,
    STATE,
    STATES,
    STEPS,
    TOO_LONG,
    UNTIL,
    all_hold,
    is_match,
)
from elsinore.matches.search import BROKEN as BROKE
from elsinore.matches.select import clear_registers, give_out, select
from elsinore.matches.unordered import chance_of_stages

CLASS_AT = 5  # a place in the header of `tables`
TIME, CLASS = 0, 1  # rows of `integers`
STATUS, COUNTED, WITHIN, SLIDE, ORIGIN, WINDOW = 5, 16, 12, 13, 14, 1  # entries of `progress`
# Entries of `cursor`: the key, its next beginning, the state of it that is next, the depth of the
# path under way (below 0: none), whether its last step is new, where the confidence goes, the
# longest interval, whether a window has been set for the key, and its first and last times, whether
# the events of some variable are a set (`unordered`).
KEY, BEGIN, TURN, DEPTH, IS_NEW, REGISTER, LONGEST, HAS_WINDOW, FROM, TO, HAS_SETS = range(11)
CURSOR = 11
FAR = np.int64(2**62)  # beyond all times


class Worlds(NamedTuple):
    """The possible times of events, how probable a match is to be, and working room."""

    cursor: Ints  # what the search keeps between calls
    threshold: float
    possible: PossibleTimes
    mass: Doubles  # [step, point]
    work: Doubles  # [2, point]
    sets: Ints  # [state]: the variable whose events are a set, below 0 of others
    times: Ints  # [3, point]


@kernel(borrows=True)
def begun(row: int, possible: PossibleTimes, cursor: Ints, mass: Doubles) -> float:
    """Fill row 0 of `mass` for a match that begins with an event; return its sum."""
    starts, points, odds = possible.starts, possible.points, possible.odds
    total = 0.0
    for place in range(starts[row], starts[row + 1]):
        value = odds[place]
        if points[place] < cursor[FROM] or points[place] > cursor[TO]:
            value = 0.0
        mass[0, place - starts[row]] = value
        total += value
    return total


@kernel(borrows=True)
def grown(
    before: int,
    row: int,
    step: int,
    possible: PossibleTimes,
    cursor: Ints,
    mass: Doubles,
) -> float:
    """Fill row `step` of `mass` for an event after the event `before`; return its sum."""
    starts, points, odds = possible.starts, possible.points, possible.odds
    sum_before, total = 0.0, 0.0
    earlier, end = starts[before], starts[before + 1]
    for place in range(starts[row], starts[row + 1]):
        while earlier < end and points[earlier] < points[place]:
            sum_before += mass[step - 1, earlier - starts[before]]
            earlier += 1
        value = odds[place] * sum_before
        if points[place] > cursor[TO]:
            value = 0.0
        mass[step, place - starts[row]] = value
        total += value
    return total


@kernel(borrows=True)
def within_window(
    path: Ints, depth: int, within: int, possible: PossibleTimes, work: Doubles
) -> float:
    """Return the probability that the events of a path ascend and last no longer than a window.

    For each time of the first event the recurrence is gone through with the times that are not too
    late; `work` [2, point] is working room.
    """
    starts, points, odds = possible.starts, possible.points, possible.odds
    total = 0.0
    first = path[0, AT]
    for begin in range(starts[first], starts[first + 1]):
        latest = points[begin] + within
        count, place_before = 1, begin
        work[0, 0] = odds[begin]
        now = 0
        for step in range(1, depth + 1):
            row = path[step, AT]
            sum_before, earlier = 0.0, 0
            for place in range(starts[row], starts[row + 1]):
                while earlier < count and points[place_before + earlier] < points[place]:
                    sum_before += work[now, earlier]
                    earlier += 1
                value = odds[place] * sum_before
                work[1 - now, place - starts[row]] = 0.0 if points[place] > latest else value
            now = 1 - now
            place_before, count = starts[row], starts[row + 1] - starts[row]
        for place in range(count):
            total += work[now, place]
    return total


@kernel(borrows=True)
def is_bound(path: Ints, depth: int, row: int) -> bool:
    """Return whether an event is in a path."""
    for step in range(depth + 1):  # noqa: SIM110 - compiled as it stands
        if path[step, AT] == row:
            return True
    return False


@kernel(borrows=True)
def next_beginning(integers: Ints, keys: Ints, progress: Ints, cursor: Ints) -> bool:
    """Set the key, the window and the event that a match is to begin with next, if there is one."""
    within, slide, origin = progress[WITHIN], progress[SLIDE], progress[ORIGIN]
    while cursor[KEY] < len(keys):
        key = cursor[KEY]
        first, end = keys[key, FIRST_ROW], keys[key, END_ROW]
        if keys[key, NEW_ROW] < end and cursor[HAS_WINDOW] == 0:
            cursor[HAS_WINDOW], cursor[BEGIN] = 1, first
            cursor[FROM], cursor[TO] = -FAR, FAR
            if slide > 0:
                progress[WINDOW] = first_window(integers[TIME, first], within, slide, origin)
                cursor[FROM] = origin + progress[WINDOW] * slide
                cursor[TO] = cursor[FROM] + within - 1
        while keys[key, NEW_ROW] < end:
            if cursor[BEGIN] < end and integers[TIME, cursor[BEGIN]] <= cursor[TO]:
                return True
            if slide == 0:
                break
            number = progress[WINDOW] + 1
            begin = first_at(integers, first, end, origin + number * slide - cursor[LONGEST])
            if begin == end:
                break
            if integers[TIME, begin] >= origin + number * slide + within:  # nothing is in it
                number = first_window(integers[TIME, begin], within, slide, origin)
            progress[WINDOW], cursor[BEGIN] = number, begin
            cursor[FROM] = origin + number * slide
            cursor[TO] = cursor[FROM] + within - 1
        cursor[KEY] += 1
        cursor[HAS_WINDOW] = 0
    return False


@kernel(borrows=True)
def scan_worlds(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    worlds: Worlds,
    progress: Ints,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Give out matches at or above the threshold; stop where there is no room, as STATUS says.

    Called again it goes on from there. A match is given out that holds a new event.
    """
    clear_registers(tables, rules, registers)
    cursor, integers = worlds.cursor, values.integers
    while True:
        if cursor[DEPTH] < 0:
            if not next_beginning(integers, keys, progress, cursor):
                return
            if not begins(tables, rules, values, keys, worlds, progress, path, registers):
                continue
            cursor[DEPTH], cursor[IS_NEW] = 0, 1
        if cursor[IS_NEW] == 1:
            take(tables, rules, values, worlds, progress, path, registers, given)
            if progress[STATUS] != DONE:
                return
            look_ahead(integers, keys, worlds, progress, path)
            cursor[IS_NEW] = 0
        if grows(tables, rules, values, keys, worlds, progress, path, registers):
            cursor[DEPTH] += 1
            cursor[IS_NEW] = 1
        else:
            cursor[DEPTH] -= 1


@kernel(borrows=True)
def window_of(progress: Ints) -> int:
    """Return how long a window that ends with the match is; below 0: it does not."""
    return progress[WITHIN] if progress[SLIDE] == 0 else -1


@kernel(borrows=True)
def chance_of(path: Ints, depth: int, progress: Ints, worlds: Worlds) -> float:
    """Fill row `depth` of `mass`, the rows before it filled; return its sum."""
    cursor, mass, row = worlds.cursor, worlds.mass, path[depth, AT]
    starts = worlds.possible.starts
    progress[STEPS] += starts[row + 1] - starts[row]
    if cursor[HAS_SETS] == 1:
        for step in range(depth):
            progress[STEPS] += starts[path[step, AT] + 1] - starts[path[step, AT]]
        mass[depth, 0] = chance_of_stages(
            path, depth, window_of(progress), cursor[FROM], cursor[TO], worlds.sets,
            worlds.possible, worlds.times, worlds.work,
        )  # fmt: skip
        return mass[depth, 0]
    if depth == 0:
        return begun(row, worlds.possible, cursor, mass)
    return grown(path[depth - 1, AT], row, depth, worlds.possible, cursor, mass)


@kernel(borrows=True)
def begins(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    worlds: Worlds,
    progress: Ints,
    path: Ints,
    registers: Registers,
) -> bool:
    """Begin a path with an event in the next state that takes it; return whether it may begin so.

    Where no state is next, go on to the next event.
    """
    cursor = worlds.cursor
    row = cursor[BEGIN]
    number = values.integers[CLASS, row]
    listed = tables[tables[CLASS_AT] + number] if number >= 0 else -1
    if listed < 0 or cursor[TURN] >= tables[listed]:
        cursor[BEGIN] += 1
        cursor[TURN] = 0
        progress[COUNTED] = 0
        return False
    state = tables[listed + 1 + cursor[TURN]]
    cursor[TURN] += 1
    edge = tables[tables[EDGE_AT] + state]
    if edge < 0:
        return False
    path[0, AT], path[0, STATE], path[0, EDGE] = row, state, edge
    path[0, BACK] = int(row >= keys[cursor[KEY], NEW_ROW])
    total = chance_of(path, 0, progress, worlds)
    if total <= 0.0 or total < worlds.threshold:
        return False
    checks = tables[tables[CHECK_AT] + edge]
    return all_hold(tables, checks, rules, values, row, NOTHING, NO_STEP, NO_STEP, registers)


@kernel(borrows=True)
def take(
    tables: Ints,
    rules: Rules,
    values: Values,
    worlds: Worlds,
    progress: Ints,
    path: Ints,
    registers: Registers,
    given: Given,
) -> None:
    """Let the registers take in a path's last step; give out the match that it is, if it is one."""
    cursor, starts, points = worlds.cursor, worlds.possible.starts, worlds.possible.points
    depth = cursor[DEPTH]
    row, state = path[depth, AT], path[depth, STATE]
    progress[STEPS] += 1
    if progress[STEPS] > progress[BUDGET] or depth + 2 >= len(path):
        progress[STATUS] = TOO_LONG if progress[STEPS] > progress[BUDGET] else DEEP
        return
    select(tables, state, row, depth + 1, values, registers)
    if tables[FAILED] > 0:
        progress[STATUS] = BROKE
        return
    if tables[tables[END_AT] + state] <= -2 or path[depth, BACK] == 0:
        return
    total, within = 0.0, window_of(progress)
    for place in range(starts[row + 1] - starts[row]):
        total += worlds.mass[depth, place]
    widest = points[starts[row + 1] - 1] - points[starts[path[0, AT]]]
    if cursor[HAS_SETS] == 1:
        total = worlds.mass[depth, 0]
    elif 0 <= within < widest:
        later = 0
        for step in range(1, depth + 1):
            later += starts[path[step, AT] + 1] - starts[path[step, AT]]
        progress[STEPS] += (starts[path[0, AT] + 1] - starts[path[0, AT]]) * later
        total = within_window(path, depth, within, worlds.possible, worlds.work)
    if cursor[REGISTER] >= 0:
        registers.numbers[depth + 1, cursor[REGISTER]] = total
    if total <= 0.0 or total < worlds.threshold:
        return
    if is_match(tables, rules, values, progress, path, depth, registers):
        give_out(tables, progress, path, depth, registers, given)


@kernel(borrows=True)
def look_ahead(integers: Ints, keys: Ints, worlds: Worlds, progress: Ints, path: Ints) -> None:
    """Set which events may follow a path: later than the earliest time its last one can be at."""
    cursor, sets, within = worlds.cursor, worlds.sets, window_of(progress)
    starts, points, has_sets = worlds.possible.starts, worlds.possible.points, cursor[HAS_SETS] == 1
    key, depth = cursor[KEY], cursor[DEPTH]
    row, state = path[depth, AT], path[depth, STATE]
    earliest = FAR
    for place in range(starts[row], starts[row + 1]):
        if has_sets or worlds.mass[depth, place - starts[row]] > 0.0:
            earliest = points[place]
            break
    step = depth if has_sets and sets[state] >= 0 else 0
    while step > 0 and sets[path[step - 1, STATE]] == sets[state]:
        step -= 1
        earliest = max(earliest, points[starts[path[step, AT]]])
    path[depth, EVENT] = first_at(
        integers, keys[key, FIRST_ROW], keys[key, END_ROW], earliest - cursor[LONGEST] + 1
    )
    if has_sets:  # what is in a set may be simultaneous
        path[depth, EVENT] = min(path[depth, EVENT], row + 1)
    latest = cursor[TO]
    if within >= 0:
        latest = points[starts[path[0, AT] + 1] - 1] + within
    path[depth, LEAF], path[depth, UNTIL], path[depth, CHOICE] = earliest, latest, 0


@kernel(borrows=True)
def grows(
    tables: Ints,
    rules: Rules,
    values: Values,
    keys: Ints,
    worlds: Worlds,
    progress: Ints,
    path: Ints,
    registers: Registers,
) -> bool:
    """Put the next event that may follow behind a path; return whether there was one."""
    cursor, points, starts = worlds.cursor, worlds.possible.points, worlds.possible.starts
    key, depth, has_sets = cursor[KEY], cursor[DEPTH], cursor[HAS_SETS] == 1
    while path[depth, EVENT] < keys[key, END_ROW]:
        event = path[depth, EVENT]
        if values.integers[TIME, event] > path[depth, UNTIL]:
            path[depth, EVENT] = keys[key, END_ROW]
            break
        number = values.integers[CLASS, event]
        listed = tables[tables[CLASS_AT] + number] if number >= 0 else -1
        if (
            listed < 0
            or path[depth, CHOICE] >= tables[listed]
            or (not has_sets and points[starts[event + 1] - 1] <= path[depth, LEAF])
            or is_bound(path, depth, event)
        ):
            path[depth, EVENT] += 1
            path[depth, CHOICE] = 0
            continue
        target = tables[listed + 1 + path[depth, CHOICE]]
        path[depth, CHOICE] += 1
        edge = tables[tables[EDGE_AT] + (path[depth, STATE] + 1) * tables[STATES] + target]
        if edge < 0 or not may_follow(
            tables, rules, values, worlds, path, registers, event, target, edge
        ):
            continue
        path[depth + 1, AT], path[depth + 1, STATE] = event, target
        total = chance_of(path, depth + 1, progress, worlds)
        if total <= 0.0 or total < worlds.threshold:
            continue
        path[depth + 1, EDGE], path[depth + 1, PLACE] = edge, event
        is_new = path[depth, BACK] == 1 or event >= keys[key, NEW_ROW]
        path[depth + 1, BACK] = int(is_new)
        return True
    return False


@kernel(borrows=True)
def may_follow(
    tables: Ints,
    rules: Rules,
    values: Values,
    worlds: Worlds,
    path: Ints,
    registers: Registers,
    event: int,
    target: int,
    edge: int,
) -> bool:
    """Return whether an event may follow a path by an edge: its times, and conditions."""
    depth, sets, possible = worlds.cursor[DEPTH], worlds.sets, worlds.possible
    row, state = path[depth, AT], path[depth, STATE]
    if worlds.cursor[HAS_SETS] == 1 and sets[state] >= 0 and sets[state] == sets[target]:
        if event < row:  # a set is made of its events in one order
            return False
    elif possible.points[possible.starts[event + 1] - 1] <= path[depth, LEAF]:
        return False
    step = depth + 1
    near, checks = tables[tables[NEAR_AT] + edge], tables[tables[CHECK_AT] + edge]
    return all_hold(tables, near, rules, values, event, row, step, step, registers) and all_hold(
        tables, checks, rules, values, event, row, step, step, registers
    )
