# cython: infer_types=True
"""Bursts: when they begin and end (HAMLET, Definition 10), and the decisions for them.

A burst of a sharing set of E+ consists of the E events that its queries match, until they match an
event of another type, or a window of some query begins or ends. Bursts are counted in every mode;
`SharingCounts` reports the counts in the terms of HAMLET, Section 6.2.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import cython
import numpy as np
from numpy.typing import NDArray

from elsinore.plan import TrendUnit
from elsinore.structs import as_bytes
from elsinore.trends.engine.constants import DYNAMIC, NO_MOMENT, NO_SHARING, Index
from elsinore.trends.engine.sharing.columns import has_rows_apart, put_columns_in, split_rows
from elsinore.trends.engine.sharing.graphlets import begin_graphlet, end_graphlet
from elsinore.trends.engine.sharing.optimizer import decide, decide_often
from elsinore.trends.engine.sharing.sets import SharingSet
from elsinore.trends.engine.sharing.snapshots import catch_up, catch_up_units
from elsinore.trends.engine.store import RECORD, Store
from elsinore.trends.engine.tables import Program
from elsinore.trends.statistics import BurstRecord, SharingStatistics

MEMORY = cython.declare(cython.double, 16.0)  # bursts that the mean length covers
LONG = cython.declare(cython.double, 4.0)  # a burst of so many mean lengths is decided again
OBSERVED = cython.declare(cython.longlong, 4)  # one of so many bursts is observed
FORGET = cython.declare(cython.double, 2.0**12)  # events after which observations count half
FIRST_GUESS = cython.declare(cython.double, 0.5)  # share of units put in after a burst
REMEMBER = cython.declare(cython.double, 0.999)
UNKNOWN = cython.declare(Index, 0)  # the previous burst
WAS_ALONE = cython.declare(Index, 1)
WAS_SHARED = cython.declare(Index, 2)
COUNTED = (
    *("bursts", "graphlets", "splits", "merges"),
    *("graphlet_snapshots", "event_snapshots", "most_propagated"),
)
DECISIONS = 1_000  # measured to time one


@cython.nogil
def break_bursts(program: Program, store: Store, slot: Index, known: Index) -> cython.void:
    """End the bursts that an event of a class breaks, and update the units it reads or changes."""
    for place in range(program.classes[known].breaks, program.classes[known].breaks_end):
        number: Index = program.breaks[place].number
        store.graphlets[slot, number].left = store.slots[slot].time
        if store.graphlets[slot, number].opened <= store.graphlets[slot, number].changed and (
            store.graphlets[slot, number].changed < store.slots[slot].moment
        ):
            store.graphlets[slot, number].opened = NO_MOMENT
        store.graphlets[slot, number].changed = store.slots[slot].moment
        if store.bursts[slot, number].events > 0:
            end_burst(program, store, slot, number)
        catch_up_units(program, store, slot, place)


@cython.nogil
def end_bursts(program: Program, store: Store, slot: Index) -> cython.void:
    """End all bursts of a slot at the end of a pane."""
    for number in range(program.sets.shape[0]):
        store.graphlets[slot, number].opened = NO_MOMENT
        if store.bursts[slot, number].events > 0:
            end_burst(program, store, slot, number)
        catch_up(program, store, slot, number)


@cython.nogil
def note_event(
    program: Program, store: Store, slot: Index, section: Index, has_great: cython.bint
) -> cython.void:
    """Add an event to its burst, and decide whether to share it.

    has_great: products with addends of the batch may exceed a double; such events are not shared.
    """
    number: Index = program.sections[section].number
    if store.bursts[slot, number].events == 0:
        begin_burst(program, store, slot, number)
    store.bursts[slot, number].events += 1
    if store.mode == NO_SHARING or not program.sets[number].can_share:
        return
    if has_great or not has_column_room(program, store, slot, number):
        split(program, store, slot, number)
    elif store.mode == DYNAMIC:
        if store.bursts[slot, number].events > store.bursts[slot, number].limit:
            reconsider(program, store, slot, number)
        if store.bursts[slot, number].is_observed:
            store.counts[number].observed += 1.0
            store.counts[number].taken += program.sections[section].taken
            if store.counts[number].observed > FORGET:
                store.counts[number].observed /= 2.0
                store.counts[number].taken /= 2.0


@cython.nogil
def begin_burst(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Begin a burst, and decide whether to share it."""
    store.bursts[slot, number].time = store.slots[slot].time
    store.bursts[slot, number].benefit = 0.0
    store.bursts[slot, number].limit = LONG * max(store.counts[number].length, 1.0)
    store.bursts[slot, number].queries = 0
    store.bursts[slot, number].is_observed = (
        program.sets[number].cohorts_end - program.sets[number].cohorts > 1
        and store.counts[number].bursts % OBSERVED == 0
    )
    if store.mode == NO_SHARING or not program.sets[number].can_share:
        return
    store.counts[number].considered += 1
    share(program, store, slot, number, store.counts[number].length)


