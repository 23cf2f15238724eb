"""Matches as searches return them: the rows of their events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Doubles, Ints


@dataclass(frozen=True, slots=True)
class Found:
    """Matches: first and last rows, windows and registers; `paths` are their events, if requested.

    `events` [match, register] are rows, below 0 if there is none; `numbers` [match, register].
    `known`: registers that hold the first row (0) or the last (1), which `events` may lack. The
    path of match n is rows `starts[n]` to `starts[n + 1]` of `paths`: event row and state. The
    arrays are valid until the next piece is requested.
    """

    first: Ints
    last: Ints
    window: Ints
    events: Ints
    numbers: Doubles
    starts: Ints
    paths: NDArray[np.int32]
    known: Mapping[int, int] = field(default_factory=dict)

    def event(self, place: int) -> Ints:
        """Return the event in a register of each match."""
        if place in self.known:
            return self.last if self.known[place] else self.first
        return self.events[:, place]

    def __len__(self) -> int:
        return len(self.first)

    def kept(self) -> Found:
        """Return a copy of the matches: the search overwrites its arrays."""
        return Found(
            self.first.copy(), self.last.copy(), self.window.copy(), self.events.copy("K"),
            self.numbers.copy("K"), self.starts, self.paths.copy(), self.known,
        )  # fmt: skip

    def take(self, kept: Ints) -> Found:
        """Return some of the matches."""
        lengths = np.diff(self.starts)[kept]
        rows = np.repeat(self.starts[:-1][kept] - np.cumsum(lengths) + lengths, lengths)
        paths = self.paths[rows + np.arange(len(rows))] if len(self.paths) else self.paths
        return Found(
            self.first[kept], self.last[kept], self.window[kept], self.events[kept],
            self.numbers[kept], np.concatenate([[0], np.cumsum(lengths)]), paths, self.known,
        )  # fmt: skip
