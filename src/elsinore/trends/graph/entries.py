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
    EQUAL,
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
    HELD,
    LANES,
    MOVE,
    NONE,
    OF,
    OFFSET,
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
        holds = holds_between(header, ints, compared, move, here)
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
def holds_between(header: Any, ints: Ints, compared: Compared, move: int, entry: int) -> bool:
    """Return whether all conditions of a move hold between the event of an entry and this one."""
    first = move + MOVE
    for form in range(first, first + ints[move + ASKED] * BEGINS, BEGINS):
        if not _holds(header, ints, form, compared, entry):
            return False
    return True


@kernel(borrows=True, linked=True)
def _holds(header: Any, ints: Ints, form: int, compared: Compared, entry: int) -> bool:
    """Return whether attributes of the event of an entry and of this one compare as is allowed."""
    left, right = entry + ints[form + LEFT], ints[form + RIGHT] * header.rows + header.row
    return compared.known[right] != 0 and holds_by_code(
        ints, left, compared.codes[right], ints[form + ALLOWED]
    )


@kernel(borrows=True, inline=True)
def holds_by_code(ints: Ints, left: int, code: int, allowed: int) -> bool:
    """Return whether what an entry has somewhere is below, equal to or above a code, as allowed."""
    earlier = ints[left]
    outcome = LESS if earlier < code else EQUAL if earlier == code else GREATER
    return (outcome & allowed) != 0 and ints[left + 1] != 0


@kernel(borrows=True, inline=True)
def hold_attributes(header: Any, ints: Ints, compared: Compared, place: int, entry: int) -> None:
    """Put down in an entry of a state what later events are compared with."""
    attributes, here = ints[place + HELD], entry + header.held
    if attributes != ALL:
        for at in range(attributes + 1, attributes + 1 + ints[attributes]):
            column = ints[at] * header.rows + header.row
            ints[here], ints[here + 1] = compared.codes[column], compared.known[column]
            here += 2


@kernel(borrows=True, linked=True)
def begin_entry(
    header: Any, ints: Ints, doubles: Doubles, compared: Compared, link: int, place: int
) -> None:
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
    hold_attributes(header, ints, compared, place, here)
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
