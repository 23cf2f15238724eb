"""One match query at work: its tables, its working room, and the matches of a stretch of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.kernels import enter, is_compiled
from elsinore.matches import keyed as ky
from elsinore.matches import reach as re
from elsinore.matches import scan as sc
from elsinore.matches import search as se
from elsinore.matches import select as sl
from elsinore.matches.arrays import Doubles, Given, Ints, Registers, Relevant, Rules
from elsinore.matches.interpret import STACK
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.ranks import with_ranks
from elsinore.matches.reach import EVENT_COLUMNS
from elsinore.matches.returns import ColumnKind
from elsinore.matches.tables import ClassStates, Header, Tables
from elsinore.matches.tabulate import build_tables
from elsinore.matches.template import MatchTemplate
from elsinore.matches.windows import FIRST_CALL
from elsinore.matches.work import PLAIN_STEPS, Work
from elsinore.plan.classes import Classes

ANY_NUMBER = np.iinfo(np.int64).max
NEVER = np.iinfo(np.int64).min
HIGHEST = 9 * 10**18  # matches, beyond which no number is told
GUARD = 10**7  # matches of a window beyond which a run stops, unless the query has LIMIT
EVENT_SECONDS = 2e-5  # what an event takes in plain Python
LISTED = {ColumnKind.LIST, ColumnKind.EVENTS}  # columns that all events of a match are read for
NUMBERED = {ColumnKind.MATCH_NUMBER}  # and where it is uncertain which of them is the last
STEPS = 64  # events that a match may have at first
ROOM = 1 << 15  # matches given out at a time, at first
WIDEST = 1 << 17  # and where there are many
_NOWHERE = np.int64(0)


@dataclass(frozen=True, slots=True)
class Found:
    """Matches: their first and last rows, windows and registers; `paths` their events, if asked.

    `events` [match, register] are rows, below 0 where there is none; `numbers` [match, register].
    `known`: registers that hold the first row (0) or the last (1), which `events` need not have.
    The path of match n is rows `starts[n]` to `starts[n + 1]` of `paths`: event row and state.
    They are what they are until the next ones are asked for.
    """

    first: Ints
    last: Ints
    window: Ints
    events: Ints
    numbers: Doubles
    starts: Ints
    paths: NDArray[np.int32]
    known: Mapping[int, int] = field(default_factory=dict)

    def event(self, place: int) -> Ints:
        """Return the event of each match that a register holds."""
        if place in self.known:
            return self.last if self.known[place] else self.first
        return self.events[:, place]

    def __len__(self) -> int:
        return len(self.first)

    def kept(self) -> Found:
        """Return the matches in arrays of their own: a search makes the next ones in its own."""
        return Found(
            self.first.copy(), self.last.copy(), self.window.copy(), self.events.copy("K"),
            self.numbers.copy("K"), self.starts, self.paths.copy(), self.known,
        )  # fmt: skip

    def take(self, kept: Ints) -> Found:
        """Return some of the matches; their paths stay where they are."""
        lengths = np.diff(self.starts)[kept]
        rows = np.repeat(self.starts[:-1][kept] - np.cumsum(lengths) + lengths, lengths)
        paths = self.paths[rows + np.arange(len(rows))] if len(self.paths) else self.paths
        return Found(
            self.first[kept], self.last[kept], self.window[kept], self.events[kept],
            self.numbers[kept], np.concatenate([[0], np.cumsum(lengths)]), paths, self.known,
        )  # fmt: skip


class AggregateFailure(Exception):  # noqa: N818 - it is data for an error
    """A user's aggregate failed at a row, which is bound to one of some variables."""

    def __init__(self, name: str, variables: tuple[str, ...], row: int, told: str) -> None:
        super().__init__(name, variables, row, told)
        self.name = name
        self.variables = variables
        self.row = row
        self.told = told


