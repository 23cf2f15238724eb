# cython: infer_types=True
"""NOT: whether a gap of a match is free of the matches that NOT forbids in it.

A *guard* belongs to a gap: before a match, between two of its events, or after it. One of its
*ways* must be free: no match of the patterns under NOT in it may lie in the gap. A pattern with a
*relation* forbids only matches that fulfil the relation's conditions. These read the event of the
NOT as the current one, or several events in registers, and the event after the gap as the previous
one (`elsinore.matches.relations`).
"""

from __future__ import annotations

import cython

from elsinore.matches.engine.codes import (
    CLASS,
    LISTED_COUNT,
    LISTED_EVENTS,
    LISTED_FIRST,
    LISTED_LAST,
    MOMENT,
    Index,
)
from elsinore.matches.engine.tables import Program, Search
from elsinore.operators.conditions.machine import all_hold, comparison_holds


@cython.inline
@cython.nogil
def hold(
    program: Program, search: Search, checks: Index, current: Index, previous: Index, before: Index
) -> cython.bint:
    """Return whether the conditions of a list are true of two rows.

    `before` is a row of the registers.
    """
    return all_hold(
        program.conditions,
        program.checks[checks].begin,
        program.checks[checks].end,
        search.values,
        current,
        search.values,
        previous,
        search,
        before,
        search.final,
    )


@cython.inline
@cython.nogil
def limit_holds(
    program: Program, search: Search, number: Index, current: Index, previous: Index, before: Index
) -> cython.bint:
    """Return whether a comparison is true of two rows; `before` is a row of the registers."""
    return comparison_holds(
        program.conditions, number, search.values, current, search.values, previous, search, before
    )


@cython.nogil
def last_before(search: Search, row: Index) -> cython.longlong:
    """Return the key's last row of an earlier moment than `row`; -1 if none."""
    moment: cython.longlong = search.values.integers[MOMENT, row]
    while row >= search.first_row and search.values.integers[MOMENT, row] == moment:
        row -= 1
    return row if row >= search.first_row else -1


@cython.nogil
def first_after(
    search: Search, rows: Index, begin: Index, end: Index, moment: cython.longlong
) -> Index:
    """Return the first place from `begin` to `end` whose row is after a moment, else `end`.

    `rows` is the row of `Values.buckets` that lists them; -1: places are rows.
    """
    while begin < end:
        middle: Index = (begin + end) // 2
        row: Index = middle if rows < 0 else search.values.buckets[rows, middle]
        if search.values.integers[MOMENT, row] <= moment:
            begin = middle + 1
        else:
            end = middle
    return begin


@cython.nogil
def is_free_between(
    program: Program, search: Search, guard: Index, row: Index, previous: Index, before: Index
) -> cython.bint:
    """Return whether the gap between row `previous` and a later row is free (see `is_free`)."""
    if program.guards[guard].is_free:
        return True
    moment: cython.longlong = search.values.integers[MOMENT, previous]
    last: cython.longlong = last_before(search, row)
    return is_free(program, search, guard, moment, last, row, before)


@cython.nogil
def is_free(
    program: Program,
    search: Search,
    guard: Index,
    moment: cython.longlong,
    last_row: Index,
    following: Index,
    before: Index,
) -> cython.bint:
    """Return whether some way of a guard has no match that begins after `moment`, up to a row.

    `last_row` is -1 if there is no such row. `following` is the row of the event after the gap,
    `before` is a row of the registers. Late relations forbid nothing until the match is complete.
    """
    if program.guards[guard].is_free or last_row < 0:
        return True
    search.gap_after = moment
    search.gap_last = last_row
    search.gap_next = following
    search.gap_before = before
    for way in range(program.guards[guard].ways, program.guards[guard].ways_end):
        free: cython.bint = True
        for place in range(program.ways[way].negatives, program.ways[way].negatives_end):
            negative: Index = program.negatives[place]
            if search.values.negatives[negative, last_row] > moment:
                free = not is_related(program, search, guard, negative)
            if not free:
                break
        if free:
            return True
    return False


