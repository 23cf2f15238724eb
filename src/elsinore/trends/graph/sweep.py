# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""A sweep over the events of many keys, as they come, where trends go on step by step.

Each key has a slot for each window that may be open at once; windows are opened and given out as
events of the key pass their edges. Nothing is sorted, and each event is looked at once for all
lanes. A sweep that needs more room ends, and goes on where it stopped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.kernels.pointers import pointed
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.core.window_times import next_edge, windows_at
from elsinore.trends.graph.acts import act_alone, act_together, end_moment
from elsinore.trends.graph.entries import free_all
from elsinore.trends.graph.records import (
    ACTS,
    ALIVE,
    CLASS,
    IN_ONE_LANE,
    NONE,
    SERIAL,
    TOGETHER_WITH_OTHERS,
    Added,
    Compared,
    Events,
    go_to,
)
from elsinore.trends.graph.single import Slot, act_in_one_lane
from elsinore.trends.keyed import Codes, Doubles, Flags, Ints

# words of a key, at the place that the head tells: the time at which other windows are open, the
# first and the last that is, and the first and the last that are wanted
EDGE, LOW, HIGH, FROM, UP_TO, KEY = range(6)

DONE, ROOM, LARGE_NUMBERS = 0, 1, 2  # how a sweep ends; with ROOM it wants more of it
MORE_COME, SOME_CAME = 1, 2  # of an event: others of its moment come, came


class Rows(NamedTuple):
    """The events as they came; codes lead to the words of their class, -1 for those of none.

    ties: MORE_COME and SOME_CAME of each event; of one where each is a moment of its own.
    """

    slots: Codes  # [row] -> key
    codes: Ints
    times: Ints
    ties: Flags
    classes: Ints  # [code] -> place in the words


class Given(NamedTuple):
    """Totals: the key and the window of each, sums and extremes of all lanes."""

    places: Ints
    cells: Doubles
    extremes: Ints


@kernel
def tie(slots: Codes, times: Ints, keys: int) -> Flags:
    """Return of each event whether others of its key and time come, or came."""
    ties = np.zeros(len(slots), dtype=np.uint8)
    last = np.full(keys, -1, dtype=np.int64)
    for row in range(len(slots)):
        before = last[slots[row]]
        if before >= 0 and times[before] == times[row]:
            ties[before] |= MORE_COME
            ties[row] = SOME_CAME
        last[slots[row]] = row
    return ties


@kernel(borrows=True, inline=True)
def _pointed_rows(rows: Rows) -> Rows:
    """Return rows whose arrays are pointers, which cost less at each event."""
    return Rows(
        pointed(rows.slots),
        pointed(rows.codes),
        pointed(rows.times),
        pointed(rows.ties),
        pointed(rows.classes),
    )


@kernel(borrows=True, inline=True)
def _pointed_totals(given: Given) -> Given:
    """Return totals whose arrays are pointers."""
    return Given(pointed(given.places), pointed(given.cells), pointed(given.extremes))


@kernel(borrows=True, inline=True)
def _pointed_columns(compared: Compared) -> Compared:
    """Return columns that are pointers."""
    return Compared(pointed(compared.codes), pointed(compared.known))


@kernel(borrows=True, inline=True)
def _pointed_added(added: Added) -> Added:
    """Return columns of what is added that are pointers."""
    return Added(
        pointed(added.values), pointed(added.present), pointed(added.orders), pointed(added.ordered)
    )


@kernel(borrows=True)
def sweep(
    headers: Any,
    all_ints: Ints,
    all_doubles: Doubles,
    all_rows: Rows,
    all_events: Events,
    all_given: Given,
    more: bool | None,
) -> int:
    """Let the events from `header.at` on act on the windows of their keys; return how it ended.

    It goes as far as there are columns (`all_events`), from row `header.begin` on; at the end of
    all rows the windows that are open are given out.
    The header is the only one of `headers`. more: None where trends are only counted.
    """
    header = headers[0]
    ints, doubles = pointed(all_ints), pointed(all_doubles)
    rows, given = _pointed_rows(all_rows), _pointed_totals(all_given)
    events = Events(_pointed_columns(all_events.compared), _pointed_added(all_events.added))
    count, room = len(all_rows.slots), len(all_given.places)
    first, keys, overlap, at_keys = header.first_key, header.keys, header.overlap, header.at_keys
    tied, contiguous = len(all_rows.ties) > 1, header.contiguous != 0
    if more is not None:
        fields, extremes = header.fields, header.extremes
    else:
        fields, extremes = np.int64(1), np.int64(0)
    int_slots, int_slot = header.int_slots, header.int_slot
    double_slots, double_slot = header.double_slots, header.double_slot
    step = header.contiguous
    # an event makes as many entries as there are states, at most, and closes as many windows
    entries = header.room - header.states * overlap
    places = room - 2 * overlap
    begin = header.begin
    end = begin + header.rows
    for row in range(header.at, end):
        key = rows.slots[row] - first
        if key < 0 or key >= keys:
            continue
        code = rows.codes[row]
        kind = rows.classes[code] if code >= 0 else np.int64(-1)
        ties = rows.ties[row] if tied else np.uint8(0)
        if kind < 0 and not contiguous and ties == 0:
            continue
        if header.entries > entries or 2 * header.given > places:
            header.at = row
            return ROOM
        at = at_keys + key * KEY
        if rows.times[row] >= ints[at + EDGE]:
            _pass_edge(header, ints, doubles, given, key, rows.times[row])
        for window in range(ints[at + LOW], ints[at + HIGH] + 1):
            slot = key if overlap == 1 else key * overlap + window % overlap
            if ties == 0 and (kind < 0 or ints[kind + ACTS] == IN_ONE_LANE):
                base, sums = int_slots + slot * int_slot, double_slots + slot * double_slot
                if kind < 0:
                    ints[base + SERIAL] += step
                    continue
                place = ints[kind + CLASS]
                at_slot = Slot(base, sums, step, fields, extremes)
                if not act_in_one_lane(header, ints, doubles, events, place, row - begin, at_slot):
                    return LARGE_NUMBERS
                continue
            header.row = row - begin
            go_to(header, slot)
            if not _act(header, ints, doubles, events, kind, ties):
                return LARGE_NUMBERS
    header.at = end
    if end < count:
        return DONE
    if 2 * (header.given + keys * overlap) > room:
        return ROOM
    for key in range(keys):
        at = at_keys + key * KEY
        for window in range(ints[at + LOW], ints[at + HIGH] + 1):
            _give(header, ints, doubles, given, key, window)
    return DONE


