# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Windows, one after another: each event's predecessors added up by an index.

For an event that may take state q, where trends begin with it or follow those that are kept,

    x = start(q) + sum of what q reads: of nodes, and of ranges of their trees

is the number of trends that end in it (COGRA's recurrence with edge predicates: HAMLET, Section
3.1), and their sums ride along; it is entered into the nodes of q. An event that a NOT forbids
empties the nodes that the NOT follows (Section 5). Events of one time all read before any of them
acts, and what they forbid is gone before they enter: it is what came before their moment.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.kernels.pointers import pointed
from elsinore.numeric.extended import THRESHOLD
from elsinore.trends.core.extended import normalise
from elsinore.trends.graph.layout import Stream
from elsinore.trends.graph.sums import (
    Fields,
    Sums,
    add_to,
    clear,
    clear_rows,
    contribute,
    put,
)
from elsinore.trends.graph.windows import Windows
from elsinore.trends.index.axes import Axes
from elsinore.trends.index.layout import (
    ALL,
    BY_TIME,
    CLASSES_AT,
    CUT_OUT,
    ENDS,
    ENTERED,
    FIELDS,
    FIRST,
    FIRST_NODE,
    FOUND,
    HOW,
    KEEP,
    KEPT_TREE,
    KEPT_TREES,
    LAST,
    LOG,
    LOGGED,
    NODE,
    NODE_ROW,
    NODES,
    NODES_AT,
    OF,
    OF_NODE,
    OVERLAP,
    OWN,
    OWN_BELOW,
    READ,
    READS,
    RESETS,
    SEED,
    START,
    STATE,
    TOTAL,
    TREE,
    TREES,
    TREES_AT,
    WHOLE,
)
from elsinore.trends.index.ranks import rank_rows
from elsinore.trends.index.trees import (
    clear_tree,
    empty_tree,
    enter_rank,
    read_row,
    sum_ranks,
)
from elsinore.trends.keyed import Doubles, Ints


@kernel(borrows=True)
def sum_windows(
    all_words: Ints,
    all_work: Ints,
    fields: Fields,
    all_events: Stream,
    all_axes: Axes,
    held: Windows,
    sums: Sums,
    totals: Sums,
) -> None:
    """Fill rows of totals for each window; `held` are those of a key one after another."""
    words, work = pointed(all_words), pointed(all_work)
    stream, axes = _pointed_classes(all_events), _pointed_times(all_axes)
    numbers = pointed(sums.cells.reshape(-1))  # where there is but one field, they are its rows
    first, last = np.int64(0), np.int64(0)  # rows that are ranked
    for window in range(len(held.key)):
        low, high = held.low[window], held.high[window]
        if low < first or high > last:
            first, last = low, high
            later = window + 1
            # windows that overlap are ranked together as long as these are twice as many rows
            while words[OVERLAP] != 0 and later < len(held.key):
                if held.key[later] != held.key[window] or held.high[later] - low > 2 * (high - low):
                    break
                last = held.high[later]
                later += 1
            rank_rows(words, work, stream.classes, axes, first, last)
        _begin(words, work, sums)
        _pass_rows(words, work, fields, stream, axes, sums, numbers, low, high, first)
        _end(words, sums, totals, window)


@kernel(borrows=True, inline=True)
def _pointed_classes(stream: Stream) -> Stream:
    """Return events whose classes are a pointer, which costs less at each of them."""
    return Stream(
        pointed(stream.classes), stream.values, stream.present, stream.orders, stream.ordered
    )


@kernel(borrows=True, inline=True)
def _pointed_times(axes: Axes) -> Axes:
    """Return columns to compare by whose times are a pointer."""
    return Axes(axes.codes, axes.numbers, axes.known, pointed(axes.times))