def failure_of(template: MatchTemplate, tables: Tables) -> AggregateFailure:
    """Return what a user's aggregate failed at; it is at work again after this."""
    row = int(tables.integers[Header.FAILED]) - 1
    tables.integers[Header.FAILED] = 0
    for stepper, register in zip(
        tables.steppers,
        (r for r in template.registers if r.aggregate is not None),
        strict=True,
    ):
        if stepper.failure is not None:
            failure, stepper.failure = stepper.failure, None
            return AggregateFailure(stepper.aggregate.name, register.variables, row, failure)
    raise AssertionError("an aggregate failed, and none says so")


class QuerySearch:
    """The search of one query."""

    def __init__(
        self, template: MatchTemplate, classes: Classes, layout: Layout, size: int
    ) -> None:
        self.template = template
        self.tables = build_tables(template, layout)
        self.states = ClassStates(template, classes, size)
        self.tables.set_classes(self.states)
        self.wants_paths = template.duplicates or any(
            column.kind in LISTED or (template.uncertain is not None and column.kind in NUMBERED)
            for column in template.columns
        )
        self.guard = GUARD
        self.work = Work()
        self._known = dict(self.tables.known)
        self._filled = 0  # the longest array of events there was

    @cached_property
    def _room(self) -> _Room:
        """The arrays to work in; a query that others answer needs none."""
        return _Room(self.tables)

    def learn(self, codes: list[int], numbers: list[int]) -> None:
        """Take in classes that came for the first time."""
        self.states.learn(codes, numbers)
        self.tables.set_classes(self.states)

    def matches(
        self,
        operands: Operands,
        keys: Ints,
        *,
        window: tuple[int, int, int],
        limit: int,
    ) -> Iterator[Found]:
        """Yield the matches among the rows of `keys` (see `elsinore.matches.keyed`), in pieces.

        `window` is WITHIN, SLIDE (0: none) and ORIGIN in the unit of times. Raises InputError where
        a window has more than `GUARD` matches, or they cannot be found in reasonable time.
        """
        negatives = negative_rows(self.template, self.tables, operands, keys, window[0])
        room = self._room
        room.for_rows(longest(keys))
        wholes, room.stack = with_ranks(self.tables, operands, longest(keys))
        operands = replace(operands, wholes=wholes)
        progress = _progress(self.tables, window, limit, with_paths=self.wants_paths)
        self.work.allow(new_events(keys))
        seconds = patience(self.tables, keys)
        while True:
            self.work.begin(progress)
            _search(self.tables, room, operands, negatives, keys, progress, seconds)
            seconds = math.inf  # what takes so long is compiled
            is_too_long = self.work.end(progress)
            status, found = self._taken(progress)
            if found is not None:
                yield found
            if status in {se.DONE, se.LIMITED}:
                return
            if is_too_long:
                raise self.too_long()
            widen = found is None or 2 * room.found.shape[1] <= WIDEST
            self._make_way(status, progress, widen=widen)

    def compile_search(self, operands: Operands, window: tuple[int, int, int]) -> None:
        """Compile the search, which answers queries whose later events may be simultaneous."""
        keys = np.zeros((0, ky.KEY_COLUMNS), dtype=np.int64)
        negatives = negative_rows(self.template, self.tables, operands, keys, window[0])
        progress = _progress(self.tables, window, ANY_NUMBER, with_paths=self.wants_paths)
        _search(self.tables, self._room, operands, negatives, keys, progress, 0.0)

    def _taken(self, progress: Ints) -> tuple[int, Found | None]:
        """Return a kernel's status and its matches, and reset `progress` for the next piece.

        The matches are views of the working arrays: the next call overwrites them.
        """
        status, count = int(progress[se.STATUS]), int(progress[se.FOUND])
        found = self._given(count, int(progress[se.FILLED])) if count else None
        progress[[se.FOUND, se.FILLED]] = 0
        progress[se.LIMIT] -= count
        progress[se.STATUS] = se.DONE
        return status, found

    def _make_way(self, status: int, progress: Ints, *, widen: bool) -> None:
        """Enlarge what a stopped kernel ran out of; raise its error if that is not possible."""
        if status == se.PAUSED:
            return
        if status == se.DEEP:
            self._room.deepen()
        elif status == se.FULL:
            if widen:
                self._room.widen()
        elif status == se.TOO_LONG and progress[se.BUDGET] == PLAIN_STEPS:
            progress[se.BUDGET] = ANY_NUMBER
        elif status == se.TOO_LONG:
            raise self.too_long()
        elif status == se.BROKEN:
            raise self._failure()
        else:
            raise self.too_many(int(progress[se.COUNTED]))

    def _given(self, count: int, filled: int) -> Found:
        """Return views of the `count` matches in the working arrays, each match once."""
        room = self._room
        found = room.found[:, :count]
        result = Found(
            first=found[sl.FIRST_ROW],
            last=found[sl.LAST_ROW],
            window=found[sl.IN_WINDOW],
            events=found[sl.BOUND :].T,
            numbers=room.counted[:, :count].T,
            starts=np.append(found[sl.PATH_AT], filled)
            if filled
            else np.broadcast_to(_NOWHERE, count + 1),
            paths=room.paths[:filled],
            known=self._known,
        )
        return self._once(result) if self.template.duplicates else result

    def _once(self, found: Found) -> Found:
        """Leave out matches that bind the same events to the same variables as an earlier one.

        Such matches begin with one event, and matches of one event are never given out apart.
        """
        seen: set[tuple[int, bytes]] = set()
        kept = []
        for number, mark in enumerate(self.marks(found)):
            if mark not in seen:
                seen.add(mark)
                kept.append(number)
        return found.take(np.array(kept, dtype=np.int64))

    def marks(self, found: Found) -> Iterator[tuple[int, bytes]]:
        """Yield what tells matches apart: windows, events and the variables they are bound to."""
        names = list(dict.fromkeys(state.variable for state in self.template.states))
        variable = np.array([names.index(s.variable) for s in self.template.states], np.int32)
        paths = found.paths.copy()
        paths[:, 1] = variable[paths[:, 1]]
        for number in range(len(found)):
            piece = paths[found.starts[number] : found.starts[number + 1]]
            yield int(found.window[number]), piece.tobytes()

    def _failure(self) -> AggregateFailure:
        return failure_of(self.template, self.tables)

    def too_long(self) -> InputError:
        """Return the error that the search has tried more than it may."""
        return InputError(
            f"query {self.template.query.name}: more than {self.work.allowed:,} partial matches "
            "were tried in this run, and most of them lead to no match. Make the window shorter, "
            "or add conditions between neighbours: they rule events out early."
        )

    def too_many(self, count: int) -> InputError:
        """Return the error that a window has more matches than may be returned."""
        name = self.template.query.name
        exact = f"more than {count:,}" if count >= HIGHEST else f"{count:,}"
        number_text = exact if self.tables.counts_exactly and count > GUARD else f"over {GUARD:,}"
        return InputError(
            f"query {name}: a window has {number_text} matches. Ask for some of them with LIMIT, "
            "make the window shorter, or count and sum over them without listing any in a trend "
            "query (RETURN COUNT(*), SUM(b.x))."
        )


