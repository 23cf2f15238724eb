"""The search for the matches of one query among the rows of some keys.

If patterns under NOT begin or end with NOT themselves (`SEQ(B b, NOT SEQ(D d, NOT C e), F f)`),
whether anything matches them depends on the window of the whole match: an event d breaks a match
unless an e follows it before the window ends. `WindowSearch` then searches the events of each
window as a key of their own. A window relative to a match reaches from WITHIN before its last event
to WITHIN after its first one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.matches.arrays import NO_WINDOW, Doubles, Ints, Keys, MatchBatch, bounded_parts
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import (
    BEGINS_AT,
    BOUND,
    CLASS,
    ENDS_AT,
    IN_WINDOW,
    MOMENT,
    PATH,
    TIME,
)
from elsinore.matches.engine.pattern import (
    Limits,
    PatternSearch,
    TooLongError,
    TooManyError,
    Work,
)
from elsinore.matches.engine.possible import Worlds
from elsinore.matches.engine.windows import due_windows
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.registers import register_places
from elsinore.matches.returns import ColumnKind
from elsinore.matches.selection import unsuppressed
from elsinore.matches.template import MatchTemplate
from elsinore.structs import empty

ANY_NUMBER = np.iinfo(np.int64).max
HIGHEST = 9 * 10**18  # matches, beyond which no number is reported
GUARD = 10**7  # matches in one window, beyond which a run stops, unless the query has LIMIT
LISTED = {ColumnKind.LIST, ColumnKind.EVENTS}  # columns that read all events of a match
NUMBERED = {ColumnKind.MATCH_NUMBER}  # this column does so if times are uncertain
_ZERO = np.int64(0)


class QuerySearch:
    """The search for the matches of one query."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        self.template = template
        self.window = template.window
        self.pattern = PatternSearch(template, layout)
        self.wants_paths = template.duplicates or any(
            column.kind in LISTED or (template.uncertain is not None and column.kind in NUMBERED)
            for column in template.columns
        )
        self.work = Work()

    def matches(self, operands: Operands, keys: Keys, limit: int) -> Iterator[MatchBatch]:
        """Yield the matches among the rows of `keys` (see `elsinore.matches.arrays`), in batches.

        Raises InputError if a window has more than `GUARD` matches, or if the search takes too many
        steps.
        """
        suppress = self.template.query.suppress
        removes_suppressed = suppress is not None and not self.pattern.selects
        is_limited = limit < ANY_NUMBER and not removes_suppressed
        self.work.allow(new_events(keys))
        limits = Limits(
            self.work,
            matches=ANY_NUMBER if removes_suppressed else limit,
            in_window=ANY_NUMBER if is_limited else GUARD,
            counts_exactly=self.pattern.counts_exactly and not is_limited,
        )
        batches = self.batches(operands, keys, limits)
        if removes_suppressed:
            copies = [batch.copy() for batch in batches]
            yield from unsuppressed(copies, self.template, operands, keys)
        else:
            yield from batches

    def batches(
        self, operands: Operands, keys: Keys, limits: Limits, worlds: Worlds | None = None
    ) -> Iterator[MatchBatch]:
        """Yield views of the matches that `PatternSearch.run` writes, each match once (`distinct`).

        Raises InputError beyond the limits.
        """
        run = self.pattern.run(
            operands, keys, self.window, limits, wants_paths=self.wants_paths, worlds=worlds
        )
        try:
            for search in run:
                rows = np.asarray(search.match_rows)[:, : search.count]
                numbers, paths = np.asarray(search.match_numbers), np.asarray(search.match_paths)
                batch = self.batch_of(rows, numbers, paths, search.filled)
                yield self.distinct(batch) if self.template.duplicates else batch
        except TooLongError:
            raise self.too_long() from None
        except TooManyError as error:
            raise self.too_many(error.count) from None

    def batch_of(
        self, rows: Ints, numbers: Doubles, paths: NDArray[np.int32], filled: int
    ) -> MatchBatch:
        """Return matches from the arrays that a search wrote: `rows` and `numbers` [row, match]."""
        count = rows.shape[1]
        starts = np.append(rows[PATH], filled) if filled else np.broadcast_to(_ZERO, count + 1)
        return MatchBatch(
            first=rows[BEGINS_AT],
            last=rows[ENDS_AT],
            window=rows[IN_WINDOW],
            events=rows[BOUND:].T,
            numbers=numbers[:, :count].T,
            starts=starts,
            paths=paths[:filled],
        )

    def distinct(self, batch: MatchBatch) -> MatchBatch:
        """Remove matches that bind the same events to the same variables as an earlier one.

        Matches that begin with one event are in one batch.
        """
        first_with: dict[tuple[int, bytes], int] = {}
        for number, mark in enumerate(self.marks(batch)):
            first_with.setdefault(mark, number)
        return batch.take(np.array(list(first_with.values()), dtype=np.int64))

    def marks(self, matches: MatchBatch) -> Iterator[tuple[int, bytes]]:
        """Yield the identity of each match: window, events and the variables they are bound to."""
        names = list(dict.fromkeys(state.variable for state in self.template.states))
        variable = np.array([names.index(s.variable) for s in self.template.states], np.int32)
        paths = matches.paths.copy()
        paths[:, 1] = variable[paths[:, 1]]
        for number in range(len(matches)):
            path = paths[matches.starts[number] : matches.starts[number + 1]]
            yield int(matches.window[number]), path.tobytes()

    def too_long(self) -> InputError:
        """Return the error that the search has tried too many partial matches."""
        return InputError(
            f"query {self.template.query.name}: more than {self.work.allowed:,} partial matches "
            "were tried in this run, and most of them lead to no match. Make the window shorter, "
            "or add conditions between neighbours: they rule events out early."
        )

    def too_many(self, count: int) -> InputError:
        """Return the error that a window has too many matches."""
        name = self.template.query.name
        exact = f"more than {count:,}" if count >= HIGHEST else f"{count:,}"
        number_text = exact if self.pattern.counts_exactly and count > GUARD else f"over {GUARD:,}"
        return InputError(
            f"query {name}: a window has {number_text} matches. Ask for some of them with LIMIT, "
            "make the window shorter, or count and sum over them without listing any in a trend "
            "query (RETURN COUNT(*), SUM(b.x))."
        )


