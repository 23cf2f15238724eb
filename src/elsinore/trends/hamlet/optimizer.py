"""The optimizer: which groups of queries share a burst (HAMLET, Section 4)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from elsinore.trends.benefit import (
    ALONE_INSERT,
    FIXED,
    INSERT,
    benefit,
    propagation_cost,
    separate_cost,
    snapshot_cost,
)
from elsinore.trends.core.arrays import Doubles
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.expected import is_shared
from elsinore.trends.hamlet.layout import (
    COLUMNS,
    COUNTED,
    DIGITS,
    EVERY,
    PLAIN,
    SNAPSHOT,
    SOME,
    STANDING,
    Actions,
    Events,
    Graphs,
    Mode,
    Program,
    Words,
    Work,
)
from elsinore.trends.hamlet.masks import has, takes
from elsinore.trends.hamlet.storage import graph_of

SAMPLE = 16  # events of a burst that the optimizer looks at, about
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)


class _Burst(NamedTuple):
    """What the cost of a burst depends on, beside who shares it; HAMLET's Table 2 has the symbols.

    depth: how many numbers of an index one predecessor sum reads: 1 where a running total is kept,
    1 + log2(n) of a Fenwick tree, times the sums that ride along.
    """

    b: float
    read: float  # g * p
    inserting: float  # b * log2(g)
    n: float
    depth: float
    standing: float  # snapshots that there are already
    forms: bool  # whether events need forms to be shared


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
    groups = program.sets[number + 1].groups - program.sets[number].groups
    weight = work.weight[program.sets[number].groups : program.sets[number + 1].groups]
    stride = max((high - low) // SAMPLE, 1)
    first, uniform = events.listed[low].entry, True
    for i in range(low, high, stride):
        uniform &= events.listed[i].entry == first
    differs = groups > 1 and not uniform
    cost = mode.cost if program.sets[number].adjacent == PLAIN else mode.ordered_cost
    burst = _burst(program, work, graphs, cost, number, low, high, differs)
    if groups == 1 or (uniform and actions.entries[first].everyone != 0):
        shared[:] = _ONES
        k, created = _weight(weight, shared), 1.0
    else:
        words, end = shared.shape[0], low + 1 if uniform else high
        _take_together(actions, work, events, low, end, stride, words)
        every, some = work.masks[EVERY], work.masks[SOME]
        heaviest = -1
        for g in range(groups):
            if has(some, g) and (heaviest < 0 or weight[g] > weight[heaviest]):
                heaviest = g
        for w in range(words):
            shared[w] = every[w]
        k, created = _weight(weight, shared), 1.0
        if not uniform:
            like = -1 if k >= weight[heaviest] else heaviest
            _count_differences(actions, work, events, low, high, stride, like, shared)
            created += _join(work, cost, burst, weight, stride, shared)
            k = _weight(weight, shared)
    saved = _benefit(cost, burst, k, created)
    if saved <= 0.0:
        shared[:] = np.uint64(0)
    return saved


@wide_kernel(linked=True)
def _burst(
    program: Program,
    work: Work,
    graphs: Graphs,
    cost: Doubles,
    number: int,
    low: int,
    high: int,
    differs: bool,
) -> _Burst:
    """Return what the cost of a burst depends on; whether its events differ in who takes them."""
    b, n = np.float64(high - low), np.float64(high - work.bursts[number].oldest)
    depth, standing = np.float64(program.sets[number].values), 0.0
    forms = differs or program.sets[number].values > 1 or program.sets[number].carried > 0
    if program.sets[number].adjacent != PLAIN:
        forms = False
        depth *= 1.0 + math.log2(max(n, 2.0))
        graph = graph_of(program, graphs, number)
        for j in range(graph.info[COLUMNS]):
            standing += graph.holder[j] == SNAPSHOT
        if not is_shared(graph):  # there will be as many as windows had
            standing = max(standing, work.counts[number, STANDING])
    inserting = 0.0
    if cost[INSERT] != 0.0 or cost[ALONE_INSERT] != 0.0:
        inserting = b * math.log2(max(b, 1.0))
    read = b * program.sets[number].predecessors
    return _Burst(b, read, inserting, n, depth, standing, forms)


@wide_kernel(linked=True)
def _benefit(cost: Doubles, burst: _Burst, k: float, created: float) -> float:
    """Return what sharing a burst among k holders saves, with so many new snapshots."""
    b, n, propagated = burst.b, burst.n, burst.standing + created
    return benefit(
        separate_cost(cost, b, burst.inserting, n, k, burst.depth),
        propagation_cost(cost, b, burst.inserting, n, propagated, burst.depth, burst.forms),
        snapshot_cost(cost, burst.read, k, created, propagated),
        cost[FIXED],
    )


@wide_kernel(linked=True)
def _weight(weight: Doubles, mask: Words) -> float:
    """Return how many holders the groups of a mask have."""
    total = 0.0
    for g in range(weight.shape[0]):
        if has(mask, g):
            total += weight[g]
    return total


@wide_kernel(linked=True)
def _take_together(
    actions: Actions, work: Work, events: Events, low: int, high: int, stride: int, words: int
) -> None:
    """Say in EVERY and SOME which groups take all, and some, of a burst's events."""
    every, some = work.masks[EVERY], work.masks[SOME]
    every[:] = _ONES
    some[:] = np.uint64(0)
    for i in range(low, high, stride):
        base = actions.entries[events.listed[i].entry].masks
        for w in range(words):
            every[w] &= actions.mask[base + w]
            some[w] |= actions.mask[base + w]


