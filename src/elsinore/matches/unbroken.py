# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""How probable matches with NOT are where times are uncertain (SASE++, Section 2.3).

A match is there in the worlds in which its events ascend within the window and nothing that a NOT
forbids lies in a *gap* of its: before the first event, between neighbours, after the last one. As
events are independent, what could lie in one gap alone takes part with a factor. With f_j(t), the
probability that the first j events ascend, that the j-th is at t and that no gap before is broken,

    f_j(t) = p_j(t) * sum over u < t of f_{j-1}(u) * product over n of (1 - P(u < time of n < t))

Where the window ends with the match, the gaps at its beginning and end depend on its first and last
time: all is gone through for each time of the first event. What could lie in several gaps is given
each of its times in turn.

What kernels are passed: `paths` [step, 2], events and states of matches; the `possible` times of
all events; `breaks` [set, event]: whether a NOT forbids it; `frame`, the window; `room`, working
room: after its head, the set that each gap of a match has (below 0: none), then what is in the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.matches.arrays import Bytes, Doubles, Ints, Shorts
from elsinore.matches.chances import PossibleTimes, chance_between
from elsinore.matches.keyed import END_ROW, FIRST_ROW, TIME, first_at

AT, STATE = 0, 1  # columns of `paths`
# Entries of `frame`: WITHIN (below 0: none), SLIDE (0: none), ORIGIN; the longest interval; the
# first and the last time of a match's window where it does not end with the match; how many pairs
# of possible times were summed up, and how many may be.
WITHIN, SLIDE, ORIGIN, LONGEST, FROM, TO, SUMMED, MOST = range(8)
FRAME = 8
NEAR_COST = 20  # pairs of times that take as long as an event in a gap, with its binary searches
FAR = np.int64(2**62)
# The head of `room`: where a match's path begins, and its length; how many events could lie in one
# gap, how many in several, and how often these could. Then where what is counted stands.
BEGIN, LENGTH, NEAR, TIED, CHOICES, NEAR_AT, TIED_AT, CHOICES_AT, GAPS_AT = range(9)
MOST_TIED = 32  # events that could lie in several gaps of a match
MOST_WORLDS = 1_000  # that they make; beyond, alike ones are cheaper to put together (`clauses`)
TOO_MANY = -1.0  # in place of a confidence


class Matches(NamedTuple):
    """Matches: where the path of each begins, in `paths`, its window, the number of its key."""

    begins: Ints  # [match + 1]
    windows: Ints
    keys: Ints
    paths: Shorts


@kernel(borrows=True)
def stays_whole(gap: int, after: int, before: int, possible: PossibleTimes, room: Ints) -> float:
    """Return the probability that nothing forbidden lies in a gap between two times."""
    tied, choices, near = room[TIED_AT], room[CHOICES_AT], room[NEAR_AT]
    for place in range(choices, choices + 2 * room[CHOICES], 2):
        time = room[tied + 3 * room[place] + 2]
        if room[place + 1] == gap and after < time < before:
            return 0.0
    whole = 1.0
    for place in range(near, near + 2 * room[NEAR], 2):
        if room[place + 1] == gap:
            whole *= 1.0 - chance_between(room[place], after, before, possible)
    return whole


@kernel(borrows=True)
def look_around(
    first_row: int,
    end_row: int,
    integers: Ints,
    paths: Shorts,
    possible: PossibleTimes,
    breaks: Bytes,
    frame: Ints,
    room: Ints,
) -> bool:
    """Find what could lie in the gaps of a match; return whether that is not too much."""
    starts, points = possible.starts, possible.points
    begin, count = room[BEGIN], room[LENGTH]
    first, last = paths[begin, AT], paths[begin + count - 1, AT]
    is_relative = frame[WITHIN] >= 0 and frame[SLIDE] == 0
    lowest, highest = frame[FROM], frame[TO]
    if is_relative:
        lowest = points[starts[last]] - frame[WITHIN]
        highest = points[starts[first + 1] - 1] + frame[WITHIN]
    room[NEAR] = room[TIED] = room[CHOICES] = 0
    row = first_at(integers, first_row, end_row, lowest - frame[LONGEST])
    while row < end_row and integers[TIME, row] <= highest:
        gaps = 0
        for step in range(begin, begin + count):
            if paths[step, AT] == row:  # it is where it is to be
                gaps = -2 - count
        for gap in range(count + 1):
            wanted = room[room[GAPS_AT] + gap]
            if wanted < 0 or breaks[wanted, row] == 0:
                continue
            after, before = lowest - 1, highest + 1
            if gap > 0:
                after = points[starts[paths[begin + gap - 1, AT]]]
            if gap < count:
                before = points[starts[paths[begin + gap, AT] + 1] - 1]
            if chance_between(row, after, before, possible) <= 0.0:
                continue
            gaps += 1
            place = room[CHOICES_AT] + 2 * room[CHOICES]
            if gaps == 1:
                room[room[NEAR_AT] + 2 * room[NEAR]] = row
                room[room[NEAR_AT] + 2 * room[NEAR] + 1] = gap
            if gaps == 2:
                if room[TIED] == MOST_TIED:
                    return False
                room[room[TIED_AT] + 3 * room[TIED]] = row
                room[place] = room[TIED]
                room[place + 1] = room[room[NEAR_AT] + 2 * room[NEAR] + 1]
                room[CHOICES] += 1
                place += 2
            if gaps >= 2:
                room[place], room[place + 1] = room[TIED], gap
                room[CHOICES] += 1
        if gaps == 1:
            room[NEAR] += 1
        elif gaps > 1:
            room[TIED] += 1
        row += 1
    return True