def new_events(keys: Keys) -> int:
    """Return the number of new events of some keys."""
    return int((keys.end_row - keys.new_row).sum())


def longest(keys: Keys) -> int:
    """Return the number of events of the longest key."""
    return int((keys.end_row - keys.first_row).max(initial=0))


def are_apart(operands: Operands, keys: Keys) -> bool:
    """Return whether no two events of a key are simultaneous."""
    moments = operands.wholes[MOMENT]
    first, last = moments[keys.first_row], moments[keys.end_row - 1]
    return bool(np.all(last - first == keys.end_row - keys.first_row - 1))


MOST_ROWS = 1 << 18  # of windows searched at a time, unless one has more


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows `begin` to `end` of a window, and the time `until` which it lasts.

    `last` is the time of the last event of its matches, None where that does not matter.
    """

    begin: int
    end: int
    until: int
    last: int | None = None


class WindowSearch:
    """Searches window by window with the search of a query."""

    def __init__(self, search: QuerySearch) -> None:
        self._search = search
        self.template = search.template
        self.pattern = search.pattern
        registers = self.template.registers
        aggregates = [
            place
            for register, place in zip(registers, register_places(registers), strict=True)
            if register.aggregate is not None
        ]
        steppers = self.pattern.compiled.steppers
        # numbers of matches that are rows of chosen texts
        self._chosen = [n for n, s in zip(aggregates, steppers, strict=True) if s.is_choice]

    def matches(self, operands: Operands, keys: Keys, limit: int) -> Iterator[MatchBatch]:
        """Yield the matches whose windows have passed since the last call, in batches."""
        if self.template.window.within == NO_WINDOW:  # the whole key is the window
            yield from self._search.matches(operands, keys, limit)
            return
        every = list(self._windows(operands, keys))
        for part in bounded_parts(np.array([w.end - w.begin for w in every]), MOST_ROWS):
            yield from self._matches_in(every[part], operands, limit)

    def _matches_in(
        self, windows: list[_Window], operands: Operands, limit: int
    ) -> Iterator[MatchBatch]:
        """Yield the matches in some windows, each of which is searched as a key."""
        sizes = np.array([window.end - window.begin for window in windows])
        ends = np.cumsum(sizes)
        rows = np.concatenate([np.arange(window.begin, window.end) for window in windows])
        window_of_row = np.repeat(np.arange(len(windows)), sizes)
        keys = empty(tb.KEY, len(windows))
        keys.first_row = keys.new_row = ends - sizes
        keys.end_row = ends
        keys.passed = [window.until for window in windows]
        keys.reached = keys.passed + 1
        wholes = operands.wholes[:, rows]
        wholes[MOMENT] -= wholes[MOMENT][ends - sizes][window_of_row]
        copied = replace(operands, doubles=operands.doubles[:, rows], wholes=wholes)
        for batch in self._search.matches(copied, keys, limit):
            matches = batch
            if windows[0].last is not None:
                last = np.array([window.last for window in windows])[window_of_row[batch.last]]
                matches = batch.take(np.flatnonzero(wholes[TIME][batch.last] == last))
            if len(matches):
                yield _with_rows(matches, rows, self._chosen)

    def _windows(self, operands: Operands, keys: Keys) -> Iterator[_Window]:
        """Yield the windows in which a match may begin that have passed since the last call.

        Matches that begin at one time share a window that is relative to them, unless events before
        the match matter: which these are depends on its last event.
        """
        within, slide, origin = window = self.template.window
        times, classes = operands.wholes[TIME], operands.wholes[CLASS]
        begins, ends = self.pattern.may_begin(classes), self.pattern.may_end(classes)
        seen: set[tuple[int, int]] = set()
        due = due_windows(operands.wholes, keys, window, begins)
        for row, number, last, first in due.tolist():
            start = origin + number * slide if slide > 0 else int(times[row])
            if (first, start) in seen:
                continue
            seen.add((first, start))
            until, of_key = start + within - (slide > 0), times[first : last + 1]
            if slide > 0 or not self.template.depends_on_earlier:
                begin = first + int(np.searchsorted(of_key, start))
                yield _Window(begin, last + 1, until)
                continue
            for end in np.unique(times[row : last + 1][ends[row : last + 1]]).tolist():
                begin = first + int(np.searchsorted(of_key, end - within))
                yield _Window(begin, last + 1, until, end)


def _with_rows(matches: MatchBatch, rows: Ints, chosen: Sequence[int]) -> MatchBatch:
    """Return matches whose row n is `rows[n]`; `chosen` are the numbers that are rows."""
    numbers = matches.numbers.copy()
    for place in chosen:
        has_row = ~np.isnan(numbers[:, place])
        numbers[has_row, place] = rows[numbers[has_row, place].astype(np.int64)]
    paths = matches.paths.copy()
    if len(paths):
        paths[:, 0] = rows[paths[:, 0]]
    return replace(
        matches,
        first=rows[matches.first],
        last=rows[matches.last],
        events=np.where(matches.events >= 0, rows[matches.events], matches.events),
        numbers=numbers,
        paths=paths,
    )
