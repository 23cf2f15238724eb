"""The optimizer: which groups of queries share a burst (HAMLET, Section 4)."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload

from elsinore.trends.hamlet.benefit import ALONE_INSERT, INSERT, separate_cost, shared_cost
from elsinore.trends.hamlet.graphs import earliest_start
from elsinore.trends.hamlet.layout import (
    BENEFIT,
    COLUMNS,
    COUNTED,
    DIGITS,
    EBBS,
    EVERY,
    EXPECTED,
    INPUT,
    PLAIN,
    REACHED,
    REGRET,
    ROWS,
    SHARED,
    SNAPSHOT,
    SOME,
    STANDING,
    Actions,
    Codes,
    Doubles,
    Events,
    Graph,
    Graphs,
    Mode,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.storage import graph_of
from elsinore.trends.wide import wide_kernel

SAMPLE = 16  # events of a burst that the optimizer looks at, about


def cycles() -> int:
    """Return a count that grows evenly with time: compiled, the processor's cycle counter."""
    return time.perf_counter_ns()


@overload(cycles)
def _compiled_cycles() -> Any:
    return lambda: _counter()  # noqa: PLW0108  (what is compiled is a function)


@intrinsic
def _counter(typing_context: Any) -> Any:  # noqa: ARG001
    """Return the processor's cycle counter."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        name = "llvm.readcyclecounter"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [])

    return types.int64(), generate


@wide_kernel
def has(mask: Words, group: int) -> bool:
    """Return whether a mask has the bit of a group."""
    return (mask[group >> 6] >> np.uint64(group & 63)) & np.uint64(1) != 0


@wide_kernel
def takes(actions: Actions, entry: int, group: int) -> bool:
    """Return whether a group takes an entry's events."""
    word = actions.mask[actions.entries[entry].masks + (group >> 6)]
    return (word >> np.uint64(group & 63)) & np.uint64(1) != 0


@wide_kernel
def relation_of(actions: Actions, entry: int, shared: Words) -> int:
    """Return whether none (0), some (1) or all (2) of the groups that share take an event."""
    base = actions.entries[entry].masks
    some = False
    every = True
    for w in range(shared.shape[0]):
        taken = actions.mask[base + w] & shared[w]
        some |= taken != 0
        every &= taken == shared[w]
    return (2 if every else 1) if some else 0


@wide_kernel
def any_of(mask: Words) -> bool:
    """Return whether a mask has a bit."""
    found = np.uint64(0)
    for w in range(mask.shape[0]):
        found |= mask[w]
    return found != 0


@wide_kernel
def snapshots_at_events(
    actions: Actions, events: Events, low: int, high: int, shared: Words
) -> int:
    """Return how many events of a burst some of those who share take, and others do not."""
    found = 0
    if not any_of(shared):
        return found
    last = np.int64(-1)
    differs = False
    for i in range(low, high):
        entry = events.listed[i].entry
        if entry != last:
            last = entry
            differs = relation_of(actions, entry, shared) == 1
        found += differs
    return found


@wide_kernel
def has_others(actions: Actions, entry: int, shared: Words) -> bool:
    """Return whether groups that do not share take an event."""
    base = actions.entries[entry].masks
    others = np.uint64(0)
    for w in range(shared.shape[0]):
        others |= actions.mask[base + w] & ~shared[w]
    return others != 0


@wide_kernel
def weigh(program: Program, work: Work, graphs: Graphs, number: int) -> None:
    """Work out for how many holders of each group of a set sharing saves a column of their own.

    In a plain set that is each one whose window is open. In others nothing is done for a holder as
    long as nothing has come into it: then it counts in so far as something is expected to come, by
    how the last window went that closed. Holders that have a column keep it. STANDING: how many
    snapshots are expected to stand, on the average over a window.
    """
    graph, counts = graph_of(program, graphs, number), work.counts[number]
    begin, base = program.sets[number].groups, program.sets[number].set_cell
    work.weight[begin : program.sets[number + 1].groups] = 0.0
    plain = program.sets[number].adjacent == PLAIN
    waits = 1.0  # what a holder counts that nothing has come into
    for turn in range(2):
        opened, reached = 0, 0
        for h in range(graph.column.shape[0]):
            member = program.lists[program.sets[number].holders + h]
            state = program.members[member].member
            lane = h - (program.fields[program.states[state].field].address - base)
            opening = program.kinds[program.states[state].window].openings + lane
            if work.opened[opening] == 0.0:
                continue
            opened += 1
            if graph.column[h] >= 0:
                reached += 1
            elif plain or work.cells[INPUT, base + h] != 0.0:
                reached += 1
                work.weight[begin + program.members[member].group] += turn
            else:
                work.weight[begin + program.members[member].group] += turn * waits
        if turn == 0 and reached < opened:
            expected = 0.5 * counts[REACHED] * opened  # on the average over a window
            waits = min(max((expected - reached) / (opened - reached), 0.0), 1.0)
        if opened > 0:
            lanes = opened * 1.0 / (program.sets[number + 1].members - program.sets[number].members)
            counts[STANDING] = counts[EXPECTED] * (1.0 - 0.5 / max(lanes, 1.0))


