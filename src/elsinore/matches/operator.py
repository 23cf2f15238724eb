"""The match operator: the events of open windows, and the matches that end among the new ones."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy, whole
from elsinore.errors import InputError
from elsinore.kernels import enter
from elsinore.kernels.saved import (
    reading_state,
    seal,
    table_from_bytes,
    table_to_bytes,
    unseal,
)
from elsinore.matches.arrays import Bools, Bytes, Ints
from elsinore.matches.evaluation.choice import ListSearch, listed_matches, search_of
from elsinore.matches.evaluation.statistics import MatchStatistics, QueryStatistics
from elsinore.matches.events import Events, repeated
from elsinore.matches.keyed import (
    END_ROW,
    FIRST_ROW,
    KEY_COLUMNS,
    NEW_ROW,
    PASSED,
    REACHED,
    arrange,
    kept_rows,
)
from elsinore.matches.merged import goes_back
from elsinore.matches.operands import CLASS, RESERVED, TIME, Laws, Layout, Operands
from elsinore.matches.query import AggregateFailure, Found, QuerySearch, are_apart
from elsinore.matches.registers import COMPUTED
from elsinore.matches.returns import ColumnKind, is_windowed
from elsinore.matches.rows import Rows
from elsinore.matches.spec import MatchUnit, attribute_of, column_of, spec_of
from elsinore.matches.template import MatchTemplate
from elsinore.matches.together import MOST_QUERIES, Together
from elsinore.matches.windows import NO_WINDOW
from elsinore.model.window import first_window
from elsinore.operators import OperatorOptions
from elsinore.plan import Unit
from elsinore.plan.modes import HIGH, LAW

if TYPE_CHECKING:
    from elsinore.matches.evaluation.choice import Search

NEVER, EVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max
SAVED_BY = "matches 3"  # the number is that of the layout of operators' states
ROW_SECONDS = 4e-6  # what a row takes in plain Python
DENSE = 2**20  # up to so many classes each has its number; beyond, those that were seen


class MatchOperator:
    """Answers the match queries of a unit (see `elsinore.operators.Operator`).

    It keeps the events of each key that a match still to come, or one that awaits the end of its
    window, may hold.
    """

    def __init__(
        self, unit: Unit, options: OperatorOptions, listing: ListSearch = listed_matches
    ) -> None:
        """`listing` makes the searches that list single matches."""
        self._unit = unit
        self._listing = listing
        self._spec: MatchUnit = spec_of(unit)
        pairs = zip(self._spec.templates, self._spec.evaluations, strict=True)
        self.statistics = MatchStatistics(
            queries=tuple(QueryStatistics(t.query.name, how.evaluation) for t, how in pairs)
        )
        self._options = options
        # when a key that is over was known to be over
        self._end = EVER if options.last_time is None else options.last_time
        self._rows: pa.Table | None = None  # the events kept: each key's together and in order
        self._passed = NEVER  # no event before it comes any more
        self._engine: _Engine | None = None
        self._left = [_limit(template) for template in self._spec.templates]
        # matches given out of each key, where they are numbered
        self._given: list[dict[int, int]] = [{} for _ in self._spec.templates]

    @property
    def open_group(self) -> int:
        """The group of the last row: nothing of an earlier one is kept."""
        return -1

    def process(self, batch: pa.RecordBatch, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Take a batch; give out the matches that end in it, and those whose window has passed."""
        if batch.num_rows != 0:
            statistics = self.statistics
            statistics.events += batch.num_rows
            statistics.matched += int(np.count_nonzero(to_numpy(batch.column("class")) >= 0))
            kept = 0 if self._rows is None else self._rows.num_rows
            rows = pa.Table.from_batches([batch])
            if self._rows is not None:
                rows = pa.concat_tables([self._rows, rows]).combine_chunks()
            yield from self._advance(rows, kept)
        if until is not None:
            yield from self.close(until)

    def close(self, until: int | None = None) -> Iterator[pa.RecordBatch]:
        """Give out what is final where no event before `until` comes any more; None: all."""
        reached = self._end if until is None else until
        if self._rows is not None:
            rows = self._rows
            yield from self._advance(rows, rows.num_rows, reached, is_end=until is None)
        self._passed = max(self._passed, reached)
        if until is None:
            self._rows, self._passed = None, NEVER

    def deadline(self) -> int | None:
        """Return when the next window passes that may hold a match with NOT at its end."""
        if self._rows is None or self._rows.num_rows == 0:
            return None
        times = latest = to_numpy(self._rows.column("time"))
        if self._spec.templates[0].uncertain is not None:
            latest = _numpy(self._rows, column_of(HIGH))
        deadlines = [
            deadline
            for template in self._spec.templates
            if template.waits
            and (deadline := _next_deadline(template, times, latest, self._passed)) is not None
        ]
        return min(deadlines, default=None)

    def idle_time(self) -> int | None:
        """Return when the last of the kept events can be in no further match."""
        if self._rows is None or self._rows.num_rows == 0:
            return None
        last = int(to_numpy(self._rows.column("time")).max())
        longest = _longest_interval(self._rows) if self._spec.templates[0].uncertain else 0
        times = [_release_time(template, last, longest) for template in self._spec.templates]
        known = [time for time in times if time is not None]
        return max(known) if len(known) == len(times) else None

    def open_keys(self) -> NDArray[np.int32]:
        """Return the keys whose events are kept, and those whose matches are numbered."""
        keys = [np.zeros(0, np.int32)]
        if self._rows is not None:
            keys.append(_numpy(self._rows, "key"))
        keys += [np.array(list(counted), np.int32) for counted in self._given]
        return np.unique(np.concatenate(keys))

    def save(self) -> bytes:
        """Return the events that are kept, and what is known to be over."""
        counters = {
            "passed": self._passed,
            "left": self._left,
            "one_slot": self._options.one_slot,
            "ordered": self._options.ordered,
            "given": [list(counted.items()) for counted in self._given],
        }
        rows = b"" if self._rows is None else table_to_bytes(self._rows)
        content = json.dumps(counters).encode() + b"\n" + rows
        return seal(SAVED_BY, self._spec.fingerprint, content)

    @classmethod
    @reading_state(SAVED_BY)
    def load(cls, unit: Unit, blob: bytes, listing: ListSearch = listed_matches) -> MatchOperator:
        """Return the operator that was saved as these bytes.

        Raises StateError if they are damaged, or of other queries or another version.
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
        operator._given = [
            {int(key): int(number) for key, number in counted} for counted in counters["given"]
        ]
        operator._rows = table_from_bytes(rows) if rows else None
        return operator

    def _advance(
        self, table: pa.Table, kept: int, reached: int = NEVER, *, is_end: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Search all rows, the first `kept` of which are old; keep what later matches may need.

        No event before `reached` comes any more; `is_end`: none of any key.
        """
        if self._engine is None or self._engine.schema != table.schema:
            counted = self.statistics.queries
            self._engine = _Engine(self._unit, self._spec, table.schema, counted, self._listing)
        keys, order, arranged = self._engine.arranged(
            table, kept, one_slot=self._options.one_slot, ordered=self._options.ordered
        )
        over = np.full(len(keys), is_end)
        if self._options.one_slot:
            over[:-1] = True  # the next key has begun
        self._set_times(keys, arranged[TIME], reached, over)
        operands = self._engine.operands(table, order, arranged)
        events = self._engine.events(table, order, keys, operands)
        answered: set[int] = set()
        for together in self._engine.together if are_apart(operands, keys) else ():
            if together.is_possible(keys):
                answered.update(together.places)
                yield from self._search_together(together, operands, keys, events)
        for number, template in enumerate(self._spec.templates):
            if number not in answered:
                yield from self._search(number, template, operands, keys, table, events)
        if self._options.last_time is not None and over.any():
            self._count_open_windows(table, order, arranged, keys[over])
        engine = self._engine
        for search, template in zip(engine.searches, self._spec.templates, strict=True):
            if search.tables.has_overflown():
                raise InputError(
                    f"{template.query.name}: a whole number in a condition goes beyond 64 bits. "
                    "Cast the attribute to a double, as in a column of its own."
                )
        self._rows = self._kept(table, order, arranged, keys, over)
        if self._rows is not None:
            most_bytes = max(self.statistics.state_bytes, self._rows.nbytes)
            self.statistics.state_bytes = most_bytes

    def _set_times(self, keys: Ints, times: Ints, reached: int, over: Bools) -> None:
        """Set the times of each key that were and are known to be over; `over`: keys that end."""
        if len(keys) == 0:
            return
        has_old = keys[:, NEW_ROW] > keys[:, FIRST_ROW]
        before = times[np.maximum(keys[:, NEW_ROW] - 1, 0)]
        keys[:, PASSED] = np.maximum(np.where(has_old, before, NEVER), self._passed)
        keys[:, REACHED] = np.maximum(times[keys[:, END_ROW] - 1], reached)
        keys[over, REACHED] = np.maximum(keys[over, REACHED], self._end)
        keys[:, REACHED] = np.maximum(keys[:, REACHED], keys[:, PASSED])

    def _count_open_windows(
        self, table: pa.Table, order: Ints, arranged: Ints, ended_keys: Ints
    ) -> None:
        """Count the windows relative to a match that are open at the end of some keys.

        One begins with each event with which a match may begin.
        """
        engine = self._engine
        assert engine is not None
        bounds = np.zeros(len(order) + 1, dtype=np.int64)
        np.add.at(bounds, ended_keys[:, FIRST_ROW], 1)
        np.add.at(bounds, ended_keys[:, END_ROW], -1)
        of_ended_keys = np.cumsum(bounds[:-1]) > 0
        latest = arranged[TIME]
        if self._spec.templates[0].uncertain is not None:
            latest = _numpy(table, column_of(HIGH))[order]
        for number, template in enumerate(self._spec.templates):
            within, slide, _ = _window(template)
            if within == NO_WINDOW or slide != 0 or self._left[number] <= 0:
                continue
            is_open = of_ended_keys & (latest + within >= self._end)
            begins = engine.searches[number].tables.may_begin(arranged[CLASS][is_open])
            self.statistics.queries[number].open_windows += int(np.count_nonzero(begins))

    def _search_together(
        self, together: Together, operands: Operands, keys: Ints, events: Events
    ) -> Iterator[pa.RecordBatch]:
        engine = self._engine
        assert engine is not None
        for numbers, piece in together.matches(operands, keys):
            groups = events.groups(piece.first)
            made: dict[Hashable, list[pa.Array]] = {}
            for number in numbers:
                rows = engine.rows[number]
                if rows.made_of not in made:
                    made[rows.made_of] = rows.of(piece, events)
                self.statistics.totals += len(piece)
                yield engine.batch(number, piece, groups, made[rows.made_of])

    def _search(
        self,
        number: int,
        template: MatchTemplate,
        operands: Operands,
        keys: Ints,
        table: pa.Table,
        events: Events,
    ) -> Iterator[pa.RecordBatch]:
        engine = self._engine
        if engine is None or self._left[number] <= 0:
            return
        search, rows = engine.searches[number], engine.rows[number]
        # a match that two runs find is counted against LIMIT once
        limit = EVER if template.duplicates else self._left[number]
        matches = search.matches(operands, keys, window=_window(template), limit=limit)
        if any(column.kind is ColumnKind.MATCH_NUMBER for column in template.columns):
            pieces = [piece.kept() for piece in _telling(matches, template, events)]
            yield from self._numbered(number, pieces, operands, table, events)
            return
        for piece in _telling(matches, template, events):
            given = piece
            if len(given) > self._left[number]:
                given = given.take(np.arange(self._left[number]))
            if self._left[number] != EVER:
                self._left[number] -= len(given)
            self.statistics.totals += len(given)
            columns = rows.of(given, events)
            yield engine.batch(number, given, events.groups(given.first), columns)
            if self._left[number] <= 0:
                return

    def _numbered(
        self, number: int, pieces: list[Found], operands: Operands, table: pa.Table, events: Events
    ) -> Iterator[pa.RecordBatch]:
        """Give matches out with their numbers, from 1 for each key, as they became complete.

        That is by their last event, or by the end of their window where they await it; wherever
        batches are cut, it is the same order.
        """
        engine, template = self._engine, self._spec.templates[number]
        if engine is None or not pieces:
            return
        codes = _numpy(table, "key")[events.order]
        first = np.concatenate([piece.first for piece in pieces])
        keys = codes[first]
        due = np.zeros(len(first), dtype=np.int64)
        if template.waits:
            windows = np.concatenate([piece.window for piece in pieces])
            ends = operands.wholes[TIME]
            if template.uncertain is not None:
                ends = _numpy(table, column_of(HIGH))[events.order]
            due = windows if is_windowed(template.query) else ends[first]
        last = np.concatenate([_newest(piece, template) for piece in pieces])
        turn = np.lexsort((last, due, keys))
        starts = np.flatnonzero(np.diff(keys[turn], prepend=-1))
        counted = np.diff(starts, append=len(turn))
        before = self._given[number]
        offsets = [before.get(int(key), 0) for key in keys[turn][starts]]
        numbers = np.empty(len(turn), dtype=np.int64)
        numbers[turn] = np.arange(len(turn)) + np.repeat(np.array(offsets) - starts + 1, counted)
        for key, offset, count in zip(keys[turn][starts], offsets, counted, strict=True):
            before[int(key)] = offset + int(count)
        if self._options.one_slot and len(codes):  # of the keys before nothing comes any more
            self._given[number] = {k: n for k, n in before.items() if k == int(codes[-1])}
        begin = 0
        for piece in pieces:
            mine = numbers[begin : begin + len(piece)]
            begin += len(piece)
            given = piece
            if self._left[number] != EVER:
                given = piece.take(np.arange(min(len(piece), self._left[number])))
                self._left[number] -= len(given)
            self.statistics.totals += len(given)
            columns = engine.rows[number].of(given, events, mine[: len(given)])
            yield engine.batch(number, given, events.groups(given.first), columns)

    def _kept(
        self, table: pa.Table, order: Ints, times: Ints, keys: Ints, over: Bools
    ) -> pa.Table | None:
        """Return the rows that a match that is not given out yet may hold; none of keys `over`."""
        reached = keys[:, REACHED]
        least = np.full(len(keys), EVER)
        for template, left in zip(self._spec.templates, self._left, strict=True):
            if left <= 0:
                continue
            within, slide, origin = _window(template)
            longest = _longest_interval(table) if template.uncertain is not None else 0
            if within == NO_WINDOW:
                begin = np.full(len(keys), NEVER)
            elif slide == 0:
                begin = reached - _reach_back(template, within, longest)
            else:  # the first window that is not over
                begin = origin + first_window(reached, within, slide, origin) * slide - longest
            least = np.minimum(least, np.where(over, EVER, begin))
        rows = np.empty(len(order), dtype=np.int64)
        seconds = ROW_SECONDS * (len(rows) + len(keys))
        rows = rows[: enter(kept_rows, seconds, keys, least, times, order, rows)]
        return None if len(rows) == 0 else table.take(to_arrow(rows)).combine_chunks()


