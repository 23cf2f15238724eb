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
    program: Program,
    search: Search,
    begin: Index,
    end: Index,
    current: Index,
    previous: Index,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether the conditions of a range of lists are true of two rows.

    `before` and `final` are rows of the registers.
    """
    return all_hold(
        program.conditions,
        begin,
        end,
        search.values,
        current,
        search.values,
        previous,
        search,
        before,
        final,
    )


@cython.inline
@cython.nogil
def limit_holds(
    program: Program,
    search: Search,
    number: Index,
    current: Index,
    previous: Index,
    before: cython.longlong,
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
def is_free_between(
    program: Program,
    search: Search,
    guard: Index,
    row: Index,
    previous: Index,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether the gap between row `previous` and a later row is free (see `is_free`)."""
    if program.guards[guard].is_free:
        return True
    moment: cython.longlong = search.values.integers[MOMENT, previous]
    last: cython.longlong = last_before(search, row)
    return is_free(program, search, guard, moment, last, row, before, final)


@cython.nogil
def is_free(
    program: Program,
    search: Search,
    guard: Index,
    moment: cython.longlong,
    last_row: Index,
    following: Index,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether some way of a guard has no match that begins after `moment`, up to a row.

    `last_row` is -1 if there is no such row. `following` is the row of the event after the gap,
    `before` and `final` are rows of the registers. `final` is -1 while the match is not complete:
    late relations then forbid nothing.
    """
    if program.guards[guard].is_free or last_row < 0:
        return True
    search.gap_after = moment
    search.gap_last = last_row
    search.gap_next = following
    search.gap_before = before
    search.gap_final = final
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
        if search.gap_final < 0 and program.relations[relation].is_late:
            return False
        if program.relations[relation].reads < program.relations[relation].reads_end:
            return is_match_forbidden(program, search, relation)
        return is_event_forbidden(program, search, relation)
    return True


@cython.nogil
def relation_holds(program: Program, search: Search, relation: Index, row: Index) -> cython.bint:
    """Return whether the conditions of a relation hold for a row of the gap."""
    begin: Index = program.relations[relation].conditions
    end: Index = program.relations[relation].conditions_end
    return hold(
        program, search, begin, end, row, search.gap_next, search.gap_before, search.gap_final
    )


@cython.nogil
def is_event_forbidden(program: Program, search: Search, relation: Index) -> cython.bint:
    """Return whether an event of the gap fulfils a relation.

    Rows are read from a bucket if there is one, and up to the relation's limits.
    """
    rows: Index = -1
    begin: cython.longlong = search.first_row
    end: cython.longlong = search.gap_last + 1
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
    last: cython.longlong = end
    row: Index
    while begin < last:  # the first row after the moment
        middle: Index = (begin + last) // 2
        row = middle if rows < 0 else search.values.buckets[rows, middle]
        if search.values.integers[MOMENT, row] <= search.gap_after:
            begin = middle + 1
        else:
            last = middle
    for place in range(begin, end):
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