@kernel(borrows=True)
def _begin(words: Ints, work: Ints, sums: Sums) -> None:
    """Make all nodes and trees those of a window without events."""
    clear_rows(sums, TOTAL, words[FOUND])
    for node in range(words[NODES]):
        sums.cells[FIRST_NODE + node, 0] = words[words[NODES_AT] + node * NODE + SEED]
    for number in range(words[TREES]):
        tree = words[TREES_AT] + number * TREE
        clear_tree(words, work, sums, tree)
        work[words[tree + ENTERED]] = 0


@kernel(borrows=True)
def _end(words: Ints, sums: Sums, totals: Sums, window: int) -> None:
    """Fill a window's rows of totals, one after another for each of the finals."""
    finals = words[ENDS]
    for final in range(words[finals]):
        ends = words[finals + 1 + final]
        clear(sums, TOTAL)
        for place in range(ends + 1, ends + 1 + words[ends]):
            add_to(sums, TOTAL, FIRST_NODE + words[place])
        put(totals, window * words[finals] + final, sums, TOTAL)


@kernel(borrows=True)
def _pass_rows(
    words: Ints,
    work: Ints,
    fields: Fields,
    stream: Stream,
    axes: Axes,
    sums: Sums,
    numbers: Doubles,
    low: int,
    high: int,
    first: int,
) -> None:
    """Let the events `low` to `high` - 1 act, moment by moment; they are ranked from `first` on."""
    plain = fields.linear.shape[1] == 1 and fields.extreme.shape[1] == 0
    row = low
    while row < high:
        if plain:
            row, plain = _pass_plain(
                words, work, numbers, stream.classes, axes.times, row, high, first
            )
            if row == high:
                return
        after = row + 1
        if words[BY_TIME] != 0:
            while after < high and axes.times[after] == axes.times[row]:
                after += 1
        found = words[FOUND]
        for event in range(row, after):
            kind = stream.classes[event]
            if kind < 0:
                continue
            taken = _taken(words, kind)
            for place in range(taken + 1, taken + 1 + words[taken]):
                state = words[place]
                if plain:
                    value = _count(words, work, numbers, None, state, event - first, found)
                    sums.cells[found, 0], sums.powers[found, 0] = normalise(value, 0)
                    plain = value < THRESHOLD
                else:
                    _count(words, work, numbers, sums, state, event - first, found)
                    if sums.cells[found, 0] != 0.0:
                        contribute(fields, stream, words[state + FIELDS], event, sums, found)
                found += 1
        if words[RESETS] != 0:
            for event in range(row, after):
                if stream.classes[event] >= 0:
                    _forbid(words, work, sums, words[words[CLASSES_AT] + stream.classes[event]])
        found = words[FOUND]
        for event in range(row, after):
            kind = stream.classes[event]
            if kind < 0:
                continue
            taken = _taken(words, kind)
            for place in range(taken + 1, taken + 1 + words[taken]):
                if sums.cells[found, 0] != 0.0:
                    state = words[place]
                    if plain:
                        value = numbers[found]
                        plain = _keep(
                            words, work, numbers, None, state, event - first, found, value
                        )
                    else:
                        _keep(words, work, numbers, sums, state, event - first, found, 0.0)
                found += 1
        row = after


@kernel(borrows=True)
def _pass_plain(
    words: Ints,
    work: Ints,
    numbers: Doubles,
    classes: Ints,
    times: Ints,
    low: int,
    high: int,
    first: int,
) -> tuple[int, bool]:
    """Let events act of which each is a moment of its own and empties nothing.

    All numbers are plain. Returns the first row that is not so, and whether numbers are still.
    """
    by_time, found = words[BY_TIME] != 0, words[FOUND]
    for row in range(low, high):
        if by_time and row + 1 < high and times[row] == times[row + 1]:
            return row, True
        kind = classes[row]
        if kind < 0:
            continue
        emptied = words[words[CLASSES_AT] + kind]
        if words[emptied] != 0:
            return row, True
        first_state, last_state = emptied + 2, emptied + 2 + words[emptied + 1]
        for place in range(first_state, last_state):
            value = _count(words, work, numbers, None, words[place], row - first, found)
            if value >= THRESHOLD:
                return row, False
            numbers[found + place - first_state] = value
        plain = True
        for place in range(first_state, last_state):
            value = numbers[found + place - first_state]
            if value != 0.0:
                plain &= _keep(words, work, numbers, None, words[place], row - first, found, value)
        if not plain:
            return row + 1, False
    return high, True