class _Room:
    """The arrays that a search works in."""

    def __init__(self, tables: Tables) -> None:
        header = tables.integers
        events, numbers = int(header[Header.EVENTS]), int(header[Header.NUMBERS])
        states = int(header[Header.STATES])
        self.events = np.zeros((0, EVENT_COLUMNS), dtype=np.int64)
        self.ways = np.zeros((0, 2 * states), dtype=np.float64)
        self.path = np.zeros((STEPS, se.PATH_COLUMNS), dtype=np.int64)
        self.held = np.zeros((STEPS + 2, events), dtype=np.int64)
        self.numbers = np.zeros((STEPS + 2, numbers), dtype=np.float64)
        self._before: list[Doubles] = []
        self.stack = np.zeros(STACK + 2 * states, dtype=np.float64)
        self.whole_stack = np.zeros(STACK, dtype=np.int64)
        self.found = np.zeros((sl.BOUND + events, ROOM), dtype=np.int64)
        self.counted = np.zeros((numbers, ROOM), dtype=np.float64)
        self.paths = np.zeros((4 * ROOM, 2), dtype=np.int32)

    @property
    def registers(self) -> Registers:
        """The registers of the match under way."""
        return Registers(self.held, self.numbers)

    @property
    def given(self) -> Given:
        """Room for matches that are given out."""
        return Given(self.found, self.counted, self.paths)

    @property
    def relevant(self) -> Relevant:
        """Room for the relevant events of a key."""
        return Relevant(self.events, self.ways, self.stack)

    def rules(self, tables: Tables, negatives: Ints) -> Rules:
        """Return what conditions and NOT are looked at with."""
        return Rules(tables.constants, negatives, self.stack, self.whole_stack)

    def for_rows(self, rows: int) -> None:
        """Make room for keys of up to so many rows."""
        if len(self.events) < rows:
            self.events = np.zeros((rows, EVENT_COLUMNS), dtype=np.int64)
            self.ways = np.zeros((rows, self.ways.shape[1]), dtype=np.float64)

    def deepen(self) -> None:
        """Make room for matches of twice as many events; the one under way goes on."""
        # states of users' aggregates are known by their places: those are not used anew
        self._before.append(self.numbers)
        rows = len(self.path)
        self.path = np.concatenate([self.path, np.zeros_like(self.path)])
        self.held = np.concatenate([self.held, np.zeros_like(self.held[:rows])])
        self.numbers = np.concatenate([self.numbers, np.zeros_like(self.numbers[:rows])])

    def widen(self) -> None:
        """Make room for twice as many matches at a time."""
        columns = 2 * self.found.shape[1]
        self.found = np.zeros((len(self.found), columns), dtype=np.int64)
        self.counted = np.zeros((len(self.counted), columns), dtype=np.float64)
        self.paths = np.zeros((2 * len(self.paths), 2), dtype=np.int32)


