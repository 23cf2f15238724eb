"""The heap's functions, as machines call them: by their addresses."""

from __future__ import annotations

from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba import types

from elsinore.quantitative.lowered import heap

KINDS = {"p": types.CPointer(types.int64), "i": types.int64, "d": types.float64}
PURE = {"find", "best", "at_rank", "front_with", "marks"}  # these need no room


def _external(name: str, address: int, parameters: str) -> types.ExternalFunction:
    """Return a function of the heap; the name of its symbol tells what it takes."""
    symbol = f"elsinore_heap_{name}_{parameters}"
    llvm.add_symbol(symbol, address)
    return types.ExternalFunction(symbol, types.int64(*(KINDS[kind] for kind in parameters)))


FUNCTIONS = (  # none where modules run uncompiled, for a debugger
    {name: _external(name, *about) for name, about in heap.addresses().items()}
    if heap.IS_COMPILED
    else {}
)
