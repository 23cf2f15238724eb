"""Sequences and Kleene patterns by a plain automaton, as XSeq finds them in the SASE++ paper.

XSeq's program is not public. This follows Section 6.4 of SASE++: from each event that may begin a
match, the automaton reads all later events of the input. Time is an attribute like any other, so
WITHIN is tested when a match is complete and prunes nothing, and all matches of each beginning are
found ("All Match Skip One"). Compiled by Numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

ROOM = 1_024  # initial capacity in matches


@njit(nogil=True)  # type: ignore[untyped-decorator]
def find_matches(kinds: Any, times: Any, passes: Any, steps: Any, repeats: Any, within: int) -> Any:
    """Return the first and the last time of each match, and the number of its repeated events.

    Step n of the pattern takes events of kind `steps[n]`, and, where `repeats[n]`, further ones if
    they pass, as the first one of it must; `passes` [event] is of repeated steps alone.
    """
    size, last = len(kinds), len(steps) - 1
    found = np.empty((ROOM, 3), dtype=np.int64)
    rows = 0
    events = np.zeros(size + 1, dtype=np.int64)  # of the match under way
    at_step = np.zeros(size + 1, dtype=np.int64)
    next_event = np.zeros(size + 1, dtype=np.int64)
    next_stays = np.zeros(size + 1, dtype=np.int64)  # 0: the next step is looked at, 1: this one
    for begin in range(size):
        if kinds[begin] != steps[0]:
            continue
        depth = 0
        events[0], at_step[0], next_event[0], next_stays[0] = begin, 0, begin + 1, 0
        while depth >= 0:
            event, step = next_event[depth], at_step[depth]
            if event == size:
                depth -= 1
                continue
            target = step
            if next_stays[depth] == 0:
                next_stays[depth] = 1
                target = step + 1
            else:
                next_stays[depth] = 0
                next_event[depth] = event + 1
                if not repeats[step]:
                    continue
            if target > last or kinds[event] != steps[target]:
                continue
            if repeats[target] and not passes[event]:
                continue
            depth += 1
            events[depth], at_step[depth] = event, target
            next_event[depth], next_stays[depth] = event + 1, 0
            if target == last and times[event] - times[begin] <= within:
                if rows == len(found):
                    wider = np.empty((2 * rows, 3), dtype=np.int64)
                    wider[:rows] = found
                    found = wider
                found[rows, 0], found[rows, 1], found[rows, 2] = times[begin], times[event], 0
                for place in range(depth + 1):
                    found[rows, 2] += repeats[at_step[place]]
                rows += 1
    return found[:rows]


def matches(
    events: pa.Table, steps: Sequence[str], repeated: Sequence[str], within: int
) -> pa.Table:
    """Return the matches of two steps or more, as a table of their first and last time and number.

    `n` is the number of events of repeated steps, which have `v` above 0.5.

    >>> rows = pa.table({"time": [0, 1, 2, 3], "type": list("ABBC"), "v": [0.0, 0.6, 0.7, 0.0]})
    >>> matches(rows, "ABC", "B", 10)["n"].to_pylist()
    [2, 1, 1]
    """
    names = list(dict.fromkeys(steps))
    codes = pc.fill_null(pc.index_in(events["type"], pa.array(names)), -1).to_numpy()
    times, passes = events["time"].to_numpy(), events["v"].to_numpy() > 0.5
    numbers = np.array([names.index(step) for step in steps])
    again = np.array([step in repeated for step in steps], dtype=np.int64)
    found = find_matches(codes, times, passes, numbers, again, within)
    return pa.table(dict(zip("acn", np.ascontiguousarray(found.T), strict=True)))
