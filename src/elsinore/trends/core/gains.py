# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Gains: what the events of a key's present moment add to its cells, until the moment is over.

Simultaneous events read what was before them. What each adds is a sum of products of that and of
what it brings, so it is known when the event comes, whatever others of its time follow; but it must
not be read by these. So it is added to the gains of the key's cells, and these to the cells when
the moment is over: a moment of several events costs little more than as many of one. Gains lie
behind the cells of their key: to whichever an event adds, a list of cells tells it by one number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.numbers import LIMIT, normal, plus
from elsinore.trends.core.wide import wide_kernel

FEW = 8  # cells to which it costs less to add nothing than to be wrong about whether to


@wide_kernel(inline=True)
def add_gains(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Add a slot's gains to its cells; there are none after it."""
    if ints[header.big + slot] != 0:
        _add_with_powers(header, ints, doubles, slot)
        return
    base, gained = header.cells + slot * header.cell, np.uint64(header.gained)
    cells, gains = np.uint64(base + header.ungained), np.uint64(base + header.cell) - gained
    passed = False
    for cell in range(gained):
        after = doubles[cells + cell] + doubles[gains + cell]
        doubles[cells + cell] = after
        doubles[gains + cell] = 0.0
        passed |= not abs(after) < LIMIT
    if passed:
        _add_with_powers(header, ints, doubles, slot)


@wide_kernel(inline=True)
def add_few(doubles: Doubles, cells: int, gains: int, gained: int, apart: int) -> bool:
    """Add so many gains to cells if their moment is over, without a branch; none has a power.

    Whether an event is of another moment than the one before nobody can foretell. apart: by how
    much; not 0 where that does not fit into 64 bits, either. Returns whether some cell may have
    passed 2**512.
    """
    share = min(abs(float(apart)), 1.0)  # as a choice of two numbers it is compiled to a branch
    size = 0.0
    for cell in range(gained):
        gain = doubles[gains + cell]
        moved = gain * share  # all of it, or nothing
        after = doubles[cells + cell] + moved
        doubles[cells + cell] = after
        doubles[gains + cell] = gain - moved
        size += abs(after)
    return not size < LIMIT


@wide_kernel(linked=True)
def get_cells_powers(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Bring a slot's cells that have gains, and had no powers, into their normal form."""
    to = slot * header.cell + header.ungained
    cells, powers = header.cells + to, header.powers + to
    for cell in range(header.gained):
        number, power = normal(doubles[cells + cell], 0.0)
        doubles[cells + cell], doubles[powers + cell] = number, power
    ints[header.big + slot] = 1


@wide_kernel(linked=True)
def _add_with_powers(header: Any, ints: Ints, doubles: Doubles, slot: int) -> None:
    """Do so where numbers have powers, or get them."""
    to = slot * header.cell + header.ungained
    cells, powers = header.cells + to, header.powers + to
    gains = header.cells + (slot + 1) * header.cell - header.gained
    for cell in range(header.gained):
        number, power = plus(
            doubles[cells + cell], doubles[powers + cell], doubles[gains + cell], 0.0
        )
        doubles[cells + cell], doubles[powers + cell] = number, power
        doubles[gains + cell] = 0.0
    ints[header.big + slot] = 1
