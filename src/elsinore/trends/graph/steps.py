"""Trends under NEXT and CONTIGUOUS whose neighbours are compared by single attributes at most.

Under these strategies an event goes on with determined trends: under CONTIGUOUS with those that end
in the moment before, under NEXT with those that no event has gone on with yet. So each state keeps
few sums: one where no move out of it asks for something, else one for each event that may still be
followed. Numbers are plain doubles here; where they grow too large for that, the graph
(`elsinore.trends.graph.runs`), which has numbers of any size, does the work again.

A query is one array of words, as every array makes every call of a kernel longer: for each class a
list of states, for each state what stands under `START` and so on, then its moves, each with its
conditions, then what an event adds in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.numeric.extended import normalise
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
    OTHERWISE,
    RIGHT,
    Conditions,
)
from elsinore.trends.graph.layout import (
    AMBIGUOUS,
    ANCHORED,
    ANY,
    CHECKS,
    CONDITIONS,
    GUARD,
    MOVES,
    NO_GUARD,
    NOTHING,
    REFUSED,
    SOURCE,
    STRATEGY,
    Program,
    Stream,
)
from elsinore.trends.graph.layout import END as END_GUARD
from elsinore.trends.graph.layout import START as START_GUARD
from elsinore.trends.graph.sums import Sums, addend, rank_of
from elsinore.trends.graph.windows import Keys, Windows
from elsinore.trends.keyed import Doubles, Flags, Ints

# a state's words: whether trends start and end in it, how they are kept, how many moves lead into
# it, and what an event adds: how many fields, how many extremes, and where they stand
NUMBER, START, END, KEPT, FIELDS, EXTREMES, ADDED, INTO, STATE = range(9)
# a move: the state before, how many conditions; a condition is a row of `Conditions.forms`
BEFORE, ASKED, MOVE = range(3)
NOWHERE, TOGETHER, APART = 0, 1, 2  # how the trends that end in a state are kept

# columns of `Steps.lists`: the first entry, those of earlier moments, those of this one too,
# whether one of them is dead, whether each event has one of its own
BASE, SIZE, GROWN, LESSENED, APART_HERE = range(5)
ROW, DEAD = 0, 1  # columns of `Steps.entries`: the event, whether another has gone on with it
NOW, TOTAL, FIRST = 0, 1, 2  # rows of sums: of an event, of a window, of the first entry
TOO_LARGE = 2.0**900  # no step of plain doubles leads from below this to infinity


class Steps(NamedTuple):
    """What a window's trends amount to by the state that they end in."""

    lists: Ints  # [state, column]
    entries: Ints  # [entry, column]
    cells: Doubles  # [row of sums, linear field]
    extremes: Ints  # [row of sums, extreme]


class Compared(NamedTuple):
    """The columns that conditions read; see `Conditions`."""

    codes: Ints
    numbers: Doubles
    known: Flags


def can_step(program: Program, conditions: Conditions) -> bool:
    """Return whether a query is one of those that this file is about."""
    asked = program.lists[program.move[0, CONDITIONS] : program.move[-1, CONDITIONS]]
    return not (
        program.shape[STRATEGY] == ANY
        or program.shape[AMBIGUOUS]
        or program.shape[ANCHORED]
        or len(program.automata) > 2  # one of them under NOT
        or np.any(program.move[:-1, GUARD] != NO_GUARD)
        or program.move[0, CHECKS] != program.move[-1, CHECKS]
        or np.any(conditions.forms[asked, FORM] == OTHERWISE)
        or np.any(program.state[:-1, [START_GUARD, END_GUARD]] > NO_GUARD)
    )


def steps_of(program: Program, conditions: Conditions, longest: int) -> tuple[Ints, Steps]:
    """Return a query's words, and room for windows of at most so many events."""
    moves = program.move[:-1]
    states = int(program.automata[-1])
    asks = np.diff(program.move[:, CONDITIONS]) > 0
    kept = np.zeros(states, dtype=np.int64)
    kept[moves[:, SOURCE]] = TOGETHER
    kept[moves[asks, SOURCE]] = APART
    room = np.choose(kept, [0, 2, longest + 1])
    lists = np.zeros((states, 5), dtype=np.int64)
    lists[:, APART_HERE] = kept == APART
    lists[1:, BASE] = np.cumsum(room)[:-1]
    rows = FIRST + int(room.sum())
    steps = Steps(
        lists,
        np.zeros((rows, 2), dtype=np.int64),
        np.zeros((rows, program.linear.shape[1])),
        np.full((rows, program.extreme.shape[1]), FOREVER, dtype=np.int64),
    )
    return _words(program, conditions, kept.tolist()), steps


