"""How probable matches with NOT of single events are if times are uncertain (SASE++, Section 2.3).

A match exists in the worlds in which its events ascend within the window and no event that a NOT
forbids lies in one of its *gaps*: before the first event, between neighbours, after the last one.
Events are independent, so an event that can only lie in one gap contributes a factor. With f_j(t),
the probability that the first j events ascend, that the j-th is at t and that no gap before is
broken,

    f_j(t) = p_j(t) * sum over u < t of f_{j-1}(u) * product over n of (1 - P(u < time of n < t))

If the window ends with the match, the gaps at its beginning and end depend on its first and last
time: the recurrence is computed for each time of the first event. Events that could lie in several
gaps are *tied*: each combination of their times is computed.
"""

from __future__ import annotations

from typing import Any

import cython
import numpy as np

from elsinore.matches.engine.codes import TIME
from elsinore.matches.engine.possible import FAR as _FAR
from elsinore.matches.engine.possible import (
    ascend,
    chance_between,
    count_of,
    first_point,
    last_point,
)
from elsinore.matches.engine.tables import FOREVER
from elsinore.structs import empty, struct

NEAR = struct(i8="row", i4="gap")
TIED = struct(i8="row place time")
CHOICE = struct(i4="tied gap")

FAR = cython.declare(cython.longlong, _FAR)
ROW = cython.declare(cython.int, 0)  # columns of `Gaps.paths`
STATE = cython.declare(cython.int, 1)
MOST_TIED = 32  # events that could lie in several gaps of a match
TIED_LIMIT = cython.declare(cython.int, MOST_TIED)
# worlds that tied events make; beyond, `elsinore.matches.clauses` is cheaper, as equal ones are one
MOST_WORLDS = cython.declare(cython.longlong, 1_000)
NEAR_COST = cython.declare(cython.longlong, 20)  # pairs of times that cost as much as a near event
TOO_MANY = -1.0  # instead of a confidence
TOO_MANY_WORLDS = cython.declare(cython.double, TOO_MANY)


class Gaps:
    """The gaps of one match after another, and the events that could lie in them.

    `paths` [step] has the row and state of each event of the matches; that under way has `count`
    events from `begin` on. `breaks` [set, row] says whether a set of patterns under NOT forbids an
    event. `ways` [state + 1, state] is the set that an edge forbids (row 0: the edges that begin a
    match; the last row: the ends), -1: none. `sets` [gap] is the set of each gap of the match,
    `near` has the events that could lie in one gap, `tied` those that could lie in several,
    `choices` where these could lie. `mass` [2, point] is working room. `summed` counts the pairs of
    possible times that were summed up; beyond `budget` the search stops.
    """

    def __init__(
        self,
        possible: Any,
        integers: Any,
        keys: Any,
        breaks: Any,
        ways: Any,
        window: tuple[int, int, int],
    ) -> None:
        self.possible = possible
        self.keys = keys
        self.integers = integers
        self.breaks = breaks
        self.ways = ways
        self.within, self.slide, self.origin = window
        self.longest = 0
        self.summed = 0
        self.budget = FOREVER
        self.mass = np.zeros((2, int(np.diff(np.asarray(possible.starts)).max(initial=0))))
        self.tied = empty(TIED, MOST_TIED)
        self.near_count = self.tied_count = self.choice_count = 0
        self.begin = self.count = 0
        self.window_begin, self.window_end = -FAR, FAR

    def put_matches(self, paths: Any, rows: int, steps: int) -> None:
        """Set the paths of matches of up to `steps` events, of keys of up to `rows` rows."""
        self.paths = paths
        self.sets = np.zeros(steps + 1, np.int32)
        self.near = empty(NEAR, rows)
        self.choices = empty(CHOICE, (steps + 1) * MOST_TIED)


