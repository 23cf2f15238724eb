# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Epochs: an index over predecessors for each stretch of time, of which the last one grows.

The ranks of an epoch are those of its own events' values, all of which are known when it begins: it
lasts until no window is open that was so at its first event, or until the events end that there
are so far. The present epoch is a Fenwick tree. As nothing is entered into it any more when the
next one begins, it becomes a table of prefix sums then, of which an event reads one row. Past
epochs stay until no open window holds any of their events; short ones are merged with the next
(`past`), and where room is needed all are. Sums of sums are all that takes: numbers that vary in
size are never subtracted.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.trends.core.arrays import FOREVER, Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.forms import add_both, begin_row
from elsinore.trends.hamlet.graphs import WIDE, earliest_start, sweep
from elsinore.trends.hamlet.layout import (
    COLUMNS,
    END,
    ENDS,
    EPOCHS,
    EQUAL,
    FIRST,
    FORMS,
    IF_FEW,
    LASTS,
    MOST_EPOCHS,
    PLAIN,
    PRESENT,
    ROWS_GO,
    UNTIL,
    WIDTH,
    Events,
    Graph,
    Graphs,
    Program,
    Shape,
)
from elsinore.trends.hamlet.past import end_epoch, move_down
from elsinore.trends.hamlet.storage import (
    conditions_of,
    graph_at,
    graph_of,
    shape_of,
    span_of,
    with_block,
)


@kernel
def next_epoch(
    program: Program, graphs: Graphs, events: Events, number: int, begin: int, key_end: int
) -> Graphs:
    """Begin an epoch of a set's graph; the present one is past, and those that nobody reads go.

    begin: where in the set's list it begins; key_end: the row after the key's last.
    """
    until = _until(program, events, number, begin, key_end)
    keys = _keys(program, events, number, begin, until)
    sweep(program, graphs, number, IF_FEW)
    info = graphs.info[number]
    info[UNTIL] = until
    end_epoch(program, graphs, events, number, begin)
    conditions = conditions_of(program, number)
    span, different = span_of(program, info, number), keys.shape[0] // conditions
    if info[END] + different > span and 2 * info[FIRST] >= info[END] - info[FIRST]:
        move_down(program, graphs, number)
    if info[EPOCHS] == MOST_EPOCHS or info[END] + different > span:
        past = np.full((conditions, info[END] - info[FIRST]), FOREVER, dtype=np.int64)
        most = 0
        for condition in range(conditions):
            _past_keys(program, graphs, number, condition, past[condition])
            past[condition] = np.sort(past[condition])
            most = max(most, _leave_one_of_each(past[condition]))
        past = past[:, :most].copy()
        before, left = graphs, info.copy()
        rows = 1 + conditions * (most + max(most, different))
        # columns that were needed once make rows long, and fewer of them fit the caches
        width = min(info[WIDTH], max(WIDE, info[COLUMNS] + (info[COLUMNS] >> 1)))
        graphs = with_block(program, graphs, number, width, rows, info[FORMS], ROWS_GO)
        _merge(program, before, left, graphs, number, past)
    _begin_epoch(program, graphs, number, keys, events.listed[until - 1].time)
    return graphs


@wide_kernel(linked=True)
def _until(program: Program, events: Events, number: int, begin: int, key_end: int) -> int:
    """Return where in the set's list an epoch ends."""
    start = events.listed[begin].time
    low, high = begin + 1, events.lists[number + 1]
    while low < high:
        middle, event = (low + high) >> 1, events.listed[(low + high) >> 1]
        if event.row < key_end and earliest_start(program, number, event.time) <= start:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _keys(program: Program, events: Events, number: int, begin: int, end: int) -> Ints:
    """Return the keys of an epoch, ascending: the values that its events are compared by.

    Those of each condition in turn, as many as of the one that has most; the rest is FOREVER.
    """
    first = program.sets[number].conditions
    conditions = conditions_of(program, number)
    found = np.full((conditions, end - begin), FOREVER, dtype=np.int64)
    most = 0
    for condition in range(conditions):
        if program.conditions[first + condition].compared == PLAIN:
            continue
        attribute = program.conditions[first + condition].previous
        inverted = program.conditions[first + condition].inverted != 0
        count = 0
        for i in range(begin, end):
            row = events.listed[i].row
            if events.known[attribute, row] != 0:
                value = events.compared[attribute, row]
                found[condition, count] = ~value if inverted else value
                count += 1
        found[condition, :count] = np.sort(found[condition, :count])
        most = max(most, _leave_one_of_each(found[condition, :count]))
    return found[:, :most].copy().reshape(conditions * most)


