"""Windows over the last n values, exact (`Sliding`) or by a summary of the values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from elsinore.errors import QuerySemanticError
from elsinore.quantitative.folds import Fold

State = tuple[Any, ...]


def check_size(name: str, size: object) -> None:
    """Raise QuerySemanticError unless a window's size is a whole number of values, 1 or more."""
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise QuerySemanticError(
            f"{name}: a window holds at least one value, a whole number of them, not {size!r}."
        )


class WindowState(Protocol):
    """A window over the last `size` values: `Sliding`, or a summary of them.

    A summary has `empty`, the state before any value, and functions of a state, which is never
    changed: `push` of a state and a value returns the next state, `value` of a state the result.
    """

    @property
    def fold(self) -> Fold:
        """The fold of the values."""

    @property
    def size(self) -> int:
        """How many values the window holds."""

    @property
    def how(self) -> str:
        """How the window is kept up, in words."""


@dataclass(frozen=True, slots=True)
class Sliding:
    """A fold over the last `size` values; `machine.sliding` has its instructions."""

    size: int
    fold: Fold

    def __post_init__(self) -> None:
        check_size("sliding", self.size)

    @property
    def how(self) -> str:
        """How the window is kept up, in words."""
        if self.fold.inverse is not None:
            return "the oldest value is taken out"
        if self.fold.combine is not None:
            return "two stacks"
        return f"folded anew over {self.size} values each time"

    @property
    def is_stacks(self) -> bool:
        """Whether two stacks hold the values."""
        return self.fold.inverse is None and self.fold.combine is not None

    def __str__(self) -> str:
        return f"{self.size}, {self.fold}"
