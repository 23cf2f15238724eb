# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The loop over events, or over slots whose windows are to be closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import FOREVER, NEVER, Codes, Doubles, Ints
from elsinore.trends.core.mixtures import note
from elsinore.trends.core.moments import (
    BEHIND,
    FAMILY,
    NOTED,
    ONCE,
    QUICK,
    SERIAL,
    end_moment,
    end_series,
    join,
    wait,
)
from elsinore.trends.core.step import MOST_MOMENTS
from elsinore.trends.core.windows import advance
from elsinore.trends.sharing.bursts import clear_bursts, end_bursts, settle_slot
from elsinore.trends.wide import wide_kernel

# how a run over a batch ends; after COMPILE and GROW it is resumed where it stopped
DONE, COMPILE, GROW, DISORDER = 0, 1, 2, 3

UNKNOWN, OF_NO_INTEREST = -2, -1  # of a class: not compiled yet; it acts on nothing


@wide_kernel
def run(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    times: Ints,
    keys: Codes,
    groups: Codes,
    codes: Ints,
    known: Ints,
    addends: Doubles,
    ranks: Ints,
    begin: int,
    end: int,
    until: int,
    closing: bool,
    one_slot: bool,
    ordered: bool,
    dynamic: bool,
) -> tuple[int, int]:
    """Let events `begin` to `end` - 1 act on their keys' slots.

    times, keys, groups, codes: [event]; a code below 0 is of no interest. known: [code] -> where
    the program tells of the class, OF_NO_INTEREST or UNKNOWN. addends, ranks: those of event 0, of
    event 1, ... With `one_slot` keys come one after another and share slot 0; otherwise a key is
    its own slot. `ordered`: each event is a moment of its own. `dynamic`: whether to share is
    decided burst by burst. Returns how it ended and the event it ended at.

    closing: close the windows of slots `begin` to `end` - 1 that end at or before `until` instead.
    """
    taken = begin  # events before it were taken together with others
    for turn in range(begin, end):
        if turn < taken:
            continue
        slot, kind, key, time = turn, 0, 0, until
        if not closing:
            code = codes[turn]
            if code < 0:
                continue
            kind = known[code]
            if kind < 0:
                if kind == UNKNOWN:
                    return COMPILE, turn
                continue
            key, time = np.int64(keys[turn]), times[turn]
            slot = 0 if one_slot else key
        here, latest = ints[header.key + slot], ints[header.time + slot]
        if closing:
            if here < 0:
                continue
            key, leaves = here, time == FOREVER
            ends = leaves or latest < time  # else the moment may not be over
        else:
            leaves, ends = here >= 0 and here != key, True
            if here == key and time < latest:
                return DISORDER, turn
            if here == key and time == latest and not ordered and ints[header.waiting + slot] != 0:
                if not join(
                    header,
                    ints,
                    doubles,
                    kind,
                    slot,
                    addends,
                    turn * header.addend,
                    ranks,
                    turn * header.rank,
                ):
                    return GROW, turn
                header.matched += 1
                if program[kind + SERIAL] != 0:  # nothing but their number is told of events
                    taken = turn + 1
                    while (
                        taken < end
                        and codes[taken] == codes[turn]
                        and keys[taken] == keys[turn]
                        and times[taken] == time
                    ):
                        taken += 1
                    more, last = taken - turn - 1, ints[header.chain + slot]
                    at = header.waiting + slot if last < 0 else header.run_events + last
                    ints[at] += more
                    header.matched += more
                continue
            if (
                here == key
                and ints[header.waiting + slot] == 1
                and time < ints[header.edge + slot]
                and ints[header.chain + slot] < 0
            ):
                waiting, taken = ints[header.waiting_class + slot], turn
                if kind == waiting and ints[header.mixed + slot] == 0:
                    if program[kind + SERIAL] != 0:
                        taken = _repeat_class(
                            header, ints, times, keys, codes, slot, turn, end, ordered
                        )
                elif (
                    program[kind + FAMILY] != 0
                    and program[kind + FAMILY] == program[waiting + FAMILY]
                ):
                    taken = _mix(
                        header,
                        ints,
                        doubles,
                        program,
                        times,
                        keys,
                        codes,
                        known,
                        slot,
                        turn,
                        end,
                        ordered,
                    )
                if taken > turn:
                    continue
        edge = leaves or here != key or time >= ints[header.edge + slot]
        if edge and header.totals + 2 * header.most_closed > header.row:
            return GROW, turn
        if ends and ints[header.waiting + slot] != 0:
            steps = program[ints[header.waiting_class + slot] + QUICK]
            if (
                steps != 0
                and ints[header.waiting + slot] == 1
                and ints[header.chain + slot] < 0
                and (
                    header.group == 0
                    or ints[header.asleep + slot]
                    > ints[header.series + slot] + ints[header.mixed + slot] + 1
                )
            ):
                end_series(header, ints, doubles, program, steps, slot)
            else:
                end_moment(header, ints, doubles, program, slot, dynamic)
        if edge:
            _pass_edge(header, ints, doubles, program, slot, time, int(leaves), closing)
        if not closing:
            if here != key:
                ints[header.key + slot] = key
                ints[header.group_code + slot] = groups[turn]
            header.matched += 1
            ints[header.time + slot] = time
            wait(
                header,
                ints,
                doubles,
                kind,
                slot,
                addends,
                turn * header.addend,
                ranks,
                turn * header.rank,
            )
    return DONE, end


