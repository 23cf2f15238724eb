# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Mixtures: moments of one event each, of several classes, composed lane by lane.

Events of one type that differ in their predicates act on runs of lanes: of queries `b.v < t_i` on
those of the greater thresholds. Where no such event reads what another of them changes, their order
does not matter, and what any number of them does to a lane is told by how many of them take it
(`elsinore.trends.core.step.compose`). Classes of which that is so are a *family*. An event then
costs two numbers: one more at the first lane of its run, one less at the one behind its last. When
something else needs the lanes, the sum of what is before a lane is how many events take it.

A family is the number of its spans, and of each its block, first cell, source's cell, whether that
is one for all lanes, lanes, whether they are their own predecessors, and whether the next span
begins right behind it. Steps lie within spans.

What else comes meanwhile may touch few of those lanes: change their source, say. Only these are
composed then, and the mixture goes on. What a class touches is the number of its runs of lanes, and
of each the family, its block, first cell, source's cell, whether that is one for all lanes, lanes
(0: too many, and the mixture ends), whether they are their own predecessors, and the first cell of
the spans that lie beside one another up to there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from elsinore.trends.core.arrays import Doubles, Ints
from elsinore.trends.core.step import BLOCK, FIRST, LANES, LENGTH, compose
from elsinore.trends.core.wide import wide_kernel

# the words of a span
SPAN_BLOCK, SPAN_CELL, SPAN_SOURCE, SPAN_ONE, SPAN_LANES, SPAN_LOOP, SPAN_GOES_ON = range(7)
SPAN_WORDS = 7

# the words of a run of lanes that a class touches
RUN_FAMILY, RUN_BLOCK, RUN_CELL, RUN_SOURCE, RUN_ONE, RUN_LANES, RUN_LOOP, RUN_BEGIN = range(8)
RUN_WORDS = 8


@wide_kernel(linked=True)
def note(header: Any, ints: Ints, program: Ints, steps: int, slot: int, moments: int) -> None:
    """Take note of moments of one event each, the list of whose class's steps is at `steps`.

    With those noted before they are MOST_MOMENTS at most.
    """
    at = steps + 1
    begin = header.counts + slot * header.noted
    for _ in range(program[steps]):
        first = begin + program[at + FIRST] + program[at + BLOCK]
        ints[first] += moments
        ints[first + program[at + LANES]] -= moments
        at += program[at + LENGTH]


@wide_kernel(linked=True)
def end_mixture(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, family: int, slot: int
) -> None:
    """Let the moments that were noted act."""
    ints[header.mixed + slot] = 0
    at = family + 1
    count = 0
    for _ in range(program[family]):
        lanes = program[at + SPAN_LANES]
        first = header.counts + slot * header.noted
        first += program[at + SPAN_CELL] + program[at + SPAN_BLOCK]
        most = 0
        for place in range(np.uint64(first), np.uint64(first + lanes)):
            count += ints[place]
            ints[place] = count
            most |= count
        if most != 0:
            cell, source = program[at + SPAN_CELL], program[at + SPAN_SOURCE]
            one, loop = program[at + SPAN_ONE], program[at + SPAN_LOOP]
            compose(header, ints, doubles, slot, cell, source, one, lanes, loop, first)
        if program[at + SPAN_GOES_ON] == 0:
            ints[first + lanes] = 0
            count = 0
        at += SPAN_WORDS


@wide_kernel(linked=True)
def compose_touched(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, touches: int, family: int, slot: int
) -> bool:
    """Let the moments that were noted act on the lanes of a family that a class touches.

    Returns False, and does nothing, where these are too many.
    """
    at = touches + 1
    for _ in range(program[touches]):
        if program[at + RUN_FAMILY] == family:
            if program[at + RUN_LANES] == 0:
                return False
            _compose_run(header, ints, doubles, program, at, slot)
        at += RUN_WORDS
    return True


@wide_kernel(linked=True)
def _compose_run(
    header: Any, ints: Ints, doubles: Doubles, program: Ints, at: int, slot: int
) -> None:
    """Let the moments that were noted act on a run of lanes, which none of them takes after it."""
    begin = header.counts + slot * header.noted + program[at + RUN_BLOCK]
    first, lanes = begin + program[at + RUN_CELL], program[at + RUN_LANES]
    cell, source, one = program[at + RUN_CELL], program[at + RUN_SOURCE], program[at + RUN_ONE]
    before, most = 0, 0
    for place in range(np.uint64(begin + program[at + RUN_BEGIN]), np.uint64(first)):
        before += ints[place]
    count = before
    for place in range(np.uint64(first), np.uint64(first + lanes)):
        count += ints[place]
        ints[place] = count
        most |= count
    if most != 0:
        compose(
            header, ints, doubles, slot, cell, source, one, lanes, program[at + RUN_LOOP], first
        )
    ints[first] = -before
    ints[first + lanes] += count
