"""What the steps of sharing cost, to tell when a burst's pays (HAMLET, Section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CoarseCost:
    """Nanoseconds per step, as measured; only their ratios matter.

    A cell is a sum of a node in one of its open windows.
    """

    step: float = 12.0  # an event acts on the lanes of one shape
    cell: float = 0.8
    composed: float = 0.25  # of that, where single events in turn are one formula for each lane
    move: float = 12.0  # an event moves a clock
    move_addend: float = 4.0
    settle: float = 40.0  # a lane is brought up to date
    settle_cell: float = 15.0
    boundary: float = 60.0  # a burst begins and ends
    cut: float = 30.0  # a part is cut in two
    turn: float = 30.0  # parts are found that take an event unlike the one before it

    def eager(self, steps: float, cells: int) -> float:
        """Return what an event costs that acts on so many cells, in so many steps.

        >>> CoarseCost(step=1, cell=1).eager(2, 5)
        7.0
        """
        return float(self.step * steps + self.cell * cells)

    def lazy(self, addends: int) -> float:
        """Return what an event costs that moves a clock with so many addends."""
        return self.move + self.move_addend * addends

    def settling(self, cells: float) -> float:
        """Return what it costs to bring a lane of so many cells up to date."""
        return self.settle + self.settle_cell * cells
