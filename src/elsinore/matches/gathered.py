"""Rows in collapsed form that are made from single matches.

Under SKIP TILL NEXT MATCH and CONTIGUOUS an event may be skipped or not depending on other events;
if times are uncertain, a match counts depending on its confidence. Then the sets of a row have the
events of the matches that begin with its first event, and these matches are searched.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from elsinore.matches.arrays import Ints
from elsinore.matches.collapsed import CollapsedSearch
from elsinore.matches.engine.codes import BEGINS
from elsinore.matches.engine.codes import WINDOW as IN_WINDOW
from elsinore.matches.engine.due import COLUMNS
from elsinore.matches.found import Found
from elsinore.matches.negated import NegatedSearch
from elsinore.matches.operands import Layout, Operands
from elsinore.matches.query import ANY_NUMBER, QuerySearch
from elsinore.matches.reach import ROWS
from elsinore.matches.template import MatchTemplate
from elsinore.matches.uncertain import UncertainSearch

FIRST, BEGINS_WITH, WINDOW, EVENT, VARIABLE, STATE = range(6)  # columns of the gathered events
ROW = 3  # the first columns, which identify a row


class GatheredSearch(CollapsedSearch):
    """The rows of one query in collapsed form, made from its matches."""

    def __init__(self, template: MatchTemplate, layout: Layout) -> None:
        super().__init__(template, layout)
        kind = QuerySearch
        if template.uncertain is not None:
            kind = NegatedSearch if template.is_unsure else UncertainSearch
        self._matches = kind(template, layout)
        self._matches.wants_paths = True
        self.pattern = self._matches.pattern
        names = list(dict.fromkeys(state.variable for state in template.states))
        self._variable = np.array([names.index(s.variable) for s in template.states], np.int64)

    def matches(
        self,
        operands: Operands,
        keys: Ints,
        *,
        window: tuple[int, int, int],
        limit: int,  # noqa: ARG002 - of rows, the caller's
    ) -> Iterator[Found]:
        """Yield the rows whose windows have passed by now, in pieces.

        See `elsinore.matches.query.QuerySearch`.
        """
        pieces = [
            self._gathered(piece)
            for piece in self._matches.matches(operands, keys, window=window, limit=ANY_NUMBER)
        ]
        if not pieces:
            return
        columns, _ = _distinct(np.concatenate(pieces, axis=1), VARIABLE + 1)
        _, begins = _distinct(columns, ROW)
        edges = np.append(begins, columns.shape[1])
        for start in range(0, len(begins), ROWS):
            some = edges[start : start + ROWS + 1]
            mine = columns[:, some[0] : some[-1]]
            rows = np.zeros((len(some) - 1, COLUMNS), dtype=np.int64)
            rows[:, BEGINS] = columns[FIRST, some[:-1]]
            rows[:, IN_WINDOW] = columns[WINDOW, some[:-1]]
            of = np.repeat(np.arange(len(rows)), np.diff(some))
            yield self._found(rows, (of, mine[EVENT], mine[STATE]), operands)

    def _gathered(self, found: Found) -> Ints:
        """Return the events of the rows of some matches, each event once for a variable."""
        of = np.repeat(np.arange(len(found)), np.diff(found.starts))
        state = found.paths[:, 1].astype(np.int64)
        variable = self._variable[state]
        begins_with = variable[found.starts[:-1]]
        columns = [found.first[of], begins_with[of], found.window[of]]
        return _distinct(np.stack([*columns, found.paths[:, 0], variable, state]), VARIABLE + 1)[0]


def _distinct(columns: Ints, count: int) -> tuple[Ints, Ints]:
    """Return columns sorted, each once by its first `count` rows, and their places."""
    columns = columns[:, np.lexsort(columns[::-1])]
    is_new = np.ones(columns.shape[1], dtype=np.bool_)
    is_new[1:] = np.any(np.diff(columns[:count], axis=1) != 0, axis=0)
    places = np.flatnonzero(is_new)
    return columns[:, places], places
