"""How the evaluations of papers are compiled: by Numba, on their first call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from elsinore.kernels import compiled


def kernel(function: Any = None, /, **options: bool) -> Any:
    """Compile a function; options: those of `elsinore.kernels.compiled`."""
    declared: Callable[[Any], Any] = partial(compiled, **options)  # type: ignore[arg-type]
    return declared if function is None else declared(function)