def _progress(
    tables: Tables, window: tuple[int, int, int], limit: int, *, with_paths: bool
) -> Ints:
    progress = np.zeros(se.PROGRESS, dtype=np.int64)
    progress[se.WINDOW] = progress[se.BEGIN] = FIRST_CALL
    progress[[se.EVENTS, se.DEPTH, se.WAYS_TO]] = -1
    progress[se.BUDGET] = ANY_NUMBER if is_compiled(sc.scan) else PLAIN_STEPS
    progress[se.LIMIT] = limit
    progress[se.WITH_PATHS] = with_paths
    progress[[se.WITHIN, se.SLIDE, se.ORIGIN]] = window
    limited = limit < ANY_NUMBER
    progress[se.GUARD] = ANY_NUMBER if limited else GUARD
    progress[se.EXACT] = tables.counts_exactly and not limited
    return progress


def new_events(keys: Ints) -> int:
    """Return how many events of the keys are new."""
    return int((keys[:, ky.END_ROW] - keys[:, ky.NEW_ROW]).sum())


def longest(keys: Ints) -> int:
    """Return how many events the key has that has most."""
    return int((keys[:, ky.END_ROW] - keys[:, ky.FIRST_ROW]).max(initial=0))


def patience(tables: Tables, keys: Ints) -> float:
    """Return about how many seconds a search takes in plain Python, if it finds next to nothing."""
    lengths = keys[:, ky.END_ROW] - keys[:, ky.FIRST_ROW]
    looks = 1.0
    if tables.integers[Header.STRATEGY] == re.ANY:
        looks += int(lengths.max(initial=0)) / 100  # back from each event to those after it
        looks += int(tables.integers[Header.STATES]) ** 2 / 50  # and at which states follow which
    return EVENT_SECONDS * looks * int(lengths.sum())


