"""NEXT and CONTIGUOUS trends of a unit's queries: sweeps over events as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import enter
from elsinore.kernels.read_only import read_only
from elsinore.model.window import Window, first_window
from elsinore.numeric.extended import THRESHOLD
from elsinore.plan import TrendUnit
from elsinore.plan.paths import goes_in_steps
from elsinore.trends.core.arrays import FOREVER, NEVER
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.graph.conditions import conditions
from elsinore.trends.graph.interpret import Conditions
from elsinore.trends.graph.lanes import lanes_of
from elsinore.trends.graph.layout import Program
from elsinore.trends.graph.memory import Memory, header_of, memory_of, with_room
from elsinore.trends.graph.program import Own, Programs, places_of
from elsinore.trends.graph.records import Added, Compared, Events
from elsinore.trends.graph.steps import Lanes, can_step, words_of
from elsinore.trends.graph.sums import Sums
from elsinore.trends.graph.sweep import LARGE_NUMBERS, ROOM, Given, Rows, sweep, tie
from elsinore.trends.graph.windows import Wanted, wanted_of
from elsinore.trends.keyed import (
    FEW_CLASSES,
    Codes,
    Ints,
    KeyedEvents,
    as_entered,
    occurring,
    size_of,
)

_STEP = 4e-5  # seconds that an event takes in plain Python, about
STRETCH = 2**18  # rows whose columns are read at once, so that they stay near the processor
_NO_WINDOW = int(FOREVER) // 2  # beyond all windows that hold an event


# the events of some rows and their columns, which `KeyedEvents` of all rows are without
Read = Callable[[slice], tuple[KeyedEvents, ComparedColumns]]


class Totals(NamedTuple):
    """A query's totals by key and window; some may be of windows without trends."""

    key: Ints
    window: Ints
    sums: Sums


@dataclass(frozen=True, slots=True)
class _Ready:
    """Queries of one automaton, with their program, and whose sums and extremes are whose."""

    queries: tuple[int, ...]
    program: Program
    chosen: list[Own]
    asked: Conditions


class _Columns(NamedTuple):
    """The columns of so many rows from one on."""

    begin: int
    rows: int
    events: Events


