"""NOT: whether a gap of a match is free of what NOT forbids in it.

A *guard* belongs to a gap: before a match, between two of its events, or after it. One of its
*ways* must be free: no match of the patterns under NOT in it may lie in the gap. A pattern with a
*relation* forbids only what fulfils the relation's conditions. These read the event of the NOT as
the current one, or several events in registers, and the event after the gap as the previous one
(`elsinore.matches.relations`).
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
)
from elsinore.matches.engine.tables import Match, Program, Values
from elsinore.operators.conditions.machine import all_hold, comparison_holds


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def last_before(
    values: Values, row: cython.longlong, first_row: cython.longlong
) -> cython.longlong:
    """Return the last row, from `first_row` on, of an earlier moment than `row`; -1 if none."""
    moment: cython.longlong = values.integers[MOMENT, row]
    while row >= first_row and values.integers[MOMENT, row] == moment:
        row -= 1
    return row if row >= first_row else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_free_between(
    program: Program,
    values: Values,
    match: Match,
    guard: cython.int,
    row: cython.longlong,
    previous: cython.longlong,
    first_row: cython.longlong,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether the gap between row `previous` and a later row is free (see `is_free`)."""
    if program.guards[guard].is_free:
        return True
    moment: cython.longlong = values.integers[MOMENT, previous]
    last: cython.longlong = last_before(values, row, first_row)
    return is_free(program, values, match, guard, moment, last, first_row, row, before, final)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_free(
    program: Program,
    values: Values,
    match: Match,
    guard: cython.int,
    moment: cython.longlong,
    last_row: cython.longlong,
    first_row: cython.longlong,
    following: cython.longlong,
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
    way: cython.int
    place: cython.int
    relation: cython.int
    for way in range(program.guards[guard].ways, program.guards[guard].ways_end):
        free: cython.bint = True
        for place in range(program.ways[way].negatives, program.ways[way].negatives_end):
            negative: cython.int = program.negatives[place]
            if values.negatives[negative, last_row] <= moment:
                continue
            relation = program.guards[guard].relations
            while (
                relation < program.guards[guard].relations_end
                and program.relations[relation].negative != negative
            ):
                relation += 1
            if relation < program.guards[guard].relations_end:
                if final < 0 and program.relations[relation].is_late:
                    continue
                if not is_forbidden(
                    program,
                    values,
                    match,
                    relation,
                    moment,
                    last_row,
                    first_row,
                    following,
                    before,
                    final,
                ):
                    continue
            free = False
            break
        if free:
            return True
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_forbidden(
    program: Program,
    values: Values,
    match: Match,
    relation: cython.int,
    moment: cython.longlong,
    last_row: cython.longlong,
    first_row: cython.longlong,
    following: cython.longlong,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether an event after `moment` up to a row fulfils a relation.

    Rows are read from a bucket if there is one, and up to the relation's limits. Of a pattern of
    several events, see `is_match_forbidden`.
    """
    if program.relations[relation].reads < program.relations[relation].reads_end:
        return is_match_forbidden(
            program,
            values,
            match,
            relation,
            moment,
            last_row,
            first_row,
            following,
            before,
            final,
        )
    rows: cython.int = -1
    begin: cython.longlong = first_row
    end: cython.longlong = last_row + 1
    bucket: cython.int = program.relations[relation].bucket
    if bucket >= 0:
        reference: cython.longlong = following
        register: cython.int = program.buckets[bucket].register
        if register >= 0:
            reference = match.held[before, register]
        if reference >= 0:
            rows = program.buckets[bucket].rows
            begin = values.buckets[rows + 1, reference]
            end = values.buckets[rows + 2, reference]
    last: cython.longlong = end
    row: cython.longlong
    while begin < last:  # the first row after the moment
        middle: cython.longlong = (begin + last) // 2
        row = middle if rows < 0 else values.buckets[rows, middle]
        if values.integers[MOMENT, row] <= moment:
            begin = middle + 1
        else:
            last = middle
    place: cython.longlong
    for place in range(begin, end):
        row = place if rows < 0 else values.buckets[rows, place]
        if row > last_row:
            return False
        number: cython.longlong = values.integers[CLASS, row]
        if number < 0 or not program.forbids[program.relations[relation].negative, number]:
            continue
        if all_hold(
            program.conditions,
            program.relations[relation].conditions,
            program.relations[relation].conditions_end,
            values,
            row,
            values,
            following,
            match,
            before,
            final,
        ):
            return True
        if is_past(program, values, match, relation, row, following, before):
            return False
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_match_forbidden(
    program: Program,
    values: Values,
    match: Match,
    relation: cython.int,
    moment: cython.longlong,
    last_row: cython.longlong,
    first_row: cython.longlong,
    following: cython.longlong,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether a listed match that begins after `moment` up to a row fulfils a relation."""
    place: cython.longlong = program.relations[relation].listed
    end: cython.longlong = program.relations[relation].listed_end
    last: cython.longlong = end
    row: cython.longlong
    while place < last:  # the first match of the key that begins after the moment
        middle: cython.longlong = (place + last) // 2
        row = values.listed[LISTED_FIRST, middle]
        if row < first_row or (row <= last_row and values.integers[MOMENT, row] <= moment):
            place = middle + 1
        else:
            last = middle
    while place < end and values.listed[LISTED_FIRST, place] <= last_row:
        after: cython.longlong = place + values.listed[LISTED_COUNT, place]
        if values.listed[LISTED_LAST, place] <= last_row:
            while place < after and listed_holds(
                program, values, match, relation, place, following, before, final
            ):
                place += 1
            if place == after:
                return True
        place = after
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def listed_holds(
    program: Program,
    values: Values,
    match: Match,
    relation: cython.int,
    place: cython.longlong,
    following: cython.longlong,
    before: cython.longlong,
    final: cython.longlong,
) -> cython.bint:
    """Return whether the events at a place of the list fulfil a relation.

    They are put into its registers, which nothing else reads.
    """
    reads: cython.int = program.relations[relation].reads
    read: cython.int
    for read in range(program.relations[relation].reads_end - reads):
        register: cython.int = program.reads[reads + read]
        match.held[before, register] = values.listed[LISTED_EVENTS + read, place]
    return all_hold(
        program.conditions,
        program.relations[relation].conditions,
        program.relations[relation].conditions_end,
        values,
        -1,
        values,
        following,
        match,
        before,
        final,
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_past(
    program: Program,
    values: Values,
    match: Match,
    relation: cython.int,
    row: cython.longlong,
    following: cython.longlong,
    before: cython.longlong,
) -> cython.bint:
    """Return whether no later row fulfils the limits of a relation."""
    place: cython.int
    for place in range(program.relations[relation].limits, program.relations[relation].limits_end):
        number: cython.int = program.limits[place]
        if not comparison_holds(
            program.conditions, number, values, row, values, following, match, before
        ):
            return True
    return False
