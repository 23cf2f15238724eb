# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Events one after another of slots whose moments wait as gains: most, where many are simultaneous.

A kernel of its own, so that the loop over all events (`elsinore.trends.run`) stays as small where
no two events are simultaneous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.acting import gain
from elsinore.trends.class_layout import QUICK
from elsinore.trends.core.arrays import Columns, Doubles, Ints, Shares
from elsinore.trends.core.gains import add_gains_of
from elsinore.trends.waiting import GAINING, bring
from elsinore.trends.wide import wide_kernel


@wide_kernel(linked=True)
def gain_along(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    program: Ints,
    events: Columns,
    turn: int,
    shares: Shares,
) -> int:
    """Let events from `turn` on join the gains of their slots, or begin new ones after these.

    Event `turn` is of the key that its slot has. Returns the first that does not: at which a window
    ends, that had better wait as a series, that has no gains, or whose slot has something else
    waiting.
    """
    times, keys, codes, known = events.times, events.keys, events.codes, events.known
    one_slot, first = header.one_slot != 0, keys[turn]
    at, end = np.uint64(turn), np.uint64(header.end)  # a place not below 0 costs less
    while at < end:
        code = codes[at]
        if code < 0:
            at += np.uint64(1)
            continue
        kind, key, time = known[np.uint64(code)], np.int64(keys[at]), times[at]
        slot = 0 if one_slot else key
        before = ints[np.uint64(header.time + slot)]
        if (
            kind < 0
            or (one_slot and keys[at] != first)  # a key's own slot has gains of none but it
            or ints[np.uint64(header.waiting + slot)] != GAINING
            or time < before
            or time >= ints[np.uint64(header.edge + slot)]
        ):
            break
        after = at + np.uint64(1)
        followed = after < end and keys[after] == keys[at]
        if followed and time != before and program[kind + QUICK] != 0:
            break
        add_gains_of(header, ints, doubles, slot, time - before)
        row = np.int64(at)
        addend, rank = row * header.addend, row * header.rank
        bring(header, ints, doubles, slot, events.addends, addend, events.ranks, rank)
        if not gain(header, ints, doubles, program, kind, slot, shares):
            break
        ints[np.uint64(header.time + slot)] = time
        header.matched += 1
        at = after
    return np.int64(at)
