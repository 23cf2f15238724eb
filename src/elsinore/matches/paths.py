"""The sets of rows in collapsed form where conditions between events, or NOT, rule events out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.kernels import enter
from elsinore.matches import intermediate as im
from elsinore.matches.arrays import Doubles, Ints, Registers, Rules
from elsinore.matches.collapsible import known_conditions
from elsinore.matches.interpret import STACK
from elsinore.matches.operands import Operands
from elsinore.matches.program import register_places
from elsinore.matches.query import negative_rows
from elsinore.matches.tables import Header, Tables
from elsinore.matches.template import START, MatchTemplate
from elsinore.matches.windows import NO_WINDOW

EVENT_SECONDS = 2e-5  # what looking whether an event is on a path takes in plain Python, at least


@dataclass(frozen=True, slots=True)
class Listed:
    """What is in the sets of rows: row, event and state of each, row by row."""

    rows: Ints
    events: Ints
    states: Ints


class PathSearch:
    """Lists the events that are on paths, for rows of one template."""

    def __init__(self, template: MatchTemplate) -> None:
        self._template = template
        self._known = {
            edge.target: known_conditions(template, edge.target)
            for edge in template.edges
            if edge.source == START
        }
        self._places = register_places(template.registers)

    def negatives(
        self, tables: Tables, operands: Operands, keys: Ints, window: tuple[int, int, int]
    ) -> Ints:
        """Return what patterns under NOT forbid (`elsinore.matches.query.negative_rows`)."""
        return negative_rows(self._template, tables, operands, keys, window[0])

    def listed(
        self,
        tables: Tables,
        operands: Operands,
        negatives: Ints,
        rows: Ints,
        state: int,
        window: tuple[int, int, int],
    ) -> Listed:
        """Return what is in the sets of rows that begin in `state`; `rows` as in `intermediate`."""
        header = tables.integers
        states = int(header[Header.STATES])
        sizes = rows[:, im.ENDS] - rows[:, im.BEGINS] + 1
        longest = int(sizes.max(initial=0))
        marks = np.zeros((longest + 1, states), dtype=np.uint8)
        event_registers = np.full((2, int(header[Header.EVENTS])), -1, dtype=np.int64)
        numbers: Doubles = np.zeros((2, int(header[Header.NUMBERS])))
        edges = len(self._template.edges)
        stack, wholes = np.zeros(STACK + edges), np.zeros(STACK + 2 * edges, dtype=np.int64)
        rules = Rules(tables.constants, negatives, stack, wholes)
        sets, registers = (
            im.Sets(rows, self._known[state], marks),
            Registers(event_registers, numbers),
        )
        room = np.empty((max(longest * states, 1 << 16), 3), dtype=np.int64)
        progress = np.zeros(im.PROGRESS, dtype=np.int64)
        progress[[im.WITHIN, im.SLIDE, im.ORIGIN]] = window
        if window[0] == NO_WINDOW:
            progress[im.WITHIN] = -1
        pieces = []
        seconds = EVENT_SECONDS * float(sizes.sum())
        while progress[im.NEXT_ROW] < len(rows):
            progress[im.FILLED] = 0
            enter(
                im.intermediate, seconds, header, rules, operands.values, sets, state, progress,
                registers, room,
            )  # fmt: skip
            pieces.append(room[: progress[im.FILLED]].copy())
        triples = np.concatenate(pieces) if pieces else room[:0]
        return Listed(*(np.ascontiguousarray(triples[:, n]) for n in range(3)))
