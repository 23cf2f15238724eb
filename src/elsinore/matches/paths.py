"""The sets of rows in collapsed form where conditions between events, or NOT, rule events out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.matches.arrays import Ints
from elsinore.matches.collapsible import known_conditions
from elsinore.matches.engine.pattern import RowSets
from elsinore.matches.template import START, MatchTemplate

# Columns of rows: the first event, the window, the last event in it, the first row of the key.
BEGINS, WINDOW, ENDS, KEY_FIRST = range(4)


@dataclass(frozen=True, slots=True)
class Listed:
    """What is in the sets of rows: row, event and state of each, row by row."""

    rows: Ints
    events: Ints
    states: Ints


class PathSearch:
    """Lists the events that are on paths, for rows of one template."""

    def __init__(self, template: MatchTemplate) -> None:
        self._known = {
            edge.target: known_conditions(template, edge.target)
            for edge in template.edges
            if edge.source == START
        }

    def listed(self, sets: RowSets, rows: Ints, state: int) -> Listed:
        """Return what is in the sets of rows that begin in a state; rows are in order."""
        pieces = list(sets.listed(rows, self._known[state], state))
        triples = np.concatenate(pieces) if pieces else np.zeros((0, 3), np.int64)
        return Listed(*(np.ascontiguousarray(triples[:, n]) for n in range(3)))
