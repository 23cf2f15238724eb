"""Matches of events with uncertain times that are given out when their window has passed.

Until then an event may come that belongs to a row of theirs, or that a NOT forbids.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsinore.matches.arrays import Ints
from elsinore.matches.found import Found
from elsinore.matches.keyed import FIRST_ROW, FOREVER, NEW_ROW, PASSED, REACHED
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import ANY_NUMBER
from elsinore.matches.template import MatchTemplate
from elsinore.matches.uncertain import UncertainSearch
from elsinore.plan.classes import Classes


class WaitingSearch(UncertainSearch):
    """The search of one query whose matches are known when their window has passed."""

    def __init__(
        self, template: MatchTemplate, classes: Classes, layout: Layout, size: int
    ) -> None:
        super().__init__(template, classes, layout, size)
        if template.query.limit is not None:  # some of them are asked for, however many there are
            self.guard = ANY_NUMBER

    def matches(
        self,
        operands: Operands,
        keys: Ints,
        *,
        window: tuple[int, int, int],
        limit: int,  # noqa: ARG002 - the caller cuts: some of what is found is left out
    ) -> Iterator[Found]:
        """Yield the matches that are probable enough whose windows have passed by now, in pieces.

        See `elsinore.matches.query.QuerySearch`.
        """
        every = keys.copy()
        every[:, NEW_ROW] = every[:, FIRST_ROW]
        for piece in super().matches(operands, every, window=window, limit=ANY_NUMBER):
            due = np.flatnonzero(self._is_due(piece, operands, keys, window))
            if len(due):
                yield piece.take(due)

    def _is_due(
        self, found: Found, operands: Operands, keys: Ints, window: tuple[int, int, int]
    ) -> Ints:
        """Return whether the windows of matches have passed by now, and had not before."""
        within, slide, origin = window
        of_key = keys[np.searchsorted(keys[:, FIRST_ROW], found.first, side="right") - 1]
        passed, reached = of_key[:, PASSED], of_key[:, REACHED]
        if slide > 0:
            ends = origin + found.window * slide + within
            return np.asarray((passed < ends) & (ends <= reached))
        if within < 0:
            return np.asarray(reached == FOREVER)
        ends = operands.wholes[self.high][found.first] + within
        return np.asarray((passed <= ends) & (ends < reached))
