"""Slots whose numbers have exponents, and those whose numbers are plain doubles.

A plain slot's cells are below 2**384, but for those that have just passed it: these get exponents
before anything else looks at them, as only normal numbers can be added up.
"""

from __future__ import annotations

from elsinore.numeric.kernels import normalise
from elsinore.trends.arrays import State
from elsinore.trends.wide import wide_kernel


@wide_kernel
def begin_exponents(state: State, slot: int) -> bool:
    """Give the numbers of a slot exponents; return whether there is room for them yet.

    If not, `normalise_cells` is to follow when there is.
    """
    state.big[slot] = 1
    if state.powers.shape[0] == 0:
        return False
    for cell in range(state.cells.shape[1]):
        mantissa, power = normalise(state.cells[slot, cell], state.powers[slot, cell])
        state.cells[slot, cell] = mantissa
        state.powers[slot, cell] = power
    return True


@wide_kernel
def normalise_cells(state: State) -> None:
    """Make normal all numbers of slots that were given exponents before there was room."""
    for slot in range(state.big.shape[0]):
        if state.big[slot] != 0:
            begin_exponents(state, slot)


@wide_kernel
def end_exponents(state: State, slot: int) -> None:
    """Let the numbers of an emptied slot be plain doubles again."""
    if state.big[slot] == 0:
        return
    state.big[slot] = 0
    if state.powers_before.shape[0] != 0:
        state.powers_before[slot] = 0
    if state.powers_added.shape[0] != 0:
        state.powers_added[slot] = 0