@cython.nogil
def share(
    program: Program, store: Store, slot: Index, number: Index, events: cython.double
) -> cython.void:
    """Decide which cohorts share a burst of a number of events, and merge these.

    If its events are compared, all share it or none, and all continue to share as long as there are
    rows of shared events.
    """
    store.bursts[slot, number].benefit = decide(program, store, slot, number, events)
    queries: cython.int = 0
    if is_compared(program, number) and can_share(program, store, slot, number):
        queries = program.sets[number].queries
    for cohort in range(program.sets[number].cohorts, program.sets[number].cohorts_end):
        queries += program.cohorts[cohort].queries * store.chosen[cohort]
    if queries == 0:
        catch_up(program, store, slot, number)
        if store.graphlets[slot, number].columns > 0:
            split_rows(program, store, slot, number)
        if store.bursts[slot, number].before == WAS_SHARED:
            store.counts[number].splits += 1
        store.bursts[slot, number].before = WAS_ALONE
        return
    if is_compared(program, number):
        store.graphlets[slot, number].sharing = 1
        store.graphlets[slot, number].first = store.graphlets[slot, number].columns
    else:
        begin_graphlet(program, store, slot, number)
    store.bursts[slot, number].queries = min(queries, program.sets[number].queries)
    if store.bursts[slot, number].before == WAS_ALONE:
        store.counts[number].merges += 1
    store.bursts[slot, number].before = WAS_SHARED


@cython.inline
@cython.nogil
def is_compared(program: Program, number: Index) -> cython.bint:
    """Return whether a set's events are compared with those before them."""
    return program.sets[number].readers < program.sets[number].readers_end


