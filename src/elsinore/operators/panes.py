"""Cutting a key by panes: what a kind offers to drivers that meet a key with too many events.

What a pane's events do is computed for each (key, pane), wherever they are, as an *action*: a few
arrays. A key's actions are then folded in the order of its panes, and give the partial outputs that
its operator would have given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
from numpy.typing import DTypeLike, NDArray

Action = tuple[NDArray[Any], ...]  # of several panes: the first axis of each array


class ActionPart(NamedTuple):
    """One array of a pane's action."""

    name: str
    dtype: DTypeLike
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSize:
    """What an action's price depends on: see `elsinore.spark.skew.pays`."""

    rows: int  # that an event acts on
    open_windows: int  # that an event acts on where the key is not cut
    sums: int
    nodes: int


class PaneActions(Protocol):
    """Computes the actions of panes from their events."""

    def of(
        self, starts: NDArray[Any], batch: pa.RecordBatch, begun: Action | None = None
    ) -> Action:
        """Return the actions of panes, the rows of `batch` from `starts[pane]` to the next.

        `begun` is what the first pane's earlier events did, where it has some. The batch is one for
        the operator, without `key` and `group`.
        """


class Panes(Protocol):
    """How the keys of one unit are cut by panes."""

    @property
    def size(self) -> ActionSize:
        """What an action's price depends on."""

    @property
    def parts(self) -> Sequence[ActionPart]:
        """The arrays of a pane's action."""

    def length(self, span: int) -> tuple[int, int]:
        """Return the length and the origin of panes; `span` where no window says how long."""

    def actions(self, *, ordered: bool) -> PaneActions:
        """Return what computes actions; `ordered`: simultaneous events are in an order."""

    def fold(self, panes: NDArray[Any], action: Action) -> pa.Table:
        """Return a key's partial outputs, its group's code 0, from its panes' actions.

        `panes`: [pane] -> its first moment, ascending; panes without events are left out.
        """