def _words(program: Program, conditions: Conditions, kept: list[int]) -> Ints:
    """Return a query's words: [class] -> where the list of its states is, and all that follows."""
    classes = len(program.fits) - 1
    words = [0] * classes
    places = []
    for state, how in enumerate(kept):
        begin, end = program.state[state : state + 2, MOVES].tolist()
        moves: list[int] = []
        for move in range(begin, end):
            first, last = program.move[move : move + 2, CONDITIONS].tolist()
            asked = program.lists[first:last]
            moves += [int(program.move[move, SOURCE]), len(asked)]
            moves += conditions.forms[asked, :BEGINS].ravel().tolist()
        linear = program.linear[state].tolist()
        fields = [n for f in range(1, len(linear)) if linear[f] != NOTHING for n in (f, linear[f])]
        extreme = program.extreme[state].tolist()
        ranks = [n for x, what in enumerate(extreme) if what >= 0 for n in (x, what)]
        places.append(len(words))
        starts, ends = (program.state[state, [START_GUARD, END_GUARD]] != REFUSED).tolist()
        words += [state, int(starts), int(ends), how, len(fields) // 2, len(ranks) // 2]
        words += [len(words) + 2 + len(moves), end - begin, *moves, *fields, *ranks]
    for kind in range(classes):
        taken = program.lists[program.fits[kind] : program.fits[kind + 1]].tolist()
        words[kind] = len(words)
        words += [len(taken), *(places[state] for state in taken)]
    return np.array(words, dtype=np.int64)


@kernel(borrows=True)
def evaluate_steps(
    words: Ints,
    contiguous: bool,
    compared: Compared,
    stream: Stream,
    keys: Keys,
    held: Windows,
    totals: Sums,
    steps: Steps,
) -> bool:
    """Fill a row of totals for each window; return whether no number became too large."""
    classes, times, lists = stream.classes, keys.times, steps.lists
    cells, extremes = steps.cells, steps.extremes
    for number in range(len(held.key)):
        high = held.high[number]
        for state in range(len(lists)):
            lists[state, SIZE] = 0
            lists[state, GROWN] = 0
        _clear(cells, extremes, TOTAL)
        stop = held.low[number]
        while stop < high:
            row = stop
            stop += 1
            while stop < high and keys.by_time and times[stop] == times[row]:
                stop += 1
            came = contiguous
            for event in range(row, stop):
                kind = classes[event]
                if kind < 0:
                    continue
                at = words[kind]
                for place in range(at + 1, at + 1 + words[at]):
                    state = words[place]
                    if _found(words, state, compared, steps, event):
                        came = True
                        if words[state + FIELDS] + words[state + EXTREMES] > 0:
                            _contribute(words, state, stream, cells, extremes, event)
                        _keep(words, state, steps, event)
            if came and not _commit(steps, contiguous):
                return False
        for f in range(totals.cells.shape[1]):
            if not abs(cells[TOTAL, f]) < TOO_LARGE:
                return False
            cell, power = normalise(cells[TOTAL, f], 0)
            totals.cells[number, f] = cell
            totals.powers[number, f] = power
        for x in range(totals.extremes.shape[1]):
            totals.extremes[number, x] = extremes[TOTAL, x]
    return True


@kernel(borrows=True)
def _found(words: Ints, state: int, compared: Compared, steps: Steps, row: int) -> bool:
    """Sum up the trends that end with an event in a state; return whether there are any."""
    lists, entries, cells, extremes = steps.lists, steps.entries, steps.cells, steps.extremes
    _clear(cells, extremes, NOW)
    if words[state + START]:
        cells[NOW, 0] = 1.0
    at = state + STATE
    for _ in range(words[state + INTO]):
        source, asked = words[at + BEFORE], words[at + ASKED]
        at += MOVE
        first = lists[source, BASE]
        for entry in range(first, first + lists[source, SIZE]):
            holds = True
            for condition in range(at, at + asked * BEGINS, BEGINS):
                if not _holds(words, condition, compared, entries[entry, ROW], row):
                    holds = False
                    break
            if holds:
                entries[entry, DEAD] = 1
                lists[source, LESSENED] = 1
                _add(cells, extremes, NOW, FIRST + entry)
        at += asked * BEGINS
    return bool(cells[NOW, 0] != 0.0)


@kernel(borrows=True)
def _holds(words: Ints, condition: int, compared: Compared, earlier: int, row: int) -> bool:
    """Return whether a comparison of two attributes holds between two events."""
    left, right = words[condition + LEFT], words[condition + RIGHT]
    if compared.known[left, earlier] == 0 or compared.known[right, row] == 0:
        return False
    if words[condition + FORM] == BY_CODE:
        code, with_code = compared.codes[left, earlier], compared.codes[right, row]
        outcome = LESS if code < with_code else EQUAL if code == with_code else GREATER
    else:
        number, other = compared.numbers[left, earlier], compared.numbers[right, row]
        outcome = LESS if number < other else EQUAL if number == other else GREATER
    return bool(words[condition + ALLOWED] & outcome != 0)


@kernel(borrows=True)
def _contribute(
    words: Ints, state: int, stream: Stream, cells: Doubles, extremes: Ints, row: int
) -> None:
    """Add what an event contributes in a state, once for each trend."""
    at = words[state + ADDED]
    for _ in range(words[state + FIELDS]):
        field, what = words[at], words[at + 1]
        at += 2
        value = addend(stream, row, what)
        if not np.isnan(value):
            cells[NOW, field] += cells[NOW, 0] * value
    for _ in range(words[state + EXTREMES]):
        extreme, what = words[at], words[at + 1]
        at += 2
        extremes[NOW, extreme] = min(extremes[NOW, extreme], rank_of(stream, row, what))


@kernel(borrows=True)
def _keep(words: Ints, state: int, steps: Steps, row: int) -> None:
    """Add an event's trends to those of the window, and let later moments find them."""
    lists, cells, extremes = steps.lists, steps.cells, steps.extremes
    if words[state + END]:
        _add(cells, extremes, TOTAL, NOW)
    kept, number = words[state + KEPT], words[state + NUMBER]
    if kept == NOWHERE:
        return
    if kept == TOGETHER and lists[number, GROWN] > lists[number, SIZE]:
        _add(cells, extremes, FIRST + lists[number, BASE] + lists[number, SIZE], NOW)
        return
    entry = lists[number, BASE] + lists[number, GROWN]
    lists[number, GROWN] += 1
    steps.entries[entry, ROW] = row
    steps.entries[entry, DEAD] = 0
    _put(cells, extremes, FIRST + entry, NOW)


@kernel(borrows=True)
def _commit(steps: Steps, contiguous: bool) -> bool:
    """End a moment: its events become earlier ones; return whether all numbers are small enough.

    Trends that are kept together have one entry, and one more for those of the moment.
    """
    lists, entries, cells, extremes = steps.lists, steps.entries, steps.cells, steps.extremes
    for state in range(len(lists)):
        base, size, grown = lists[state, BASE], lists[state, SIZE], lists[state, GROWN]
        if grown == size and (lists[state, LESSENED] == 0 if not contiguous else size == 0):
            continue
        left = base
        if not contiguous and lists[state, LESSENED] == 0:
            left = base + size
        elif not contiguous:
            for entry in range(base, base + size):
                if entries[entry, DEAD] == 0:
                    _move(steps, left, entry)
                    left += 1
        lists[state, LESSENED] = 0
        for entry in range(base + size, base + grown):
            for f in range(cells.shape[1]):
                if not abs(cells[FIRST + entry, f]) < TOO_LARGE:
                    return False
            if left > base and lists[state, APART_HERE] == 0:
                _add(cells, extremes, FIRST + base, FIRST + entry)
            else:
                _move(steps, left, entry)
                left += 1
        lists[state, SIZE] = left - base
        lists[state, GROWN] = left - base
    return True


@kernel(borrows=True)
def _move(steps: Steps, place: int, entry: int) -> None:
    if place != entry:
        steps.entries[place, ROW] = steps.entries[entry, ROW]
        steps.entries[place, DEAD] = 0
        _put(steps.cells, steps.extremes, FIRST + place, FIRST + entry)


@kernel(borrows=True)
def _clear(cells: Doubles, extremes: Ints, at: int) -> None:
    for f in range(cells.shape[1]):
        cells[at, f] = 0.0
    for x in range(extremes.shape[1]):
        extremes[at, x] = FOREVER


@kernel(borrows=True)
def _put(cells: Doubles, extremes: Ints, at: int, other: int) -> None:
    for f in range(cells.shape[1]):
        cells[at, f] = cells[other, f]
    for x in range(extremes.shape[1]):
        extremes[at, x] = extremes[other, x]


@kernel(borrows=True)
def _add(cells: Doubles, extremes: Ints, at: int, other: int) -> None:
    for f in range(cells.shape[1]):
        cells[at, f] += cells[other, f]
    for x in range(extremes.shape[1]):
        extremes[at, x] = min(extremes[at, x], extremes[other, x])