@wide_kernel(linked=True)
def _leave_one_of_each(keys: Ints) -> int:
    """Let ascending keys be different, FOREVER after them; return how many they are."""
    different = 0
    for i in range(keys.shape[0]):
        if different == 0 or keys[i] != keys[different - 1]:
            keys[different] = keys[i]
            different += 1
    keys[different:] = FOREVER
    return different


@wide_kernel(linked=True)
def _begin_rows(graph: Graph, begin: int, count: int, shape: Shape) -> None:
    """Use rows of an index from a rank on: nothing has been entered there."""
    for rank in range(begin, begin + count):
        graph.used[rank] = 1
        begin_row(graph.rows, 1 + rank, shape)


@wide_kernel(linked=True)
def _past_keys(program: Program, graphs: Graphs, number: int, condition: int, to: Ints) -> None:
    """Write the keys of past epochs by one condition, one epoch's after another's."""
    graph = graph_of(program, graphs, number)
    first = condition * span_of(program, graph.info, number) + graph.info[FIRST]
    for i in range(to.shape[0]):
        to[i] = graph.keys[first + i]


@wide_kernel(linked=True)
def _merge(
    program: Program, before: Graphs, info: Ints, graphs: Graphs, number: int, keys: Ints
) -> None:
    """Make one past epoch of those of a graph that lay in `before` as `info` says.

    keys: [condition, rank] all of theirs.
    """
    old, new = graph_at(program, before, number, info), graph_of(program, graphs, number)
    shape = shape_of(program, new, number)
    conditions, merged = keys.shape
    of, to = span_of(program, info, number), span_of(program, new.info, number)
    for condition in range(conditions):
        kind = program.conditions[program.sets[number].conditions + condition].compared
        _begin_rows(new, condition * to, merged, shape)
        for i in range(merged):
            new.keys[condition * to + i] = keys[condition, i]
        begin = info[FIRST]
        for epoch in range(info[EPOCHS] if kind != PLAIN else 0):
            end, at = info[ENDS + epoch], begin
            for i in range(merged):
                while at < end and old.keys[condition * of + at] <= keys[condition, i]:
                    at += 1
                row = condition * of + at  # of the last key up to this one
                if at > begin and (kind != EQUAL or old.keys[row - 1] == keys[condition, i]):
                    add_both(new.rows, 1 + condition * to + i, old.rows, row, shape)
            begin = end
    last = info[LASTS + max(info[EPOCHS] - 1, 0)]
    new.info[FIRST] = 0
    new.info[EPOCHS] = min(merged, 1)
    new.info[ENDS] = merged
    new.info[LASTS] = last
    new.info[PRESENT] = merged
    new.info[END] = merged


@wide_kernel(linked=True)
def _begin_epoch(program: Program, graphs: Graphs, number: int, keys: Ints, last: int) -> None:
    """Let the present epoch have keys, those of each condition in turn; there is room for them.

    last: the time of its last event.
    """
    graph = graph_of(program, graphs, number)
    conditions = conditions_of(program, number)
    span, ranks = span_of(program, graph.info, number), keys.shape[0] // conditions
    shape = shape_of(program, graph, number)
    for condition in range(conditions):
        begin = condition * span + graph.info[PRESENT]
        _begin_rows(graph, begin, ranks, shape)
        for i in range(ranks):
            graph.keys[begin + i] = keys[condition * ranks + i]
    graph.info[END] = graph.info[PRESENT] + ranks
    graph.info[LASTS + graph.info[EPOCHS]] = last
