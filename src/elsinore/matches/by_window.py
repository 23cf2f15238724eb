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
from elsinore.matches.operands import Operands
from elsinore.matches.query import QuerySearch
from elsinore.matches.template import WindowSpan
from elsinore.model.window import first_window
from elsinore.structs import empty

MOST_ROWS = 1 << 18  # of windows searched at a time, unless one has more


@dataclass(frozen=True, slots=True)
class _Window:
    """The rows `begin` to `end` of a window, and the times `passed` and `reached` that make it due.

    `last` is the time of the last event of its matches, None where that does not matter.
    """

    begin: int
    end: int
    passed: int
    reached: int
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
            own_keys.passed = [one.passed for one in windows]
            own_keys.reached = [one.reached for one in windows]
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
        """Yield the windows that have passed by now and had not before."""
        window = self.template.window
        within, slide, _ = window
        for key in keys:
            times = operands.wholes[TIME, key.first_row : key.end_row]
            passed, reached = int(key.passed), int(key.reached)
            if slide > 0:
                yield from _sliding(times, int(key.first_row), passed, reached, window)
                continue
            classes = operands.wholes[CLASS, key.first_row : key.end_row]
            begins = np.unique(times[self.pattern.may_begin(classes)])
            ends = np.unique(times[self.pattern.may_end(classes)])
            over = begins + within
            for first in begins[(passed <= over) & (over < reached)].tolist():
                yield from self._relative(times, int(key.first_row), first, ends, within)

    def _relative(
        self, times: Ints, row: int, first: int, ends: Ints, within: int
    ) -> Iterator[_Window]:
        """Yield the windows of the matches that begin at a time; `times` of a key begin at `row`.

        They are one unless events before the match matter: these depend on its last event.
        """
        over = first + within
        end = row + int(np.searchsorted(times, over, side="right"))
        if not self.template.depends_on_earlier:
            begin = row + int(np.searchsorted(times, first))
            yield _Window(begin, end, over, over + 1)
            return
        for last in ends[(first <= ends) & (ends <= over)].tolist():
            begin = row + int(np.searchsorted(times, last - within))
            yield _Window(begin, end, over, over + 1, last)


def _sliding(
    times: Ints, row: int, passed: int, reached: int, window: WindowSpan
) -> Iterator[_Window]:
    """Yield the due windows that SLIDE lays out over a key's times, which begin at `row`."""
    within, slide, origin = window
    if len(times) == 0:
        return
    number = first_window(int(times[0]), within, slide, origin)
    while (start := origin + number * slide) <= times[-1] and start + within <= reached:
        begin = int(np.searchsorted(times, start))
        end = int(np.searchsorted(times, start + within))
        if start + within > passed and begin < end:
            yield _Window(row + begin, row + end, start + within - 1, start + within)
        number += 1
        if begin == end:  # continue with the first window that has the next event
            number = max(number, first_window(int(times[begin]), within, slide, origin))


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
