"""Searches that give out equal matches apart from each other: those given out before are known."""

from __future__ import annotations

import numpy as np

from elsinore.matches.arrays import Ints
from elsinore.matches.query import Found, QuerySearch

Marks = dict[int, set[tuple[int, bytes]]]


class MarkedSearch(QuerySearch):
    """A search whose pieces may be cut anywhere."""

    def _once(self, found: Found) -> Found:
        """Return all matches: those of other pieces matter too (`unmarked`)."""
        return found

    def unmarked(self, found: Found, rows: Ints, marks: Marks) -> Found:
        """Return the matches that are not marked yet, and mark them.

        Equal ones have one row in `rows`, and come right after one another: marks of others go.
        """
        if not self.template.duplicates:
            return found
        kept = []
        for number, mark in enumerate(self.marks(found)):
            row = int(rows[number])
            if row not in marks:
                marks.clear()
                marks[row] = set()
            if mark not in marks[row]:
                marks[row].add(mark)
                kept.append(number)
        return found.take(np.array(kept, dtype=np.int64))
