"""A complete burst: who shares it, what is processed for each alone, what is noted of it."""

from __future__ import annotations

import numpy as np

from elsinore.kernels import kernel
from elsinore.kernels.cycles import cycles
from elsinore.trends.core.arrays import Codes
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.hamlet.alone import alone
from elsinore.trends.hamlet.expected import keep_to_it, look_ahead, weigh
from elsinore.trends.hamlet.layout import (
    ALWAYS,
    BENEFIT,
    BURSTS,
    CHOSEN,
    CYCLES,
    DECISIONS,
    DYNAMIC,
    EBBS,
    EXPECTED,
    GRAPHLETS,
    LAST_SHARED,
    MERGES,
    PLAIN,
    SHARED_GRAPHLETS,
    SPLITS,
    Actions,
    Events,
    Graphs,
    Mode,
    Out,
    Program,
    Work,
)
from elsinore.trends.hamlet.masks import any_of, has, has_others, relation_of
from elsinore.trends.hamlet.optimizer import decide
from elsinore.trends.hamlet.seats import words_of


@wide_kernel(linked=True)
def choose(
    program: Program,
    actions: Actions,
    work: Work,
    graphs: Graphs,
    events: Events,
    mode: Mode,
    classes: Codes,
    number: int,
) -> None:
    """Decide who shares the complete burst of a set."""
    low, high = work.bursts[number].low, work.bursts[number].high
    counts, shared = work.counts[number], work.masks[CHOSEN, : words_of(program, number)]
    shared[:] = np.uint64(0)
    counts[BURSTS] += 1
    counts[BENEFIT] = 0.0
    counts[EBBS] = 0.0
    if mode.sharing == ALWAYS:
        shared[:] = ~np.uint64(0)
    elif mode.sharing == DYNAMIC:
        began = cycles()
        plain = program.sets[number].adjacent == PLAIN
        if not plain and counts[EXPECTED] < 0.0:
            look_ahead(program, actions, work, events, classes, number)
        if work.weight[program.sets[number].groups] < 0 or not plain:
            weigh(program, work, graphs, number)
        counts[BENEFIT] = decide(
            program, actions, work, graphs, events, mode, number, low, high, shared
        )
        if not plain:
            keep_to_it(program, work, graphs, mode.ordered_cost, number, shared)
        counts[DECISIONS] += 1
        counts[CYCLES] += np.float64(cycles() - began)
    groups = program.sets[number + 1].groups - program.sets[number].groups
    if groups & 63:  # no bits beyond the groups
        shared[-1] &= (np.uint64(1) << np.uint64(groups & 63)) - np.uint64(1)


@wide_kernel(linked=True)
def is_uniform(program: Program, actions: Actions, work: Work, events: Events, number: int) -> bool:
    """Return whether all who share a plain burst take all of it, for COUNT(*) alone."""
    if program.sets[number].values != 1 or program.sets[number].carried != 0:
        return False
    shared, last = work.masks[CHOSEN, : words_of(program, number)], np.int64(-1)
    for i in range(work.bursts[number].low, work.bursts[number].high):
        entry = events.listed[i].entry
        if entry != last:
            last = entry
            if relation_of(actions, entry, shared) != 2:
                return False
    return True


@wide_kernel(linked=True)
def end_burst(
    program: Program,
    actions: Actions,
    work: Work,
    events: Events,
    mode: Mode,
    number: int,
    out: Out,
) -> None:
    """Process a burst of a plain set for those who do not share it; take note of the burst.

    `out` has room for a record.
    """
    low, high = work.bursts[number].low, work.bursts[number].high
    work.bursts[number].low = high
    counts, shared = work.counts[number], work.masks[CHOSEN, : words_of(program, number)]
    plain, share = program.sets[number].adjacent == PLAIN, any_of(shared)
    others = plain and not share
    if plain and share:
        last = np.int64(-1)
        for i in range(low, high):
            entry = events.listed[i].entry
            if entry != last:
                last = entry
                others = others or has_others(actions, entry, shared)
    if others:
        alone(program, actions, work, events, mode, number, low, high, shared, share)
    if program.sets[number].feeds != 0:
        _feed(program, work, number)
    members = program.sets[number + 1].members - program.sets[number].members
    inside = members if share else np.int64(0)
    if share and mode.sharing == DYNAMIC:
        for m in range(program.sets[number].members, program.sets[number + 1].members):
            if not has(shared, program.members[m].group):
                inside -= 1
    counts[GRAPHLETS] += share + members - inside
    counts[SHARED_GRAPHLETS] += share
    if plain and counts[BURSTS] > 1:
        counts[SPLITS] += counts[LAST_SHARED] != 0.0 and not share
        counts[MERGES] += counts[LAST_SHARED] == 0.0 and share
    counts[LAST_SHARED] = share
    if mode.record:
        _record(out, number, events.listed[low].row, high - low, members, inside, counts[BENEFIT])
        for w in range(shared.shape[0]):
            out.sharers[out.used[1] - 1, w] = shared[w]


@wide_kernel(linked=True)
def _feed(program: Program, work: Work, number: int) -> None:
    """Mark the fine nodes that read a set's members as changed."""
    for m in range(program.sets[number].members, program.sets[number + 1].members):
        state = program.members[m].member
        for n in range(program.states[state].succs, program.states[state + 1].succs):
            work.flags[program.lists[n]].dirty = 1


@wide_kernel(linked=True)
def _record(
    out: Out, number: int, row: int, length: int, queries: int, sharing: int, benefit: float
) -> None:
    """Keep what was decided for a burst."""
    at = out.used[1]
    out.used[1] += 1
    out.record[at, 0] = number
    out.record[at, 1] = row
    out.record[at, 2] = length
    out.record[at, 3] = queries
    out.record[at, 4] = sharing
    out.benefit[at] = benefit


@kernel
def with_records(out: Out, more: int) -> Out:
    """Return the results with room for more records of bursts."""
    at = out.record.shape[0]
    if out.used[1] + more <= at:
        return out
    record = np.zeros((2 * at + more + 64, 5), dtype=np.int64)
    benefits = np.zeros(2 * at + more + 64)
    sharers = np.zeros((2 * at + more + 64, out.sharers.shape[1]), dtype=np.uint64)
    record[:at] = out.record
    benefits[:at] = out.benefit
    sharers[:at] = out.sharers
    return Out(out.used, out.place, out.cells, out.powers, out.extremes, record, benefits, sharers)
