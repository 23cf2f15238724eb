# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""The buffer that all runs share (SASE+, Section 4.2).

An event is stored once for each state that takes it: an *entry*. A run that takes it leaves a
*pointer* from that entry to the one that it took before. What tells the pointers of an entry apart
is their version: here a number of its own for each run, where the paper has Dewey numbers, so that
a run finds its events by following versions back. Both lie in one array, in columns of their own.
"""

from __future__ import annotations

from benchmarks.evaluations.interpret import STACK
from benchmarks.evaluations.kernels import kernel
from elsinore.matches.arrays import Ints

# Columns of `buffer`: of entries, their event and state; of pointers (versions), their entry and
# the version before, below 0 where there is none; then the new numbers of both in `prune`.
EVENT, IN_STATE, ENTRY, BEFORE, ENTRY_TO, VERSION_TO = range(6)
BUFFER_COLUMNS = 6
# Columns of `runs`: state (below 0: over), version, length, the time and the moment of its first
# and latest event, the moment that it may not pass (below 0: any), and then, by place and not by
# run, the runs in the order that they began, and the free ones.
STATE, VERSION, LENGTH, BEGAN, LATEST, UNTIL, LISTED, FREE = range(8)
RUN_COLUMNS = 8


@kernel
def prune(buffer: Ints, runs: Ints, listed: int, versions: int, states: int, work: Ints) -> int:
    """Leave out of the buffer what no run leads to; return how many versions are left.

    `work[STACK]` is how many entries there are, before and after; behind it stands, for each state,
    the entry of the event under way.
    """
    for number in range(versions):
        buffer[number, ENTRY_TO] = buffer[number, VERSION_TO] = -1
    for place in range(listed):
        number = runs[runs[place, LISTED], VERSION]
        while number >= 0 and buffer[number, VERSION_TO] < 0:
            buffer[number, VERSION_TO] = 0
            buffer[buffer[number, ENTRY], ENTRY_TO] = 0
            number = buffer[number, BEFORE]
    entries = 0
    for entry in range(work[STACK]):
        if buffer[entry, ENTRY_TO] == 0:
            buffer[entry, ENTRY_TO] = entries
            buffer[entries, EVENT], buffer[entries, IN_STATE] = (
                buffer[entry, EVENT],
                buffer[entry, IN_STATE],
            )
            entries += 1
    kept = 0
    for number in range(versions):
        if buffer[number, VERSION_TO] == 0:
            before = buffer[number, BEFORE]
            buffer[number, VERSION_TO] = kept
            buffer[kept, ENTRY] = buffer[buffer[number, ENTRY], ENTRY_TO]
            buffer[kept, BEFORE] = buffer[before, VERSION_TO] if before >= 0 else -1
            kept += 1
    for place in range(listed):
        run = runs[place, LISTED]
        runs[run, VERSION] = buffer[runs[run, VERSION], VERSION_TO]
    for state in range(states):
        if work[STACK + 1 + state] >= 0:
            work[STACK + 1 + state] = buffer[work[STACK + 1 + state], ENTRY_TO]
    work[STACK] = entries
    return kept


@kernel
def store(buffer: Ints, versions: int, before: int, row: int, state: int, work: Ints) -> int:
    """Store a run's event, once for all runs, and its version; return whether the event is new."""
    entry = work[STACK + 1 + state]
    is_new = entry < 0
    if is_new:
        entry = work[STACK]
        buffer[entry, EVENT], buffer[entry, IN_STATE] = row, state
        work[STACK], work[STACK + 1 + state] = entry + 1, entry
    buffer[versions, ENTRY], buffer[versions, BEFORE] = entry, before
    return 1 if is_new else 0
