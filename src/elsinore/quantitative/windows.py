"""Folds over the last n values, kept so that each new value costs little.

- `inverse`: the oldest value is taken out of the accumulator again;
- `combine`: two stacks, the older values folded from their end, the newer ones into one
  accumulator; a value costs two joins in the mean, however long the window is (Tangwongsan, Hirzel
  and Schneider, General Incremental Sliding-Window Aggregation, VLDB 2015);
- neither: the values are folded anew each time, as the definition reads.

A state is a tuple that is never changed. Lists in it only ever grow at their end, beyond what older
states read of them, so a state that is pushed to twice is copied once and else nothing is.
"""

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
    """What is kept of the last values: a state that a value is pushed to, and what it tells."""

    @property
    def fold(self) -> Fold:
        """The fold of the values."""

    @property
    def size(self) -> int:
        """How many values the window holds."""

    @property
    def how(self) -> str:
        """How the window is kept up, in words."""

    @property
    def empty(self) -> State:
        """The state of a window that nothing was pushed to."""

    @property
    def push(self) -> Callable[[State, Any], State]:
        """A function of a state and a value that returns the state after the value."""

    @property
    def value(self) -> Callable[[State], Any]:
        """A function of a state that returns the window's value."""


@dataclass(frozen=True, slots=True)
class Sliding:
    """A fold over the last `size` values."""

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
    def empty(self) -> State:
        """The state of a window that nothing was pushed to."""
        if self.fold.inverse is not None or self.fold.combine is None:
            return ([], 0, 0, self.fold.init)
        return ([], 0, [], 0, None)

    @property
    def push(self) -> Callable[[State, Any], State]:
        """A function of a state and a value that returns the state after the value."""
        if self.fold.inverse is not None:
            return self._push_inverse
        return self._push_stacks if self.fold.combine is not None else self._push_anew

    @property
    def value(self) -> Callable[[State], Any]:
        """A function of a state that returns the window's accumulator, finished."""
        read = self._value_stacks if self.is_stacks else self._value_plain
        finish = self.fold.finish
        return read if finish is None else lambda state: finish(read(state))

    @property
    def is_stacks(self) -> bool:
        """Whether two stacks hold the values."""
        return self.fold.inverse is None and self.fold.combine is not None

    def __str__(self) -> str:
        return f"{self.size}, {self.fold}"

    # (values, first, beyond, accumulator): the window is values[first:beyond]

    def _push_inverse(self, state: State, value: Any) -> State:
        values, first, beyond, total = state
        total = self.fold.step(total, value)
        if beyond - first == self.size:
            total = self.fold.inverse(total, values[first])  # type: ignore[misc]
            first += 1
        values, first, beyond = _appended(values, first, beyond, value)
        return values, first, beyond, total

    def _push_anew(self, state: State, value: Any) -> State:
        values, first, beyond, _ = state
        first += beyond - first == self.size
        values, first, beyond = _appended(values, first, beyond, value)
        total = self.fold.init
        for kept in values[first:beyond]:
            total = self.fold.step(total, kept)
        return values, first, beyond, total

    @staticmethod
    def _value_plain(state: State) -> Any:
        return state[3]

    # (older, first, newer, count, joined): older[first] is the fold of the older stack's values,
    # `joined` that of newer[:count]

    def _push_stacks(self, state: State, value: Any) -> State:
        older, first, newer, count, joined = state
        combine, step, init = self.fold.combine, self.fold.step, self.fold.init
        if combine is None:
            raise TypeError("two stacks need a way to combine")
        if len(older) - first + count == self.size:
            if first == len(older):
                older, first = [], 0
                total = None
                for kept in reversed(newer[:count]):
                    alone = step(init, kept)
                    total = alone if total is None else combine(alone, total)
                    older.append(total)
                older.reverse()
                newer, count, joined = [], 0, None
            first += 1
        alone = step(init, value)
        joined = alone if count == 0 else combine(joined, alone)
        newer = newer if len(newer) == count else newer[:count]
        newer.append(value)
        return older, first, newer, count + 1, joined

    def _value_stacks(self, state: State) -> Any:
        older, first, _, count, joined = state
        if first == len(older):
            return joined if count else self.fold.init
        if count == 0 or self.fold.combine is None:
            return older[first]
        return self.fold.combine(older[first], joined)


def _appended(values: list[Any], first: int, beyond: int, value: Any) -> tuple[list[Any], int, int]:
    """Return the values with one more; drop what lies before the window when that is half."""
    if len(values) != beyond or first > (beyond - first) + 16:
        values, first, beyond = values[first:beyond], 0, beyond - first
    values.append(value)
    return values, first, beyond + 1
