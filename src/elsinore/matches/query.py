"""The search of one match query: the matches among the rows of some keys.

If patterns under NOT begin or end with NOT themselves (`SEQ(B b, NOT SEQ(D d, NOT C e), F f)`),
whether anything matches them depends on the window of the whole match: an event d breaks a match
unless an e follows it before the window ends. `WindowSearch` then searches the events of each
window as a key of their own. A window relative to a match reaches from WITHIN before its last event
to WITHIN after its first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from elsinore.errors import InputError
from elsinore.matches.arrays import NO_WINDOW, Doubles, Ints, Keys, MatchBatch
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
    PatternSearch,
    TooLongError,
    TooManyError,
    Work,
)
from elsinore.matches.engine.tables import Search
from elsinore.matches.engine.windows import due_windows
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.returns import ColumnKind
from elsinore.matches.selection import unsuppressed
from elsinore.matches.template import MatchTemplate
from elsinore.structs import empty

ANY_NUMBER = np.iinfo(np.int64).max
HIGHEST = 9 * 10**18  # matches, beyond which no number is reported
GUARD = 10**7  # matches of a window beyond which a run stops, unless the query has LIMIT
LISTED = {ColumnKind.LIST, ColumnKind.EVENTS}  # columns that read all events of a match
NUMBERED = {ColumnKind.MATCH_NUMBER}  # so does this one if times are uncertain
_NOWHERE = np.int64(0)


class QuerySearch:
    """The search of one query."""

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

        Raises InputError if a window has more than `GUARD` matches, or if finding them takes too
        long.
        """
        search = self.pattern
        suppress = self.template.query.suppress
        leaves_out = suppress is not None and not search.selects
        is_limited = limit < ANY_NUMBER and not leaves_out
        self.work.allow(new_events(keys))
        pieces = search.run(
            operands,
            keys,
            self.window,
            self.work,
            limit=ANY_NUMBER if leaves_out else limit,
            most=ANY_NUMBER if is_limited else GUARD,
            wants_paths=self.wants_paths,
            counts_exactly=search.counts_exactly and not is_limited,
        )
        try:
            if leaves_out:
                every = [self._batch(piece).copy() for piece in pieces]
                yield from unsuppressed(every, self.template, operands, keys)
                return
            for piece in pieces:
                yield self._batch(piece)
        except TooLongError:
            raise self.too_long() from None
        except TooManyError as error:
            raise self.too_many(error.count) from None

    def _batch(self, search: Search) -> MatchBatch:
        """Return views of the matches that a search wrote, each match once (`distinct`)."""
        found = np.asarray(search.match_rows)[:, : search.count]
        counted, paths = np.asarray(search.match_numbers), np.asarray(search.match_paths)
        batch = self.batch_of(found, counted, paths, search.filled)
        return self.distinct(batch) if self.template.duplicates else batch

    def batch_of(
        self, found: Ints, counted: Doubles, paths: NDArray[np.int32], filled: int
    ) -> MatchBatch:
        """Return matches from the arrays that a search wrote: `found` [row, match]."""
        count = found.shape[1]
        return MatchBatch(
            first=found[BEGINS_AT],
            last=found[ENDS_AT],
            window=found[IN_WINDOW],
            events=found[BOUND:].T,
            numbers=counted[:, :count].T,
            starts=np.append(found[PATH], filled)
            if filled
            else np.broadcast_to(_NOWHERE, count + 1),
            paths=paths[:filled],
            known=self.pattern.compiled.known,
        )

    def distinct(self, batch: MatchBatch) -> MatchBatch:
        """Remove matches that bind the same events to the same variables as an earlier one.

        Matches that begin with one event are in one batch.
        """
        seen: set[tuple[int, bytes]] = set()
        kept = []
        for number, mark in enumerate(self.marks(batch)):
            if mark not in seen:
                seen.add(mark)
                kept.append(number)
        return batch.take(np.array(kept, dtype=np.int64))

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
        """Return the error that the search took too many steps."""
        return InputError(
            f"query {self.template.query.name}: more than {self.work.allowed:,} partial matches "
            "were tried in this run, and most of them lead to no match. Make the window shorter, "
            "or add conditions between neighbours: they rule events out early."
        )

    def too_many(self, count: int) -> InputError:
        """Return the error that a window has more matches than may be returned."""
        name = self.template.query.name
        exact = f"more than {count:,}" if count >= HIGHEST else f"{count:,}"
        number_text = exact if self.pattern.counts_exactly and count > GUARD else f"over {GUARD:,}"
        return InputError(
            f"query {name}: a window has {number_text} matches. Ask for some of them with LIMIT, "
            "make the window shorter, or count and sum over them without listing any in a trend "
            "query (RETURN COUNT(*), SUM(b.x))."
        )