@wide_kernel
def look_ahead(
    program: Program,
    actions: Actions,
    work: Work,
    events: Events,
    classes: Codes,
    number: int,
) -> None:
    """Say how many snapshots the first window is going to have, as no window has shown it yet.

    That is how often, before a window has passed, something comes into the set between its events.
    """
    low, expected = work.bursts[number].low, 1.0
    start = events.times[events.listed[low].row]
    for i in range(low + 1, events.lists[number + 1]):
        row, before = events.listed[i].row, events.listed[i - 1].row
        if row == before + 1:
            continue
        time = events.times[row]
        if time < start or earliest_start(program, number, time) > start:  # or of another key
            break
        fed = False
        for r in range(before + 1, row):
            if classes[r] >= 0 and not fed:
                fed = _feeds(program, actions, classes[r], number)
        expected += fed
    work.counts[number, EXPECTED] = expected


@wide_kernel
def _feeds(program: Program, actions: Actions, kind: int, number: int) -> bool:
    """Return whether events of a class take a state right before a member of a set."""
    for c in range(actions.classes[kind].coarse, actions.classes[kind + 1].coarse):
        state = actions.lists[c]
        for n in range(program.states[state].succs, program.states[state + 1].succs):
            if program.states[program.lists[n]].home == number:
                return True
    return False


@wide_kernel
def is_shared(graph: Graph) -> bool:
    """Return whether some holder goes through snapshots."""
    for h in range(graph.column.shape[0]):  # noqa: SIM110  (compiled as it stands)
        if graph.column[h] == SHARED:
            return True
    return False


@wide_kernel
def keep_to_it(
    program: Program,
    work: Work,
    graphs: Graphs,
    cost: Doubles,
    number: int,
    shared: Words,
) -> None:
    """Change from sharing to not sharing, or back, only where that pays for a split as well.

    A split evaluates all snapshots for all holders in each row of the index. Sharing is not given
    up before it has lost as much; until then nobody else begins to share (EBBS). This is for
    holders that all take the same events; others may come and go, as snapshots at events are dear.
    """
    if program.sets[number + 1].groups - program.sets[number].groups > 1:
        return
    counts, graph = work.counts[number], graph_of(program, graphs, number)
    if not is_shared(graph):
        return
    benefit = counts[BENEFIT]
    holders, standing = work.weight[program.sets[number].groups], 1
    for j in range(graph.info[COLUMNS]):
        standing += graph.holder[j] == SNAPSHOT
    price = cost[7] * np.float64(graph.info[ROWS]) * holders * standing
    counts[REGRET] = max(0.0, counts[REGRET] - benefit)
    if benefit <= 0.0 and counts[REGRET] <= price:
        shared[:] = ~np.uint64(0)
        counts[EBBS] = 1.0
    elif benefit <= 0.0:
        counts[REGRET] = 0.0


