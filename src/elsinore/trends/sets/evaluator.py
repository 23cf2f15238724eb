"""The evaluator for EXACT and for what the engine does not run, in exact numbers.

Plain Python: a few microseconds for each event, some ten where an event follows ranges of earlier
ones, and a few for each pair of events where it is compared otherwise, or guards need a search.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_numpy
from elsinore.expressions.plain import compared_values, exact_values
from elsinore.model.window import Window
from elsinore.numeric.exact import Number
from elsinore.plan import TrendUnit
from elsinore.plan.stored import stored
from elsinore.plan.template import Template
from elsinore.trends.sets import search
from elsinore.trends.sets.runs import Automaton
from elsinore.trends.sets.states import States, can_sum, unit_of_templates
from elsinore.trends.sets.sums import Values
from elsinore.trends.values import FOREVER, NEVER, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class SetEvents:
    """Events sorted by key, each key's by time.

    `rows` are the values of each attribute that SUM, AVG or predicates between two events read,
    None for null and NaN; `ranks` those of MIN's and MAX's (`elsinore.operators.ranks`).
    """

    starts: Ints  # [key + 1] -> first row of each key
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
            if isinstance(template, Template) and can_sum(template)
        }
        self._summed = list(templates)  # queries that are run by sums per state, ...
        self._states = States(unit_of_templates(unit, templates)) if templates else None
        self._automata = {  # ... and the others
            query: Automaton(template, unit.classes)
            for query, template in enumerate(unit.members)
            if query not in templates
        }
        self._windows = dict.fromkeys(template.query.window for template in unit.members)

    def evaluate(
        self, events: SetEvents, done: int = int(NEVER), until: int = int(FOREVER)
    ) -> list[SetTotal]:
        """Return the totals of all windows that end after `done` and at or before `until`.

        done: NEVER to begin with; until: FOREVER for all. Raises InputError for an infinite addend.
        """
        # of rows nothing is made before it is read: whole streams may be one window
        starts, times, codes = events.starts.tolist(), events.times.data, events.codes.data
        values = Values(events.rows, events.ranks)
        totals: list[SetTotal] = []
        for key, (first, last) in enumerate(itertools.pairwise(starts)):
            of_key = times, range(first, last), done, until
            for window in self._windows:
                for index, rows in _windows(window, *of_key):
                    moments = [[row] for row in rows]
                    if self._by_time:
                        by_time = itertools.groupby(rows, lambda row: times[row])
                        moments = [list(moment) for _, moment in by_time]
                    if self._states is not None:
                        for number, sums in self._states.totals(values, codes, window, moments):
                            query = self._summed[number]
                            totals.append(SetTotal(query, key, index, sums.linear, sums.extremes))
                    for query, automaton in self._automata.items():
                        if automaton.template.query.window == window:
                            found = search.WindowEvents(automaton, moments, codes, values)
                            total = search.Search(found, values).total()
                            if total is not None:
                                totals.append(
                                    SetTotal(query, key, index, total.linear, total.extremes)
                                )
        return totals


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


def set_events(unit: TrendUnit, table: pa.Table, starts: Ints) -> SetEvents:
    """Return rows of a table, key after key, as the evaluator reads them."""
    rows = {name: compared_values(table.column(f"pair:{name}")) for name in unit.compared}
    rows |= {name: exact_values(table.column(f"sum:{name}")) for name in unit.summed}
    return SetEvents(
        starts=starts,
        times=to_numpy(table.column("time")),
        codes=to_numpy(table.column("class")),
        rows=rows,
        ranks={name: table.column(f"rank:{name}").to_pylist() for name in unit.ranked},
    )
