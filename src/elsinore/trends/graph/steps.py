"""Queries whose trends go on step by step, as words for a sweep: those of one shape are its lanes.

A query is a list of words: for each class a list of states, for each state what stands under
`START` and so on, then its moves, each with its conditions, then what an event adds in it
(`elsinore.trends.graph.records`). Queries whose automata differ only in which events fit their
states are lanes: an event is taken to the states it fits, each with the lanes in which it does, or
ALL. So what differs is the lists of the classes alone, and the lanes whose trends end in a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.plan.alike import begins_with
from elsinore.plan.guarded import GuardedTemplate
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.graph.interpret import BEGINS, FORM, OTHERWISE, Conditions
from elsinore.trends.graph.layout import (
    AMBIGUOUS,
    ANCHORED,
    ANY,
    CHECKS,
    CONDITIONS,
    END,
    GUARD,
    MOVES,
    NO_GUARD,
    REFUSED,
    SOURCE,
    START,
    STRATEGY,
    Program,
)
from elsinore.trends.graph.layout import CONTIGUOUS as CONTIGUOUS_STRATEGY
from elsinore.trends.graph.layout import NOTHING as ADDS_NOTHING
from elsinore.trends.graph.records import ALL, APART, ENTRY, HEADER, NONE, NOWHERE, TOGETHER
from elsinore.trends.graph.sweep import EDGE, FROM, HIGH, KEY, UP_TO
from elsinore.trends.graph.windows import Wanted
from elsinore.trends.keyed import Doubles, Ints

# bytes that the windows of a sweep's keys may take: other keys have another sweep
MOST_BYTES = 2**26
MOST_LANES = 128


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
        or np.any(program.state[:-1, [START, END]] > NO_GUARD)
    )


def lanes_of(
    templates: Sequence[GuardedTemplate], programs: Sequence[Program]
) -> list[tuple[int, ...]]:
    """Put queries, by number, together that may be lanes of one sweep, one with all states first.

    They are of one shape, or one that another begins with, and add up the same.
    """
    found: list[list[int]] = []
    longest = sorted(range(len(templates)), key=lambda number: -len(templates[number].states))
    for number in longest:
        for several in found:
            first = several[0]
            if (
                len(several) < MOST_LANES
                and begins_with(templates[first], templates[number])
                and _begins_with(programs[first].linear, programs[number].linear)
                and _begins_with(programs[first].extreme, programs[number].extreme)
            ):
                several.append(number)
                break
        else:
            found.append([number])
    return [tuple(several) for several in found]


def _begins_with(longer: Ints, table: Ints) -> bool:
    return longer.shape[1] == table.shape[1] and np.array_equal(longer[: len(table)], table)


class Lanes(NamedTuple):
    """Queries of one shape as a sweep reads them."""

    words: Ints
    classes: Ints  # [class] -> place of its states in the words, or -1
    states: int
    lanes: int
    fields: int  # of each lane
    extremes: int
    contiguous: bool
    apart: bool  # whether some state keeps entries
    at_once: bool  # whether each event may act at once that is a moment of its own


def words_of(programs: Sequence[Program], conditions: Conditions) -> Lanes:
    """Return the words of queries of one shape, whose programs are for the same classes.

    The first has all states, of which others may have the first ones alone.
    """
    program = programs[0]
    states, classes = int(program.automata[-1]), len(program.fits) - 1
    moves = program.move[:-1]
    kept = np.full(states, NOWHERE)
    kept[moves[:, SOURCE]] = TOGETHER
    kept[moves[np.diff(program.move[:, CONDITIONS]) > 0, SOURCE]] = APART
    words = [ALL]  # no list of lanes is where ALL stands
    lists: dict[tuple[int, ...], int] = {tuple(range(len(programs))): ALL, (): NONE}

    def listed(lanes: Sequence[int]) -> int:
        if tuple(lanes) not in lists:
            lists[tuple(lanes)] = len(words)
            words.extend((len(lanes), *lanes))
        return lists[tuple(lanes)]

    places = []
    for state in range(states):
        ends = [
            lane
            for lane, one in enumerate(programs)
            if state < len(one.state) - 1 and one.state[state, END] != REFUSED
        ]
        ending = listed(ends)
        places.append(len(words))
        words += _state_words(program, conditions, kept.tolist(), state, ending, len(words))
    entered = np.full(classes, -1, dtype=np.int64)
    at_once = True
    for kind in range(classes):
        taken: dict[int, list[int]] = {}
        for lane, one in enumerate(programs):
            for state in one.lists[one.fits[kind] : one.fits[kind + 1]].tolist():
                taken.setdefault(state, []).append(lane)
        entries = []
        for state, lanes in taken.items():
            entries += [places[state], listed(lanes)]
        if entries:
            entered[kind] = len(words)
            alone = _at_once(program, list(taken))
            at_once &= alone
            words += [len(taken), int(alone), *entries]
    return Lanes(
        np.array(words, dtype=np.int64),
        entered,
        states,
        len(programs),
        program.linear.shape[1],
        program.extreme.shape[1],
        bool(program.shape[STRATEGY] == CONTIGUOUS_STRATEGY),
        bool(np.any(kept == APART)),
        at_once,
    )


def _state_words(
    program: Program, conditions: Conditions, kept: list[int], state: int, ending: int, at: int
) -> list[int]:
    """Return the words of a state that stands at a place; ending: where the lanes are told."""
    begin, end = program.state[state : state + 2, MOVES].tolist()
    moves: list[int] = []
    for move in range(begin, end):
        first, last = program.move[move : move + 2, CONDITIONS].tolist()
        asked, source = program.lists[first:last], int(program.move[move, SOURCE])
        moves += [source, kept[source], len(asked)]
        moves += conditions.forms[asked, :BEGINS].ravel().tolist()
    linear = program.linear[state].tolist()
    fields = [n for f in range(1, len(linear)) if linear[f] != ADDS_NOTHING for n in (f, linear[f])]
    extreme = program.extreme[state].tolist()
    ranks = [n for x, what in enumerate(extreme) if what >= 0 for n in (x, what)]
    starts = int(program.state[state, START] != REFUSED)
    words = [state, starts, ending, kept[state], len(fields) // 2, len(ranks) // 2]
    words += [at + len(words) + 2 + len(moves), end - begin, *moves, *fields, *ranks]
    return words


def _at_once(program: Program, taken: Sequence[int]) -> bool:
    """Return whether no two of some states go on with the trends that end in a third one."""
    sources = []
    for state in taken:
        begin, end = program.state[state : state + 2, MOVES].tolist()
        sources += sorted(set(program.move[begin:end, SOURCE].tolist()))
    return len(sources) == len(set(sources))


class Memory(NamedTuple):
    """A sweep's header, and arenas with its words and all sums."""

    headers: NDArray[Any]  # one of them
    ints: Ints
    doubles: Doubles