@wide_kernel
def decide(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    number: int,
    low: int,
    high: int,
    shared: Words,
) -> float:
    """Choose the groups that share a burst (HAMLET, Section 4); return the benefit expected.

    Groups that take the same events as most others create no snapshot at an event and are shared
    together (Theorem 4.1); each other group is shared if that costs less than to leave it out
    (Theorem 4.2); nothing is shared where it does not pay (Definition 12). Of a long burst SAMPLE
    events stand for all. O(groups) for each of them, 64 at a time.
    """
    words = program.sets[number + 1].words - program.sets[number].words
    groups = program.sets[number + 1].groups - program.sets[number].groups
    weight = work.weight[program.sets[number].groups : program.sets[number + 1].groups]
    ones = ~np.uint64(0)
    size = high - low
    b = np.float64(size)
    plain = program.sets[number].adjacent == PLAIN
    n = np.float64(high - work.bursts[number].oldest)
    depth = np.float64(program.sets[number].values)
    standing = 0
    if not plain:
        depth *= 1.0 + math.log2(max(n, 2.0))
        graph = graph_of(program, graphs, number)
        for j in range(graph.info[COLUMNS]):
            if graph.holder[j] == SNAPSHOT:
                standing += 1
        if not is_shared(graph):  # there will be as many as windows had
            standing = max(standing, np.int64(work.counts[number, STANDING]))
    p = program.sets[number].predecessors
    cost = mode.cost
    inserting = 0.0
    if cost[INSERT] != 0.0 or cost[ALONE_INSERT] != 0.0:
        inserting = b * math.log2(max(b, 1.0))
    forms = plain and (program.sets[number].values > 1 or program.sets[number].carried > 0)
    uniform = True
    first = events.listed[low].entry
    stride = 1 if size <= SAMPLE else size // SAMPLE
    for i in range(low, high, stride):
        uniform &= events.listed[i].entry == first
    if groups == 1 or (uniform and actions.entries[first].everyone != 0):
        k = 0.0
        for g in range(groups):
            k += weight[g]
        benefit = separate_cost(cost, b, inserting, n, k, depth) - shared_cost(
            cost, b, b * p, inserting, n, k, 1.0, standing + 1.0, depth, forms
        )
        if benefit > 0.0:
            shared[:] = ones
        return benefit
    every, some, counted = work.masks[EVERY], work.masks[SOME], work.masks[COUNTED:]
    every[:] = ones
    some[:] = np.uint64(0)
    for i in range(low, low + 1 if uniform else high, stride):
        base = actions.entries[events.listed[i].entry].masks
        for w in range(words):
            every[w] &= actions.mask[base + w]
            some[w] |= actions.mask[base + w]
    together = 0.0
    heaviest = -1
    for g in range(groups):
        if has(some, g) and (heaviest < 0 or weight[g] > weight[heaviest]):
            heaviest = g
        if has(every, g):
            together += weight[g]
    for w in range(words):
        shared[w] = every[w]
    k = np.float64(together)
    events_created = 0.0
    if not uniform:
        forms = plain
        like_all = together >= weight[heaviest]
        # bit-sliced counters, up to 7, of the events at which each group differs from the most
        counted[:] = np.uint64(0)
        for i in range(low, high, stride):
            entry = events.listed[i].entry
            base = actions.entries[entry].masks
            flip = np.uint64(0)
            if like_all or takes(actions, entry, heaviest):
                flip = ones
            for w in range(words):
                carry = actions.mask[base + w] ^ flip
                for plane in range(DIGITS):
                    before = counted[plane, w]
                    counted[plane, w] = before ^ carry
                    carry &= before
                for plane in range(DIGITS):
                    counted[plane, w] |= carry
        for w in range(words):
            shared[w] = ~(counted[0, w] | counted[1, w] | counted[2, w])
        k = 0.0
        for g in range(groups):
            if has(shared, g):
                k += weight[g]
        base_cost = shared_cost(cost, b, b * p, inserting, n, k, 1.0, standing + 1.0, depth, forms)
        asked = np.uint64(0)  # for which numbers of events the next two are known
        weights = work.worth
        for g in range(groups):
            bit = np.uint64(g & 63)
            w = g >> 6
            if weight[g] == 0 or has(shared, g) or not has(some, g):
                continue
            digits = np.int64(0)
            for plane in range(DIGITS):
                digits += np.int64((counted[plane, w] >> bit) & np.uint64(1)) << plane
            known = np.uint64(1) << np.uint64(digits)
            if asked & known == 0:
                asked |= known
                # what it saves to share a group that differs so often is linear in its holders
                differs = np.float64(digits * stride)
                nobody = base_cost - shared_cost(
                    cost,
                    b,
                    b * p,
                    inserting,
                    n,
                    k,
                    1.0 + differs,
                    standing + 1.0 + differs,
                    depth,
                    forms,
                )
                one = (
                    base_cost
                    + separate_cost(cost, b, inserting, n, 1.0, depth)
                    - separate_cost(cost, b, inserting, n, 0.0, depth)
                    - shared_cost(
                        cost,
                        b,
                        b * p,
                        inserting,
                        n,
                        k + 1.0,
                        1.0 + differs,
                        standing + 1.0 + differs,
                        depth,
                        forms,
                    )
                )
                weights[digits, 0] = nobody
                weights[digits, 1] = one - nobody
            if weights[digits, 0] + weights[digits, 1] * weight[g] > 0.0:
                shared[w] |= np.uint64(1) << bit
                events_created = max(events_created, np.float64(digits * stride))
        k = 0.0
        for g in range(groups):
            if has(shared, g):
                k += weight[g]
    created = 1.0 + events_created
    benefit = separate_cost(cost, b, inserting, n, k, depth) - shared_cost(
        cost, b, b * p, inserting, n, k, created, standing + created, depth, forms
    )
    if benefit <= 0.0:
        shared[:] = np.uint64(0)
    return benefit