class _Engine:
    """What depends on the types of the columns: searches, and how their columns are made."""

    def __init__(
        self,
        unit: Unit,
        spec: MatchUnit,
        schema: pa.Schema,
        counted: tuple[QueryStatistics, ...],
        listing: ListSearch,
    ) -> None:
        self.schema = schema
        self._unit = unit
        self._spec = spec
        types = {attribute_of(column): schema.field(column.name).type for column in unit.columns}
        fine = any(template.has_fine_lengths for template in spec.templates)
        self._layout = Layout(types, fine=fine)
        size = unit.classes.size
        self._dense = size <= DENSE
        self._numbers: dict[int, int] = {}  # of the classes seen, where there are very many
        self._known = np.zeros(size if self._dense else 0, dtype=np.bool_)
        self.searches = [
            search_of(
                template,
                unit.classes,
                self._layout,
                size if self._dense else 0,
                statistics,
                listing,
            )
            for template, statistics in zip(spec.templates, counted, strict=True)
        ]
        self.together = _together(spec, self.searches)
        self.rows = [Rows(template, self._layout) for template in spec.templates]
        self._schemas = spec.partials(self._layout.types)

    def attributes(self, table: pa.Table) -> Mapping[str, pa.Array]:
        """Return the attributes that travelled with the events."""
        return {
            attribute_of(column): whole(table.column(column.name)) for column in self._unit.columns
        }

    def arranged(
        self, table: pa.Table, kept: int, *, one_slot: bool, ordered: bool
    ) -> tuple[Ints, Ints, Ints]:
        """Return the keys, the rows in the order of keys, and their times, classes and moments.

        The first `kept` rows are old. Raises InputError where a key's are not in time order.
        """
        codes, count = _numpy(table, "key"), 0
        if len(codes) and one_slot:  # codes may be high: keys stand together, and are numbered anew
            codes = np.cumsum(np.diff(codes, prepend=codes[0]) != 0, dtype=np.int32)
            codes.flags.writeable = False  # as those of a table: kernels are compiled for that
        keys = np.zeros((int(codes.max(initial=-1)) + 1, KEY_COLUMNS), dtype=np.int64)
        classes = self._numbered(_numpy(table, "class"))
        order = np.empty(len(codes), dtype=np.int64)
        arranged = np.empty((RESERVED, len(codes)), dtype=np.int64)
        seen: Bytes = np.zeros(len(self._known), dtype=np.uint8)
        times = _numpy(table, "time")
        count = enter(
            arrange, ROW_SECONDS * len(codes), codes, times, classes, kept, ordered, keys, order,
            arranged, seen,
        )  # fmt: skip
        if count < 0:
            raise InputError("A key's events are not in the order of their times.")
        if self._dense:
            first: list[int] = np.flatnonzero((seen == 1) & ~self._known).tolist()
            self._known[first] = True
            self._learn(first, first)
        return keys[keys[:, END_ROW] > keys[:, FIRST_ROW]], order[:count], arranged[:, :count]

    def operands(self, table: pa.Table, order: Ints, arranged: Ints) -> Operands:
        """Return what searches read of the rows, in the order of keys."""
        attributes = self.attributes(table)
        operands = self._layout.of(attributes, order, arranged)
        if LAW in attributes:
            operands = replace(operands, laws=Laws.of(attributes[LAW], order))
        for search in self.searches:
            search.tables.set_texts(operands)
        return operands

    def events(self, table: pa.Table, order: Ints, keys: Ints, operands: Operands) -> Events:
        """Return what columns of matches read of the rows."""
        attributes = self.attributes(table)
        groups = _numpy(table, "group") if self._unit.group_by else None
        arranged = {
            name: to_arrow(operands.doubles[row])
            for name, row in self._layout.doubles.items()
            if attributes[name].type == pa.float64() and not attributes[name].null_count
        }
        return Events(attributes, order, keys, groups, arranged)

    def _numbered(self, codes: Ints) -> Ints:
        """Return the classes as small numbers; where they are many, searches learn those new."""
        if self._dense:
            return codes
        distinct, places = np.unique(codes, return_inverse=True)
        values: list[int] = distinct.tolist()
        new = [code for code in values if code >= 0 and code not in self._numbers]
        for code in new:
            self._numbers[code] = len(self._numbers)
        self._learn(new, [self._numbers[code] for code in new])
        numbers = np.array([self._numbers.get(code, -1) for code in values], dtype=np.int64)[places]
        numbers.flags.writeable = False
        return np.asarray(numbers)

    def _learn(self, codes: list[int], numbers: list[int]) -> None:
        if codes:
            for search in self.searches:
                search.learn(codes, numbers)

    def batch(
        self, number: int, found: Found, groups: pa.Array, columns: list[pa.Array]
    ) -> pa.RecordBatch:
        """Return matches as a batch of partial outputs."""
        arrays = [repeated(number, len(found)), groups]
        if is_windowed(self._spec.templates[number].query):
            arrays.append(to_arrow(found.window.copy()))
        return pa.RecordBatch.from_arrays(arrays + columns, schema=self._schemas[number])