def header_of(
    lanes: Lanes, wanted: Wanted, keys: int, *, by_time: bool
) -> tuple[NDArray[Any], int]:
    """Return the header of a sweep, and how many of so many keys it may be of."""
    headers = np.zeros(1, dtype=HEADER)
    header = headers[0]
    width, ranks = lanes.lanes * lanes.fields, lanes.lanes * lanes.extremes
    header["states"], header["lanes"] = lanes.states, lanes.lanes
    header["width"], header["ranks"] = width, ranks
    header["contiguous"] = lanes.contiguous
    once = 1 if wanted.within == FOREVER else -(-wanted.within // wanted.step)
    header["overlap"], header["within"] = once, wanted.within
    header["every"], header["origin"] = wanted.step, wanted.origin
    header["tail"] = by_time or not lanes.at_once
    rows = 1 + 2 * lanes.states  # of sums: the total, what is kept and what waits in each state
    header["int_slot"] = 1 + 4 * lanes.states + rows * ranks
    header["double_slot"] = rows * width + lanes.states * lanes.lanes
    if not header["tail"]:
        header["double_slot"] = (1 + lanes.states) * width
        if not ranks:
            header["int_slot"] = 1 + 2 * lanes.states
    size = 8 * int(header["int_slot"] + header["double_slot"]) * once
    return headers, max(1, min(keys, MOST_BYTES // size))


def memory_of(lanes: Lanes, headers: NDArray[Any], keys: range, first: Ints, last: Ints) -> Memory:
    """Return the memory of a sweep over some keys, whose windows `first` to `last` are wanted.

    In the arenas come words, scratch, keys, slots and entries, in this order.
    """
    headers = headers.copy()
    header = headers[0]
    slots = len(keys) * int(header["overlap"])
    header["scratch"] = len(lanes.words)
    header["at_keys"] = len(lanes.words) + lanes.states * int(header["ranks"])
    header["first_key"], header["keys"] = keys.start, len(keys)
    header["int_slots"] = int(header["at_keys"]) + len(keys) * KEY
    header["double_slots"] = lanes.states * int(header["width"])
    header["int_entries"] = int(header["int_slots"]) + slots * int(header["int_slot"])
    header["double_entries"] = int(header["double_slots"]) + slots * int(header["double_slot"])
    header["unused"] = NONE
    ints = np.zeros(int(header["int_entries"]), dtype=np.int64)
    ints[: len(lanes.words)] = lanes.words
    of_keys = ints[int(header["at_keys"]) : int(header["int_slots"])].reshape(-1, KEY)
    of_keys[:, EDGE] = NEVER
    of_keys[:, HIGH] = -1
    of_keys[:, FROM] = first[keys.start : keys.stop]
    of_keys[:, UP_TO] = last[keys.start : keys.stop]
    memory = Memory(headers, ints, np.zeros(int(header["double_entries"])))
    return with_room(memory, slots if lanes.apart else 0)


def with_room(memory: Memory, more: int) -> Memory:
    """Return the memory with room for so many more entries, and for those of one event."""
    header = memory.headers[0]
    more += int(header["states"] * header["overlap"])
    header["room"] += more
    ints = np.zeros(more * int(ENTRY + header["ranks"]), dtype=np.int64)
    doubles = np.zeros(more * int(header["width"] + header["lanes"]))
    return Memory(
        memory.headers,
        np.concatenate((memory.ints, ints)),
        np.concatenate((memory.doubles, doubles)),
    )
