"""What the coarse engine's steps cost, to tell when sharing a burst pays (HAMLET, Section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoarseCost:
    """Nanoseconds per step, as measured; only their ratios matter.

    A cell is a sum of a node in one of its open windows; numbers with exponents are `big`.
    """

    update: float = 3.0  # an event acts on a node
    update_cell: float = 1.0
    update_cell_big: float = 100.0
    move: float = 8.0  # an event moves a clock
    move_addend: float = 4.0
    settle: float = 25.0  # a holder is brought up to date
    settle_cell: float = 2.0
    settle_cell_big: float = 120.0
    boundary: float = 200.0  # a burst begins and ends

    def eager(self, nodes: Sequence[int], *, big: bool = False) -> float:
        """Return what an event costs that acts on nodes with so many cells each.

        >>> CoarseCost(update=1, update_cell=1).eager([2, 3])
        7.0
        """
        cell = self.update_cell_big if big else self.update_cell
        return float(sum(self.update + cell * cells for cells in nodes))

    def lazy(self, addends: int) -> float:
        """Return what an event costs that moves a clock with so many addends."""
        return self.move + self.move_addend * addends

    def settling(self, nodes: Sequence[int], *, big: bool = False) -> float:
        """Return what it costs to bring one of some nodes up to date, on average."""
        cell = self.settle_cell_big if big else self.settle_cell
        return self.settle + cell * sum(nodes) / len(nodes)