@cython.nogil
def is_related(program: Program, search: Search, guard: Index, negative: Index) -> cython.bint:
    """Return whether the guard's relations forbid a match of a NOT in the gap.

    Without a relation each is forbidden.
    """
    for relation in range(program.guards[guard].relations, program.guards[guard].relations_end):
        if program.relations[relation].negative != negative:
            continue
        if search.final < 0 and program.relations[relation].is_late:
            return False
        if program.relations[relation].reads < program.relations[relation].reads_end:
            return is_match_forbidden(program, search, relation)
        return is_event_forbidden(program, search, relation)
    return True


@cython.nogil
def relation_holds(program: Program, search: Search, relation: Index, row: Index) -> cython.bint:
    """Return whether the conditions of a relation hold for a row of the gap."""
    checks: Index = program.relations[relation].checks
    return hold(program, search, checks, row, search.gap_next, search.gap_before)


@cython.nogil
def is_event_forbidden(program: Program, search: Search, relation: Index) -> cython.bint:
    """Return whether an event of the gap fulfils a relation.

    Rows are read from a bucket if there is one, and up to the relation's limits.
    """
    rows: Index = -1
    begin: Index = search.first_row
    end: Index = search.gap_last + 1
    bucket: Index = program.relations[relation].bucket
    if bucket >= 0:
        reference: Index = search.gap_next
        register: Index = program.buckets[bucket].register
        if register >= 0:
            reference = search.bound_rows[search.gap_before, register]
        if reference >= 0:
            rows = program.buckets[bucket].rows
            begin = search.values.buckets[rows + 1, reference]
            end = search.values.buckets[rows + 2, reference]
    row: Index
    for place in range(first_after(search, rows, begin, end, search.gap_after), end):
        row = place if rows < 0 else search.values.buckets[rows, place]
        if row > search.gap_last:
            return False
        number: Index = search.values.integers[CLASS, row]
        if number < 0 or not program.forbids[program.relations[relation].negative, number]:
            continue
        if relation_holds(program, search, relation, row):
            return True
        if is_past(program, search, relation, row):
            return False
    return False


@cython.nogil
def is_past(program: Program, search: Search, relation: Index, row: Index) -> cython.bint:
    """Return whether no later row fulfils the limits of a relation."""
    for place in range(program.relations[relation].limits, program.relations[relation].limits_end):
        limit: Index = program.limits[place]
        if not limit_holds(program, search, limit, row, search.gap_next, search.gap_before):
            return True
    return False


@cython.nogil
def is_match_forbidden(program: Program, search: Search, relation: Index) -> cython.bint:
    """Return whether a listed match in the gap fulfils a relation.

    The events at each place of the list are written to the relation's registers, which nothing else
    reads.
    """
    place: Index = program.relations[relation].listed
    end: cython.longlong = program.relations[relation].listed_end
    last: cython.longlong = end
    row: Index
    while place < last:  # the first match of the key that begins after the moment
        middle: Index = (place + last) // 2
        row = search.values.listed[LISTED_FIRST, middle]
        if row < search.first_row or (
            row <= search.gap_last and search.values.integers[MOMENT, row] <= search.gap_after
        ):
            place = middle + 1
        else:
            last = middle
    reads: Index = program.relations[relation].reads
    while place < end and search.values.listed[LISTED_FIRST, place] <= search.gap_last:
        after: cython.longlong = place + search.values.listed[LISTED_COUNT, place]
        holds: cython.bint = search.values.listed[LISTED_LAST, place] <= search.gap_last
        while holds and place < after:
            for read in range(program.relations[relation].reads_end - reads):
                search.bound_rows[search.gap_before, program.reads[reads + read]] = (
                    search.values.listed[LISTED_EVENTS + read, place]
                )
            holds = relation_holds(program, search, relation, -1)
            place += 1
        if holds:
            return True
        place = after
    return False