@kernel(borrows=True)
def _taken(words: Ints, kind: int) -> int:
    """Return where the list is of the states that events of a class take."""
    emptied = words[words[CLASSES_AT] + kind]
    return emptied + 1 + words[emptied]


@kernel(borrows=True, inline=True)
def _ranks_read(words: Ints, work: Ints, read: int, row: int) -> tuple[int, int]:
    """Return the ranks of a tree that an event reads: the first, the one after the last."""
    how = words[read + HOW]
    first = work[words[read + FIRST] + row]
    if how == CUT_OUT:
        return first, work[words[read + LAST] + row]
    if first < 0:
        return 0, 0
    return (first if how == OWN else 0), (first if how == OWN_BELOW else first + 1)


@kernel(borrows=True, inline=True)
def _count(
    words: Ints, work: Ints, numbers: Doubles, sums: Sums | None, state: int, row: int, at: int
) -> float:
    """Make row `at` the sums of the trends that an event ends which takes a state.

    Without sums return how many these are, where none of the numbers is beyond a double.
    """
    value = float(words[state + START])
    if sums is not None:
        clear(sums, at)
        sums.cells[at, 0] = value
    if sums is None or words[state + WHOLE] != TOTAL:  # plain: without a branch for most events
        value += read_row(numbers, sums, words[state + WHOLE], at)
    reads = words[state + READS]
    for read in range(state + STATE, state + STATE + READ * reads, READ):
        if words[read + HOW] == ALL:
            value += read_row(numbers, sums, words[read + OF], at)
        else:
            begin, end = _ranks_read(words, work, read, row)
            value += sum_ranks(words, work, numbers, sums, words[read + OF], begin, end, at)
    return value


@kernel(borrows=True, inline=True)
def _keep(
    words: Ints,
    work: Ints,
    numbers: Doubles,
    sums: Sums | None,
    state: int,
    row: int,
    found: int,
    value: float,
) -> bool:
    """Enter row `found` of the sums into the nodes of a state; without sums a number of trends.

    Returns whether all numbers are plain still.
    """
    plain = True
    place = state + STATE + READ * words[state + READS] + 1
    for _ in range(words[place - 1]):
        if sums is None:
            total = numbers[np.uint64(words[place + NODE_ROW])] + value
            numbers[np.uint64(words[place + NODE_ROW])] = total
            plain &= total < THRESHOLD
        else:
            add_to(sums, words[place + NODE_ROW], found)
        logged, trees = words[place + LOGGED] != 0, words[place + KEPT_TREES]
        place += KEEP
        for _ in range(trees):
            rank = work[words[place + 1] + row]
            if rank >= 0:
                if logged:
                    _log(words, work, words[place], rank)
                enter_rank(words, work, numbers, sums, words[place], rank, found, value)
            place += KEPT_TREE
    return plain


@kernel(borrows=True)
def _log(words: Ints, work: Ints, tree: int, rank: int) -> None:
    """Note that a rank was entered that may be taken out again."""
    entered = words[tree + ENTERED]
    work[words[tree + LOG] + work[entered]] = rank
    work[entered] += 1


@kernel(borrows=True)
def _forbid(words: Ints, work: Ints, sums: Sums, nodes: int) -> None:
    """Empty the nodes of a list."""
    for place in range(nodes + 1, nodes + 1 + words[nodes]):
        clear(sums, FIRST_NODE + words[place])
        trees = words[words[NODES_AT] + words[place] * NODE + OF_NODE]
        for tree in range(trees + 1, trees + 1 + words[trees]):
            empty_tree(words, work, sums, words[tree])
