"""Kernels as the compiler has them: it is imported with this, when one is compiled or loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.registry import CPUDispatcher
from numba.extending import typeof_impl

from elsinore.kernels.cache import KernelCache
from elsinore.kernels.decorator import Kernel
from elsinore.kernels.linked import pipeline_of
from elsinore.kernels.source import PACKAGE


def dispatcher_of(kernel: Kernel) -> Any:
    """Return Numba's object for a kernel, which compiles and calls it."""
    dispatcher = CPUDispatcher(kernel.py_func, {}, kernel.targetoptions, pipeline_of(kernel))
    dispatcher.kernel = kernel
    if _is_kept(kernel.py_func):
        dispatcher._cache = KernelCache(kernel)  # as `enable_caching` does with Numba's own
    return dispatcher


def kept_size(kernel: Kernel, args: tuple[Any, ...]) -> int:
    """Return the bytes of a kernel's code for such arguments that is kept; 0: none is."""
    cache = kernel.dispatcher._cache
    return cache.size(args) if isinstance(cache, KernelCache) else 0


@typeof_impl.register(Kernel)  # type: ignore[untyped-decorator]
def _type_of(kernel: Kernel, _context: Any) -> types.Dispatcher:
    """Let kernels be called by kernels."""
    return types.Dispatcher(kernel.dispatcher)


def _is_kept(body: Callable[..., Any]) -> bool:
    """Return whether what is compiled is kept: what stands in a file of this package."""
    named = not body.__code__.co_filename.startswith("<")
    return named and (body.__module__ or "").partition(".")[0] == PACKAGE