@wide_kernel(linked=True)
def _count_differences(
    actions: Actions,
    work: Work,
    events: Events,
    low: int,
    high: int,
    stride: int,
    like: int,
    shared: Words,
) -> None:
    """Count at how many events, up to 7, each group differs from the most; let the others share.

    like: the group that the most are like; -1: they take every event. The counters are
    bit-sliced: COUNTED and the masks after it have a digit each, for 64 groups at a time.
    """
    counted = work.masks[COUNTED:]
    counted[:] = np.uint64(0)
    for i in range(low, high, stride):
        entry = events.listed[i].entry
        base = actions.entries[entry].masks
        flip = _ONES if like < 0 or takes(actions, entry, like) else np.uint64(0)
        for w in range(shared.shape[0]):
            carry = actions.mask[base + w] ^ flip
            for plane in range(DIGITS):
                before = counted[plane, w]
                counted[plane, w] = before ^ carry
                carry &= before
            for plane in range(DIGITS):
                counted[plane, w] |= carry
    for w in range(shared.shape[0]):
        shared[w] = ~(counted[0, w] | counted[1, w] | counted[2, w])


@wide_kernel(linked=True)
def _join(
    work: Work, cost: Doubles, burst: _Burst, weight: Doubles, stride: int, shared: Words
) -> float:
    """Let each group share that costs less so (Theorem 4.2); return the snapshots at events."""
    counted, some, worth = work.masks[COUNTED:], work.masks[SOME], work.worth
    k = _weight(weight, shared)
    asked, most = np.uint64(0), 0.0  # asked: of which numbers of events the worth is known
    for g in range(weight.shape[0]):
        w, bit = g >> 6, np.uint64(g & 63)
        if weight[g] == 0.0 or has(shared, g) or not has(some, g):
            continue
        digits = np.int64(0)
        for plane in range(DIGITS):
            digits += np.int64((counted[plane, w] >> bit) & np.uint64(1)) << plane
        differs = np.float64(digits * stride)
        known = np.uint64(1) << np.uint64(digits)
        if asked & known == 0:
            asked |= known
            # what it saves to share a group that differs so often is linear in its holders
            without = _benefit(cost, burst, k, 1.0)
            worth[digits, 0] = _benefit(cost, burst, k, 1.0 + differs) - without
            worth[digits, 1] = _benefit(cost, burst, k + 1.0, 1.0 + differs) - without
            worth[digits, 1] -= worth[digits, 0]
        if worth[digits, 0] + worth[digits, 1] * weight[g] > 0.0:
            shared[w] |= np.uint64(1) << bit
            most = max(most, differs)
    return most
