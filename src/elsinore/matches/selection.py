"""What a query remembers of each key between batches: selected matches and their numbers.

AFTER MATCH and SUPPRESS leave out matches because of returned ones (`Selection`); MATCH_NUMBER()
numbers the matches of a key (`MatchNumbers`).
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
    """What a returned match means for later ones of its key.

    None begins before time `time`, or with one of the key's first `count` events of that time, and
    none ends by time `quiet`.
    """

    time: int
    count: int
    quiet: int


class Selection:
    """What the returned matches of each key mean for later ones, with AFTER MATCH or SUPPRESS."""

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
        """Set the fields of keys that a search reads."""
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
        """Take over the fields of keys that a search has set."""
        changed = (keys.next_row > keys.first_row) | (keys.quiet > NEVER)
        for number in np.flatnonzero(changed).tolist():
            first, row = int(keys.first_row[number]), int(keys.next_row[number])
            time, count = NEVER, 0
            if row > first:
                time = int(times[row - 1])
                count = row - first - int(np.searchsorted(times[first:row], time))
            self._keys[codes[number]] = Skipped(time, count, int(keys.quiet[number]))

    def forget(self, passed: int) -> None:
        """Forget keys that do not matter if no event before a time follows."""
        if self._keys:
            self._keys = {
                code: known for code, known in self._keys.items() if self._until(known) >= passed
            }

    def keep(self, key: int) -> None:
        """Forget all keys but one."""
        self._keys = {code: known for code, known in self._keys.items() if code == key}

    def idle_time(self) -> int | None:
        """Return the time by which all keys are forgotten, None without keys."""
        return max((self._until(known) + 1 for known in self._keys.values()), default=None)

    def _until(self, known: Skipped) -> int:
        """Return the last time at which the returned matches of a key matter.

        A match that ends or begins by some time may be considered until its window has passed.
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
    """Yield the matches of a call that SUPPRESS leaves, and set `quiet` of keys.

    Matches are considered in the order in which they become final: by their last event, then the
    one that began last; those that await the end of their window by their first event.
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
        kept = np.flatnonzero(is_returned[begin : begin + len(piece)])
        begin += len(piece)
        if len(kept):
            yield piece.take(kept)


class MatchNumbers:
    """Numbers the matches of a query, from 1 for each key, as they become complete.

    That is by their last event, or by the end of their window if they await it; the order is the
    same wherever batches are cut.
    """

    def __init__(self, template: MatchTemplate) -> None:
        self._template = template
        self._returned: dict[int, int] = {}  # by key

    @property
    def keys(self) -> NDArray[np.int32]:
        """The codes of keys with numbered matches."""
        return np.array(list(self._returned), np.int32)

    def keep(self, key: int) -> None:
        """Forget all keys but one."""
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

        codes: those of the keys of `rows`. time_row: the row of integers with the times at which
        events were at the latest.
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


def _newest(found: MatchBatch, template: MatchTemplate) -> Ints:
    """Return the event of each match that arrived last."""
    if template.uncertain is None:
        return found.last
    return np.maximum.reduceat(found.paths[:, 0].astype(np.int64), found.starts[:-1])
