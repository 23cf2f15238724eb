"""The match operator: stores the events of open windows, and returns the matches in them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.matches.arrays import EVER, NEVER, NO_WINDOW, Bools, Ints
from elsinore.matches.columns import EventColumns
from elsinore.matches.engine.codes import TIME
from elsinore.matches.query import ANY_NUMBER, QuerySearch
from elsinore.matches.searches import (
    ListSearch,
    Searches,
)
from elsinore.matches.selection import MatchNumbers, Selection
from elsinore.matches.spec import MatchStatistics, MatchUnit, spec_of
from elsinore.matches.store import FEW, Rows, Store
from elsinore.matches.template import (
    MatchTemplate,
    column_of,
    needed_from,
    next_deadline,
    release_time,
    waiting_times,
)
from elsinore.operators import OperatorOptions
from elsinore.plan import Unit
from elsinore.plan.modes import HIGH
from elsinore.saved_states import (
    reading_state,
    seal,
    table_from_bytes,
    table_to_bytes,
    unseal,
)

SAVED_BY = "matches 4"  # the number is that of the layout of operators' states


class MatchOperator:
    """Answers the match queries of a unit (see `elsinore.operators.Operator`).

    It stores the events of each key that can be part of a later match, or of a match that is
    returned when its window ends. A batch is searched together with the stored events of its keys.
    """

    def __init__(
        self, unit: Unit, options: OperatorOptions, listing: ListSearch = QuerySearch
    ) -> None:
        """`listing` makes the searches that list single matches."""
        self._unit = unit
        self._listing = listing
        self._spec: MatchUnit = spec_of(unit)
        self.statistics = MatchStatistics(open_windows=(0,) * len(self._spec.templates))
        self._options = options
        self._is_uncertain = self._spec.templates[0].uncertain is not None
        # the time that keys without further events have reached
        self._end = EVER if options.last_time is None else options.last_time
        self._passed = NEVER  # no event before it will come
        self._searches: Searches | None = None
        self._store: Store | None = None
        self._least_rows = 0  # stored rows when the events of all keys were last released
        self._longest = 0  # of the intervals of possible times so far
        self._left = [_limit(template) for template in self._spec.templates]
        self._numbers = [MatchNumbers(template) for template in self._spec.templates]
        self._selections = {
            number: Selection(template)
            for number, template in enumerate(self._spec.templates)
            if template.query.after_match is not None or template.query.suppress is not None
        }

    @property
    def open_group(self) -> int:
        """The group of the last row; -1: matches do not depend on open groups."""
        return -1

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Store a batch; return the matches that end in it, and those whose window has passed."""
        if batch.num_rows != 0:
            statistics = self.statistics
            statistics.events += batch.num_rows
            statistics.matched += int(np.count_nonzero(to_numpy(batch.column("class")) >= 0))
            touched, old = self._append(pa.Table.from_batches([batch]))
            assert self._store is not None
            if len(touched):
                yield from self._advance(self._store.take(touched, old), NEVER)
        if until is not None:
            yield from self.close(until)

    def close(self, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Return the matches that are final if no event before `until`, or none at all, follows."""
        reached = self._end if until is None else until
        if self._store is not None and self._store.rows:
            keys = self._due_keys(self._store, reached, is_end=until is None)
            if len(keys):
                yield from self._advance(self._store.take(keys), reached, is_end=until is None)
            if self._store.rows > 2 * self._least_rows + FEW:
                self._release_idle(self._store, reached)
        self._passed = max(self._passed, reached)
        if until is None:
            self._store, self._passed = None, NEVER

    def deadline(self) -> int | None:
        """Return when the next window ends whose matches are returned at its end."""
        waiting = [template for template in self._spec.templates if template.waits]
        if not waiting or self._store is None or self._store.rows == 0:
            return None
        times = latest = self._store.column(TIME)
        if self._is_uncertain:
            latest = self._store.column(self._high)
        deadlines = [next_deadline(t, times, latest, self._passed) for t in waiting]
        return min((time for time in deadlines if time is not None), default=None)

    def idle_time(self) -> int | None:
        """Return the time from which no stored event can be part of another match."""
        selected = [time for s in self._selections.values() if (time := s.idle_time()) is not None]
        if self._store is not None:
            self._release_idle(self._store, self._passed)
        if self._store is None or self._store.rows == 0:
            return max(selected, default=None)
        last = int(self._store.last_times().max())
        times = [release_time(template, last, self._longest) for template in self._spec.templates]
        known = [time for time in times if time is not None]
        return max(known + selected) if len(known) == len(times) else None

    def open_keys(self) -> NDArray[np.int32]:
        """Return the codes of the keys with stored events, selected matches or numbered matches."""
        keys = [numbers.keys for numbers in self._numbers]
        for selection in self._selections.values():
            selection.forget(self._passed)
            keys.append(selection.keys)
        if self._store is not None:
            self._release_idle(self._store, self._passed)
            keys.append(self._store.codes())
        return np.unique(np.concatenate(keys))

    def save(self) -> bytes:
        """Return the stored events, and the time that has been reached, as bytes."""
        for selection in self._selections.values():
            selection.forget(self._passed)
        if self._store is not None:
            self._release_idle(self._store, self._passed)
        counters = {
            "passed": self._passed,
            "left": self._left,
            "one_slot": self._options.one_slot,
            "ordered": self._options.ordered,
            "given": [numbers.save() for numbers in self._numbers],
            "selected": [selection.save() for selection in self._selections.values()],
        }
        stored = None if self._store is None else self._store.table()
        counters["codes"] = 0 if stored is None else _codes_of(stored)
        rows = table_to_bytes(stored) if stored else b""
        content = json.dumps(counters).encode() + b"\n" + rows
        return seal(SAVED_BY, self._spec.fingerprint, content)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: Unit, blob: bytes, listing: ListSearch = QuerySearch) -> MatchOperator:
        """Return the operator that `save` returned as bytes.

        Raises StateError if the bytes are damaged, or of other queries or another version.
        """
        content = bytes(unseal(SAVED_BY, spec_of(unit).fingerprint, blob))
        line, _, rows = content.partition(b"\n")
        counters = json.loads(line)
        options = OperatorOptions(
            one_slot=bool(counters["one_slot"]), ordered=bool(counters["ordered"])
        )
        operator = cls(unit, options, listing)
        operator._passed = int(counters["passed"])
        operator._left = [int(number) for number in counters["left"]]
        for numbers, saved in zip(operator._numbers, counters["given"], strict=True):
            numbers.load(saved)
        for selection, saved in zip(
            operator._selections.values(), counters["selected"], strict=True
        ):
            selection.load(saved)
        if rows:
            table = table_from_bytes(rows)
            if _codes_of(table) != int(counters["codes"]):  # memory is taken for each code
                raise ValueError("the codes of keys")
            operator._append(table)
        return operator

    # --- events

    def _append(self, table: pa.Table) -> tuple[NDArray[np.int32], Ints]:
        """Store events; return the slots of their keys, and how many rows each had before."""
        if self._searches is None or self._searches.schema != table.schema:
            if self._store is not None and (stored := self._store.table()) is not None:
                raise TypeError(f"events of {table.schema} after events of {stored.schema}")
            self._searches = Searches(self._unit, self._spec, table.schema, self._listing)
            self._store = None
        if self._store is None:
            options = self._options
            self._store = Store(
                self._searches.layout, one_slot=options.one_slot, ordered=options.ordered
            )
        if self._is_uncertain:
            high = to_numpy(table.column(column_of(HIGH)))
            lengths = high - to_numpy(table.column("time"))
            self._longest = max(self._longest, int(lengths.max(initial=0)))
        classes = self._searches.layout.classes.numbers(to_numpy(table.column("class")))
        touched, old = self._store.append(table, classes)
        self.statistics.state_bytes = max(self.statistics.state_bytes, self._store.nbytes)
        return touched, old

    @property
    def _high(self) -> int:
        """The row of integers with the last possible times of events."""
        assert self._searches is not None
        return self._searches.layout.whole(HIGH)

    def _due_keys(self, store: Store, reached: int, *, is_end: bool) -> NDArray[np.int32]:
        """Return the slots of the keys whose matches may become final at the time `reached`."""
        if is_end and self._options.last_time is not None:
            return store.all_slots()
        spans = [
            waiting_times(template, self._passed, reached, self._longest)
            for template, left in zip(self._spec.templates, self._left, strict=True)
            if template.waits and left > 0
        ]
        if not spans:
            return np.zeros(0, np.int32)
        return store.slots_between(min(low for low, _ in spans), max(high for _, high in spans))

    def _release_idle(self, store: Store, reached: int) -> None:
        """Release the events of all keys that no match after the time `reached` needs."""
        slots = store.all_slots()
        over = np.zeros(len(slots), np.bool_)
        self._release(store, slots, np.maximum(store.last_times(), reached), over)
        self._least_rows = store.rows

    def _release(self, store: Store, slots: NDArray[np.int32], reached: Ints, over: Bools) -> None:
        """Release the events of keys that no later match needs; all of keys that are `over`."""
        least = np.full(len(slots), EVER)
        for template, left in zip(self._spec.templates, self._left, strict=True):
            if left > 0:
                begin = needed_from(template, reached, self._longest)
                least = np.minimum(least, np.where(over, EVER, begin))
        store.release(slots, least)

    # --- matches

    def _advance(
        self, rows: Rows, reached: int, *, is_end: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Search the rows of some keys, and release those that no later match needs.

        No event before `reached` follows; `is_end`: no event at all.
        """
        searches, store = self._searches, self._store
        assert searches is not None
        assert store is not None
        over = np.full(len(rows.keys), is_end)
        if self._options.one_slot:
            over[:-1] = True  # the next key has begun
        self._set_times(rows, reached, over)
        events = searches.events(rows, store)
        answered: set[int] = set()
        for places, batches in searches.together(rows, events):
            answered.update(places)
            for batch in batches:
                self.statistics.totals += batch.num_rows
                yield batch
        for number in range(len(self._spec.templates)):
            if number not in answered and self._left[number] > 0:
                yield from self._search(number, rows, events)
        if self._options.last_time is not None and over.any():
            self._count_open_windows(rows, over)
        searches.check_overflow()
        self._release(store, rows.slots, rows.keys.reached, over)

    def _set_times(self, rows: Rows, reached: int, over: Bools) -> None:
        """Set which times keys had reached before, and have reached now; `over`: keys that end."""
        keys, times = rows.keys, rows.operands.wholes[TIME]
        has_old = keys.new_row > keys.first_row
        before = times[np.maximum(keys.new_row - 1, 0)]
        keys.passed = np.maximum(np.where(has_old, before, NEVER), self._passed)
        times_reached = np.maximum(times[keys.end_row - 1], reached)
        times_reached[over] = np.maximum(times_reached[over], self._end)
        keys.reached = np.maximum(times_reached, keys.passed)

    def _search(self, number: int, rows: Rows, events: EventColumns) -> Iterator[pa.RecordBatch]:
        """Yield the matches of a query, up to its LIMIT."""
        searches, template = self._searches, self._spec.templates[number]
        assert searches is not None
        selection = self._selections.get(number)
        codes = self._codes_of(rows).tolist() if selection else []
        if selection:
            selection.put(rows.keys, codes, rows.operands.wholes[TIME])
        pieces = searches.matches(number, rows, events, self._left[number])
        numbers: Iterator[Ints] | None = None
        if template.numbers_matches:
            copies = [piece.copy() for piece in pieces]
            high = self._high if self._is_uncertain else TIME
            counted = self._numbers[number].count(copies, rows, self._codes_of(rows), high)
            if self._options.one_slot:  # the keys before are over
                self._numbers[number].keep(int(self._codes_of(rows)[-1]))
            pieces, numbers = iter(copies), iter(counted)
        for piece in pieces:
            matches = piece
            if len(matches) > self._left[number]:
                matches = matches.take(np.arange(self._left[number]))
            if self._left[number] != EVER:
                self._left[number] -= len(matches)
            self.statistics.totals += len(matches)
            match_numbers = None if numbers is None else next(numbers)[: len(matches)]
            yield searches.batch(number, matches, events, match_numbers)
            if self._left[number] <= 0:
                break
        if selection:
            selection.take(rows.keys, codes, rows.operands.wholes[TIME])
            if self._options.one_slot:  # the keys before are over
                selection.keep(codes[-1])

    def _codes_of(self, rows: Rows) -> NDArray[np.int32]:
        """Return the codes of the keys of some rows."""
        assert self._store is not None
        first = rows.numbers[rows.keys.first_row]
        return np.asarray(to_numpy(self._store.arrived.take("key", first)))

    def _count_open_windows(self, rows: Rows, over: Bools) -> None:
        """Count the windows relative to a match that are open at the end of some keys.

        One begins with each event with which a match may begin.
        """
        assert self._searches is not None
        lengths = rows.keys.end_row - rows.keys.first_row
        latest = rows.operands.wholes[self._high if self._is_uncertain else TIME]
        counts = list(self.statistics.open_windows)
        for number, template in enumerate(self._spec.templates):
            within, slide, _ = template.window
            if within == NO_WINDOW or slide != 0 or self._left[number] <= 0:
                continue
            is_open = np.repeat(over, lengths) & (latest + within >= self._end)
            begins = self._searches.may_begin(number, rows)
            counts[number] += int(np.count_nonzero(is_open & begins))
        self.statistics.open_windows = tuple(counts)


def _limit(template: MatchTemplate) -> int:
    """Return the number of matches that LIMIT allows; with DISTINCT it is applied later."""
    limit = template.query.limit
    return EVER if limit is None or template.query.distinct else min(limit, ANY_NUMBER)


def _codes_of(table: pa.Table) -> int:
    """Return the greatest code of a key in a table, plus 1."""
    return int(to_numpy(table.column("key")).max(initial=-1)) + 1
