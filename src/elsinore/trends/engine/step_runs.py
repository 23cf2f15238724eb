"""Updates of nodes side by side that read nodes side by side: they become one step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from elsinore.model.kinds import Strategy
from elsinore.plan.template import ALL, Reads
from elsinore.trends.engine.layout import Layout
from elsinore.trends.engine.updates import ExtremeUpdate, Source, SumUpdate, Update


class Term(NamedTuple):
    """Lanes that a step reads: a row of a block from a node on, or one node's for all its nodes."""

    block: int
    row: int
    reads: int  # its number; -1: of all events, which the block's sums are of
    node: int  # its place in the block


class Run(NamedTuple):
    """Updates of nodes side by side that read nodes side by side: one step.

    `terms[s]` are those of sum s, then of extreme s, of the run's first node; `shared[s]` says for
    each of them whether all nodes read the same, None where there is but one node.
    """

    updates: list[Update]
    terms: list[list[Term]]
    shared: list[list[bool | None]]


class StepRuns:
    """Puts updates together as runs."""

    def __init__(self, layout: Layout, reads: dict[Reads, int]) -> None:
        """Take where nodes are, and the numbers of what events read row by row, to be added to."""
        self._layout = layout
        self._reads = reads

    def of(self, updates: Sequence[Update]) -> list[Run]:
        """Put updates of nodes side by side together where they read nodes side by side."""
        layout = self._layout
        ordered = sorted(
            updates, key=lambda u: (layout.block_of[u.node], layout.node_place[u.node])
        )
        runs: list[Run] = []
        for update in ordered:
            terms = self._terms(update)
            if not (runs and self._extends(runs[-1], update, terms)):
                runs.append(Run([update], terms, [[None] * len(several) for several in terms]))
        return runs

    def _terms(self, update: Update) -> list[list[Term]]:
        """Return what an update reads for each sum and extreme, in an order of their own."""
        parts: list[SumUpdate | ExtremeUpdate] = [*update.sums, *update.extremes]
        return [sorted(self._term(source) for source in part.sources) for part in parts]

    def _term(self, source: Source) -> Term:
        block, reads = self._layout.block_of[source.node], -1
        of_block = self._layout.blocks[block]
        if of_block.has_rows and (of_block.strategy is not Strategy.ANY or source.reads != ALL):
            reads = self._reads.setdefault(source.reads, len(self._reads))
        return Term(block, source.row, reads, self._layout.node_place[source.node])

    def _extends(self, run: Run, update: Update, terms: list[list[Term]]) -> bool:
        """Take an update into a run, if it is one with it."""
        last = run.updates[-1]
        layout, distance = self._layout, len(run.updates)
        if (
            layout.block_of[last.node] != layout.block_of[update.node]
            or layout.node_place[last.node] + 1 != layout.node_place[update.node]
            or update.starts != last.starts
            or [part.addend for part in update.sums] != [part.addend for part in last.sums]
            or [part.rank for part in update.extremes] != [part.rank for part in last.extremes]
            or list(map(len, terms)) != list(map(len, run.terms))
        ):
            return False
        shared: list[list[bool | None]] = []
        for of_first, mine, known in zip(run.terms, terms, run.shared, strict=True):
            shared.append([])
            for before, term, is_shared in zip(of_first, mine, known, strict=True):
                if before[:3] != term[:3]:
                    return False
                same, aside = term.node == before.node, term.node == before.node + distance
                if not (same and is_shared is not False) and not (aside and is_shared is not True):
                    return False
                shared[-1].append(same)
        run.updates.append(update)
        run.shared[:] = shared
        return True
