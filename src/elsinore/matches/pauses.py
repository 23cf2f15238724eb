"""Pauses of a search: kernels come back to Python from time to time, where Ctrl-C is seen."""

from __future__ import annotations

from elsinore.matches import search as se
from elsinore.matches.arrays import Ints


class Pauses:
    """How many events a search tried from one beginning, over its pauses in a row."""

    def __init__(self) -> None:
        self._place: tuple[int, ...] = ()
        self._tried = 0

    def forget(self) -> None:
        """Begin anew: the search stopped for another reason."""
        self._place, self._tried = (), 0

    def is_too_long(self, progress: Ints) -> bool:
        """Take note of a pause; return whether so much was tried that the search is given up."""
        place = tuple(progress[[se.SEGMENT, se.WINDOW, se.BEGIN]].tolist())
        self._tried = self._tried + se.PAUSE_STEPS if place == self._place else 0
        self._place = place
        return self._tried >= se.STEP_LIMIT
