"""Trends of a pattern that is not ambiguous: each has one run, so they are added up by state.

For event e in state q, with x the number of trends (begun, not necessarily complete) that end so,

    x(e, q) = start(q) + sum of x(e', p) over the moves p -> q and the earlier events e' for which
              the move's guards hold,

and sums and extremes ride along (GRETA's graph). Moves without conditions need no single event:
they read a sum over all of them, or over those after a moment that never goes back. The latter is
kept up as events leave it: 20,000 events take 0.6 times what they do if each is looked at again.

With an anchor the sweep is made once for the trends that hold none, and once more for each event
that may be the anchor, from that event on; for many such events at once where no move looks at
single events (`elsinore.trends.graph.anchored`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.graph.anchored import MOMENT, ROW, STATE, Lanes, blocks, in_lanes, sweep_lanes
from elsinore.trends.graph.guards import all_hold, threshold
from elsinore.trends.graph.interpret import CHUNK, Conditions
from elsinore.trends.graph.layout import (
    ANCHOR,
    CHECKS,
    CONDITIONS,
    CONTIGUOUS,
    END,
    GUARD,
    MOVES,
    NEXT,
    POOL,
    POOLED,
    REFUSED,
    SCAN,
    SLIDES,
    SOURCE,
    START,
    STORED,
    STRATEGY,
    SUM,
    WAY,
    Program,
    Stream,
    Stretch,
)
from elsinore.trends.graph.sums import (
    TOTAL,
    Sums,
    add_chosen,
    add_to,
    clear,
    contribute,
    empty_sums,
    put,
)
from elsinore.trends.keyed import Ints

# columns of `Graph.lists`
BASE = 0  # first entry of a state
BEGIN = 1  # entries that are past
SIZE = 2  # entries of earlier moments
GROWN = 3  # and of this one

# a column of `Graph.events`, beside those of seeds
DEAD = 2  # whether an event of this moment has gone on with it

# columns of `Graph.sliding`
FIRST = 0  # first of its suffixes: sums from an entry to the one before the middle
LOW = 1  # first entry that counts
MIDDLE = 2

# places in `Graph.counts`
SEEDS, ALIVE = 0, 1  # seeds found; entries that are not dead
# rows of `Graph.sums`
AT_PRESENT, AT_SLIDES, AT_SEEDS, AT_LANES, AT_ENTRIES, AT_SUFFIXES = 2, 3, 4, 5, 6, 7

NOW = np.int64(1)  # the row of `Graph.sums` for what an event amounts to
AT_POOLS = np.int64(2)  # and the first of those of earlier events, by state


class Graph(NamedTuple):
    """The events of a window by the state they stand in, and sums over them.

    A seed is an event that becomes the anchor of the trends that end with it. `sums` are those of
    the whole window, of the present event, of each state's earlier events and of its present ones,
    those of sliding sums from their middle on, of seeds, of lanes, of events and of suffixes.
    """

    lists: Ints  # [state + 1, column]
    events: Ints  # [entry, column]
    sliding: Ints  # [sliding sum + 1, column]
    seeds: Ints  # [seed, column]
    sums: Sums
    counts: Ints


@kernel
def new_graph(program: Program, entries: int, suffixes: int, seeds: int) -> Graph:
    """Return an empty graph for so many of each."""
    states = program.automata[-1]
    fields, extremes = program.linear.shape[1], program.extreme.shape[1]
    slides = program.state[states, SLIDES]
    lanes = min(seeds, CHUNK)
    counts = np.zeros(8, dtype=np.int64)
    counts[AT_PRESENT] = AT_POOLS + states
    counts[AT_SLIDES] = counts[AT_PRESENT] + states
    counts[AT_SEEDS] = counts[AT_SLIDES] + slides
    counts[AT_LANES] = counts[AT_SEEDS] + seeds
    counts[AT_ENTRIES] = counts[AT_LANES] + blocks(states) * lanes
    counts[AT_SUFFIXES] = counts[AT_ENTRIES] + entries
    return Graph(
        np.zeros((states + 1, 4), dtype=np.int64),
        np.zeros((entries, 3), dtype=np.int64),
        np.zeros((slides + 1, 3), dtype=np.int64),
        np.zeros((seeds, 3), dtype=np.int64),
        empty_sums(counts[AT_SUFFIXES] + suffixes, fields, extremes),
        counts,
    )


@kernel
def count_trends(
    program: Program, conditions: Conditions, stream: Stream, stretch: Stretch, graph: Graph
) -> None:
    """Leave the sums over all trends of a window in `graph.total`."""
    clear(graph.sums, TOTAL)
    graph.counts[SEEDS] = 0
    _reset(program, graph)
    _sweep(program, conditions, stream, stretch, graph, np.int64(0), np.int64(-1))
    seeds, seed = graph.counts[SEEDS], 0
    if seeds > 0 and in_lanes(program):
        counts, width = graph.counts, min(len(graph.seeds), CHUNK)
        lanes = Lanes(graph.seeds, graph.sums, counts[AT_SEEDS], counts[AT_LANES], width)
        while seed < seeds:
            sweep_lanes(program, conditions, stream, stretch, lanes, seed, min(seeds - seed, width))
            seed += width
    while seed < seeds:
        row, moment = graph.seeds[seed, ROW], graph.seeds[seed, MOMENT]
        _reset(program, graph)
        while seed < seeds and graph.seeds[seed, ROW] == row:
            put(graph.sums, NOW, graph.sums, graph.counts[AT_SEEDS] + seed)
            _keep(program, graph, graph.seeds[seed, STATE], row, moment)
            seed += 1
        _commit(program, graph)
        _sweep(program, conditions, stream, stretch, graph, moment + 1, seed - 1)


@kernel
def _reset(program: Program, graph: Graph) -> None:
    for state in range(program.automata[-2], program.automata[-1]):
        graph.lists[state, BEGIN] = 0
        graph.lists[state, SIZE] = 0
        graph.lists[state, GROWN] = 0
        clear(graph.sums, AT_POOLS + state)
        clear(graph.sums, graph.counts[AT_PRESENT] + state)
    for slide in range(len(graph.sliding) - 1):
        graph.sliding[slide, LOW] = 0
        graph.sliding[slide, MIDDLE] = 0
        clear(graph.sums, graph.counts[AT_SLIDES] + slide)


@kernel
def _sweep(
    program: Program,
    conditions: Conditions,
    stream: Stream,
    stretch: Stretch,
    graph: Graph,
    first: int,
    anchor: int,
) -> None:
    """Go through the moments from `first` on; `anchor`: the seed whose event is the anchor, or -1.

    Without one trends begin, and those that reach an event that becomes their anchor are left as
    seeds.
    """
    automata = len(program.automata) - 1
    strategy = program.shape[STRATEGY]
    one = np.int64(1)
    for moment in range(first, stretch.moments):
        came = False
        for row in range(stretch.begins[moment], stretch.begins[moment + 1]):
            kind = stream.classes[row]
            if kind < 0:
                continue
            place = kind * automata + automata - 1
            for at in range(program.fits[place], program.fits[place + 1]):
                state = program.lists[at]
                if anchor >= 0 and program.state[state, ANCHOR]:
                    continue
                clear(graph.sums, NOW)
                start = program.state[state, START] if anchor < 0 else REFUSED
                if start != REFUSED and threshold(program, stretch, start, moment) < 0:
                    graph.sums.cells[NOW, 0] = 1.0
                for move in range(program.state[state, MOVES], program.state[state + 1, MOVES]):
                    begin, end = program.move[move, CHECKS], program.move[move + 1, CHECKS]
                    if (
                        anchor < 0
                        or begin == end
                        or all_hold(
                            conditions, program.lists, begin, end, graph.seeds, anchor, one, row
                        )[0]
                    ):
                        _extend(program, conditions, stretch, graph, move, moment, row)
                if graph.sums.cells[NOW, 0] == 0.0:
                    continue
                came = True
                contribute(program, stream, state, row, graph.sums, NOW)
                end = program.state[state, END]
                if end != REFUSED and threshold(program, stretch, end, stretch.moments) <= moment:
                    add_to(graph.sums, TOTAL, NOW)
                if program.state[state, ANCHOR]:
                    seed = graph.counts[SEEDS]
                    put(graph.sums, graph.counts[AT_SEEDS] + seed, graph.sums, NOW)
                    graph.seeds[seed, ROW] = row
                    graph.seeds[seed, MOMENT] = moment
                    graph.seeds[seed, STATE] = state
                    graph.counts[SEEDS] += 1
                else:
                    _keep(program, graph, state, row, moment)
        if strategy != CONTIGUOUS and not came:
            continue
        _commit(program, graph)
        if anchor >= 0:
            if strategy == CONTIGUOUS and not came:
                return
            if strategy == NEXT and graph.counts[ALIVE] == 0:
                return


@kernel
def _extend(
    program: Program,
    conditions: Conditions,
    stretch: Stretch,
    graph: Graph,
    move: int,
    moment: int,
    row: int,
) -> None:
    """Add to `graph.now` all that an event may go on with by a move."""
    source, way = program.move[move, SOURCE], program.move[move, WAY]
    if way == POOL:
        add_to(graph.sums, NOW, AT_POOLS + source)
        return
    low = threshold(program, stretch, program.move[move, GUARD], moment)
    base = graph.lists[source, BASE]
    if way == SCAN:
        _scan(program, conditions, graph, move, low, row)
        return
    slide = program.move[move, SUM]
    entry = graph.sliding[slide, LOW]
    while entry < graph.lists[source, SIZE] and graph.events[base + entry, MOMENT] < low:
        entry += 1
    graph.sliding[slide, LOW] = entry
    if entry > graph.sliding[slide, MIDDLE]:
        _rebuild(graph, slide, base, graph.lists[source, SIZE])
    if entry < graph.sliding[slide, MIDDLE]:
        suffix = graph.counts[AT_SUFFIXES] + graph.sliding[slide, FIRST] + entry
        add_to(graph.sums, NOW, suffix)
    add_to(graph.sums, NOW, graph.counts[AT_SLIDES] + slide)


@kernel
def _scan(
    program: Program, conditions: Conditions, graph: Graph, move: int, low: int, row: int
) -> None:
    """Add the events from moment `low` on between which and a row a move's conditions hold."""
    source = program.move[move, SOURCE]
    asked, after = program.move[move, CONDITIONS], program.move[move + 1, CONDITIONS]
    first = graph.lists[source, BASE] + graph.lists[source, BEGIN]
    last = graph.lists[source, BASE] + graph.lists[source, SIZE]
    events, sums, entries = graph.events, graph.sums, graph.counts[AT_ENTRIES]
    by_number = program.shape[STRATEGY] != NEXT and sums.extremes.shape[1] == 0
    while last > first:
        count = min(last - first, CHUNK)
        last -= count
        if events[last + count - 1, MOMENT] < low:
            return
        chosen = all_hold(conditions, program.lists, asked, after, events, last, count, row)
        if (
            by_number
            and events[last, MOMENT] >= low
            and add_chosen(sums, NOW, entries + last, chosen, count)
        ):
            continue
        for event in range(count):
            entry = last + event
            if chosen[event] == 0 or events[entry, MOMENT] < low:
                continue
            events[entry, DEAD] = 1  # under NEXT; else nobody asks
            add_to(sums, NOW, entries + entry)


