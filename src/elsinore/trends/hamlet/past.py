# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Past epochs of an index: tables of sums by rank, merged with the next ones while these are small.

Where windows close often there are many short epochs, of each of which an event reads a row. An
epoch that is less than twice as long as the one after it is therefore merged with that, as in a
log-structured merge tree: a row is then written as often, and an event reads as many of them, as
the logarithm of the number of epochs says.
"""

from __future__ import annotations

from elsinore.trends.core.arrays import Ints
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.forms import add_both, begin_row, copy_row
from elsinore.trends.hamlet.graphs import earliest_start
from elsinore.trends.hamlet.layout import (
    COLUMNS,
    END,
    ENDS,
    EPOCHS,
    EQUAL,
    FIRST,
    LASTS,
    PLAIN,
    PRESENT,
    Events,
    Graph,
    Graphs,
    Program,
    Shape,
)
from elsinore.trends.hamlet.storage import conditions_of, graph_of, shape_of, span_of


@wide_kernel(linked=True)
def end_epoch(program: Program, graphs: Graphs, events: Events, number: int, begin: int) -> None:
    """Make the present epoch a past one, its rows sums; drop those that no open window reads.

    begin: where in the set's list the next one begins.
    """
    graph = graph_of(program, graphs, number)
    info, span = graph.info, span_of(program, graph.info, number)
    shape = shape_of(program, graph, number)
    if info[COLUMNS] == 0:  # nobody has come to any of its events
        info[FIRST:ENDS] = 0
    first = program.sets[number].conditions
    conditions, ranks = conditions_of(program, number), info[END] - info[PRESENT]
    if ranks > 0:
        for condition in range(conditions):
            if program.conditions[first + condition].compared not in (PLAIN, EQUAL):
                _sum_up(graph, condition * span + info[PRESENT], ranks, shape)
        info[ENDS + info[EPOCHS]] = info[END]
        info[EPOCHS] += 1
        info[PRESENT] = info[END]
    _drop(graph, earliest_start(program, number, events.listed[begin].time), span, conditions)
    while _is_to_merge(info, span):
        last = info[EPOCHS] - 1
        begin_second = info[ENDS + last - 1]
        begin_first = info[ENDS + last - 2] if last > 1 else info[FIRST]
        for condition in range(conditions):
            kind = program.conditions[first + condition].compared
            if kind != PLAIN:
                of = condition * span
                merge_two(graph, kind, of + begin_first, of + begin_second, of + info[END], shape)
        info[ENDS + last - 1] = info[ENDS + last]
        info[LASTS + last - 1] = info[LASTS + last]
        info[EPOCHS] = last


@wide_kernel(linked=True)
def _sum_up(graph: Graph, before: int, ranks: int, shape: Shape) -> None:
    """Make rows of a Fenwick tree sums of all up to each; row `before` is that before the first."""
    for rank in range(1, ranks + 1):
        less = rank & (rank - 1)
        if less > 0:
            add_both(graph.rows, before + rank, graph.rows, before + less, shape)


@wide_kernel(linked=True)
def _drop(graph: Graph, earliest: int, span: int, conditions: int) -> None:
    """Drop the past epochs whose last event is of no window that begins at `earliest` or later."""
    info, dropped = graph.info, 0
    begin = info[FIRST]
    while dropped < info[EPOCHS] and info[LASTS + dropped] < earliest:
        info[FIRST] = info[ENDS + dropped]
        dropped += 1
    if dropped == 0:
        return
    for condition in range(conditions):
        for rank in range(condition * span + begin, condition * span + info[FIRST]):
            graph.used[rank] = 0
    info[EPOCHS] -= dropped
    for epoch in range(info[EPOCHS]):
        info[ENDS + epoch] = info[ENDS + dropped + epoch]
        info[LASTS + epoch] = info[LASTS + dropped + epoch]


@wide_kernel(linked=True)
def _is_to_merge(info: Ints, span: int) -> bool:
    """Return whether the last two past epochs are to be one, and there is room for a copy."""
    last = info[EPOCHS] - 1
    if last < 1:
        return False
    begin = info[ENDS + last - 2] if last > 1 else info[FIRST]
    size = info[END] - info[ENDS + last - 1]
    return info[ENDS + last - 1] - begin < 2 * size and info[END] + size <= span


@wide_kernel(linked=True)
def merge_two(graph: Graph, kind: int, begin: int, second: int, end: int, shape: Shape) -> None:
    """Merge two past epochs by one condition, in place: those of ranks from `begin`, `second` on.

    Ranks from `end` on are free: the second is copied there, and both are gone through backwards.
    Where both have a key, both of its ranks get the sum up to it.
    """
    keys, rows, copies = graph.keys, graph.rows, end - second
    for rank in range(copies):
        keys[end + rank] = keys[second + rank]
        copy_row(rows, 1 + end + rank, rows, 1 + second + rank, shape)
    i, j, last = second - 1, end + copies - 1, end
    while j >= end or (i >= begin and last < end and keys[i] == keys[last]):
        of_second = j >= end and (i < begin or keys[j] > keys[i])
        key, to = keys[j] if of_second else keys[i], last - 1
        if last < end and key == keys[last]:
            copy_row(rows, 1 + to, rows, 1 + last, shape)
        else:
            adds_first = i >= begin and (kind != EQUAL or keys[i] == key)
            adds_second = j >= end and (kind != EQUAL or keys[j] == key)
            copy_row(rows, 1 + to, rows, 1 + (i if adds_first else j), shape)
            if adds_first and adds_second:
                add_both(rows, 1 + to, rows, 1 + j, shape)
        keys[to], last = key, to
        if of_second:
            j -= 1
        else:
            i -= 1


@wide_kernel(linked=True)
def move_down(program: Program, graphs: Graphs, number: int) -> None:
    """Move the ranks of a set's past epochs to the begin of its index, over what was dropped."""
    graph = graph_of(program, graphs, number)
    conditions, span = conditions_of(program, number), span_of(program, graph.info, number)
    move_ranks(graph, conditions, span, shape_of(program, graph, number))


@wide_kernel(linked=True)
def move_ranks(graph: Graph, conditions: int, span: int, shape: Shape) -> None:
    """Move the ranks of past epochs, by each condition, to the begin of its part of the index."""
    info = graph.info
    by, count = info[FIRST], info[END] - info[FIRST]
    for condition in range(conditions):
        begin = condition * span
        for rank in range(begin, begin + count):
            graph.keys[rank] = graph.keys[rank + by]
            if graph.used[rank] == 0:
                graph.used[rank] = 1
                begin_row(graph.rows, 1 + rank, shape)
            copy_row(graph.rows, 1 + rank, graph.rows, 1 + rank + by, shape)
        for rank in range(begin + max(count, by), begin + info[END]):
            graph.used[rank] = 0
    info[FIRST] = 0
    info[PRESENT] -= by
    info[END] -= by
    for epoch in range(info[EPOCHS]):
        info[ENDS + epoch] -= by