class Stepped:
    """Sums up the trends of those queries of a unit that can go on step by step.

    Queries of one automaton are a group of `programs`; groups of one shape are lanes of one sweep
    if they `share`, and alone where a number of one of them is too large. `by_time`: events of one
    time do not precede one another.
    """

    def __init__(
        self,
        unit: TrendUnit,
        programs: Programs,
        *,
        by_time: bool,
        share: bool,
    ) -> None:
        self.unit = unit
        self._programs = programs
        self._groups = stepping(programs)
        self._sweeps: dict[tuple[int, ...], list[tuple[int, ...]]] = {}  # of the last call
        self._by_time = by_time
        self._share = share
        self._last: dict[tuple[int, ...], tuple[object, Lanes]] = {}  # by first queries
        self.bytes_held = 0  # by the memory of the largest sweep of the last call

    @property
    def has_groups(self) -> bool:
        """Whether any queries can go step by step."""
        return bool(self._groups)

    def evaluate(
        self, events: KeyedEvents, columns: ComparedColumns, read: Read | None = None
    ) -> dict[int, Totals]:
        """Return the totals of the queries that can go step by step here, by number.

        The others have a condition that cannot, or numbers too large for doubles.
        read: tells the columns of rows, which then are not in what is given; codes are steady.
        """
        self.bytes_held = 0
        by_query: dict[int, Totals] = {}
        if not self._groups:
            return by_query
        codes, occur, places = _classes(events)
        slots, times = _slots(events), read_only(events.times)
        ties = np.zeros(1, dtype=np.uint8)
        if self._by_time:
            ties = enter(tie, 1e-6 * len(slots), slots, times, len(events.done))
        sweeps_of = self._ready(occur, columns)
        stretches: Iterable[_Columns] = ()
        if read is None or len(sweeps_of) > 1:
            whole = (events, columns) if read is None else read(slice(None))
            stretches = [_columns(0, *whole)]
        elif not (len(events.values) or len(events.orders) or len(columns.compared)):
            stretches = [_columns(0, events, columns)]  # nothing of them is read
        while sweeps_of:
            several = sweeps_of.pop(0)
            lanes = self._words(several, occur)
            table = np.full(int(places.max(initial=0)) + 1, -1, dtype=np.int64)
            table[places] = lanes.classes
            rows = Rows(slots, codes, times, ties, table)
            window = self.unit.guarded[several[0].queries[0]].query.window
            of_sweep = stretches or _stretches(read, len(slots))
            totals = self._sweep(lanes, of_sweep, rows, window, events)
            if totals is None:
                sweeps_of += [[ready] for ready in several if len(several) > 1]
                continue
            for lane, ready in enumerate(several):
                for query, chosen in zip(ready.queries, ready.chosen, strict=True):
                    by_query[query] = _of_lane(totals, lanes, lane, chosen)
        return by_query

    def _ready(self, occur: Sequence[int], columns: ComparedColumns) -> list[list[_Ready]]:
        """Return the queries that can be done, those that are lanes of one sweep together."""
        ready = {}
        for number in self._groups:
            program, chosen = self._programs.program(number, occur)
            compiled = conditions(self._programs.conditions(number), columns)
            if can_step(program, compiled):
                queries = self._programs.groups[number].queries
                ready[number] = _Ready(queries, program, chosen, compiled)
        numbers = tuple(ready)
        if numbers not in self._sweeps:
            groups: list[tuple[int, ...]] = [(number,) for number in numbers]
            if self._share:
                groups = sweeps(
                    self._programs, {n: ready_group.program for n, ready_group in ready.items()}
                )
            self._sweeps = {numbers: groups}
        return [[ready[number] for number in several] for several in self._sweeps[numbers]]

    def _words(self, several: Sequence[_Ready], occur: Sequence[int]) -> Lanes:
        """Return the words of queries; they are kept for events of the same classes and columns."""
        queries = tuple(group.queries[0] for group in several)
        compiled = several[0].asked
        key = list(occur), compiled.forms.tobytes()
        if queries not in self._last or self._last[queries][0] != key:
            templates = [self.unit.guarded[query] for query in queries]
            programs = [group.program for group in several]
            lanes = words_of(templates, programs, compiled, by_time=self._by_time)
            self._last[queries] = key, lanes
        return self._last[queries][1]

    def _sweep(
        self,
        lanes: Lanes,
        stretches: Iterable[_Columns],
        rows: Rows,
        window: Window | None,
        events: KeyedEvents,
    ) -> Totals | None:
        """Return the totals of all lanes side by side; None where a number became too large."""
        wanted = wanted_of(window)
        first, last = _wanted(wanted, events.done, events.until)
        headers, most = header_of(lanes, wanted, len(first), by_time=self._by_time)
        if most < len(first):
            stretches = list(stretches)  # they are gone over again
        several = True if lanes.fields + lanes.extremes > 1 else None
        parts = []
        for begin in range(0, len(first), most):
            keys = range(begin, min(begin + most, len(first)))
            memory = memory_of(lanes, headers, keys, first, last)
            given = _given(memory, (len(keys) + 2) * int(memory.headers[0]["overlap"]))
            for columns in stretches:
                memory.headers["begin"], memory.headers["rows"] = columns.begin, columns.rows
                arguments, seconds = (rows, columns.events), _STEP * columns.rows
                while (how := enter(sweep, seconds, *memory, *arguments, given, several)) == ROOM:
                    memory = with_room(memory, int(memory.headers[0]["room"]))
                    given = _longer(memory, given, len(given.places) // 2)
                if how == LARGE_NUMBERS:
                    return None
            self.bytes_held = max(self.bytes_held, size_of(memory, given))
            parts.append(_totals(memory, given))
        places, cells, extremes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((places[:, 1], places[:, 0]))
        sums = Sums(*_normal(cells[order]), extremes[order])
        return Totals(places[order, 0], places[order, 1], sums)


def stepping(programs: Programs) -> list[int]:
    """Return the groups of queries that may go step by step."""
    groups = enumerate(programs.groups)
    return [number for number, group in groups if goes_in_steps(group.template)]


def sweeps(programs: Programs, groups: Mapping[int, Program]) -> list[tuple[int, ...]]:
    """Put groups together as lanes of sweeps; their programs are for whatever classes."""
    numbers = list(groups)
    templates = [programs.groups[number].template for number in numbers]
    all_lanes = lanes_of(templates, list(groups.values()))
    return [tuple(numbers[place] for place in places) for places in all_lanes]


def _classes(events: KeyedEvents) -> tuple[Ints, Sequence[int], Ints]:
    """Return codes that are small numbers, the classes that occur, and the small number of each."""
    codes = read_only(np.ascontiguousarray(events.codes, dtype=np.int64))
    if events.classes is not None:
        return codes, events.classes, np.arange(len(events.classes))
    occur = occurring(codes) if events.occur is None else events.occur
    if len(occur) and occur[-1] >= FEW_CLASSES:
        return read_only(places_of(codes, occur)), occur.tolist(), np.arange(len(occur))
    return codes, occur.tolist(), occur


def _stretches(read: Read | None, count: int) -> Iterator[_Columns]:
    """Read the columns of so many rows, stretch by stretch."""
    if read is not None:
        for begin in range(0, count, STRETCH):
            yield _columns(begin, *read(slice(begin, begin + STRETCH)))


def _columns(begin: int, events: KeyedEvents, columns: ComparedColumns) -> _Columns:
    """Return the columns of events from a row on, and how many there are."""
    compared, known = as_entered(columns.compared), as_entered(columns.known)
    flat = Compared(compared.reshape(-1), known.reshape(-1))
    return _Columns(begin, len(events.times), Events(flat, _added(events)))


def _added(events: KeyedEvents) -> Added:
    """Return the columns of what events add, one after another."""
    return Added(
        as_entered(events.values).reshape(-1),
        as_entered(events.present).reshape(-1),
        as_entered(events.orders).reshape(-1),
        as_entered(events.ordered).reshape(-1),
    )


def _slots(events: KeyedEvents) -> Codes:
    """Return the key of each row."""
    if events.slots is not None:
        return read_only(np.ascontiguousarray(events.slots, dtype=np.int32))
    keys = np.arange(len(events.done), dtype=np.int32)
    return read_only(np.repeat(keys, np.diff(events.starts)))


def _wanted(wanted: Wanted, done: Ints, until: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last window that is wanted of each key, as `windows` tells them.

    >>> done, until = np.array([NEVER, 20, FOREVER]), np.array([FOREVER, 40, FOREVER])
    >>> first, last = _wanted(Wanted(10, 5, 0), done, until)
    >>> first[1], last[1], first[0] < 0, last[0] > 10**18, first[2] > last[2] // 2
    (np.int64(3), np.int64(6), np.True_, np.True_, np.True_)
    """
    if wanted.within == FOREVER:
        return np.where((until == FOREVER) & (done != FOREVER), 0, 1), np.zeros_like(done)
    plain = (done != NEVER) & (done != FOREVER)
    first = first_window(np.where(plain, done, 0), *wanted)
    first = np.where(plain, first, np.where(done == NEVER, -_NO_WINDOW, _NO_WINDOW))
    bound = np.where(until == FOREVER, 0, until)
    last = first_window(bound, *wanted) - 1
    return first, np.where(until == FOREVER, _NO_WINDOW, last)


def _given(memory: Memory, count: int) -> Given:
    """Return room for so many totals."""
    header = memory.headers[0]
    return Given(
        np.zeros(2 * count, dtype=np.int64),
        np.zeros(count * int(header["width"])),
        np.zeros(count * int(header["ranks"]), dtype=np.int64),
    )


def _longer(memory: Memory, given: Given, more: int) -> Given:
    """Return totals with room for so many more."""
    added = _given(memory, more)
    return Given(*(np.concatenate(arrays) for arrays in zip(given, added, strict=True)))


def _totals(memory: Memory, given: Given) -> tuple[Ints, NDArray[np.float64], Ints]:
    """Return the key and window, the sums and the extremes of each total."""
    header, room = memory.headers[0], len(given.places) // 2
    count = int(header["given"])
    return (
        given.places.reshape(room, 2)[:count],
        given.cells.reshape(room, int(header["width"]))[:count],
        given.extremes.reshape(room, int(header["ranks"]))[:count],
    )


def _normal(cells: NDArray[np.float64]) -> tuple[NDArray[np.float64], Codes]:
    """Return finite doubles as extended-range numbers in their normal form."""
    powers = np.zeros(cells.shape, dtype=np.int32)
    while (large := np.abs(cells) >= THRESHOLD).any():
        cells = np.where(large, cells * 2.0**-256, cells)
        powers += large
    return cells, powers


def _of_lane(totals: Totals, lanes: Lanes, lane: int, chosen: Own) -> Totals:
    """Return a query's totals: of its lane those sums and extremes that are its own.

    chosen: which of the sums and extremes of the lane's program these are.
    """
    sums, ranks = (
        np.array([fields[place] for place in some] if any(chosen) else fields, dtype=np.int64)
        for fields, some in zip(lanes.own[lane], chosen, strict=True)
    )
    mine = Sums(
        totals.sums.cells[:, sums * lanes.lanes + lane],
        totals.sums.powers[:, sums * lanes.lanes + lane],
        totals.sums.extremes[:, ranks * lanes.lanes + lane],
    )
    return totals._replace(sums=mine)