@kernel
def _rebuild(graph: Graph, slide: int, base: int, size: int) -> None:
    """Sum up the entries from each one that counts to the last, so that the first may go.

    Each entry is summed up once: two stacks make a queue.
    """
    first = graph.counts[AT_SUFFIXES] + graph.sliding[slide, FIRST]
    entries = graph.counts[AT_ENTRIES] + base
    for entry in range(size - 1, graph.sliding[slide, LOW] - 1, -1):
        put(graph.sums, first + entry, graph.sums, entries + entry)
        if entry + 1 < size:
            add_to(graph.sums, first + entry, first + entry + 1)
    graph.sliding[slide, MIDDLE] = size
    clear(graph.sums, graph.counts[AT_SLIDES] + slide)


@kernel
def _keep(program: Program, graph: Graph, state: int, row: int, moment: int) -> None:
    """Let later moments find what an event amounts to."""
    if program.state[state, POOLED]:
        add_to(graph.sums, graph.counts[AT_PRESENT] + state, NOW)
    if program.state[state, STORED]:
        entry = graph.lists[state, BASE] + graph.lists[state, GROWN]
        graph.events[entry, ROW] = row
        graph.events[entry, MOMENT] = moment
        graph.events[entry, DEAD] = 0
        put(graph.sums, graph.counts[AT_ENTRIES] + entry, graph.sums, NOW)
        graph.lists[state, GROWN] += 1


