# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Lists of single events whose trends may be followed, where a move asks for something of both.

An entry is an event with sums of all lanes; a lane that has gone on with it has no trends there any
more. Entries of all slots are in one place, those that are free in a list of their own.
"""

from __future__ import annotations

from typing import Any

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.graph.interpret import (
    ALLOWED,
    BEGINS,
    BY_CODE,
    EQUAL,
    FORM,
    GREATER,
    LEFT,
    LESS,
    RIGHT,
)
from elsinore.trends.graph.records import (
    ALIVE,
    ALL,
    ASKED,
    BEFORE,
    ENTRY,
    FOLLOWING,
    LANES,
    MOVE,
    NONE,
    OF,
    OFFSET,
    ROW,
    TAKEN,
    Compared,
    add_all,
    add_some,
    lane_before,
)
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True, linked=True)
def mark_lanes(ints: Ints, doubles: Doubles, move: int, lanes: int, marks: int) -> None:
    """Note which lanes of the state before end where they are, as some have gone on with them."""
    if lanes == ALL:
        for lane in range(ints[move + OF]):
            doubles[marks + lane] = 1.0
    else:
        for at in range(lanes + 1, lanes + 1 + ints[lanes]):
            doubles[marks + lane_before(ints, move, ints[at])] = 1.0


@kernel(borrows=True, linked=True)
def end_some(
    header: Any, ints: Ints, doubles: Doubles, move: int, lanes: int, sums: int, extremes: int
) -> None:
    """Take the trends that some lanes have gone on with from what stands somewhere before them."""
    for at in range(lanes + 1, lanes + 1 + ints[lanes]):
        lane = lane_before(ints, move, ints[at])
        _end_lane(header, ints, doubles, lane, ints[move + OF], sums, extremes)


@kernel(borrows=True, linked=True)
def _end_lane(
    header: Any, ints: Ints, doubles: Doubles, lane: int, several: int, sums: int, extremes: int
) -> None:
    """Take the trends of one of several lanes from what stands somewhere."""
    for cell in range(lane, several * header.fields, several):
        doubles[sums + cell] = 0.0
    for rank in range(lane, several * header.extremes, several):
        ints[extremes + rank] = FOREVER


@kernel(borrows=True, linked=True)
def _any(doubles: Doubles, sums: int, several: int) -> bool:
    """Return whether some lane has trends."""
    for lane in range(sums, sums + several):  # noqa: SIM110  (compiled as it stands)
        if doubles[lane] != 0.0:
            return True
    return False


@kernel(borrows=True, linked=True)
def take_entries(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    compared: Compared,
    move: int,
    place: int,
    lanes: int,
) -> None:
    """Add to scratch what ends in events of a state that a move's conditions hold of; see `_take`.

    What every lane has gone on with leaves the list.
    """
    states, before = header.states, ints[move + OF]
    base = header.slot_ints
    link = base + ALIVE + states + ints[move + BEFORE]  # the word that leads to the entry
    contiguous = header.contiguous != 0
    entry = ints[link]
    while entry != NONE:
        here = header.int_entries + entry * header.int_entry
        sums = header.double_entries + entry * header.double_entry
        following = ints[here + FOLLOWING]
        holds = holds_between(header, ints, compared, move, ints[here + ROW])
        left = not holds or contiguous or header.waits != 0
        if holds and lanes == ALL:
            add_all(header, ints, doubles, place, move, sums, here + ENTRY)
        elif holds:
            add_some(header, ints, doubles, place, move, lanes, sums, here + ENTRY)
        if holds and not contiguous:
            if header.waits != 0:
                mark_lanes(ints, doubles, move, lanes, sums + before * header.fields)
                ints[base + ALIVE + 2 * states + ints[move + BEFORE]] |= TAKEN
            elif lanes != ALL:
                end_some(header, ints, doubles, move, lanes, sums, here + ENTRY)
                left = _any(doubles, sums, before)
        if left:
            link = here + FOLLOWING
        else:
            ints[link] = following
            _free(header, ints, entry)
        entry = following


@kernel(borrows=True, linked=True)
def holds_between(header: Any, ints: Ints, compared: Compared, move: int, earlier: int) -> bool:
    """Return whether all conditions of a move hold between an earlier event and this one."""
    first = move + MOVE
    for form in range(first, first + ints[move + ASKED] * BEGINS, BEGINS):
        if not _holds(header, ints, form, compared, earlier):
            return False
    return True


@kernel(borrows=True, linked=True)
def _holds(header: Any, ints: Ints, form: int, compared: Compared, earlier: int) -> bool:
    """Return whether a comparison of two attributes holds between an earlier event and this one."""
    left = ints[form + LEFT] * header.rows + earlier
    right = ints[form + RIGHT] * header.rows + header.row
    if compared.known[left] == 0 or compared.known[right] == 0:
        return False
    below, same, above = False, False, False
    if ints[form + FORM] == BY_CODE:
        code, with_code = compared.codes[left], compared.codes[right]
        below, same, above = code < with_code, code == with_code, code > with_code
    else:
        number, other = compared.numbers[left], compared.numbers[right]
        below, same, above = number < other, number == other, number > other
    allowed = ints[form + ALLOWED]
    return bool(
        (below and allowed & LESS) or (same and allowed & EQUAL) or (above and allowed & GREATER)
    )


@kernel(borrows=True, linked=True)
def begin_entry(header: Any, ints: Ints, doubles: Doubles, link: int, place: int) -> None:
    """Put scratch's sums of a state into a list as an entry; there is room for it."""
    several, offset = ints[place + LANES], ints[place + OFFSET]
    width, ranks = several * header.fields, several * header.extremes
    entry = header.unused
    if entry == NONE:
        entry = header.entries
        header.entries += 1
    else:
        header.unused = ints[header.int_entries + entry * header.int_entry + FOLLOWING]
    here = header.int_entries + entry * header.int_entry
    sums = header.double_entries + entry * header.double_entry
    ints[here + ROW] = header.row
    ints[here + FOLLOWING] = ints[link]
    ints[link] = entry
    for cell in range(width):
        doubles[sums + cell] = doubles[offset * header.fields + cell]
    for lane in range(several):
        doubles[sums + width + lane] = 0.0
    for rank in range(ranks):
        ints[here + ENTRY + rank] = ints[header.scratch + offset * header.extremes + rank]


