"""The search of a query whose patterns under NOT begin or end with NOT themselves.

Whether anything matches such a pattern depends on the window of the whole match: in
`SEQ(B b, NOT SEQ(D d, NOT C e), F f)` an event d breaks a match unless an e follows it before the
window ends. The events of each window are therefore searched as a key of their own. A window
relative to a match reaches from WITHIN before its last event to WITHIN after its first one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from elsinore.matches.arrays import NO_WINDOW, Ints, Keys, MatchBatch
from elsinore.matches.engine import tables as tb
from elsinore.matches.engine.codes import CLASS, MOMENT, TIME
from elsinore.matches.engine.pattern import due_windows
from elsinore.matches.operands import Operands
from elsinore.matches.query import QuerySearch
from elsinore.structs import empty

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
