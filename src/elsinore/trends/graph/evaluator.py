"""The evaluator of the graph path: every guarded query the planner gives it, window by window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from elsinore.errors import InputError
from elsinore.kernels import enter
from elsinore.plan import TrendUnit
from elsinore.plan.joined import Joined, by_itself
from elsinore.trends.core.arrays import FOREVER
from elsinore.trends.graph.columns import ComparedColumns
from elsinore.trends.graph.conditions import conditions
from elsinore.trends.graph.evaluate import evaluate_masks, evaluate_runs
from elsinore.trends.graph.layout import Program, Stream, stream_of
from elsinore.trends.graph.pairs import by_pattern
from elsinore.trends.graph.program import Programs, class_numbers, joined_queries
from elsinore.trends.graph.stepped import Read, Stepped, Totals
from elsinore.trends.graph.sums import Sums, new_sums
from elsinore.trends.graph.windows import Keys, Windows, wanted_of, windows
from elsinore.trends.keyed import KeyedEvents, WindowTotals, as_entered, by_key, size_of

_SECONDS = 2e-5  # that a pair of events takes in plain Python, about


class Index(Protocol):
    """A faster way for some queries (`elsinore.trends.index`)."""

    def sum_up(
        self,
        group: Joined,
        program: Program,
        classes: Sequence[int],
        stream: Stream,
        columns: ComparedColumns,
        keys: Keys,
        held: Windows,
        totals: Sums,
    ) -> int | None:
        """Fill rows of totals for each window, one for each of the group's finals.

        Returns the bytes that it took; None: it cannot, and has filled none.
        """


class OnlyGroup(NamedTuple):
    """Queries of one automaton, their program, and which of its sums and extremes are whose."""

    group: Joined
    program: Program
    chosen: list[tuple[list[int], list[int]]]


class GraphEvaluator:
    """Sums up the trends of a unit's guarded queries over whole windows.

    `by_time`: events of one time do not precede one another; else each is its own moment. `share`:
    what queries have in common is evaluated once (`elsinore.plan.joined`). `index`: asked first.

    Each window is evaluated alone: without the index a trend with conditions between its events
    costs time quadratic in the window's events (one that is anchored, once more for each anchor),
    one without linear. Under NEXT and CONTIGUOUS most go step by step (`graph.steps`).
    Integers, times and lengths of time are computed in 64 bits (InputError beyond them), other
    numbers as doubles. Attributes are compared exactly; but decimals, and integers without a sign,
    count as doubles if the other number is one.
    """

    def __init__(
        self,
        unit: TrendUnit,
        *,
        by_time: bool = True,
        share: bool = True,
        index: Index | None = None,
    ) -> None:
        self.unit = unit
        self._by_pattern = by_pattern(unit)
        self._index = index
        self._by_time = by_time
        apart = self._by_pattern.unit
        if share:
            groups = joined_queries(apart)
        else:
            groups = [by_itself(query, template) for query, template in enumerate(apart.guarded)]
        self._programs = Programs(apart, groups)
        self._joined = len(self._programs.groups)
        self._stepped = Stepped(apart, self._programs, by_time=by_time, share=share)
        self.bytes_held = 0  # by all arrays of the last call, at most

    def evaluate(
        self, events: KeyedEvents, columns: ComparedColumns, read: Read | None = None
    ) -> WindowTotals:
        """Return the totals of all windows that end after `done` and at or before `until`.

        `columns` are of the same events. read: tells columns of rows, which both are without then.
        """
        totals = self._stepped.evaluate(events, columns, read)
        self.bytes_held = self._stepped.bytes_held
        groups = self._programs.groups[: self._joined]
        left = [number for number, group in enumerate(groups) if group.queries[0] not in totals]
        if left and read is not None:
            events, columns = read(slice(None))
        if left and events.slots is not None:
            order, _, _ = by_key(events.slots)
            events, columns = events.by_key(order), columns.take(order)
        if left:
            self._evaluate(left, events, columns, totals)
        return _joined(self._by_pattern.joined(totals))

    def only_group(self, classes: Sequence[int]) -> OnlyGroup | None:
        """Return the group that all queries are one of, for events of some classes; None: none."""
        if self._joined > 1 or self._stepped.has_groups or self._by_pattern.unit is not self.unit:
            return None
        return OnlyGroup(self._programs.groups[0], *self._programs.program(0, classes))

    def _evaluate(
        self,
        pending: list[int],
        events: KeyedEvents,
        columns: ComparedColumns,
        by_query: dict[int, Totals],
    ) -> None:
        """Put the totals of groups of queries into `by_query`; events are in the order of keys."""
        codes, classes = events.classes, events.codes
        if codes is None:
            codes, classes = class_numbers(events.codes)
        stream = stream_of(events, classes)
        keys = Keys(
            as_entered(events.starts),
            as_entered(events.done),
            as_entered(events.until),
            as_entered(events.times),
            self._by_time,
        )
        most, size = 0, size_of(stream)
        for number in pending:  # it grows where a group cannot be run as one
            group = self._programs.groups[number]
            template = group.template
            program, chosen = self._programs.program(number, codes)
            open_windows = windows(keys, wanted_of(template.query.window))
            count, finals = len(open_windows.key), max(group.finals) + 1
            linear, extremes = program.linear.shape[1], program.extreme.shape[1]
            totals = new_sums(count * finals, linear, extremes)
            used = None
            if count and self._index is not None:
                used = self._index.sum_up(
                    group, program, codes, stream, columns, keys, open_windows, totals
                )
            if count and used is None and finals > 1:
                pending += self._programs.apart(number)
                continue
            if count and used is None:
                compiled_conditions = conditions(self._programs.conditions(number), columns)
                evaluate = evaluate_masks if template.ambiguous else evaluate_runs
                seconds = (
                    _SECONDS
                    * open_windows.longest
                    * float(np.sum(open_windows.high - open_windows.low))
                )
                used = enter(
                    evaluate,
                    seconds,
                    program,
                    compiled_conditions,
                    stream,
                    keys,
                    open_windows,
                    totals,
                )
                if compiled_conditions.overflowed[0]:
                    raise InputError(
                        f"{template.query.name}: an integer, a time or a length of "
                        "time in a condition goes beyond 64 bits. Cast the attribute to a double, "
                        "or a time in nanoseconds to microseconds, as in a column of its own."
                    )
                used += size_of(compiled_conditions[2:])
            most = max(most, (used or 0) + size_of(open_windows[:-1]))
            for query, (sums, ranks), final in zip(
                group.queries, chosen, group.finals, strict=True
            ):
                mine, rows = totals, slice(final, None, finals)
                if len(group.queries) > 1:
                    mine = Sums(
                        totals.cells[rows, sums],
                        totals.powers[rows, sums],
                        totals.extremes[rows, ranks],
                    )
                by_query[query] = Totals(open_windows.key, open_windows.window, mine)
                size += size_of((*mine, open_windows.key))
        self.bytes_held = max(self.bytes_held, most + size)


def _joined(totals: Sequence[Totals]) -> WindowTotals:
    """Put the totals of several queries together, each as wide as the widest."""
    parts = [_with_trends(totals_of) for totals_of in totals]
    if len(parts) == 1:
        (only,) = parts
        query = np.zeros(len(only.key), dtype=np.int32)
        return WindowTotals(
            query=query,
            key=only.key.astype(np.int32),
            window=only.window,
            cells=only.sums.cells,
            powers=only.sums.powers,
            extremes=only.sums.extremes,
        )
    rows = [len(part.key) for part in parts]
    fields = max((part.sums.cells.shape[1] for part in parts), default=1)
    extremes = max((part.sums.extremes.shape[1] for part in parts), default=0)
    cells = np.zeros((sum(rows), fields))
    powers = np.zeros((sum(rows), fields), dtype=np.int32)
    ranks = np.full((sum(rows), extremes), FOREVER, dtype=np.int64)
    first = 0
    for part, count in zip(parts, rows, strict=True):
        here = slice(first, first + count)
        cells[here, : part.sums.cells.shape[1]] = part.sums.cells
        powers[here, : part.sums.powers.shape[1]] = part.sums.powers
        ranks[here, : part.sums.extremes.shape[1]] = part.sums.extremes
        first += count
    return WindowTotals(
        query=np.repeat(np.arange(len(parts), dtype=np.int32), rows),
        key=np.concatenate([part.key for part in parts]).astype(np.int32),
        window=np.concatenate([part.window for part in parts]),
        cells=cells,
        powers=powers,
        extremes=ranks,
    )


def _with_trends(totals: Totals) -> Totals:
    """Return the totals of the windows that hold a trend."""
    chosen = totals.sums.cells[:, 0] != 0.0
    if chosen.all():
        return totals
    cells, powers, extremes = totals.sums
    sums = Sums(cells[chosen], powers[chosen], extremes[chosen])
    return Totals(totals.key[chosen], totals.window[chosen], sums)
