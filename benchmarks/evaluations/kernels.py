"""How the evaluations of papers are compiled: by Numba, on their first call."""

from __future__ import annotations

from typing import Any

from numba import njit


def kernel(function: Any = None, /, *, inline: bool = False) -> Any:
    """Compile a function so that other threads run meanwhile; inline: into its callers."""
    options: dict[str, Any] = {"nogil": True}
    if inline:
        options["inline"] = "always"
    return njit(**options) if function is None else njit(**options)(function)
