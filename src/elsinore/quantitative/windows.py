"""Windows over the last n values, exact (`Sliding`) or by a summary of the values."""

from __future__ import annotations

from collections.abc import Callable
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
    """A window over the last `size` values."""

    @property
    def fold(self) -> Fold:
        """The fold of the values."""

    @property
    def size(self) -> int:
        """How many values the window holds."""

    @property
    def how(self) -> str:
        """How the window is kept up, in words."""


class Summary(WindowState, Protocol):
    """A window that is kept as a summary of its values; a state of it is never changed."""

    @property
    def empty(self) -> Any:
        """The state of a window that nothing was pushed to."""

    @property
    def push(self) -> Callable[[Any, Any], Any]:
        """A function of a state and a value that returns the state after the value."""

    @property
    def value(self) -> Callable[[Any], Any]:
        """A function of a state that returns the window's value."""


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