def _together(spec: MatchUnit, searches: Sequence[Search]) -> list[Together]:
    """Return the queries that may be answered together."""
    mergeable = [
        (place, template, search.tables)
        for place, (template, search) in enumerate(zip(spec.templates, searches, strict=True))
        if type(search) is QuerySearch and goes_back(template, search.tables)
    ]
    return [
        Together(mergeable[at : at + MOST_QUERIES]) for at in range(0, len(mergeable), MOST_QUERIES)
    ]


def _longest_interval(table: pa.Table) -> int:
    """Return the greatest distance from the first to the last time that an event may have."""
    lengths = _numpy(table, column_of(HIGH)) - _numpy(table, "time")
    return int(lengths.max(initial=0))


def _newest(found: Found, template: MatchTemplate) -> Ints:
    """Return the event of each match that came last."""
    if template.uncertain is None:
        return found.last
    return np.maximum.reduceat(found.paths[:, 0].astype(np.int64), found.starts[:-1])


def _limit(template: MatchTemplate) -> int:
    """Return how many matches are given out at most: all, where equal ones count once."""
    limit = template.query.limit
    return EVER if limit is None or template.query.distinct else min(limit, EVER)


def _telling(
    matches: Iterator[Found],
    template: MatchTemplate,
    events: Events,
) -> Iterator[Found]:
    """Hand matches on; say query, variable and event where a user's aggregate fails."""
    try:
        yield from matches
    except AggregateFailure as failure:
        row = int(events.order[failure.row])
        event = ", ".join(
            f"{name.removeprefix(COMPUTED)}={column[row].as_py()!r}"
            for name, column in events.attributes.items()
        )
        raise InputError(
            f"query {template.query.name}: {failure.name} over {' and '.join(failure.variables)}: "
            f"{failure.told}, at the event {event}."
        ) from None


