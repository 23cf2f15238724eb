"""Compiling the kernels of this engine that are called for each event."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, overload

from elsinore.kernels import kernel

P = ParamSpec("P")
R = TypeVar("R")


@overload
def wide_kernel(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def wide_kernel(
    *, inline: bool = False, linked: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def wide_kernel(
    function: Callable[P, R] | None = None, /, *, inline: bool = False, linked: bool = False
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function as a kernel that borrows, and counts no references to arrays.

    Of three arenas and the few calls that an event takes counting them is half of a run, of a
    hundred arrays in named tuples most of it.

    inline, linked: as for `kernel`.
    """
    declare = kernel(borrows=True, inline=inline, linked=linked)
    return declare if function is None else declare(function)