@kernel(borrows=True, linked=True)
def end_marked(
    header: Any, ints: Ints, doubles: Doubles, several: int, marks: int, sums: int, extremes: int
) -> bool:
    """Take the trends of the lanes that are marked from what stands somewhere.

    Returns whether any are left.
    """
    left = False
    for lane in range(several):
        if doubles[marks + lane] != 0.0:
            doubles[marks + lane] = 0.0
            _end_lane(header, ints, doubles, lane, several, sums, extremes)
        elif doubles[sums + lane] != 0.0:
            left = True
    return left


@kernel(borrows=True, linked=True)
def end_entries(header: Any, ints: Ints, doubles: Doubles, link: int, several: int) -> None:
    """Take the trends that are marked from a list of entries; those without any leave it."""
    while ints[link] != NONE:
        entry = ints[link]
        here = header.int_entries + entry * header.int_entry
        sums = header.double_entries + entry * header.double_entry
        marks = sums + several * header.fields
        if end_marked(header, ints, doubles, several, marks, sums, here + ENTRY):
            link = here + FOLLOWING
        else:
            ints[link] = ints[here + FOLLOWING]
            _free(header, ints, entry)


@kernel(borrows=True, linked=True)
def prepend(header: Any, ints: Ints, waiting: int, link: int) -> None:
    """Put all of a list of entries before another."""
    last = waiting
    while ints[last] != NONE:
        last = header.int_entries + ints[last] * header.int_entry + FOLLOWING
    ints[last] = ints[link]
    ints[link] = ints[waiting]
    ints[waiting] = NONE


@kernel(borrows=True, linked=True)
def _free(header: Any, ints: Ints, entry: int) -> None:
    ints[header.int_entries + entry * header.int_entry + FOLLOWING] = header.unused
    header.unused = entry


@kernel(borrows=True, linked=True)
def free_all(header: Any, ints: Ints, link: int) -> None:
    """Free a list of entries."""
    entry = ints[link]
    while entry != NONE:
        following = ints[header.int_entries + entry * header.int_entry + FOLLOWING]
        _free(header, ints, entry)
        entry = following
    ints[link] = NONE
