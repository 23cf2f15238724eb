# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The loop over events, and how windows of slots are closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import FOREVER, NEVER, Columns, Doubles, Ints, Shares
from elsinore.trends.core.mixtures import note
from elsinore.trends.core.step import MOST_MOMENTS
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.sharing.bursts import clear_bursts, end_bursts, settle_slot
from elsinore.trends.sums.acting import ONCE, act_beside, act_now, gain
from elsinore.trends.sums.class_layout import BEHIND, DIRECT, FAMILY, NOTED, QUICK, SERIAL, TOUCHES
from elsinore.trends.sums.gaining import gain_along
from elsinore.trends.sums.moments import end_waiting
from elsinore.trends.sums.waiting import GAINING, bring, join, wait
from elsinore.trends.sums.windows import LEAVES, STAYS, advance

# how a run over a batch ends; after COMPILE and GROW it is resumed where it stopped
DONE, COMPILE, GROW, DISORDER = np.int64(0), np.int64(1), np.int64(2), np.int64(3)

STRIDE = np.uint64(16)  # events of a moment that are compared together, in a third of the time

UNKNOWN, OF_NO_INTEREST = -2, -1  # of a class: not compiled yet; it acts on nothing


@wide_kernel(linked=True)
def run(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, events: Columns, shares: Shares
) -> int:
    """Let events `header.begin` to `header.end` - 1 act on their keys' slots; return how it ended.

    With `header.one_slot` keys come one after another and share slot 0; otherwise a key is its own
    slot. `header.ordered`: each event is a moment of its own. `header.dynamic`: whether to share is
    decided burst by burst. Where it ends, `header.begin` is the event.
    """
    turn, end, how = header.begin, header.end, DONE
    one_slot, ordered = header.one_slot != 0, header.ordered != 0
    while turn < end:
        code = events.codes[turn]
        kind = events.known[code] if code >= 0 else OF_NO_INTEREST
        if kind < 0:
            if kind == UNKNOWN:
                how = COMPILE
                break
            turn += 1
            continue
        key, time = np.int64(events.keys[turn]), events.times[turn]
        slot = 0 if one_slot else key
        here, waiting = ints[header.key + slot], ints[header.waiting + slot]
        if here == key:
            if time < ints[header.time + slot]:
                how = DISORDER
                break
            if waiting != 0:
                after = _go_on(header, ints, doubles, program, events, kind, slot, turn, shares)
                if after < 0:
                    how = GROW
                    break
                if after > turn:
                    turn = after
                    continue
        edge = here != key or time >= ints[header.edge + slot]
        if edge and header.totals + 2 * header.most_closed > header.row:
            how = GROW
            break
        if waiting != 0:
            end_waiting(header, ints, doubles, program, slot, shares)
        if edge:
            if here >= 0 and here != key:
                leave(header, ints, doubles, program, slot, shares)
            pass_edge(header, ints, doubles, program, slot, time, shares)
        if here != key:
            ints[header.key + slot] = key
            ints[header.group_code + slot] = events.groups[turn]
        following = turn + 1 < end and events.keys[turn + 1] == key
        header.matched += 1
        ints[header.time + slot] = time
        addend, rank = turn * header.addend, turn * header.rank
        bring(header, ints, doubles, slot, events.addends, addend, events.ranks, rank)
        turn += 1
        at_once = not (following and program[kind + QUICK] != 0)
        if (
            ordered
            and at_once
            and program[kind + DIRECT] != 0
            and (shares is None or ints[header.asleep + slot] > 1)
        ):
            act_now(header, ints, doubles, program, kind, slot, shares)
        elif not ordered and at_once and gain(header, ints, doubles, program, kind, slot, shares):
            ints[header.waiting + slot] = GAINING
        else:
            wait(header, ints, kind, slot)
    header.begin = turn
    return how