@kernel
def _commit(program: Program, graph: Graph) -> None:
    """End a moment: its events become earlier ones."""
    strategy = program.shape[STRATEGY]
    alive = 0
    for state in range(program.automata[-2], program.automata[-1]):
        if program.state[state, POOLED]:
            present = graph.counts[AT_PRESENT] + state
            if strategy == CONTIGUOUS:
                clear(graph.sums, AT_POOLS + state)
            if graph.sums.cells[present, 0] != 0.0:
                add_to(graph.sums, AT_POOLS + state, present)
                clear(graph.sums, present)
        if not program.state[state, STORED]:
            continue
        base, size, grown = (
            graph.lists[state, BASE],
            graph.lists[state, SIZE],
            graph.lists[state, GROWN],
        )
        entries = graph.counts[AT_ENTRIES] + base
        for slide in range(program.state[state, SLIDES], program.state[state + 1, SLIDES]):
            sliding = graph.counts[AT_SLIDES] + slide
            for entry in range(size, grown):
                add_to(graph.sums, sliding, entries + entry)
        if strategy == CONTIGUOUS:
            graph.lists[state, BEGIN] = size
        elif strategy == NEXT:
            grown = _bury(graph, base, grown)
            graph.lists[state, GROWN] = grown
            alive += grown
        graph.lists[state, SIZE] = grown
    graph.counts[ALIVE] = alive


@kernel
def _bury(graph: Graph, base: int, count: int) -> int:
    """Remove the dead entries of a state; return how many are left."""
    entries = graph.counts[AT_ENTRIES]
    left = base
    while left < base + count and graph.events[left, DEAD] == 0:
        left += 1
    for entry in range(left, base + count):
        if graph.events[entry, DEAD] == 0:
            graph.events[left, ROW] = graph.events[entry, ROW]
            graph.events[left, MOMENT] = graph.events[entry, MOMENT]
            graph.events[left, DEAD] = 0
            put(graph.sums, entries + left, graph.sums, entries + entry)
            left += 1
    return left - base