def _window(template: MatchTemplate) -> tuple[int, int, int]:
    """Return WITHIN, SLIDE (0: none) and ORIGIN; WITHIN is `NO_WINDOW` where there is none."""
    window = template.query.window
    if window is None:
        return NO_WINDOW, 0, 0
    return window.within, window.slide or 0, window.origin


def _release_time(template: MatchTemplate, last: int, longest: int) -> int | None:
    """Return from when on an event at `last` is not needed by a template; None: it always is.

    longest: the longest interval of possible times.
    """
    window = template.query.window
    if window is None:
        return None
    if window.slide is not None:
        return int(window.bounds(window.last(last))[1]) + longest
    return last + _reach_back(template, window.within, longest) + 1


def _reach_back(template: MatchTemplate, within: int, longest: int) -> int:
    """Return how long before the time reached an event may begin and still be needed.

    within: the length of windows that are relative to the match. longest: the longest interval of
    possible times. A match that waits does so until its window has passed from the last possible
    time of its first event, and its other events may begin before that one does.
    """
    if template.waits and template.depends_on_earlier:
        return 2 * (within + longest)  # NOT looks back from a match that waits
    return within + (2 if template.waits else 1) * longest


def _next_deadline(template: MatchTemplate, times: Ints, latest: Ints, passed: int) -> int | None:
    """Return when the first window ends that is open; None without windows.

    `times` [event] are the first ones possible, `latest` the last ones.
    """
    within, slide, origin = _window(template)
    if within == NO_WINDOW or len(times) == 0:
        return None
    if slide == 0:
        waiting = latest[latest > passed - within - 1] if passed > NEVER else latest
        return int(waiting.min()) + within + 1 if len(waiting) else None
    first = first_window(int(times.min()), within, slide, origin)
    if passed > NEVER:
        first = max(first, first_window(passed, within, slide, origin))
    return origin + first * slide + within if origin + first * slide <= latest.max() else None


def _numpy(table: pa.Table, name: str) -> Any:
    return to_numpy(table.column(name))