@wide_kernel(inline=True)
def _go_on(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    events: Columns,
    kind: int,
    slot: int,
    turn: int,
    shares: Shares,
) -> int:
    """Let events from `turn` on go with what waits in their slot; return the first that does not.

    It is of the slot's key. Returns -1 where there is no room for it yet.
    """
    time = events.times[turn]
    if ints[header.waiting + slot] == GAINING:
        after = gain_along(header, ints, doubles, program, events, turn, shares)
        if after > turn:
            return after
    if header.ordered == 0 and time == ints[header.time + slot]:
        return _join_moment(header, ints, doubles, program, events, kind, slot, turn)
    if (
        ints[header.waiting + slot] == 1
        and time < ints[header.edge + slot]
        and ints[header.chain + slot] < 0
    ):
        return _follow(header, ints, doubles, program, events, kind, slot, turn, shares)
    return turn


@wide_kernel(inline=True)
def _join_moment(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    events: Columns,
    kind: int,
    slot: int,
    turn: int,
) -> int:
    """Let event `turn`, and those like it, join the moment at their time; see `_go_on`."""
    addend, rank = turn * header.addend, turn * header.rank
    if not join(header, ints, doubles, kind, slot, events.addends, addend, events.ranks, rank):
        return -1
    after = turn + 1
    if program[kind + SERIAL] != 0:
        after = _join_alike(header, ints, events, slot, turn)
    header.matched += after - turn
    return after


@wide_kernel(inline=True)
def _follow(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    events: Columns,
    kind: int,
    slot: int,
    turn: int,
    shares: Shares,
) -> int:
    """Let events from `turn` on go on with a series or a mixture before them; see `_go_on`."""
    first, after = ints[header.waiting_class + slot], turn
    if kind == first and ints[header.mixed + slot] == 0:
        if program[kind + SERIAL] != 0:
            after = _repeat_class(header, ints, events, slot, turn)
    elif program[kind + FAMILY] != 0 and program[kind + FAMILY] == program[first + FAMILY]:
        after = _mix(header, ints, program, events, slot, turn, shares)
    elif (
        program[kind + TOUCHES] != 0
        and program[first + FAMILY] != 0
        and _is_moment(header, events, turn)
        and act_beside(header, ints, doubles, program, kind, slot, shares)
    ):
        after = turn + 1
        header.matched += 1
        ints[header.time + slot] = events.times[turn]
    return after


@wide_kernel(inline=True)
def _is_moment(header: Any, events: Columns, turn: int) -> bool:
    """Return whether no event of the key of event `turn` can follow at its time."""
    if header.ordered != 0:
        return True
    after = turn + 1
    return (
        after < header.end
        and events.keys[after] == events.keys[turn]
        and events.times[after] > events.times[turn]
    )


@wide_kernel(linked=True)
def pass_edge(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    slot: int,
    time: int,
    shares: Shares,
) -> None:
    """Close a slot's windows that end at or before `time`; open those that hold it."""
    if shares is not None:
        end_bursts(header, ints, doubles, slot)
        ints[header.last_class + slot] = -1
    advance(header, ints, doubles, program, slot, time, STAYS, shares)


@wide_kernel(linked=True)
def leave(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, slot: int, shares: Shares
) -> None:
    """Close all windows of a slot's key, which leaves it."""
    if shares is not None:
        settle_slot(header, ints, doubles, program, slot)
        end_bursts(header, ints, doubles, slot)
        ints[header.last_class + slot] = -1
        clear_bursts(header, ints, doubles, program, slot)
    advance(header, ints, doubles, program, slot, FOREVER, LEAVES, shares)
    ints[header.time + slot] = NEVER
    ints[header.key + slot] = -1


