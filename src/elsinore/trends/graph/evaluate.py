"""From the windows of keys to their totals, by graphs of the events of each."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.graph.guards import stored_entries
from elsinore.trends.graph.interpret import Conditions
from elsinore.trends.graph.layout import (
    ANCHOR,
    ANCHORED,
    SLIDES,
    START,
    Program,
    Stream,
    Stretch,
)
from elsinore.trends.graph.masks import count_sequences, new_sets
from elsinore.trends.graph.negatives import search
from elsinore.trends.graph.runs import (
    AT_SUFFIXES,
    BASE,
    FIRST,
    Graph,
    count_trends,
    new_graph,
)
from elsinore.trends.graph.sums import TOTAL, Sums, put
from elsinore.trends.graph.windows import Keys, Windows
from elsinore.trends.keyed import Ints


@kernel
def evaluate_runs(
    program: Program,
    conditions: Conditions,
    stream: Stream,
    keys: Keys,
    held: Windows,
    totals: Sums,
) -> int:
    """Fill a row of totals for each window, for a pattern that is not ambiguous.

    Returns the bytes of the graph, which is as large as the largest window asked for.
    """
    begins = np.empty(held.longest + 1, dtype=np.int64)
    latest = np.empty((len(program.automata) - 1, held.longest + 1), dtype=np.int64)
    nothing = np.int64(0)
    graph = new_graph(program, nothing, nothing, nothing)
    for number in range(len(held.key)):
        low, high = held.low[number], held.high[number]
        if _may_begin(program, stream, low, high):
            stretch = Stretch(begins, latest, _moments(keys, low, high, begins))
            search(program, conditions, stream, stretch)
            graph = _with_room(program, stream, stretch, graph)
            count_trends(program, conditions, stream, stretch, graph)
            put(totals, number, graph.sums, TOTAL)
    size = graph.lists.nbytes + graph.events.nbytes + graph.sliding.nbytes + graph.seeds.nbytes
    return size + _bytes(graph.sums) + graph.counts.nbytes + begins.nbytes + latest.nbytes


@kernel
def evaluate_masks(
    program: Program,
    conditions: Conditions,
    stream: Stream,
    keys: Keys,
    held: Windows,
    totals: Sums,
) -> int:
    """Fill a row of totals for each window, for an ambiguous pattern or two that AND joins.

    Returns the bytes of the sets of states, as many as the window with the most of them asked for.
    """
    begins = np.empty(held.longest + 1, dtype=np.int64)
    latest = np.empty((len(program.automata) - 1, held.longest + 1), dtype=np.int64)
    room = np.int64(64)
    sets = new_sets(program, room)
    for number in range(len(held.key)):
        low, high = held.low[number], held.high[number]
        if _may_begin(program, stream, low, high):
            stretch = Stretch(begins, latest, _moments(keys, low, high, begins))
            search(program, conditions, stream, stretch)
            while not count_sequences(program, conditions, stream, stretch, sets):
                room *= 4
                sets = new_sets(program, room)
            put(totals, number, sets.sums, TOTAL)
    size = sets.table.nbytes + sets.masks.nbytes + sets.numbers.nbytes + sets.events.nbytes
    return size + sets.after.nbytes + _bytes(sets.sums) + begins.nbytes + latest.nbytes


@kernel
def _bytes(sums: Sums) -> int:
    return sums.cells.nbytes + sums.powers.nbytes + sums.extremes.nbytes


@kernel
def _moments(keys: Keys, low: int, high: int, begins: Ints) -> int:
    """Note where each moment of the rows begins; return how many there are."""
    count = 0
    for row in range(low, high):
        if row == low or not keys.by_time or keys.times[row] != keys.times[row - 1]:
            begins[count] = row
            count += 1
    begins[count] = high
    return count


@kernel
def _may_begin(program: Program, stream: Stream, low: int, high: int) -> bool:
    """Return whether some event may begin a trend."""
    automata = len(program.automata) - 1
    for row in range(low, high):
        kind = stream.classes[row]
        if kind >= 0:
            place = kind * automata + automata - 1
            for at in range(program.fits[place], program.fits[place + 1]):
                if program.state[program.lists[at], START] >= 0:
                    return True
    return False


@kernel
def _with_room(program: Program, stream: Stream, stretch: Stretch, graph: Graph) -> Graph:
    """Lay out a window's events in a graph; return it, or a larger one."""
    automata = len(program.automata) - 1
    states = program.automata[-1]
    lists = graph.lists
    room = stored_entries(program, stream, stretch, automata - 1, lists)
    sliding = 0
    seeds = np.int64(0)
    for state in range(program.automata[-2], states):
        after = lists[state + 1, BASE] if state + 1 < states else room
        for slide in range(program.state[state, SLIDES], program.state[state + 1, SLIDES]):
            graph.sliding[slide, FIRST] = sliding
            sliding += after - lists[state, BASE]
    if program.shape[ANCHORED]:
        for row in range(stretch.begins[0], stretch.begins[stretch.moments]):
            kind = stream.classes[row]
            if kind >= 0:
                place = kind * automata + automata - 1
                for at in range(program.fits[place], program.fits[place + 1]):
                    seeds += program.state[program.lists[at], ANCHOR]
    suffixes = len(graph.sums.cells) - graph.counts[AT_SUFFIXES]
    if room <= len(graph.events) and sliding <= suffixes and seeds <= len(graph.seeds):
        return graph
    larger = new_graph(
        program,
        max(room, 2 * len(graph.events)),
        max(sliding, 2 * suffixes),
        max(seeds, 2 * len(graph.seeds)),
    )
    for state in range(len(graph.lists)):
        larger.lists[state, BASE] = graph.lists[state, BASE]
    for slide in range(len(graph.sliding)):
        larger.sliding[slide, FIRST] = graph.sliding[slide, FIRST]
    return larger
