"""The evaluator of the path of sets, and of EXACT: whatever a template asks for, in exact numbers.

Plain Python, a few microseconds for each event, or some ten under a guarded template whose
predecessors are ranges, and a few for each pair of events under any other guarded template: it is
for what no faster way covers.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from elsinore.model.window import Window
from elsinore.numeric.exact import Number
from elsinore.plan import TrendUnit
from elsinore.plan.stored import stored
from elsinore.plan.template import Template
from elsinore.trends.sets.ground import Automaton, Stretch, ground_of
from elsinore.trends.sets.search import total
from elsinore.trends.sets.states import States, Totals, reads_ranges, summed_unit
from elsinore.trends.sets.sums import Addends
from elsinore.trends.values.arrays import FOREVER, NEVER, Ints

Moments = Sequence[Sequence[int]]  # the rows of each
TotalsOf = Callable[[Window | None, Moments], Iterable[Totals]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEvents:
    """Events sorted by key, each key's by time; the same as `KeyedEvents`, values being Python's.

    `rows` are the values of each attribute that SUM, AVG or predicates between two events read,
    None for null and NaN; `ranks` those of MIN's and MAX's (`elsinore.operators.ranks`).
    """

    starts: Ints  # [key + 1] -> first row of each key
    done: Ints  # [key] windows that end at or before it are given out already; NEVER: none
    until: Ints  # [key] windows that end at or before it are wanted now; FOREVER: all
    times: Ints  # [row] microseconds
    codes: NDArray[Any]  # [row] class; below 0: no state takes the event
    rows: Mapping[str, Sequence[Any]]
    ranks: Mapping[str, Sequence[int | None]]


@dataclass(frozen=True, slots=True)
class SetTotal:
    """Sums over the trends of one (query, key, window) that holds one, all numbers exact.

    `query` is its number in the unit, `key` the place in `SetEvents.starts`, `window` 0 without
    WITHIN. `extremes` are ranks: FOREVER where there is none, inverted for MAX.
    """

    query: int
    key: int
    window: int
    cells: list[Number]
    extremes: list[int]


class SetsEvaluator:
    """Sums up the trends of a unit's guarded queries over whole windows.

    `by_time`: events of one time do not precede one another; else each is its own moment.
    """

    def __init__(self, unit: TrendUnit, *, by_time: bool = True) -> None:
        self.unit = unit
        self._by_time = by_time
        templates = {
            query: template
            for query, template in enumerate(unit.templates or map(stored, unit.members))
            if isinstance(template, Template) and reads_ranges(template)
        }
        self._summed = list(templates)  # queries that are run by sums per state, ...
        self._states = States(summed_unit(unit, templates)) if templates else None
        self._automata = {  # ... and the others
            query: Automaton(template, unit.classes)
            for query, template in enumerate(unit.members)
            if query not in templates
        }
        self._by_window: dict[Window | None, list[int]] = {}
        for query, template in enumerate(unit.members):
            self._by_window.setdefault(template.query.window, []).append(query)

    def evaluate(self, events: SetEvents) -> list[SetTotal]:
        """Return the totals of all windows that end after `done` and at or before `until`.

        Raises InputError for an infinite addend.
        """
        # of rows nothing is made before it is read: whole streams may be one window
        starts, times = events.starts.tolist(), events.times.data
        done, until = events.done.tolist(), events.until.tolist()
        total_of = self._totals_of(events)
        totals: list[SetTotal] = []
        for key, (first, last) in enumerate(itertools.pairwise(starts)):
            of_key = times, range(first, last), done[key], until[key]
            for window in self._by_window:
                for index, rows in _windows(window, *of_key):
                    totals += [
                        SetTotal(query, key, index, sums.linear, sums.extremes)
                        for query, sums in total_of(window, self._moments(times, rows))
                    ]
        return totals

    def _totals_of(self, events: SetEvents) -> TotalsOf:
        """Return what gives the sums of all queries of a window that have trends there."""
        codes, states = events.codes.data, self._states
        columns = None if states is None else states.columns(events.rows, events.ranks)
        addends = {
            query: Addends(automaton.template, events.rows, events.ranks)
            for query, automaton in self._automata.items()
        }

        def totals(window: Window | None, moments: Moments) -> Iterator[Totals]:
            if states is not None and columns is not None:
                for number, sums in states.totals(columns, codes, window, moments):
                    yield self._summed[number], sums
            stretch = Stretch(moments, codes, events.rows)
            for query in self._by_window[window]:
                if query in self._automata:
                    found = total(ground_of(self._automata[query], stretch), addends[query])
                    if found is not None:
                        yield query, found

        return totals

    def _moments(self, times: Sequence[int], rows: range) -> Moments:
        if not self._by_time:
            return [[row] for row in rows]
        return [list(moment) for _, moment in itertools.groupby(rows, lambda row: times[row])]


def _windows(
    window: Window | None, times: Sequence[int], rows: range, done: int, until: int
) -> Iterator[tuple[int, range]]:
    """Yield the windows wanted of a key that hold an event, each with its rows."""
    if window is None:
        if rows and done < FOREVER <= until:
            yield 0, rows
        return
    indices: set[int] = set()
    for time in {times[row] for row in rows}:
        indices.update(range(window.first(time), window.last(time) + 1))
    for index in sorted(indices):
        start, end = window.bounds(index)
        if (done == NEVER or done < end) and (until == FOREVER or end <= until):
            low = bisect_left(times, start, rows.start, rows.stop)
            yield index, range(low, bisect_left(times, end, low, rows.stop))
