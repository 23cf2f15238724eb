"""Lists of cells: what an event of a class adds to each, as `core.plain.add_cells` reads it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from elsinore.kernels.vectors import FOUR
from elsinore.trends.sums.node_steps import Address


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
    fours, sums = _parted(alone, zero)
    cells = [*itertools.chain(*rows[len(alone) :])]
    if most_sums > 1:
        cells += [Cell(first, (), (), -1 - zero)] * (most_sums - count)
    single: list[tuple[Address, ...]] = []
    for to, terms, trends, times in cells:
        of, ended = iter(terms), iter(trends)
        for _ in range((max(len(terms), len(trends), 1) + 1) // 2):
            read = [next(one, zero) for one in (of, of, ended, ended)]
            single += [(to, *read, times)]
    words = [word for step_words in (*fours, *sums, *single) for word in step_words]
    return [len(fours), len(sums), len(single), *words]


def _is_alone(row: Sequence[Cell]) -> bool:
    """Return whether to each cell of a row one other is added, and nothing else."""
    return len(row[0].terms) == 1 and not row[0].trends


def _parted(
    rows: Iterable[Sequence[Cell]], zero: Address
) -> tuple[list[Pair], list[tuple[Address, ...]]]:
    """Part rows of lanes into FOUR lanes each, of which the first is told, and single ones.

    The former come before the latter: there are none that touch cells of single ones before them.
    To a single one two terms are added together: no lane of a row reads what another changes.
    """
    fours: list[Pair] = []
    sums: list[tuple[Address, ...]] = []
    touched: set[int] = set()
    for row in rows:
        terms = list(zip(*[cell.terms for cell in row], strict=True))
        for turn in range(0, len(terms), 2):
            single: list[list[Address]] = [[] for _ in row]
            for added in terms[turn : turn + 2]:
                run = [Pair(cell.to, of) for cell, of in zip(row, added, strict=True)]
                cells = [pair.cells for pair in run]
                many = _in_fours(cells, touched)
                fours += run[:many:FOUR]
                touched.update(itertools.chain(*cells[many:]))
                for of, several in zip(added[many:], single[many:], strict=True):
                    several.append(of)
            sums += [
                (cell.to, *several, *[zero] * (2 - len(several)))
                for cell, several in zip(row, single, strict=True)
                if several
            ]
    return fours, sums


def _in_fours(cells: Sequence[tuple[int, int]], touched: set[int]) -> int:
    """Return how many of the lanes at some cells are added to by FOUR: a multiple of it."""
    to, of = cells[0]
    many = len(cells) - len(cells) % FOUR
    if cells != [*zip(range(to, to + len(cells)), range(of, of + len(cells)), strict=True)]:
        return 0
    return many if touched.isdisjoint(itertools.chain(*cells[:many])) else 0
