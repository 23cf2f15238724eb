"""Lists of cells: what an event of a class adds to each, as `core.plain.add_cells` reads it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from elsinore.kernels.vectors import FOUR
from elsinore.trends.node_steps import Address


class Cell(NamedTuple):
    """A cell that an event changes: what is added to it, and what times the number of trends."""

    to: Address
    terms: Sequence[Address]
    trends: Sequence[Address]  # what the number of trends that it ends is added up from
    times: Address  # an addend or, below 0, the cell -1 - word


class Pair(NamedTuple):
    """A cell, and one that is added to it."""

    to: Address
    of: Address

    @property
    def cells(self) -> tuple[int, int]:
        """Where they are; of many classes alike, those of the first."""
        to, of = (at if isinstance(at, int) else int(at[0]) for at in self)
        return to, of


def cell_words(rows: Sequence[Sequence[Cell]], most_sums: int, zero: int) -> list[Address]:
    """Return the words of a list of cells; those of a row are lanes, which are added to alike.

    A list is filled up to what an event could do to a node, which has so many sums at most, so that
    it is as long as those of other classes; a longer one begins with what is done soonest. The cell
    `zero` is always 0.
    """
    first, count = rows[0][0].to, sum(map(len, rows))
    alone = list(rows) if most_sums == 1 else []
    if 1 < most_sums < count:
        alone = list(itertools.takewhile(_is_alone, rows))
    fours, pairs = _parted(
        [Pair(cell.to, of) for cell, of in zip(row, added, strict=True)]
        for row in alone
        for added in zip(*[cell.terms for cell in row], strict=True)
    )
    cells = [*itertools.chain(*rows[len(alone) :])]
    if most_sums == 1:
        pairs += [Pair(first, zero)] * (2 - len(pairs) - len(fours))
    else:
        cells += [Cell(first, (), (), -1 - zero)] * (most_sums - count)
    others: list[tuple[Address, ...]] = []
    for to, terms, trends, times in cells:
        of, ended = iter(terms), iter(trends)
        for _ in range((max(len(terms), len(trends), 1) + 1) // 2):
            read = [next(one, zero) for one in (of, of, ended, ended)]
            others += [(to, *read, times)]
    words = [word for told in (*fours, *pairs, *others) for word in told]
    return [len(fours), len(pairs), len(others), *words]


def _is_alone(row: Sequence[Cell]) -> bool:
    """Return whether to each cell of a row one other is added, and nothing else."""
    return len(row[0].terms) == 1 and not row[0].trends


def _parted(runs: Iterable[Sequence[Pair]]) -> tuple[list[Pair], list[Pair]]:
    """Part runs of lanes into FOUR lanes each, of which the first is told, and single ones.

    The former come before the latter: there are none that touch cells of single ones before them.
    """
    fours: list[Pair] = []
    pairs: list[Pair] = []
    touched: set[int] = set()
    for run in runs:
        cells = [pair.cells for pair in run]
        to, of = cells[0]
        many = len(run) - len(run) % FOUR
        if cells != [*zip(range(to, to + len(run)), range(of, of + len(run)), strict=True)] or (
            not touched.isdisjoint(itertools.chain(*cells[:many]))
        ):
            many = 0
        fours += run[:many:FOUR]
        pairs += run[many:]
        touched.update(itertools.chain(*cells[many:]))
    return fours, pairs
