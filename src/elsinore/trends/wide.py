"""Compiling the kernels of this engine that are called for each event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from elsinore.kernels.decorator import compiled

P = ParamSpec("P")
R = TypeVar("R")


@overload
def wide_kernel(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def wide_kernel(*, inline: bool = False) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def wide_kernel(
    function: Callable[P, R] | None = None, /, *, inline: bool = False
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function as `kernel` does, but let it count no references to arrays.

    Counting them takes locked instructions, for each array of each call: of three arenas and the
    few calls that an event takes half of a run, of a hundred arrays in named tuples most of it. So
    such kernels must neither make arrays nor keep slices of them; what they are passed is kept
    alive by whoever calls from Python.

    inline: as for `kernel`.
    """
    options: dict[str, Any] = {"_nrt": False}
    if inline:
        options["inline"] = "always"

    def declared(body: Callable[P, R]) -> Callable[P, R]:
        return compiled(body, options)

    return declared if function is None else declared(function)