@cython.nogil
def has_column_room(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Return whether there is room for two more snapshots of a set, of numbers without powers."""
    return not is_compared(program, number) or (
        store.graphlets[slot, number].columns + 2 <= program.sets[number].columns
        and not store.slots[slot].scaled
    )


@cython.nogil
def can_share(program: Program, store: Store, slot: Index, number: Index) -> cython.bint:
    """Return whether to share a burst of compared events: it pays, or earlier ones are shared.

    If it does not pay, the expected number of snapshots decreases a little.
    """
    if store.bursts[slot, number].benefit <= 0.0:
        store.counts[number].columns *= REMEMBER
    if not has_column_room(program, store, slot, number):
        return False
    if store.graphlets[slot, number].columns > 0:
        return True
    pays: cython.bint = store.bursts[slot, number].benefit > 0.0 or store.mode != DYNAMIC
    return pays and not has_rows_apart(program, store, slot, number)


@cython.nogil
def split(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Process the rest of a burst for each query alone."""
    if store.graphlets[slot, number].sharing:
        if is_compared(program, number):
            store.graphlets[slot, number].sharing = 0
            split_rows(program, store, slot, number)
        else:
            end_graphlet(program, store, slot, number)
        store.counts[number].splits += 1
        store.bursts[slot, number].before = WAS_ALONE
    catch_up(program, store, slot, number)


@cython.nogil
def reconsider(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Decide again for a burst that is longer than expected: as many events may follow.

    Simultaneous events that were not shared change the lanes of the snapshot.
    """
    store.bursts[slot, number].limit *= LONG
    if store.bursts[slot, number].queries == 0:
        events: cython.double = cython.cast(cython.double, store.bursts[slot, number].events)
        share(program, store, slot, number, events)
        store.graphlets[slot, number].left = store.slots[slot].time


@cython.nogil
def end_burst(program: Program, store: Store, slot: Index, number: Index) -> cython.void:
    """Count a burst that is complete, and record it if there is room."""
    if not is_compared(program, number):
        end_graphlet(program, store, slot, number)
    elif store.graphlets[slot, number].sharing:
        put_columns_in(program, store, slot, number)
        store.graphlets[slot, number].sharing = 0
    events: cython.longlong = store.bursts[slot, number].events
    queries: cython.int = store.bursts[slot, number].queries
    store.bursts[slot, number].events = 0
    store.counts[number].bursts += 1
    store.counts[number].graphlets += program.sets[number].queries
    store.counts[number].ended += 1.0
    if queries == 0:  # values would have been put into so many units, by the first guess
        units: Index = program.sets[number].units_end - program.sets[number].units
        store.counts[number].put_in += FIRST_GUESS * units
    if store.counts[number].ended > FORGET:
        store.counts[number].ended /= 2.0
        store.counts[number].put_in /= 2.0
    if queries > 0:
        store.counts[number].shared += 1
        store.counts[number].graphlets -= queries - 1
    length: cython.double = store.counts[number].length
    store.counts[number].length += (events - length) / (MEMORY if length > 0.0 else 1.0)
    if store.record_count < store.records.shape[0]:
        store.records[store.record_count].time = store.bursts[slot, number].time
        store.records[store.record_count].events = events
        store.records[store.record_count].benefit = store.bursts[slot, number].benefit
        store.records[store.record_count].number = cython.cast(cython.int, number)
        store.records[store.record_count].key = store.slots[slot].key
        store.records[store.record_count].queries = queries
        store.record_count += 1


class SharingCounts:
    """The statistics of an operator's sharing sets; with `record` also a record of each burst."""

    def __init__(self, unit: TrendUnit, sets: Sequence[SharingSet], *, record: bool) -> None:
        self._unit, self._sets, self._record = unit, sets, record
        self._rows = np.zeros(0, RECORD)
        self._seconds: float | None = None  # per decision

    def make_room(self, store: Store, events: int) -> None:
        """Make room for the records of all bursts that can end during a number of events."""
        if self._record and self._sets:
            self._take_records(store)
            store.grow_records((events + len(store.slots)) * len(self._sets))

    def _take_records(self, store: Store) -> None:
        rows = np.asarray(store.records)[: store.record_count]
        self._rows = np.concatenate((self._rows, rows.astype(RECORD)))
        store.record_count = 0

    def saved(self, store: Store) -> NDArray[np.uint8]:
        """Return the records so far as bytes."""
        self._take_records(store)
        return as_bytes(self._rows).reshape(-1)

    def load(self, saved: NDArray[np.uint8]) -> None:
        """Restore what `saved` returned."""
        self._rows = np.frombuffer(saved.tobytes(), RECORD)

    def statistics(self, program: Program, store: Store) -> list[SharingStatistics]:
        """Return the statistics of each set of at least two queries."""
        self._take_records(store)
        names = [member.query.name for member in self._unit.members]
        counts = np.asarray(store.counts)
        return [
            SharingStatistics(
                name=sharing_set.pattern,
                queries=tuple(names[query] for query in sharing_set.queries),
                shared_graphlets=int(counts["shared"][number]),
                decisions=int(counts["considered"][number]),
                decision_seconds=self._decision_seconds(program, store, number),
                records=self._records(number, len(sharing_set.queries)),
                **{name: int(counts[name][number]) for name in COUNTED},
            )
            for number, sharing_set in enumerate(self._sets)
            if len(sharing_set.queries) > 1
        ]

    def _records(self, number: int, queries: int) -> list[BurstRecord]:
        names = ("time", "events", "benefit", "key")
        return [
            BurstRecord(
                queries=queries, shared=int(row["queries"]), **{n: row[n].item() for n in names}
            )
            for row in self._rows[self._rows["number"] == number]
        ]

    def _decision_seconds(self, program: Program, store: Store, number: int) -> float:
        """Return the time of all decisions: their number times the time of one, measured once."""
        decisions = int(np.asarray(store.counts)["considered"][number])
        if decisions == 0:
            return 0.0
        if self._seconds is None:
            begin = time.perf_counter()
            decide_often(program, store, DECISIONS)
            self._seconds = (time.perf_counter() - begin) / DECISIONS
        return decisions * self._seconds
