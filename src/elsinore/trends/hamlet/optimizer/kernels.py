"""The optimizer: which groups of queries share a burst (HAMLET, Section 4)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.extending import intrinsic

from elsinore.trends.hamlet.layout import (
    COLUMNS,
    PLAIN,
    SNAPSHOT,
    Actions,
    Doubles,
    Events,
    Mode,
    Program,
    Words,
    Work,
)

SAMPLE = 16  # events of a burst that the optimizer looks at, about


@intrinsic
def cycles(typing_context: Any) -> Any:  # noqa: ARG001
    """Return the processor's cycle counter."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        name = "llvm.readcyclecounter"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [])

    return types.int64(), generate


@njit(cache=True, nogil=True)
def read_cycles() -> int:
    """Return the processor's cycle counter, to be compared with a clock."""
    return cycles()


@njit(cache=True, nogil=True)
def has(mask: Words, base: int, group: int) -> bool:
    """Return whether a mask that begins at word `base` has the bit of a group."""
    return (mask[base + (group >> 6)] >> np.uint64(group & 63)) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def any_of(mask: Words) -> bool:
    """Return whether a mask has a bit."""
    found = np.uint64(0)
    for w in range(mask.shape[0]):
        found |= mask[w]
    return found != 0


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def has_others(actions: Actions, entry: int, shared: Words) -> bool:
    """Return whether groups that do not share take an event."""
    base = actions.entries[entry].masks
    others = np.uint64(0)
    for w in range(shared.shape[0]):
        others |= actions.mask[base + w] & ~shared[w]
    return others != 0


@njit(cache=True, nogil=True)
def shared_cost(
    cost: Doubles,
    b: float,
    g: float,
    n: float,
    k: float,
    p: float,
    created: float,
    propagated: float,
    depth: float,
) -> float:
    """Return what it costs to share a burst; the slow form is `CostModel.shared`."""
    return (
        cost[0]
        + cost[1] * b
        + cost[2] * b * math.log2(max(g, 1.0))
        + cost[3] * b * n * propagated
        + cost[4] * b * depth * propagated
        + cost[5] * created * k * g * p
        + cost[6] * created * k * propagated
        + cost[7] * k
    )


@njit(cache=True, nogil=True)
def separate_cost(cost: Doubles, b: float, g: float, n: float, k: float, depth: float) -> float:
    """Return what it costs to process a burst for k holders one by one."""
    return (
        cost[8] * k * b * math.log2(max(g, 1.0))
        + cost[9] * k * b * n
        + cost[10] * k * b * depth
        + cost[11] * k
        + cost[12] * b
    )


@njit(cache=True, nogil=True)
def weigh(program: Program, work: Work, graphs: Any, number: int) -> None:
    """Count for each group of a set its open holders that have no column of their own."""
    graph = graphs[number]
    begin = program.sets[number].groups
    work.weight[begin : program.sets[number + 1].groups] = 0
    base = program.sets[number].holders
    for h in range(graph.column.shape[0]):
        if graph.column[h] >= 0:
            continue
        member = program.lists[base + h]
        state = program.members[member].member
        kind = program.states[state].window
        lane = h - (
            program.fields[program.states[state].field].address - program.sets[number].set_cell
        )
        if work.opened[program.kinds[kind].openings + lane] != 0.0:
            work.weight[begin + program.members[member].group] += 1


@njit(cache=True, nogil=True)
def decide(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Any,
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
    graph = graphs[number]
    ones = ~np.uint64(0)
    b = high - low
    plain = program.sets[number].adjacent == PLAIN
    n = np.float64(high - work.bursts[number].oldest)
    depth = np.float64(program.sets[number].values)
    standing = 0
    if not plain:
        depth *= 1.0 + math.log2(max(n, 2.0))
        for j in range(graph.info[COLUMNS]):
            if graph.holder[j] == SNAPSHOT:
                standing += 1
    p = program.sets[number].predecessors
    cost = mode.cost
    if groups == 1:
        k = weight[0]
        shared[0] = np.uint64(1)
        benefit = separate_cost(cost, b, b, n, k, depth) - shared_cost(
            cost, b, b, n, k, p, 1.0, standing + 1.0, depth
        )
        if benefit <= 0.0:
            shared[0] = np.uint64(0)
        return benefit
    stride = 1 if b <= SAMPLE else b // SAMPLE
    looked = 0
    every = np.empty(words, dtype=np.uint64)
    some = np.zeros(words, dtype=np.uint64)
    every[:] = ones
    uniform = True
    last = events.listed[low].entry
    i = low
    while i < high:
        entry = events.listed[i].entry
        looked += 1
        if looked == 1 or entry != last:
            uniform &= looked == 1
            last = entry
            base = actions.entries[entry].masks
            for w in range(words):
                every[w] &= actions.mask[base + w]
                some[w] |= actions.mask[base + w]
        i += stride
    together = 0
    heaviest = -1
    for g in range(groups):
        if has(some, 0, g) and (heaviest < 0 or weight[g] > weight[heaviest]):
            heaviest = g
        if has(every, 0, g):
            together += weight[g]
    like_all = together >= weight[heaviest]
    shared[:] = every
    k = together
    events_created = 0.0
    if not uniform:
        # bit-sliced counters, up to 7, of the events at which each group differs from the most
        counted = np.zeros((3, words), dtype=np.uint64)
        i = low
        while i < high:
            base = actions.entries[events.listed[i].entry].masks
            flip = np.uint64(0)
            if like_all or has(actions.mask, base, heaviest):
                flip = ones
            for w in range(words):
                carry = actions.mask[base + w] ^ flip
                for plane in range(3):
                    before = counted[plane, w]
                    counted[plane, w] = before ^ carry
                    carry &= before
                for plane in range(3):
                    counted[plane, w] |= carry
            i += stride
        k = 0
        for w in range(words):
            shared[w] = ~(counted[0, w] | counted[1, w] | counted[2, w])
        for g in range(groups):
            if has(shared, 0, g):
                k += weight[g]
        for g in range(groups):
            if weight[g] == 0 or has(shared, 0, g) or not has(some, 0, g):
                continue
            bit = np.uint64(g & 63)
            w = g >> 6
            differs = 0.0
            for plane in range(3):
                differs += np.float64((counted[plane, w] >> bit) & np.uint64(1)) * (1 << plane)
            differs *= stride
            with_it = shared_cost(
                cost, b, b, n, k + weight[g], p, 1.0 + differs, standing + 1.0 + differs, depth
            )
            without = shared_cost(cost, b, b, n, k, p, 1.0, standing + 1.0, depth) + separate_cost(
                cost, b, b, n, weight[g], depth
            )
            if with_it < without:
                shared[w] |= np.uint64(1) << bit
                events_created = max(events_created, differs)
        k = 0
        for g in range(groups):
            if has(shared, 0, g):
                k += weight[g]
    created = 1.0 + events_created
    benefit = separate_cost(cost, b, b, n, k, depth) - shared_cost(
        cost, b, b, n, k, p, created, standing + created, depth
    )
    if benefit <= 0.0:
        shared[:] = np.uint64(0)
    return benefit