@kernel(borrows=True, inline=True)
def _act(header: Any, ints: Ints, doubles: Doubles, events: Events, kind: int, ties: int) -> bool:
    """Let an event act on a window; return whether its numbers are small enough."""
    if ties == 0 and ints[kind + ACTS] != TOGETHER_WITH_OTHERS:
        return act_alone(header, ints, doubles, events, kind)
    if kind >= 0 and not act_together(header, ints, doubles, events, kind):
        return False
    if ties & MORE_COME == 0:
        end_moment(header, ints, doubles)
    return True


@kernel(borrows=True, linked=True)
def _pass_edge(
    header: Any, ints: Ints, doubles: Doubles, given: Given, key: int, time: int
) -> None:
    """Give out those of a key's windows that end at or before a time; open those that hold it."""
    at, overlap = header.at_keys + key * KEY, header.overlap
    within, every, origin = header.within, header.every, header.origin
    low, high = windows_at(within, every, origin, time)
    edge = next_edge(within, every, origin, low, high)
    low, high = max(low, ints[at + FROM]), min(high, ints[at + UP_TO])
    first, last = ints[at + LOW], ints[at + HIGH]
    for window in range(first, min(last + 1, low)):
        _give(header, ints, doubles, given, key, window)
    for window in range(low if last < first else max(last + 1, low), high + 1):
        go_to(header, key if overlap == 1 else key * overlap + window % overlap)
        _begin_window(header, ints, doubles)
    ints[at + EDGE] = edge
    ints[at + LOW] = low
    ints[at + HIGH] = max(high, low - 1)


@kernel(borrows=True, linked=True)
def _give(header: Any, ints: Ints, doubles: Doubles, given: Given, key: int, window: int) -> None:
    """Give out a window's totals, where it has trends."""
    go_to(header, key * header.overlap + window % header.overlap)
    if not _end_window(header, ints, doubles):
        return
    row, width, ranks = header.given, header.width, header.ranks
    header.given += 1
    given.places[2 * row] = header.first_key + key
    given.places[2 * row + 1] = window
    for cell in range(width):
        given.cells[row * width + cell] = doubles[header.slot_doubles + cell]
    total = header.slot_ints + ALIVE + 4 * header.states
    for rank in range(ranks):
        given.extremes[row * ranks + rank] = ints[total + rank]


@kernel(borrows=True, linked=True)
def _begin_window(header: Any, ints: Ints, doubles: Doubles) -> None:
    """Make a slot one of a window without trends."""
    states = header.states
    base = header.slot_ints
    ints[base + SERIAL] = 1
    for state in range(states):
        ints[base + ALIVE + state] = 0
        ints[base + ALIVE + states + state] = NONE
        if header.tail != 0:
            ints[base + ALIVE + 2 * states + state] = 0
            ints[base + ALIVE + 3 * states + state] = NONE
    total = header.slot_doubles
    for cell in range(total, total + header.width):
        doubles[cell] = 0.0
    marks = total + header.width + 2 * header.cells * header.fields
    for mark in range(marks, marks + header.tail * header.cells):
        doubles[mark] = 0.0
    total = base + ALIVE + 4 * states
    for rank in range(total, total + header.ranks):
        ints[rank] = FOREVER


@kernel(borrows=True, linked=True)
def _end_window(header: Any, ints: Ints, doubles: Doubles) -> bool:
    """Free what a slot's window keeps but for its totals; return whether these hold trends."""
    states = header.states
    base = header.slot_ints
    for state in range(states):
        free_all(header, ints, base + ALIVE + states + state)
        if header.tail != 0:
            free_all(header, ints, base + ALIVE + 3 * states + state)
    total = header.slot_doubles
    for cell in range(total, total + header.lanes):  # noqa: SIM110  (compiled as it stands)
        if doubles[cell] != 0.0:
            return True
    return False
