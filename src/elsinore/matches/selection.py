"""Which matches AFTER MATCH and SUPPRESS return: what is known of each key between batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Ints
from elsinore.matches.engine.codes import TIME
from elsinore.matches.found import Found
from elsinore.matches.keyed import END_ROW, FIRST_ROW, NEXT_ROW, NO_WINDOW, QUIET
from elsinore.matches.operands import Operands
from elsinore.matches.template import MatchTemplate

NEVER, EVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


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
    """What is known of the keys of a query with AFTER MATCH or SUPPRESS."""

    def __init__(self, template: MatchTemplate) -> None:
        self._keys: dict[int, Skipped] = {}
        window = template.query.window
        self._waits = template.waits
        self._within = NO_WINDOW if window is None else window.within

    @property
    def keys(self) -> NDArray[np.int32]:
        """The codes of the keys of which something is known."""
        return np.array(list(self._keys), np.int32)

    def put(self, keys: Ints, codes: Sequence[int], times: Ints) -> None:
        """Set the columns of keys that a search reads."""
        keys[:, NEXT_ROW], keys[:, QUIET] = keys[:, FIRST_ROW], NEVER
        for number, code in enumerate(codes):
            known = self._keys.get(code)
            if known is None:
                continue
            first, end = int(keys[number, FIRST_ROW]), int(keys[number, END_ROW])
            row = first + int(np.searchsorted(times[first:end], known.time))
            if row < end and times[row] == known.time:
                row += known.count
            keys[number, NEXT_ROW], keys[number, QUIET] = row, known.quiet

    def take(self, keys: Ints, codes: Sequence[int], times: Ints) -> None:
        """Take over the columns of keys that a search has set."""
        changed = (keys[:, NEXT_ROW] > keys[:, FIRST_ROW]) | (keys[:, QUIET] > NEVER)
        for number in np.flatnonzero(changed).tolist():
            first, row = int(keys[number, FIRST_ROW]), int(keys[number, NEXT_ROW])
            time, count = NEVER, 0
            if row > first:
                time = int(times[row - 1])
                count = row - first - int(np.searchsorted(times[first:row], time))
            self._keys[codes[number]] = Skipped(time, count, int(keys[number, QUIET]))

    def forget(self, passed: int) -> None:
        """Forget keys of which nothing matters if no event before a time comes any more."""
        if self._keys:
            self._keys = {
                code: known for code, known in self._keys.items() if self._until(known) >= passed
            }

    def keep(self, key: int) -> None:
        """Forget all keys but one."""
        self._keys = {code: known for code, known in self._keys.items() if code == key}

    def idle_time(self) -> int | None:
        """Return the time by which all keys are forgotten; None if there are none."""
        return max((self._until(known) + 1 for known in self._keys.values()), default=None)

    def _until(self, known: Skipped) -> int:
        """Return the last time at which something known of a key matters.

        A match that ends or begins by some time may be considered until its window has passed.
        """
        last = max(known.quiet, known.time)
        if not self._waits:
            return last
        if self._within == NO_WINDOW or last > EVER - self._within - 1:
            return int(EVER - 1)
        return last + self._within

    def save(self) -> list[tuple[int, int, int, int]]:
        """Return what is to be loaded."""
        return [(code, known.time, known.count, known.quiet) for code, known in self._keys.items()]

    def load(self, saved: Sequence[Sequence[int]]) -> None:
        """Take over what was saved."""
        self._keys = {int(code): Skipped(*map(int, known)) for code, *known in saved}


def unsuppressed(
    pieces: Sequence[Found], template: MatchTemplate, operands: Operands, keys: Ints
) -> Iterator[Found]:
    """Yield the matches that SUPPRESS leaves, of all those of a call, and set QUIET of keys.

    Matches are considered in the order in which they become final: by their last event, then the
    one that began last; those that await the end of their window by their first event.
    """
    suppress = template.query.suppress
    if suppress is None or not pieces:
        return
    first = np.concatenate([piece.first for piece in pieces])
    last = np.concatenate([piece.last for piece in pieces])
    key = np.searchsorted(keys[:, FIRST_ROW], first, side="right") - 1
    order = np.lexsort((last, first, key) if template.waits else (-first, last, key))
    is_returned = np.zeros(len(first), np.bool_)
    ends: list[int] = operands.wholes[TIME][last[order]].tolist()
    quiet: list[int] = keys[:, QUIET].tolist()
    for number, of, end in zip(order.tolist(), key[order].tolist(), ends, strict=True):
        if end > quiet[of]:
            quiet[of] = min(end + suppress.within, int(EVER))
            is_returned[number] = True
    keys[:, QUIET] = quiet
    begin = 0
    for piece in pieces:
        kept = np.flatnonzero(is_returned[begin : begin + len(piece)])
        begin += len(piece)
        if len(kept):
            yield piece.take(kept)
