"""Quantiles by mergeable sketches: KLL of Apache DataSketches, also over sliding windows.

A sketch returns a value whose rank differs from the exact one by at most a share `error` of the
values, with 99 % probability, in space that depends on the error alone (Karnin, Lang and Liberty,
Optimal Quantile Approximation in Streams, FOCS 2016). Merging sketches of parts gives a sketch of
the whole with the same error. Sketches are randomized: two runs may return different values, each
within the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from elsinore.errors import InputError, QuerySemanticError, SetupError
from elsinore.quantitative.folds import Fold, check_fraction, is_comparable
from elsinore.quantitative.windows import State, check_size

CHUNK = 256  # values that are added to a sketch of the library together
LEAST_K, MOST_K = 8, 65535  # of the library


class Sketch:
    """An immutable sketch: `add` and `merged` return new ones.

    Values are collected in a buffer before they are added to a sketch of the library. Several
    sketches share a buffer, which only grows at its end; each reads its first `count` values.
    """

    __slots__ = ("_base", "_buffer", "_count")

    def __init__(self, base: Any, buffer: list[float], count: int) -> None:
        self._base = base  # immutable by convention
        self._buffer, self._count = buffer, count

    @classmethod
    def empty(cls, error: float) -> Sketch:
        """Return the sketch of no values."""
        return cls(_library().kll_doubles_sketch(_k_of(error)), [], 0)

    def __len__(self) -> int:
        return int(self._base.n) + self._count

    def __bytes__(self) -> bytes:
        return bytes(self._copy().serialize())

    def parts(self) -> tuple[bytes, list[float]]:
        """Return the arguments of `sketch_of` for an equal sketch."""
        return bytes(self._base.serialize()), self._buffer[: self._count]

    def __reduce__(self) -> tuple[Any, ...]:
        return sketch_of, self.parts()

    def __repr__(self) -> str:
        return f"Sketch of {len(self)} values (k={self._base.k})"

    def add(self, value: float) -> Sketch:
        """Return the sketch with one more value. Raises ValueError for NaN, which has no rank."""
        number = float(value)
        is_comparable(number)
        buffer = self._buffer
        if len(buffer) != self._count:  # another sketch has appended to it
            buffer = buffer[: self._count]
        buffer.append(number)
        longer = Sketch(self._base, buffer, self._count + 1)
        return longer if longer._count < CHUNK else Sketch(longer._copy(), [], 0)

    def merged(self, *others: Sketch) -> Sketch:
        """Return the sketch of the values of all sketches."""
        copy = self._copy()
        for sketch in others:
            copy.merge(sketch._copy())
        return Sketch(copy, [], 0)

    def quantile(self, fraction: float) -> float | None:
        """Return a value at about this rank, None if there are no values."""
        return float(self._copy().get_quantile(fraction)) if len(self) else None

    def _copy(self) -> Any:
        """Return a new sketch of the library with all values."""
        copy = type(self._base).deserialize(self._base.serialize())
        if self._count:
            copy.update(np.array(self._buffer[: self._count]))
        return copy


def sketch_of(data: bytes, buffer: Iterable[float] = ()) -> Sketch:
    """Return the sketch with these bytes. Raises InputError for other bytes."""
    values = list(buffer)
    try:
        return Sketch(_library().kll_doubles_sketch.deserialize(data), values, len(values))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise InputError(f"These are not the bytes of a sketch: {error}.") from error


def sketch(error: float = 0.01) -> Fold:
    """Return the fold of values to the bytes of a sketch, for `sketched_quantile`.

    On Spark each key's or partition's stream has its own sketch; these are merged afterwards.
    """
    return _sketching(f"sketch({error})", error, bytes)


def _sketching(name: str, error: float, finish: Callable[[Sketch], Any]) -> Fold:
    return Fold(
        name=name,
        init=Sketch.empty(_checked(error)),
        step=lambda summary, value: summary.add(value),
        finish=finish,
        combine=lambda left, right: left.merged(right),
    )


def sketched_quantile(sketches: Iterable[bytes], fraction: float) -> float | None:
    """Return the quantile of all values of some sketches, None if there are no values.

    Raises InputError for bytes that are not a sketch.

    >>> from elsinore.quantitative.sketches import sketch, sketched_quantile
    >>> fold, parts = sketch(0.01), []
    >>> for first in (0, 500):
    ...     state = fold.init
    ...     for value in range(first, first + 500):
    ...         state = fold.step(state, value)
    ...     parts.append(fold.finish(state))
    >>> abs(sketched_quantile(parts, 0.5) - 500) < 30
    True
    """
    check_fraction(fraction)
    parts = [sketch_of(data) for data in sketches]
    return parts[0].merged(*parts[1:]).quantile(fraction) if parts else None


def sketch_quantile(fraction: float, error: float = 0.01) -> Fold:
    """Return the fold of values to their quantile, with a rank within a share `error` of them."""
    check_fraction(fraction)
    name = f"sketch_quantile({fraction}, {error})"
    return _sketching(name, error, lambda summary: summary.quantile(fraction))


@dataclass(frozen=True, slots=True)
class SketchedWindow:
    """A quantile of the last `size` values, by sketches of panes.

    Half of the error is that of sketches, half that of the oldest pane: it is dropped once all its
    values have left the window, so that up to one pane of older values is included. A state is a
    tuple: the sketches of complete panes, their merged sketch, and the sketch of the current pane.
    """

    size: int
    fraction: float
    error: float

    def __post_init__(self) -> None:
        _checked(self.error)
        check_fraction(self.fraction)
        check_size("approx_quantile_in_window", self.size)

    @property
    def pane(self) -> int:
        """The number of values of a pane: at most half the error's share of the window."""
        return max(1, int(self.size * self.error / 2))

    @property
    def how(self) -> str:
        """The algorithm, for explanations."""
        return f"sketches of {self.pane} values each"

    @property
    def fold(self) -> Fold:
        """The fold of the values."""
        return sketch_quantile(self.fraction, self.error / 2)

    @property
    def empty(self) -> State:
        """The state of a window without values."""
        start = Sketch.empty(self.error / 2)
        return ((), start, start)

    def push(self, state: State, value: float) -> State:
        """Return the state after one more value."""
        panes, merged, current = state
        before, current = panes, current.add(value)
        if panes and (len(panes) - 1) * self.pane + len(current) >= self.size:
            panes = panes[1:]
        if len(current) == self.pane:
            panes, current = (*panes, current), Sketch.empty(self.error / 2)
        if panes is not before:
            merged = Sketch.empty(self.error / 2).merged(*panes)
        return panes, merged, current

    def value(self, state: State) -> float | None:
        """Return the quantile."""
        _, merged, current = state
        return merged.merged(current).quantile(self.fraction)  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return f"{self.size}, sketch_quantile({self.fraction}, {self.error})"


@cache
def _k_of(error: float) -> int:
    """Return the least parameter of the library's sketches whose error is at most this."""
    bound = _library().kll_doubles_sketch.get_normalized_rank_error
    low, high = LEAST_K, MOST_K
    if bound(high, False) > error:
        raise QuerySemanticError(f"A sketch's error is at least {bound(high, False):.2g}.")
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle, False) <= error else (middle + 1, high)
    return low


@cache
def _library() -> Any:
    try:
        import datasketches  # noqa: PLC0415
    except ImportError as error:
        raise SetupError(
            "Sketches need datasketches, which is not installed. Install it with: "
            "pip install 'elsinore[sketches]'"
        ) from error
    return datasketches


def _checked(error: float) -> float:
    if not 0 < error < 1:
        raise QuerySemanticError(f"An error is between 0 and 1, not {error}.")
    return error
