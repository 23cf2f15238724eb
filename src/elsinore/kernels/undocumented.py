"""What kernels use of Numba beyond its documentation, in one place; they compile without it too.

Documented are `jit` with its options (also `no_cfunc_wrapper`, `inline` and `pipeline_class`),
what `numba.extending` has, and how the compiler is customized: `CompilerBase`,
`DefaultPassBuilder`, passes, what a pass finds in its state, `register_pass`. All else is named
here and was seen to work with the releases in `TESTED`.

- Borrowing: the option `_nrt`, without which all references to arrays are counted, and the search
  for matches takes four to ten times as long.
- The cache, a second in each process but the first: a dispatcher's `_cache`, which it asks for code
  before it compiles and gives it to after; `_reduce` and `_rebuild` of what was compiled,
  `serialize.dumps`, `has_dynamic_globals`, what a library's module declares, `rtsys.initialize` and
  `refresh` of a target, for what code refers to. In the keys of what is kept, `_compiler` of a
  dispatcher, and `cpu_target` with `magic_tuple`, the processor's features.

What intrinsics are given, Numba's documentation shows by examples alone (`cast`, `get_value_type`,
`get_function`, `make_array`, `get_abi_sizeof`): there is no other way to write one.

Nothing but `means` imports this module, and no other of this package uses such a name.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from typing import Any

from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba.core import serialize
from numba.core.compiler import CompileResult
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

TESTED = ("0.68",)  # releases of Numba


# --- borrowing ------------------------------------------------------------------------------------


def counting(borrows: bool) -> dict[str, Any]:
    """Return the options of a kernel that counts references to arrays, or does not.

    Told either way: a kernel that does not tell does as the one that first calls it.
    """
    return {"_nrt": not borrows}


# --- the cache ------------------------------------------------------------------------------------


def keep(dispatcher: Any, cache: Any) -> None:
    """Have a dispatcher ask a cache for code, as `enable_caching` does with Numba's own."""
    dispatcher._cache = cache


def pipeline_of(dispatcher: Any) -> type:
    """Return what compiles a function of Numba's."""
    pipeline: type = dispatcher._compiler.pipeline_class
    return pipeline


def processor() -> tuple[str, ...]:
    """Return the names of this processor and of its features."""
    return tuple(map(str, cpu_target.target_context.codegen().magic_tuple()))


def packed(code: Any) -> bytes | None:
    """Return what was compiled as bytes, None where it cannot be kept."""
    if code.library.has_dynamic_globals or code.lifted:
        return None
    kept: bytes = serialize.dumps(code._reduce())
    return kept + pickle.dumps(symbols_of(code.library))


def unpacked(target: Any, payload: bytes) -> Any:
    """Return what was compiled, from its bytes."""
    stream = io.BytesIO(payload)
    parts = pickle.load(stream)
    get_ready(target, pickle.load(stream) if stream.tell() < len(payload) else None)
    return CompileResult._rebuild(target, *parts)


def symbols_of(library: Any) -> list[str]:
    """Return what machine code refers to outside itself."""
    module = library._final_module
    declared = [each.name for each in (*module.functions, *module.global_variables)
                if each.is_declaration]  # fmt: skip
    return [name for name in declared if not name.startswith("llvm.")]


def get_ready(target: Any, symbols: Sequence[str] | None) -> None:
    """Let there be what machine code refers to, before it is loaded; None: nobody knows what.

    Numba's runtime has almost all of it. What is in none of the libraries of this process comes
    with all that Numba can compile, whose loading takes 0.3 s: more than that of most kernels.
    """
    rtsys.initialize(target)
    if symbols is None or any(llvm.address_of_symbol(name) is None for name in symbols):
        target.refresh()
