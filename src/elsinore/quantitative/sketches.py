"""Quantiles by mergeable sketches: KLL of Apache DataSketches, also over sliding windows.

A sketch tells a value whose rank is off by a share `error` of the values at most, with 99 %
probability, in space that depends on the error alone (Karnin, Lang and Liberty, Optimal Quantile
Approximation in Streams, FOCS 2016). Sketches of parts are joined to one of the whole with the same
error. They draw at random: two runs may tell different values, each within the error.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from elsinore.errors import InputError, QuerySemanticError, SetupError
from elsinore.quantitative.folds import Fold, is_comparable
from elsinore.quantitative.windows import State, check_size

CHUNK = 256  # values that wait until they are put into the sketch together
LEAST_K, MOST_K = 8, 65535  # of the library


class Sketch:
    """A sketch as a value: `add` and `joined` return new ones and change nothing.

    Values wait in a list that only ever grows at its end, beyond what older sketches read of it.
    """

    __slots__ = ("_base", "_count", "_waiting")

    def __init__(self, base: Any, waiting: list[float], count: int) -> None:
        self._base = base  # never changed
        self._waiting, self._count = waiting, count

    @classmethod
    def empty(cls, error: float) -> Sketch:
        """Return the sketch of no values."""
        return cls(_library().kll_doubles_sketch(_k_of(error)), [], 0)

    def __len__(self) -> int:
        return int(self._base.n) + self._count

    def __bytes__(self) -> bytes:
        return bytes(self._whole().serialize())

    def parts(self) -> tuple[bytes, list[float]]:
        """Return what `sketch_of` makes the sketch of again."""
        return bytes(self._base.serialize()), self._waiting[: self._count]

    def __reduce__(self) -> tuple[Any, ...]:
        return sketch_of, self.parts()

    def __repr__(self) -> str:
        return f"Sketch of {len(self)} values (k={self._base.k})"

    def add(self, value: float) -> Sketch:
        """Return the sketch with one more value. Raises ValueError for NaN, which has no rank."""
        number = float(value)
        is_comparable(number)
        waiting = self._waiting
        if len(waiting) != self._count:  # a newer sketch has grown it
            waiting = waiting[: self._count]
        waiting.append(number)
        grown = Sketch(self._base, waiting, self._count + 1)
        return grown if grown._count < CHUNK else Sketch(grown._whole(), [], 0)

    def joined(self, *others: Sketch) -> Sketch:
        """Return the sketch of the values of all."""
        whole = self._whole()
        for sketch in others:
            whole.merge(sketch._whole())
        return Sketch(whole, [], 0)

    def quantile(self, fraction: float) -> float | None:
        """Return a value at about this rank, None where there are no values."""
        return float(self._whole().get_quantile(fraction)) if len(self) else None

    def _whole(self) -> Any:
        """Return a sketch of the library with the values that wait, that may be changed."""
        whole = type(self._base).deserialize(self._base.serialize())
        if self._count:
            whole.update(np.array(self._waiting[: self._count]))
        return whole


def sketch_of(data: bytes, waiting: Iterable[float] = ()) -> Sketch:
    """Return the sketch that was made bytes. Raises InputError where it was none."""
    values = list(waiting)
    try:
        return Sketch(_library().kll_doubles_sketch.deserialize(data), values, len(values))
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        raise InputError(f"These are not the bytes of a sketch: {error}.") from error


def sketch(error: float = 0.01) -> Fold:
    """Return the sketch of the values, as bytes: small, and joined by `sketched_quantile`.

    On Spark each key's or partition's stream gives its own, and these are joined afterwards.
    """
    start = Sketch.empty(_checked(error))
    return Fold(
        name=f"sketch({error})",
        init=start,
        step=lambda summary, value: summary.add(value),
        finish=bytes,
        combine=lambda left, right: left.joined(right),
    )


def sketched_quantile(sketches: Iterable[bytes], fraction: float) -> float | None:
    """Return the quantile of all values of some sketches, None where there are none.

    Raises InputError for bytes that are no sketch.

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
    _check_fraction(fraction)
    joined = [sketch_of(data) for data in sketches]
    return joined[0].joined(*joined[1:]).quantile(fraction) if joined else None


def sketch_quantile(fraction: float, error: float = 0.01) -> Fold:
    """Return the quantile of all values so far: a rank off by a share `error` of them at most."""
    _check_fraction(fraction)
    return Fold(
        name=f"sketch_quantile({fraction}, {error})",
        init=Sketch.empty(_checked(error)),
        step=lambda summary, value: summary.add(value),
        finish=lambda summary: summary.quantile(fraction),
        combine=lambda left, right: left.joined(right),
    )


@dataclass(frozen=True, slots=True)
class SketchedWindow:
    """A quantile of the last `size` values, by sketches of panes.

    Half of the error is the sketches', half is that of the oldest pane: it is dropped once all its
    values have left the window, so the values told of are at most a pane too many. A state is a
    tuple: the panes' sketches, the sketch of them all, and that of the pane which is being filled.
    """

    size: int
    fraction: float
    error: float

    def __post_init__(self) -> None:
        _checked(self.error)
        _check_fraction(self.fraction)
        check_size("approx_quantile_in_window", self.size)

    @property
    def pane(self) -> int:
        """How many values a pane has: at most half the error's share of the window."""
        return max(1, int(self.size * self.error / 2))

    @property
    def how(self) -> str:
        """How the window is kept up, in words."""
        return f"sketches of {self.pane} values each"

    @property
    def fold(self) -> Fold:
        """The fold of the values."""
        return sketch_quantile(self.fraction, self.error / 2)

    @property
    def empty(self) -> State:
        """The state of a window that nothing was pushed to."""
        start = Sketch.empty(self.error / 2)
        return ((), start, start)

    @property
    def push(self) -> Any:
        """A function of a state and a value that returns the state after it."""
        return self._push

    @property
    def value(self) -> Any:
        """A function of a state that returns the quantile."""
        return self._value

    def _push(self, state: State, value: float) -> State:
        panes, joined, filling = state
        filling = filling.add(value)
        stays = len(panes)
        newer = len(panes) * self.pane + len(filling) - self.pane
        if panes and newer >= self.size:
            stays -= 1
        if len(filling) == self.pane:
            panes, filling = (*panes, filling), Sketch.empty(self.error / 2)
            stays += 1
        elif stays == len(panes):
            return panes, joined, filling
        panes = panes[len(panes) - stays :]
        return panes, Sketch.empty(self.error / 2).joined(*panes), filling

    def _value(self, state: State) -> float | None:
        _, joined, filling = state
        return joined.joined(filling).quantile(self.fraction)  # type: ignore[no-any-return]

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
            "Sketches are those of datasketches, which is not installed. Install it with: "
            "pip install 'elsinore[sketches]'"
        ) from error
    return datasketches


def _checked(error: float) -> float:
    if not 0 < error < 1:
        raise QuerySemanticError(f"The error lies between 0 and 1, not at {error}.")
    return error


def _check_fraction(fraction: float) -> None:
    if not 0 <= fraction <= 1:
        raise QuerySemanticError(f"A quantile lies between 0 and 1, not at {fraction}.")