def new_events(keys: Keys) -> int:
    """Return how many events of the keys are new."""
    return int((keys.end_row - keys.new_row).sum())


def longest(keys: Keys) -> int:
    """Return the number of events of the key that has most."""
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

    def matches(self, operands: Operands, keys: Keys, limit: int) -> Iterator[MatchBatch]:
        """Yield the matches whose windows have passed by now, in pieces (see `QuerySearch`)."""
        if self.template.window.within == NO_WINDOW:  # a key is the one window that it has
            yield from self._search.matches(operands, keys, limit)
            return
        for windows in _in_pieces(self._windows(operands, keys)):
            sizes = np.array([one.end - one.begin for one in windows])
            ends = np.cumsum(sizes)
            rows = np.concatenate([np.arange(one.begin, one.end) for one in windows])
            of_window = np.repeat(np.arange(len(windows)), sizes)
            own_keys = empty(tb.KEY, len(windows))
            own_keys.first_row = own_keys.new_row = ends - sizes
            own_keys.end_row = ends
            own_keys.passed = [one.until for one in windows]
            own_keys.reached = own_keys.passed + 1
            wholes = operands.wholes[:, rows]
            wholes[MOMENT] -= wholes[MOMENT][ends - sizes][of_window]
            own = replace(operands, doubles=operands.doubles[:, rows], wholes=wholes)
            for piece in self._search.matches(own, own_keys, limit):
                kept = self._with_last(piece, wholes[TIME], of_window, windows)
                if len(kept):
                    yield _placed(kept, rows)

    def _with_last(
        self, found: MatchBatch, times: Ints, of_window: Ints, windows: list[_Window]
    ) -> MatchBatch:
        """Return the matches that end when the matches of their window are to end."""
        if windows[0].last is None:
            return found
        wanted = np.array([one.last for one in windows])[of_window[found.last]]
        return found.take(np.flatnonzero(times[found.last] == wanted))

    def _windows(self, operands: Operands, keys: Keys) -> Iterator[_Window]:
        """Yield the windows in which a match may begin, that have passed by now and had not before.

        A window relative to a match is one for all matches that begin at a time, unless events
        before the match matter: these depend on its last event.
        """
        within, slide, origin = window = self.template.window
        times, classes = operands.wholes[TIME], operands.wholes[CLASS]
        begins, ends = self.pattern.may_begin(classes), self.pattern.may_end(classes)
        seen: set[tuple[int, int]] = set()
        for row, number, last, first in due_windows(
            self.pattern.search, operands.wholes, keys, window, begins
        ).tolist():
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


def _in_pieces(windows: Iterator[_Window]) -> Iterator[list[_Window]]:
    """Yield the windows in lists of up to `MOST_ROWS` rows."""
    piece: list[_Window] = []
    count = 0
    for window in windows:
        count += window.end - window.begin
        if piece and count > MOST_ROWS:
            yield piece
            piece, count = [], window.end - window.begin
        piece.append(window)
    if piece:
        yield piece


def _placed(found: MatchBatch, rows: Ints) -> MatchBatch:
    """Return matches with the rows that their rows stand for."""
    paths = found.paths.copy()
    if len(paths):
        paths[:, 0] = rows[paths[:, 0]]
    events = np.where(found.events >= 0, rows[found.events], found.events)
    return replace(
        found, first=rows[found.first], last=rows[found.last], events=events, paths=paths
    )