@wide_kernel
def _repeat_class(
    header: Any,
    ints: Ints,
    times: Ints,
    keys: Codes,
    codes: Ints,
    slot: int,
    turn: int,
    end: int,
    ordered: bool,
) -> int:
    """Let events from `turn` on wait together with a slot's series; return the first that does not.

    They are of its key, each after the one before, in the same windows, of the same class.
    """
    key, code = keys[turn], codes[turn]
    bound, time = ints[header.edge + slot], ints[header.time + slot]
    apart = 0 if ordered else 1  # how far apart moments are at least
    after = turn
    while after < end and codes[after] == code and keys[after] == key:
        now = times[after]
        if now < time + apart or now >= bound:
            break
        time = now
        after += 1
    ints[header.series + slot] += after - turn
    ints[header.time + slot] = time
    header.matched += after - turn
    return after


@wide_kernel
def _mix(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    times: Ints,
    keys: Codes,
    codes: Ints,
    known: Ints,
    slot: int,
    turn: int,
    end: int,
    ordered: bool,
) -> int:
    """Let events from `turn` on join a slot's mixture; return the first that does not.

    They are of its key, each after the one before, in the same windows, of classes of its family,
    and no burst is looked at. The latest is taken note of with the one behind it, as events of its
    time may follow.
    """
    key, bound, time = keys[turn], ints[header.edge + slot], ints[header.time + slot]
    apart = 0 if ordered else 1
    kind, series = ints[header.waiting_class + slot], ints[header.series + slot]
    first_kind, family = kind, program[kind + FAMILY]
    most = MOST_MOMENTS
    if header.group != 0:
        most = min(most, ints[header.asleep + slot] - 1)
    stop = min(end, turn + most - ints[header.mixed + slot] - series - 1)
    factors = header.factors + slot * header.noted
    after = turn
    while after < stop and keys[after] == key and codes[after] >= 0:
        now, other = times[after], known[codes[after]]
        if now < time + apart or now >= bound or other < 0 or program[other + FAMILY] != family:
            break
        if program[kind + NOTED] >= 0:
            doubles[factors + program[kind + NOTED]] *= 2.0
            doubles[factors + program[kind + BEHIND]] *= 0.5
        else:
            note(header, doubles, program, program[kind + QUICK], slot, ONCE)
        kind, time = other, now
        after += 1
    if after > turn:
        if series != 0:
            note(header, doubles, program, program[first_kind + QUICK], slot, series)
        ints[header.mixed + slot] += series + after - turn
        ints[header.series + slot] = 0
        ints[header.waiting_class + slot] = kind
        ints[header.time + slot] = time
        header.matched += after - turn
    return after


@wide_kernel(inline=True)
def _pass_edge(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    slot: int,
    time: int,
    leaves: int,
    closing: bool,
) -> None:
    """Close what ends at or before `time`, or all where the key leaves; open what holds it."""
    if header.group != 0:
        if leaves != 0:
            settle_slot(header, ints, doubles, program, slot)
        end_bursts(header, ints, doubles, slot)
        ints[header.last_class + slot] = -1
        if leaves != 0:
            clear_bursts(header, ints, doubles, program, slot)
    advance(header, ints, doubles, program, slot, time, leaves)
    if leaves != 0:
        ints[header.time + slot] = NEVER
        ints[header.key + slot] = -1
        if not closing:
            advance(header, ints, doubles, program, slot, time, 1 - leaves)
    elif closing:
        ints[header.time + slot] = max(ints[header.time + slot], time)
