"""Kernels as the compiler has them: it is imported with this, when one is compiled or loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.extending import typeof_impl

from elsinore.kernels.cache import KernelCache
from elsinore.kernels.decorator import Kernel
from elsinore.kernels.means import shortcuts
from elsinore.kernels.source import BORROWS, PACKAGE


def dispatcher_of(kernel: Kernel) -> Any:
    """Return Numba's object for a kernel, which compiles and calls it."""
    undocumented, body, options = shortcuts(), kernel.py_func, kernel.targetoptions
    if undocumented is not None:
        options = options | undocumented.counting(getattr(body, BORROWS, False))
    if kernel.pipeline is not None:
        options = options | {"pipeline_class": kernel.pipeline}
    dispatcher = numba.jit(**options)(body)
    dispatcher.kernel = kernel
    if undocumented is not None and _is_kept(body):
        undocumented.keep(dispatcher, KernelCache(kernel, undocumented))
    return dispatcher


@typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]
def _type_of(kernel: Kernel, _context: Any) -> types.Type:
    """Let kernels be called by kernels."""
    return numba.typeof(kernel.dispatcher)


def _is_kept(body: Callable[..., Any]) -> bool:
    """Return whether what is compiled is kept: what stands in a file of this package."""
    named = not body.__code__.co_filename.startswith("<")
    return named and (body.__module__ or "").partition(".")[0] == PACKAGE
