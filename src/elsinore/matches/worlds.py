# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Matches of events with uncertain times, and how probable they are (SASE++, Sections 2.3 and 5.3).

An event has *points*, the times that are possible for it, ascending, each with a probability;
events are independent. A match binds events in an order, and its confidence is the probability that
their times ascend strictly in that order, and lie within the window. With `mass` f_j(t), the
probability that the first j events ascend and the j-th is at t, and p_j(t) that it is at t at all:

    f_j(t) = p_j(t) * sum of f_{j-1}(u) over u < t

One event more costs as many steps as the two have points. The sum of f_j never grows with j: what
is below the threshold is not gone on with.

What kernels are passed beside what those of `elsinore.matches.search` are: `starts` [event + 1],
`points` and `odds`, the points of all events; `mass` [step, point] and `work` [2, point];
`cursor`, what the search keeps between calls; the threshold; for sets of events `sets` [state],
`sums` and `times` [3, point], see `elsinore.matches.unordered`: `mass` [step, 0] is the confidence
then.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Doubles, Ints, Shorts
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


@kernel(borrows=True)
def begun(
    row: int, starts: Ints, points: Ints, odds: Doubles, cursor: Ints, mass: Doubles
) -> float:
    """Fill row 0 of `mass` for a match that begins with an event; return its sum."""
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
    starts: Ints,
    points: Ints,
    odds: Doubles,
    cursor: Ints,
    mass: Doubles,
) -> float:
    """Fill row `step` of `mass` for an event after the event `before`; return its sum."""
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
    path: Ints,
    depth: int,
    within: int,
    starts: Ints,
    points: Ints,
    odds: Doubles,
    work: Doubles,
) -> float:
    """Return the probability that the events of a path ascend and last no longer than a window.

    For each time of the first event the recurrence is gone through with the times that are not too
    late; `work` [2, point] is working room.
    """
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
    constants: Doubles,
    doubles: Doubles,
    integers: Ints,
    keys: Ints,
    starts: Ints,
    points: Ints,
    odds: Doubles,
    negatives: Ints,
    progress: Ints,
    cursor: Ints,
    threshold: float,
    mass: Doubles,
    work: Doubles,
    path: Ints,
    held: Ints,
    numbers: Doubles,
    stack: Doubles,
    whole_stack: Ints,
    found: Ints,
    counted: Doubles,
    paths: Shorts,
    sets: Ints,
    sums: Doubles,
    times: Ints,
) -> None:
    """Give out matches at or above the threshold; stop where there is no room, as STATUS says.

    Called again it goes on from there. A match is given out that holds a new event.
    """
    clear_registers(tables, constants, held, numbers)
    has_sets = cursor[HAS_SETS] == 1
    within = progress[WITHIN] if progress[SLIDE] == 0 else -1
    while True:
        if cursor[DEPTH] < 0:
            if not next_beginning(integers, keys, progress, cursor):
                return
            row = cursor[BEGIN]
            number = integers[CLASS, row]
            listed = tables[tables[CLASS_AT] + number] if number >= 0 else -1
            if listed < 0 or cursor[TURN] >= tables[listed]:
                cursor[BEGIN] += 1
                cursor[TURN] = 0
                progress[COUNTED] = 0
                continue
            state = tables[listed + 1 + cursor[TURN]]
            cursor[TURN] += 1
            edge = tables[tables[EDGE_AT] + state]
            if edge < 0:
                continue
            path[0, AT], path[0, STATE], path[0, EDGE] = row, state, edge
            if has_sets:
                total = mass[0, 0] = chance_of_stages(
                    path, 0, within, cursor[FROM], cursor[TO], sets, starts, points, sums, times,
                    work,
                )  # fmt: skip
            else:
                total = begun(row, starts, points, odds, cursor, mass)
            checks = tables[tables[CHECK_AT] + edge]
            if total <= 0.0 or total < threshold:
                continue
            if tables[checks] > 0 and not all_hold(
                tables, checks, constants, doubles, integers, row, NOTHING, NO_STEP, NO_STEP, held,
                numbers, stack, whole_stack,
            ):  # fmt: skip
                continue
            path[0, BACK] = int(row >= keys[cursor[KEY], NEW_ROW])
            cursor[DEPTH], cursor[IS_NEW] = 0, 1
        key, depth = cursor[KEY], cursor[DEPTH]
        row, state = path[depth, AT], path[depth, STATE]
        if cursor[IS_NEW] == 1:
            progress[STEPS] += 1
            if progress[STEPS] > progress[BUDGET] or depth + 2 >= len(path):
                progress[STATUS] = TOO_LONG if progress[STEPS] > progress[BUDGET] else DEEP
                return
            select(tables, state, row, depth + 1, doubles, integers, held, numbers)
            if tables[FAILED] > 0:
                progress[STATUS] = BROKE
                return
            if tables[tables[END_AT] + state] > -2 and path[depth, BACK] == 1:
                total = 0.0
                for place in range(starts[row + 1] - starts[row]):
                    total += mass[depth, place]
                widest = points[starts[row + 1] - 1] - points[starts[path[0, AT]]]
                if has_sets:
                    total = mass[depth, 0]
                elif 0 <= within < widest:
                    total = within_window(path, depth, within, starts, points, odds, work)
                if cursor[REGISTER] >= 0:
                    numbers[depth + 1, cursor[REGISTER]] = total
                if total > 0.0 and total >= threshold and is_match(
                    tables, constants, doubles, integers, negatives, progress, path, depth, held,
                    numbers, stack, whole_stack,
                ):  # fmt: skip
                    give_out(tables, progress, path, depth, held, numbers, found, counted, paths)
                    if progress[STATUS] != DONE:
                        return
            # what may follow is later than the earliest time that the event can be at
            earliest = FAR
            for place in range(starts[row], starts[row + 1]):
                if has_sets or mass[depth, place - starts[row]] > 0.0:
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
            cursor[IS_NEW] = 0
        has_grown = False
        while path[depth, EVENT] < keys[key, END_ROW] and not has_grown:
            other = path[depth, EVENT]
            if integers[TIME, other] > path[depth, UNTIL]:
                path[depth, EVENT] = keys[key, END_ROW]
                break
            number = integers[CLASS, other]
            listed = tables[tables[CLASS_AT] + number] if number >= 0 else -1
            if (
                listed < 0
                or path[depth, CHOICE] >= tables[listed]
                or (not has_sets and points[starts[other + 1] - 1] <= path[depth, LEAF])
                or is_bound(path, depth, other)
            ):
                path[depth, EVENT] += 1
                path[depth, CHOICE] = 0
                continue
            target = tables[listed + 1 + path[depth, CHOICE]]
            path[depth, CHOICE] += 1
            edge = tables[tables[EDGE_AT] + (state + 1) * tables[STATES] + target]
            if edge < 0:
                continue
            if has_sets and sets[state] >= 0 and sets[state] == sets[target]:
                if other < row:  # a set is made of its events in one order
                    continue
            elif points[starts[other + 1] - 1] <= path[depth, LEAF]:
                continue
            near, checks = tables[tables[NEAR_AT] + edge], tables[tables[CHECK_AT] + edge]
            if tables[near] > 0 and not all_hold(
                tables, near, constants, doubles, integers, other, row, depth + 1, depth + 1, held,
                numbers, stack, whole_stack,
            ):  # fmt: skip
                continue
            if tables[checks] > 0 and not all_hold(
                tables, checks, constants, doubles, integers, other, row, depth + 1, depth + 1,
                held, numbers, stack, whole_stack,
            ):  # fmt: skip
                continue
            path[depth + 1, AT], path[depth + 1, STATE] = other, target
            if has_sets:
                total = mass[depth + 1, 0] = chance_of_stages(
                    path, depth + 1, within, cursor[FROM], cursor[TO], sets, starts, points, sums,
                    times, work,
                )  # fmt: skip
            else:
                total = grown(row, other, depth + 1, starts, points, odds, cursor, mass)
            if total <= 0.0 or total < threshold:
                continue
            path[depth + 1, EDGE], path[depth + 1, PLACE] = edge, other
            is_fresh = path[depth, BACK] == 1 or other >= keys[key, NEW_ROW]
            path[depth + 1, BACK] = int(is_fresh)
            has_grown = True
        if has_grown:
            cursor[DEPTH], cursor[IS_NEW] = depth + 1, 1
        else:
            cursor[DEPTH] = depth - 1
