"""What Python's source of a kernel tells without the compiler."""

from __future__ import annotations

from types import CodeType

PACKAGE = __name__.partition(".")[0]
BORROWS = "_borrows"  # of a function: that it counts no references to arrays


def global_names(code: CodeType) -> set[str]:
    """Return the global names (and attributes) that code reads, with the code inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*(global_names(constant) for constant in inner))