@kernel(borrows=True)
def chance_of(
    paths: Shorts,
    possible: PossibleTimes,
    frame: Ints,
    room: Ints,
    mass: Doubles,
) -> float:
    """Return the probability of a match, its gaps whole, with the times chosen for tied events.

    `mass` [2, point] is working room.
    """
    starts, points, sums = possible.starts, possible.points, possible.sums
    begin, count, gaps = room[BEGIN], room[LENGTH], room[GAPS_AT]
    first, last = paths[begin, AT], paths[begin + count - 1, AT]
    is_relative = frame[WITHIN] >= 0 and frame[SLIDE] == 0
    total = 0.0
    for only in range(starts[first], starts[first + 1] if is_relative else starts[first] + 1):
        if frame[SUMMED] > frame[MOST]:
            return TOO_MANY
        latest = points[only] + frame[WITHIN] if is_relative else frame[TO]
        for place in range(starts[first], starts[first + 1]):
            value, time = sums[place + first + 1] - sums[place + first], points[place]
            if time < frame[FROM] or time > latest or (is_relative and place != only):
                value = 0.0
            elif not is_relative and room[gaps] >= 0:
                value *= stays_whole(0, frame[FROM] - 1, time, possible, room)
            mass[0, place - starts[first]] = value
        for step in range(1, count):
            before, event = paths[begin + step - 1, AT], paths[begin + step, AT]
            now, guarded = step % 2, room[gaps + step] >= 0
            begin_before, end_before = starts[before], starts[before + 1]
            if is_relative and step == 1:  # the first event has one time
                begin_before, end_before = only, only + 1
            pairs = (end_before - begin_before) * (starts[event + 1] - starts[event])
            frame[SUMMED] += pairs * (1 + NEAR_COST * room[NEAR] if guarded else 1)
            for place in range(starts[event], starts[event + 1]):
                value = 0.0
                for earlier in range(begin_before, end_before):
                    if points[earlier] >= points[place] or points[place] > latest:
                        break
                    part = mass[1 - now, earlier - starts[before]]
                    if guarded and part > 0.0:
                        part *= stays_whole(step, points[earlier], points[place], possible, room)
                    value += part
                value *= sums[place + event + 1] - sums[place + event]
                mass[now, place - starts[event]] = value
        for place in range(starts[last], starts[last + 1]):
            value, time = mass[(count - 1) % 2, place - starts[last]], points[place]
            if value > 0.0 and is_relative and room[gaps] >= 0:
                after = time - frame[WITHIN] - 1
                value *= stays_whole(0, after, points[only], possible, room)
            if value > 0.0 and room[gaps + count] >= 0:
                value *= stays_whole(count, time, latest + 1, possible, room)
            total += value
    return total


@kernel(borrows=True)
def unbroken(
    matches: Matches,
    keys: Ints,
    integers: Ints,
    possible: PossibleTimes,
    ways: Ints,
    breaks: Bytes,
    frame: Ints,
    room: Ints,
    mass: Doubles,
    chances: Doubles,
) -> None:
    """Fill `chances` [match] with the confidences of matches, `TOO_MANY` where worlds are.

    Beyond frame[MOST] pairs of possible times the rest is not computed.

    `ways` [state + 1, state] is the set of what is
    forbidden before an event in a state, after one in another (row 0: that begins a match); its
    last row, after the last event.
    """
    begins, paths = matches.begins, matches.paths
    starts, points, sums = possible.starts, possible.points, possible.sums
    ending = len(ways) - 1
    for match in range(len(begins) - 1):
        room[BEGIN], room[LENGTH] = begins[match], begins[match + 1] - begins[match]
        before = -1
        for step in range(room[LENGTH]):
            state = paths[begins[match] + step, STATE]
            room[room[GAPS_AT] + step] = ways[before + 1, state]
            before = state
        room[room[GAPS_AT] + room[LENGTH]] = ways[ending, before]
        frame[FROM], frame[TO] = -FAR, FAR
        if frame[SLIDE] > 0:
            frame[FROM] = frame[ORIGIN] + matches.windows[match] * frame[SLIDE]
            frame[TO] = frame[FROM] + frame[WITHIN] - 1
        key = matches.keys[match]
        is_known = look_around(
            keys[key, FIRST_ROW], keys[key, END_ROW], integers, paths, possible, breaks,
            frame, room,
        )  # fmt: skip
        tied, count = room[TIED_AT], room[TIED]
        worlds = 1
        for place in range(tied, tied + 3 * count, 3):
            worlds = min(worlds * (starts[room[place] + 1] - starts[room[place]]), MOST_WORLDS + 1)
            room[place + 1] = 0
        if not is_known or worlds > MOST_WORLDS:
            chances[match] = TOO_MANY
            continue
        total = 0.0
        for _ in range(worlds):
            if frame[SUMMED] > frame[MOST]:
                return
            odds = 1.0
            for place in range(tied, tied + 3 * count, 3):
                event = room[place]
                at = starts[event] + room[place + 1]
                room[place + 2] = points[at]
                odds *= sums[at + event + 1] - sums[at + event]
            if odds > 0.0:
                total += odds * chance_of(paths, possible, frame, room, mass)
            for place in range(tied, tied + 3 * count, 3):  # the next world: count up
                room[place + 1] += 1
                if room[place + 1] < starts[room[place] + 1] - starts[room[place]]:
                    break
                room[place + 1] = 0
        chances[match] = total