@wide_kernel(linked=True)
def _join_alike(header: Any, ints: Ints, events: Columns, slot: int, turn: int) -> int:
    """Let events of the key, class and time of event `turn` join its moment, as it has done.

    Nothing but their number is told of them. Returns the first that does not.
    """
    times, keys, codes = events.times, events.keys, events.codes
    code, key, time = codes[turn], keys[turn], times[turn]
    at, end = np.uint64(turn + 1), np.uint64(header.end)
    apart = at >= end or keys[at] != key or times[at] != time
    while not apart and at + STRIDE <= end:
        for place in range(at, at + STRIDE):
            apart |= (codes[place] != code) | (times[place] != time) | (keys[place] != key)
        at += np.uint64(0) if apart else STRIDE
    while at < end and codes[at] == code and keys[at] == key and times[at] == time:
        at += np.uint64(1)
    after = np.int64(at)
    last = ints[header.chain + slot]
    ints[header.waiting + slot if last < 0 else header.run_events + last] += after - turn - 1
    return after


@wide_kernel(inline=True)
def _end_of_series(header: Any, ints: Ints, events: Columns, slot: int, turn: int) -> int:
    """Return the first event from `turn` on that is not in series with event `turn`.

    Those before it are of one key and class, each after the one before, in the same windows.
    """
    times, keys, codes = events.times, events.keys, events.codes
    key, code = keys[turn], codes[turn]
    bound, time = ints[header.edge + slot], times[turn]
    apart = 1 - header.ordered  # how far apart moments are at least
    at, end = np.uint64(turn + 1), np.uint64(header.end)  # a place not below 0 costs less
    while at < end and codes[at] == code and keys[at] == key:
        now = times[at]
        if now < time + apart or now >= bound:
            break
        time = now
        at += np.uint64(1)
    return np.int64(at)


@wide_kernel(linked=True)
def _repeat_class(header: Any, ints: Ints, events: Columns, slot: int, turn: int) -> int:
    """Let events from `turn` on wait together with a slot's series; return the first that does not.

    They are of its key, each after the one before, in the same windows, of the same class.
    """
    after = _end_of_series(header, ints, events, slot, turn)
    ints[header.series + slot] += after - turn
    ints[header.time + slot] = events.times[after - 1]
    header.matched += after - turn
    return after


@wide_kernel
def _mix(
    header: Any,
    ints: Ints,
    program: Ints,
    events: Columns,
    slot: int,
    turn: int,
    shares: Shares,
) -> int:
    """Let events from `turn` on join a slot's mixture; return the first that does not.

    They are of its key, each after the one before, in the same windows, of classes of its family,
    and no burst is looked at. The latest is taken note of with the one behind it, as events of its
    time may follow.
    """
    times, keys, codes, known = events.times, events.keys, events.codes, events.known
    key, bound, time = keys[turn], ints[header.edge + slot], ints[header.time + slot]
    apart = 1 - header.ordered
    kind, series = ints[header.waiting_class + slot], ints[header.series + slot]
    first_kind, family = kind, program[kind + FAMILY]
    most = MOST_MOMENTS
    if shares is not None:
        most = min(most, ints[header.asleep + slot] - 1)
    stop = min(header.end, turn + most - ints[header.mixed + slot] - series - 1)
    counts = header.counts + slot * header.noted
    at, end = np.uint64(turn), np.uint64(max(stop, turn))
    while at < end and keys[at] == key and codes[at] >= 0:
        now, other = times[at], known[codes[at]]
        if now < time + apart or now >= bound or other < 0 or program[other + FAMILY] != family:
            break
        if program[kind + NOTED] >= 0:
            ints[np.uint64(counts + program[kind + NOTED])] += 1
            ints[np.uint64(counts + program[kind + BEHIND])] -= 1
        else:
            note(header, ints, program, program[kind + QUICK], slot, ONCE)
        kind, time = other, now
        at += np.uint64(1)
    after = np.int64(at)
    if after > turn:
        if series != 0:
            note(header, ints, program, program[first_kind + QUICK], slot, series)
        ints[header.mixed + slot] += series + after - turn
        ints[header.series + slot] = 0
        ints[header.waiting_class + slot] = kind
        ints[header.time + slot] = time
        header.matched += after - turn
    return after
