"""Recorded runs: the events of an operator, and the HAMLET graphs that are built from them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.arrow import to_scalar
from elsinore.errors import InputError, kind_of_value
from elsinore.expressions.plain import compared_values
from elsinore.model.expression import Expression
from elsinore.model.window import Window
from elsinore.plan import TrendUnit
from elsinore.plan.explain import path_in_words
from elsinore.plan.merged import nodes_of_states
from elsinore.plan.template import ALL
from elsinore.trends.engine.sharing.sets import sharing_sets
from elsinore.trends.engine.steps import Updates
from elsinore.trends.exact_sums import EventValues
from elsinore.trends.graph import Bounds, Counts, HamletGraph, RecordedEvent, holds
from elsinore.trends.graphlets import GraphBuilder, Piece, SharedSet
from elsinore.trends.statistics import BurstRecord, SharingStatistics
from elsinore.words import listed

MOST_EVENTS = 5_000  # that a run records
SHOWN = 3  # queries that a reason names
MOST_IN_WINDOW = 2_000  # in a graph: comparisons between events take quadratic time


class Recorder:
    """Records up to `MOST_EVENTS` events of interest; no events if there are more."""

    def __init__(self, unit: TrendUnit, *, ordered: bool) -> None:
        self._unit = unit
        self._ordered = ordered
        self._rows: list[pa.RecordBatch] = []
        self._events = 0

    def take(self, batch: pa.RecordBatch, keys: pa.Array) -> None:
        """Record a batch whose column `key` has slots, like the records of bursts."""
        batch = batch.rename_columns(["slot" if n == "key" else n for n in batch.schema.names])
        batch = batch.append_column("key", keys)
        batch = batch.filter(pc.greater_equal(batch.column("class"), to_scalar(0)))
        self._events += batch.num_rows
        if self._events > MOST_EVENTS:
            self._rows = []
        elif batch.num_rows:
            self._rows.append(batch)

    def recording(self, sharing: Sequence[SharingStatistics]) -> Recording:
        """Return the recording so far, with the bursts of the operator's statistics."""
        return Recording(
            unit=self._unit,
            ordered=self._ordered,
            count=self._events,
            events=pa.Table.from_batches(self._rows) if self._rows else None,
            sharing=tuple(sharing),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded run of a unit's queries: `graph` makes a graph of one key and moment.

    `ordered`: each event is a moment; otherwise simultaneous events do not precede one another.
    """

    unit: TrendUnit
    ordered: bool
    count: int  # events of interest, recorded or not
    events: pa.Table | None = field(repr=False)
    sharing: tuple[SharingStatistics, ...] = field(repr=False)

    @property
    def keys(self) -> tuple[int, ...]:
        """The codes of keys that had events."""
        return tuple(sorted(set(self._kept().column("key").to_pylist())))

    @property
    def longest_shared(self) -> int:
        """The number of events in the longest shared burst."""
        return max((record.events for record in self._shared_records()), default=0)

    def _shared_records(self) -> list[BurstRecord]:
        return [
            record
            for statistics in self.sharing
            for record in statistics.records
            if record.shared > 1
        ]

    def graphs(self) -> Iterator[HamletGraph]:
        """Yield the graph of each key and each combination of windows that contain an event."""
        for key in self.keys:
            seen: set[object] = set()
            for event in self._events_of(key):
                spans = tuple(self._windows(event.time).values())
                if spans not in seen:
                    seen.add(spans)
                    yield self.graph(key, event.time)

    def graph(self, key: int | None = None, time: int | None = None) -> HamletGraph:
        """Return the graphlets and snapshots of a key in each query's first window with a time.

        The default is the longest shared burst. Raises InputError if no events were recorded, or
        too many, or if the windows contain too many.
        """
        for name, value in (("key", key), ("time", time)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
                raise InputError(
                    f"graph: {name} is a whole number, not {kind_of_value(value)}. Keys are listed "
                    "in `keys`; times count microseconds since 1970, or the finer ticks of the run."
                )
        begin = self._most_shared()
        key = (begin[0] if begin else self.keys[0]) if key is None else key
        events = self._events_of(key)
        if not events:
            raise InputError(f"No event of key {key} was recorded. Keys: {list(self.keys)[:20]}.")
        if time is None:
            time = begin[1] if begin and begin[0] == key else events[0].time
        windows = self._windows(time)
        chosen = [e for e in events if any(holds(span, e.time) for span in windows.values())]
        if len(chosen) > MOST_IN_WINDOW:
            raise InputError(
                f"A graph is made of up to {MOST_IN_WINDOW:,} events of a key, and these windows "
                f"hold {len(chosen):,}. Run over fewer events, or give a key or time with fewer."
            )
        table, names = self._kept(), self.unit.compared
        compared = {name: compared_values(table.column(f"pair:{name}")) for name in names}
        groups = itertools.groupby(chosen, lambda e: e.row if self.ordered else e.time)
        moments = [list(group) for _, group in groups]
        counts = Counts(self.unit, EventValues(compared, {}, {}), windows, moments)
        sets = _shared_sets(self.unit, self.sharing, events)
        graph = GraphBuilder(counts, sets, self._labels(), key=key).build()
        if any(graphlet.shared for graphlet in graph.graphlets):
            return graph
        queries = listed([member.query.name for member in self.unit.members], SHOWN)
        why = f"no burst was shared among {queries}: explain() says who may share"
        if len(self.unit.members) == 1:
            why = f"{queries} is alone in its operator: explain() says why of each other query"
        return replace(graph, why_unshared=why)

    def _kept(self) -> pa.Table:
        if not _has_graphlets(self.unit):
            raise InputError(_no_graphlets(self.unit))
        if self.count > MOST_EVENTS:
            raise InputError(
                f"Graphlets are recorded for up to {MOST_EVENTS:,} events that the queries use, "
                f"and this run had {self.count:,}. Run over fewer events."
            )
        if self.events is None:
            raise InputError("There are no graphlets: the queries use none of the events.")
        return self.events

    def _events_of(self, key: int) -> list[RecordedEvent]:
        """Return the events of a key in order; rows are those of `events`."""
        table = self._kept()
        known: dict[int, tuple[str, frozenset[Expression]]] = {}
        events = []
        columns = (table.column(name).to_pylist() for name in ("key", "time", "class", "slot"))
        for row, (of, time, code, slot) in enumerate(zip(*columns, strict=True)):
            if of == key:
                if code not in known:
                    known[code] = self.unit.classes.decode(code)
                events.append(RecordedEvent(row, slot, time, code, *known[code]))
        return events

    def _windows(self, time: int) -> dict[str, Bounds]:
        """Return the bounds of each query's first window that contains a time."""
        return {
            template.query.name: _bounds(template.query.window, time)
            for template in self.unit.templates
        }

    def _most_shared(self) -> tuple[int, int] | None:
        """Return the key and time of the longest shared burst."""
        records = self._shared_records()
        if not records:
            return None
        most = max(records, key=lambda record: (record.events, -record.time))
        for event in self._kept().to_pylist():
            if event["slot"] == most.key and event["time"] == most.time:
                return event["key"], most.time
        return None

    def _labels(self) -> dict[str, str]:
        """Return the types' first letters, or their names if two have the same letter."""
        names = [type_classes.type for type_classes in self.unit.classes.types]
        letters = [name[:1].upper() for name in names]
        return {
            name: letter if letters.count(letter) == 1 else name
            for name, letter in zip(names, letters, strict=True)
        }


def _has_graphlets(unit: TrendUnit) -> bool:
    """Return whether trends are counted event by event as in the paper: only loops compare."""
    return (
        not unit.exact
        and bool(unit.templates)
        and all(
            template.is_pairwise
            and all(m.reads == ALL or m.source == m.target for m in template.moves)
            for template in unit.templates
        )
    )


def _no_graphlets(unit: TrendUnit) -> str:
    """Return the error message for queries without graphlets, with the planner's reasons."""
    ways: dict[str, list[str]] = {}
    for member, why in zip(unit.members, unit.why, strict=True):
        ways.setdefault(path_in_words(unit.path, why), []).append(member.query.name)
    paths = "; ".join(f"{listed(names, SHOWN)}: {way}" for way, names in ways.items())
    return f"These queries have no graphlets, as each goes its own way through the events. {paths}."


def _bounds(window: Window | None, time: int) -> Bounds:
    """Return the bounds of the first window that contains a time; empty bounds if none does."""
    if window is None:
        return None
    begin, end = window.bounds(window.first(time))
    return (begin, end) if begin <= time < end else (time, time)


def _shared_sets(
    unit: TrendUnit,
    sharing: Sequence[SharingStatistics],
    events: Sequence[RecordedEvent],
) -> list[SharedSet]:
    """Return the sharing sets of a unit, with the bursts of one key's events."""
    records_of = {
        (statistics.name, statistics.queries): statistics.records for statistics in sharing
    }
    nodes, sets = nodes_of_states(unit.templates), []
    for sharing_set in sharing_sets(Updates(unit)):
        holders = set().union(*sharing_set.holders)
        if sharing_set.is_compared:
            holders = set(sharing_set.members)
        members = frozenset(state for state, node in nodes.items() if node in holders)
        queries = dict.fromkeys(query for query, _ in sorted(members))
        names = tuple(unit.templates[query].query.name for query in queries)
        records = records_of.get((sharing_set.pattern, names), ())
        states = [unit.templates[query].states[state] for query, state in members]
        taken = [e for e in events if any(state.takes(e.type, e.true) for state in states)]
        sets.append(SharedSet(members, _pieces(records, taken)))
    return sets


def _pieces(records: Sequence[BurstRecord], events: Sequence[RecordedEvent]) -> dict[int, Piece]:
    """Return the piece of each event of a sharing set, by its row.

    A record has the time of its first event, and the slot of its key.
    """
    by_row: dict[int, Piece] = {}
    place = 0
    for number, record in enumerate(sorted(records, key=lambda piece_record: piece_record.time)):
        begin = place
        while begin < len(events) and events[begin].time < record.time:
            begin += 1
        first = events[begin : begin + 1]
        if [(event.time, event.slot) for event in first] == [(record.time, record.key)]:
            place = begin + record.events
            for event in events[begin:place]:
                by_row[event.row] = Piece(number, record.shared > 1)
    return by_row