def fill_chances(
    gaps: Gaps,
    starts: cython.const_longlong[::1],
    windows: cython.const_longlong[::1],
    key_of: cython.const_longlong[::1],
    chances: cython.double[::1],
) -> None:
    """Fill `chances` [match] with confidences, `TOO_MANY` if tied events make too many worlds.

    Beyond `budget` pairs of possible times the rest is not computed.
    """
    match: cython.Py_ssize_t
    step: cython.int
    with cython.nogil:
        for match in range(starts.shape[0] - 1):
            gaps.begin = starts[match]
            gaps.count = cython.cast(cython.int, starts[match + 1] - starts[match])
            before: cython.int = -1
            for step in range(gaps.count):
                state: cython.int = gaps.paths[gaps.begin + step, STATE]
                gaps.sets[step] = gaps.ways[before + 1, state]
                before = state
            gaps.sets[gaps.count] = gaps.ways[gaps.ways.shape[0] - 1, before]
            gaps.window_begin = -FAR
            gaps.window_end = FAR
            if gaps.slide > 0:
                gaps.window_begin = gaps.origin + windows[match] * gaps.slide
                gaps.window_end = gaps.window_begin + gaps.within - 1
            key: cython.longlong = key_of[match]
            if look_around(gaps, gaps.keys[key].first_row, gaps.keys[key].end_row):
                chances[match] = chance_of_worlds(gaps)
            else:
                chances[match] = TOO_MANY_WORLDS
            if gaps.summed > gaps.budget:
                break


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def row_of(gaps: Gaps, step: cython.int) -> cython.longlong:
    """Return the row of an event of the match."""
    return gaps.paths[gaps.begin + step, ROW]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_relative(gaps: Gaps) -> cython.bint:
    """Return whether the window ends with the match."""
    return gaps.within >= 0 and gaps.slide == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def look_around(gaps: Gaps, first_row: cython.longlong, end_row: cython.longlong) -> cython.bint:
    """Find what could lie in the gaps of the match; return whether not too many events are tied."""
    lowest: cython.longlong = gaps.window_begin
    highest: cython.longlong = gaps.window_end
    if is_relative(gaps):
        lowest = first_point(gaps.possible, row_of(gaps, gaps.count - 1)) - gaps.within
        highest = last_point(gaps.possible, row_of(gaps, 0)) + gaps.within
    gaps.near_count = 0
    gaps.tied_count = 0
    gaps.choice_count = 0
    row: cython.longlong = first_row
    end: cython.longlong = end_row
    while row < end:  # the first row that can be as late as the window's beginning
        middle: cython.longlong = (row + end) // 2
        if gaps.integers[TIME, middle] < lowest - gaps.longest:
            row = middle + 1
        else:
            end = middle
    while row < end_row and gaps.integers[TIME, row] <= highest:
        if not is_bound(gaps, row) and not put_event(gaps, row, lowest, highest):
            return False
        row += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_bound(gaps: Gaps, row: cython.longlong) -> cython.bint:
    """Return whether the match has an event."""
    step: cython.int
    for step in range(gaps.count):  # noqa: SIM110 - compiled
        if row_of(gaps, step) == row:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_event(
    gaps: Gaps, row: cython.longlong, lowest: cython.longlong, highest: cython.longlong
) -> cython.bint:
    """Put down in which gaps an event could lie; return False if too many events are tied."""
    count: cython.int = 0
    only: cython.int = -1
    gap: cython.int
    for gap in range(gaps.count + 1):
        if gaps.sets[gap] < 0 or not gaps.breaks[gaps.sets[gap], row]:
            continue
        after: cython.longlong = lowest - 1
        before: cython.longlong = highest + 1
        if gap > 0:
            after = first_point(gaps.possible, row_of(gaps, gap - 1))
        if gap < gaps.count:
            before = last_point(gaps.possible, row_of(gaps, gap))
        if chance_between(gaps.possible, row, after, before) <= 0.0:
            continue
        count += 1
        if count == 1:
            only = gap
            continue
        if count == 2:
            if gaps.tied_count == TIED_LIMIT:
                return False
            gaps.tied[gaps.tied_count].row = row
            put_choice(gaps, only)
        put_choice(gaps, gap)
    if count == 1:
        gaps.near[gaps.near_count].row = row
        gaps.near[gaps.near_count].gap = only
        gaps.near_count += 1
    elif count > 1:
        gaps.tied_count += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def put_choice(gaps: Gaps, gap: cython.int) -> cython.void:
    """Put down that the tied event under way could lie in a gap."""
    gaps.choices[gaps.choice_count].tied = gaps.tied_count
    gaps.choices[gaps.choice_count].gap = gap
    gaps.choice_count += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_of_worlds(gaps: Gaps) -> cython.double:
    """Return the probability of the match, summed over the combinations of tied events' times."""
    number: cython.int
    worlds: cython.longlong = 1
    for number in range(gaps.tied_count):
        row: cython.longlong = gaps.tied[number].row
        worlds = min(worlds * count_of(gaps.possible, row), MOST_WORLDS + 1)
        gaps.tied[number].place = 0
    if worlds > MOST_WORLDS:
        return TOO_MANY_WORLDS
    total: cython.double = 0.0
    _world: cython.longlong
    for _world in range(worlds):
        if gaps.summed > gaps.budget:
            break
        odds: cython.double = 1.0
        for number in range(gaps.tied_count):
            row = gaps.tied[number].row
            at: cython.longlong = gaps.possible.starts[row] + gaps.tied[number].place
            gaps.tied[number].time = gaps.possible.points[at]
            odds *= gaps.possible.odds[at]
        if odds > 0.0:
            total += odds * chance_of_match(gaps)
        for number in range(gaps.tied_count):  # count up
            gaps.tied[number].place += 1
            if gaps.tied[number].place < count_of(gaps.possible, gaps.tied[number].row):
                break
            gaps.tied[number].place = 0
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_of_match(gaps: Gaps) -> cython.double:
    """Return the probability that the events ascend and no gap is broken.

    Tied events have the times that were chosen for them.
    """
    first: cython.longlong = row_of(gaps, 0)
    total: cython.double = 0.0
    only: cython.longlong
    if not is_relative(gaps):
        return chance_from(gaps, -1, gaps.window_end)
    for only in range(gaps.possible.starts[first], gaps.possible.starts[first + 1]):
        if gaps.summed > gaps.budget:
            break
        total += chance_from(gaps, only, gaps.possible.points[only] + gaps.within)
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_from(gaps: Gaps, only: cython.longlong, latest: cython.longlong) -> cython.double:
    """Return the probability of a match by `latest` whose first event has one possible time.

    `only` is the place of that time; -1: the first event has all of its times.
    """
    first: cython.longlong = row_of(gaps, 0)
    place: cython.longlong
    begin: cython.longlong = gaps.possible.starts[first]
    end: cython.longlong = gaps.possible.starts[first + 1]
    if only >= 0:
        begin = only
        end = only + 1
    for place in range(begin, end):
        value: cython.double = gaps.possible.odds[place]
        time: cython.longlong = gaps.possible.points[place]
        if time < gaps.window_begin or time > latest:
            value = 0.0
        elif only < 0 and gaps.sets[0] >= 0:
            value *= chance_free(gaps, 0, gaps.window_begin - 1, time)
        gaps.mass[0, place - begin] = value
    step: cython.int
    for step in range(1, gaps.count):
        fill_step(gaps, step, begin, end, latest)
        begin = gaps.possible.starts[row_of(gaps, step)]
        end = gaps.possible.starts[row_of(gaps, step) + 1]
    total: cython.double = 0.0
    for place in range(begin, end):
        value = gaps.mass[(gaps.count - 1) % 2, place - begin]
        time = gaps.possible.points[place]
        if value > 0.0 and only >= 0 and gaps.sets[0] >= 0:
            value *= chance_free(gaps, 0, time - gaps.within - 1, gaps.possible.points[only])
        if value > 0.0 and gaps.sets[gaps.count] >= 0:
            value *= chance_free(gaps, gaps.count, time, latest + 1)
        total += value
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_step(
    gaps: Gaps,
    step: cython.int,
    begin: cython.longlong,
    end: cython.longlong,
    latest: cython.longlong,
) -> cython.void:
    """Fill the mass of a step from that of the step before, whose times are `begin` to `end`."""
    now: cython.int = step % 2
    row: cython.longlong = row_of(gaps, step)
    start: cython.longlong = gaps.possible.starts[row]
    stop: cython.longlong = gaps.possible.starts[row + 1]
    pairs: cython.longlong = (end - begin) * (stop - start)
    if gaps.sets[step] < 0:
        gaps.summed += pairs
        ascend(gaps.possible, gaps.mass, 1 - now, begin, end, gaps.mass, now, row, latest)
        return
    gaps.summed += pairs * (1 + NEAR_COST * gaps.near_count)
    place: cython.longlong
    earlier: cython.longlong
    for place in range(start, stop):
        time: cython.longlong = gaps.possible.points[place]
        value: cython.double = 0.0
        for earlier in range(begin, end):
            after: cython.longlong = gaps.possible.points[earlier]
            if after >= time or time > latest:
                break
            part: cython.double = gaps.mass[1 - now, earlier - begin]
            if part > 0.0:
                value += part * chance_free(gaps, step, after, time)
        gaps.mass[now, place - start] = value * gaps.possible.odds[place]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def chance_free(
    gaps: Gaps, gap: cython.int, after: cython.longlong, before: cython.longlong
) -> cython.double:
    """Return the probability that nothing forbidden lies in a gap between two times."""
    number: cython.int
    for number in range(gaps.choice_count):
        if gaps.choices[number].gap == gap:
            time: cython.longlong = gaps.tied[gaps.choices[number].tied].time
            if after < time < before:
                return 0.0
    chance: cython.double = 1.0
    for number in range(gaps.near_count):
        if gaps.near[number].gap == gap:
            chance *= 1.0 - chance_between(gaps.possible, gaps.near[number].row, after, before)
    return chance
