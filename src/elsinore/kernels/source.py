"""What Python's source of a kernel tells without the compiler."""

from __future__ import annotations

from types import CodeType

PACKAGE = __name__.partition(".")[0]
# of a function: that it is called seldom, so that small code is best; that it counts no references
RARE, BORROWS = "_is_rare", "_borrows"


def global_names(code: CodeType) -> set[str]:
    """Return the global names (and attributes) that code reads, with the code inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*(global_names(constant) for constant in inner))
