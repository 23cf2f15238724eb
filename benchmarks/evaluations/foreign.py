"""Calling a function by its address from a kernel: an aggregate that a user defined.

The function takes the address of doubles and returns a whole number (`elsinore.matches.stepping`).
Its address is a number, so kernels do not depend on the function and are compiled once.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload

from elsinore.matches.stepping import FOREIGN


def call_at(address: int, pointer: int) -> int:
    """Return what the function at an address returns for doubles at another.

    >>> import ctypes
    >>> doubled = FOREIGN(lambda pointer: 2 * pointer)
    >>> call_at(ctypes.cast(doubled, ctypes.c_void_p).value, 21)
    42
    """
    return int(FOREIGN(int(address))(int(pointer)))  # NumPy's numbers are no addresses to ctypes


@intrinsic  # type: ignore[untyped-decorator]
def _call(_typing: Any, address: Any, pointer: Any) -> Any:  # noqa: ARG001 - of the compiler
    def generate(context: Any, builder: Any, _signature: Any, given: Any) -> Any:  # noqa: ARG001
        word = ir.IntType(64)
        function = builder.inttoptr(given[0], ir.FunctionType(word, [word]).as_pointer())
        return builder.call(function, [given[1]])

    return types.int64(types.int64, types.int64), generate


@overload(call_at)  # type: ignore[untyped-decorator]
def _call_at(address: Any, pointer: Any) -> Any:  # noqa: ARG001 - of the compiler
    def call(address: Any, pointer: Any) -> Any:
        return _call(types.int64(address), types.int64(pointer))

    return call