def _search(
    tables: Tables,
    room: _Room,
    operands: Operands,
    negatives: Ints,
    keys: Ints,
    progress: Ints,
    seconds: float,
) -> None:
    """Search on; `seconds` it takes in plain Python, as far as is known."""
    # what is for conditions and NOT is compiled where there are some
    is_bare = not tables.interprets and len(negatives) == 0
    rules = None if is_bare else room.rules(tables, negatives)
    enter(
        sc.scan, seconds, tables.integers, rules, operands.values, keys, room.relevant, progress,
        room.path, room.registers, room.given,
    )  # fmt: skip


def are_apart(operands: Operands, keys: Ints) -> bool:
    """Return whether no two events of a key are simultaneous."""
    last = operands.wholes[ky.MOMENT][keys[:, ky.END_ROW] - 1]
    return bool(np.all(last == keys[:, ky.END_ROW] - keys[:, ky.FIRST_ROW] - 1))


def negative_rows(
    template: MatchTemplate, tables: Tables, operands: Operands, keys: Ints, within: int
) -> Ints:
    """Return for each pattern under NOT and row the latest beginning of a match that ended by it.

    Beginnings are moments of the row's key, -1 where no match ended by the row.
    """
    rows = operands.wholes.shape[1]
    latest_rows = np.full(
        (len(template.negatives), rows if template.negatives else 0), -1, np.int64
    )
    for number, (negative, inner_tables) in enumerate(
        zip(template.negatives, tables.negatives, strict=True)
    ):
        inner = negative_rows(negative, inner_tables, operands, keys, within)
        room = _Room(inner_tables)
        room.for_rows(longest(keys))
        if inner_tables.is_path:
            enter(
                sc.latest_beginnings, patience(inner_tables, keys), inner_tables.integers,
                room.rules(inner_tables, inner), operands.values, latest_rows, keys, room.events,
                room.ways, room.registers, number, within,
            )  # fmt: skip
        else:
            latest_rows[number] = _beginnings_one_by_one(
                inner_tables, room, operands, inner, keys, within
            )
    return latest_rows


def _beginnings_one_by_one(
    tables: Tables, room: _Room, operands: Operands, inner: Ints, keys: Ints, within: int
) -> Ints:
    """Return the latest beginnings where conditions look farther than to neighbours.

    Every match of the pattern is made. A NOT at its beginning or its end is looked for among all
    rows of the key.
    """
    moments = operands.wholes[ky.MOMENT]
    latest = np.full(len(moments), -1, dtype=np.int64)
    every = keys.copy()
    every[:, ky.NEW_ROW] = every[:, ky.FIRST_ROW]
    every[:, ky.PASSED], every[:, ky.REACHED] = NEVER, ky.FOREVER
    progress = _progress(tables, (within, 0, 0), ANY_NUMBER, with_paths=False)
    progress[se.ALL_ROWS] = 1
    progress[se.GUARD] = progress[se.LIMIT]
    progress[se.EXACT] = 0
    seconds = patience(tables, keys)
    work = Work()
    work.allow(new_events(every))
    while True:
        work.begin(progress)
        _search(tables, room, operands, inner, every, progress, seconds)
        seconds = math.inf
        found = room.found[:, : progress[se.FOUND]]
        np.maximum.at(latest, found[sl.LAST_ROW], moments[found[sl.FIRST_ROW]])
        status, count = progress[se.STATUS], int(progress[se.FOUND])
        is_too_long = work.end(progress)
        progress[se.FOUND] = progress[se.FILLED] = 0
        progress[se.STATUS] = se.DONE
        if status == se.DONE:
            break
        if status == se.DEEP:
            room.deepen()
        elif status == se.FULL and count == 0:
            room.widen()
        elif status == se.TOO_LONG and progress[se.BUDGET] == PLAIN_STEPS:
            progress[se.BUDGET] = ANY_NUMBER
        elif status == se.TOO_LONG or is_too_long:
            raise InputError(
                f"A pattern under NOT has too many matches to look at one by one: {work.tried:,} "
                "partial matches were tried. Make the window shorter, or compare neighbours only."
            )
    for begin, end in every[:, :2]:
        latest[begin:end] = np.maximum.accumulate(latest[begin:end])
    return latest
