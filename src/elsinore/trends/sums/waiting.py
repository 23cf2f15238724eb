# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The moment that waits in a slot: how an event becomes its first, or joins it.

Simultaneous events do not precede one another. So a key's latest moment waits until a later event
comes or a window ends; meanwhile events of one class in turn are one *run*: how many they are, the
sum of each of their addends and the least of each of their ranks. The first run of a moment lies in
its slot, the others in a list of their own. In place of the first may be what events of any class
add, known when they came (GAINING; GAINED before further runs; see `elsinore.trends.core.gains`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.kernels import take
from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.wide import wide_kernel

# in place of how many events wait: what those so far add is known, of all, or of the first ones
GAINING, GAINED = np.int64(-1), np.int64(-2)


@wide_kernel(inline=True)
def bring(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    slot: int,
    addends: Doubles,
    first_addend: int,
    ranks: Ints,
    first_rank: int,
) -> None:
    """Let an event's addends and ranks be the first of its slot's moment."""
    to = header.waiting_addends + slot * header.addend
    for number in range(header.addend):
        doubles[to + number] = addends[first_addend + number]
    to = header.waiting_ranks + slot * header.rank
    for number in range(header.rank):
        ints[to + number] = ranks[first_rank + number]


@wide_kernel(inline=True)
def join_events(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    to: int,
    to_rank: int,
    addends: Doubles,
    first_addend: int,
    ranks: Ints,
    first_rank: int,
) -> None:
    """Let the addends and ranks at some places be those of the events there and of others."""
    for number in range(header.addend):
        doubles[to + number] += addends[first_addend + number]
    for number in range(header.rank):
        ints[to_rank + number] = min(ints[to_rank + number], ranks[first_rank + number])


@wide_kernel(inline=True)
def wait(header: Any, ints: Ints, kind: int, slot: int) -> None:
    """Let the event that was brought last be the first of its slot's moment."""
    ints[header.waiting + slot] = 1
    ints[header.since + slot] = ints[header.time + slot]
    ints[header.waiting_class + slot] = kind


@wide_kernel(linked=True)
def join(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    kind: int,
    slot: int,
    addends: Doubles,
    first_addend: int,
    ranks: Ints,
    first_rank: int,
) -> bool:
    """Let an event join the moment of its slot; return False where there is no room for it yet."""
    last, waiting = ints[header.chain + slot], ints[header.waiting + slot]
    if waiting >= 0 and last < 0 and ints[header.waiting_class + slot] == kind:
        ints[header.waiting + slot] += 1
        to = header.waiting_addends + slot * header.addend
        to_rank = header.waiting_ranks + slot * header.rank
    elif last >= 0 and ints[header.run_class + last] == kind:
        ints[header.run_events + last] += 1
        to = header.run_addends + last * header.addend
        to_rank = header.run_ranks + last * header.rank
    else:
        run = take(ints, header.run_free)
        if run < 0:
            return False
        ints[header.run_next + run] = last
        ints[header.chain + slot] = run
        if waiting < 0:
            ints[header.waiting + slot] = GAINED
        ints[header.run_class + run] = kind
        ints[header.run_events + run] = 1
        to = header.run_addends + run * header.addend
        for number in range(header.addend):
            doubles[to + number] = addends[first_addend + number]
        to = header.run_ranks + run * header.rank
        for number in range(header.rank):
            ints[to + number] = ranks[first_rank + number]
        return True
    join_events(header, ints, doubles, to, to_rank, addends, first_addend, ranks, first_rank)
    return True
