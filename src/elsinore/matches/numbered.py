"""The numbers of matches that MATCH_NUMBER() returns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Ints
from elsinore.matches.found import Found
from elsinore.matches.keyed import END_ROW, FIRST_ROW
from elsinore.matches.returns import is_windowed
from elsinore.matches.store import Rows
from elsinore.matches.template import MatchTemplate


class MatchNumbers:
    """Numbers the matches of a query, from 1 for each key, as they become complete.

    That is by their last event, or by the end of their window if they await it; the order is the
    same wherever batches are cut.
    """

    def __init__(self, template: MatchTemplate) -> None:
        self._template = template
        self._returned: dict[int, int] = {}  # by key, so far

    @property
    def keys(self) -> NDArray[np.int32]:
        """The codes of keys with numbered matches."""
        return np.array(list(self._returned), np.int32)

    def keep(self, key: int) -> None:
        """Forget all keys but one."""
        self._returned = {k: count for k, count in self._returned.items() if k == key}

    def save(self) -> list[tuple[int, int]]:
        """Return what is to be loaded."""
        return list(self._returned.items())

    def load(self, saved: Sequence[Sequence[int]]) -> None:
        """Take over what was saved."""
        self._returned = {int(key): int(count) for key, count in saved}

    def count(
        self, pieces: Sequence[Found], rows: Rows, codes: NDArray[np.int32], time_row: int
    ) -> list[Ints]:
        """Return the numbers of the matches of each piece.

        codes: those of the keys of `rows`. time_row: the row of integers with the times at which
        events were at the latest.
        """
        if not pieces:
            return []
        lengths = rows.keys[:, END_ROW] - rows.keys[:, FIRST_ROW]
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


def _newest(found: Found, template: MatchTemplate) -> Ints:
    """Return the event of each match that came last."""
    if template.uncertain is None:
        return found.last
    return np.maximum.reduceat(found.paths[:, 0].astype(np.int64), found.starts[:-1])
