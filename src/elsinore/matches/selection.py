"""The state of each key between batches: what selected matches exclude, and match numbers.

AFTER MATCH and SUPPRESS exclude matches because of those returned before (`Selection`);
MATCH_NUMBER() numbers the matches of a key (`MatchNumbers`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import EVER, NEVER, NO_WINDOW, Ints, Keys, MatchBatch
from elsinore.matches.engine.codes import TIME
from elsinore.matches.operands import Operands
from elsinore.matches.returns import is_windowed
from elsinore.matches.store import Rows
from elsinore.matches.template import MatchTemplate


@dataclass(frozen=True, slots=True)
class Skipped:
    """What the returned matches of a key exclude.

    Later matches of the key neither begin before `time`, nor with one of the key's first `count`
    events of that time, nor end by the time `quiet`.
    """

    time: int
    count: int
    quiet: int


class Selection:
    """What the returned matches of each key exclude, with AFTER MATCH or SUPPRESS."""

    def __init__(self, template: MatchTemplate) -> None:
        self._keys: dict[int, Skipped] = {}
        window = template.query.window
        self._waits = template.waits
        self._within = NO_WINDOW if window is None else window.within

    @property
    def keys(self) -> NDArray[np.int32]:
        """The codes of the keys with returned matches."""
        return np.array(list(self._keys), np.int32)

    def put(self, keys: Keys, codes: Sequence[int], times: Ints) -> None:
        """Write the exclusions of keys into the fields that a search reads."""
        keys.next_row[:], keys.quiet[:] = keys.first_row, NEVER
        for number, code in enumerate(codes):
            known = self._keys.get(code)
            if known is None:
                continue
            first, end = int(keys.first_row[number]), int(keys.end_row[number])
            row = first + int(np.searchsorted(times[first:end], known.time))
            if row < end and times[row] == known.time:
                row += known.count
            keys.next_row[number], keys.quiet[number] = row, known.quiet

    def take(self, keys: Keys, codes: Sequence[int], times: Ints) -> None:
        """Read the exclusions of keys from the fields that a search has changed."""
        changed = (keys.next_row > keys.first_row) | (keys.quiet > NEVER)
        for number in np.flatnonzero(changed).tolist():
            first, row = int(keys.first_row[number]), int(keys.next_row[number])
            time, count = NEVER, 0
            if row > first:
                time = int(times[row - 1])
                count = row - first - int(np.searchsorted(times[first:row], time))
            self._keys[codes[number]] = Skipped(time, count, int(keys.quiet[number]))

    def forget(self, passed: int) -> None:
        """Forget keys whose exclusions end before the time `passed`."""
        if self._keys:
            self._keys = {
                code: known for code, known in self._keys.items() if self._until(known) >= passed
            }

    def keep(self, key: int) -> None:
        """Forget all other keys."""
        self._keys = {code: known for code, known in self._keys.items() if code == key}

    def idle_time(self) -> int | None:
        """Return the time by which all exclusions have ended, None without any."""
        return max((self._until(known) + 1 for known in self._keys.values()), default=None)

    def _until(self, known: Skipped) -> int:
        """Return the last time at which the exclusions of a key matter.

        A query that waits considers a match until its window has passed.
        """
        last = max(known.quiet, known.time)
        if not self._waits:
            return last
        if self._within == NO_WINDOW or last > EVER - self._within - 1:
            return int(EVER - 1)
        return last + self._within

    def save(self) -> list[tuple[int, int, int, int]]:
        """Return the state as plain data."""
        return [(code, known.time, known.count, known.quiet) for code, known in self._keys.items()]

    def load(self, saved: Sequence[Sequence[int]]) -> None:
        """Restore what `save` returned."""
        self._keys = {int(code): Skipped(*map(int, known)) for code, *known in saved}


def unsuppressed(
    pieces: Sequence[MatchBatch], template: MatchTemplate, operands: Operands, keys: Keys
) -> Iterator[MatchBatch]:
    """Yield the matches of a call that SUPPRESS does not exclude, and set `quiet` of keys.

    Matches are taken in the order in which they become final: by their last event, later first
    events first; by their first event if they are returned when their window ends.
    """
    suppress = template.query.suppress
    if suppress is None or not pieces:
        return
    first = np.concatenate([piece.first for piece in pieces])
    last = np.concatenate([piece.last for piece in pieces])
    key = np.searchsorted(keys.first_row, first, side="right") - 1
    order = np.lexsort((last, first, key) if template.waits else (-first, last, key))
    is_returned = np.zeros(len(first), np.bool_)
    ends: list[int] = operands.wholes[TIME][last[order]].tolist()
    quiet: list[int] = keys.quiet.tolist()
    for number, of, end in zip(order.tolist(), key[order].tolist(), ends, strict=True):
        if end > quiet[of]:
            quiet[of] = min(end + suppress.within, int(EVER))
            is_returned[number] = True
    keys.quiet = quiet
    begin = 0
    for piece in pieces:
        returned = np.flatnonzero(is_returned[begin : begin + len(piece)])
        begin += len(piece)
        if len(returned):
            yield piece.take(returned)


class MatchNumbers:
    """Numbers the matches of a query, from 1 for each key, in the order in which they become final.

    That is the order of their last events, or of the ends of their windows if they are returned
    then. It does not depend on how the stream is divided into batches.
    """

    def __init__(self, template: MatchTemplate) -> None:
        self._template = template
        self._returned: dict[int, int] = {}  # by key

    @property
    def keys(self) -> NDArray[np.int32]:
        """The codes of keys with numbered matches."""
        return np.array(list(self._returned), np.int32)

    def keep(self, key: int) -> None:
        """Forget all other keys."""
        self._returned = {k: count for k, count in self._returned.items() if k == key}

    def save(self) -> list[tuple[int, int]]:
        """Return the state as plain data."""
        return list(self._returned.items())

    def load(self, saved: Sequence[Sequence[int]]) -> None:
        """Restore what `save` returned."""
        self._returned = {int(key): int(count) for key, count in saved}

    def count(
        self, pieces: Sequence[MatchBatch], rows: Rows, codes: NDArray[np.int32], time_row: int
    ) -> list[Ints]:
        """Return the numbers of the matches of each piece.

        codes: of the keys of `rows`. time_row: the row of integers with the latest possible times
        of events.
        """
        if not pieces:
            return []
        lengths = rows.keys.end_row - rows.keys.first_row
        first = np.concatenate([piece.first for piece in pieces])
        keys = np.repeat(codes, lengths)[first]
        due = np.zeros(len(first), dtype=np.int64)
        if self._template.waits:
            windows = np.concatenate([piece.window for piece in pieces])
            ends = rows.operands.wholes[time_row]
            due = windows if is_windowed(self._template.query) else ends[first]
        last = np.concatenate([_newest(piece, self._template) for piece in pieces])
        turn = np.lexsort((last, due, keys))
        starts = np.flatnonzero(np.diff(keys[turn], prepend=-1))
        counted = np.diff(starts, append=len(turn))
        of_keys = keys[turn][starts].tolist()
        offsets = [self._returned.get(key, 0) for key in of_keys]
        numbers = np.empty(len(turn), dtype=np.int64)
        numbers[turn] = np.arange(len(turn)) + np.repeat(np.array(offsets) - starts + 1, counted)
        for key, offset, count in zip(of_keys, offsets, counted.tolist(), strict=True):
            self._returned[key] = offset + count
        return np.split(numbers, np.cumsum([len(piece) for piece in pieces])[:-1])


def _newest(matches: MatchBatch, template: MatchTemplate) -> Ints:
    """Return the event of each match that arrived last."""
    if template.uncertain is None:
        return matches.last
    return np.maximum.reduceat(matches.paths[:, 0].astype(np.int64), matches.starts[:-1])
