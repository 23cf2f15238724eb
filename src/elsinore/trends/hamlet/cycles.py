"""The processor's cycle counter: how long decisions take, at a cost that does not matter."""

from __future__ import annotations

import time
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload


def cycles() -> int:
    """Return a count that grows evenly with time: compiled, the processor's cycle counter."""
    return time.perf_counter_ns()


@overload(cycles)
def _compiled_cycles() -> Any:
    return lambda: _counter()  # noqa: PLW0108  (what is compiled is a function)


@intrinsic
def _counter(typing_context: Any) -> Any:  # noqa: ARG001
    """Return the processor's cycle counter."""

    def generate(_context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(64), [])
        name = "llvm.readcyclecounter"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        return builder.call(function, [])

    return types.int64(), generate
