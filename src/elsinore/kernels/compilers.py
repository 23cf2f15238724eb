"""Numba's compiler, with the passes that kernels are compiled by."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder

from elsinore.kernels.decorator import Kernel
from elsinore.kernels.means import shortcuts

SELDOM = 1000  # collections of objects that are not so old between two of all


@contextmanager
def seldom_collecting() -> Iterator[None]:
    """Let Python's garbage collector go through the young objects alone.

    All that the compiler knows is old: to go through that again and again is a tenth of compiling.
    """
    before = gc.get_threshold()
    gc.set_threshold(*before[:2], SELDOM)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler, for kernels."""

    is_linked = False  # it is compiled for callers to link
    has_one_type = False  # each name in it has one type

    def compile_extra(self, function: Any) -> Any:
        """Compile a function."""
        with seldom_collecting():
            return super().compile_extra(function)

    def define_pipelines(self) -> list[Any]:
        """Return the compiler's passes, ours among them."""
        undocumented = shortcuts()
        if undocumented is not None and self.has_one_type:
            undocumented.give_one_type(self.state)
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        self.add_passes(passes)
        if undocumented is not None and (self.is_linked or self.has_one_type):
            undocumented.quicken(passes, linked=self.is_linked)
        passes.finalize()
        return [passes]

    def add_passes(self, passes: Any) -> None:
        """Add passes to those of all functions: here none."""


class LinkedCompiler(KernelCompiler):
    """Numba's compiler, for kernels that only kernels call."""

    is_linked = has_one_type = True


class QuickCompiler(KernelCompiler):
    """Numba's compiler without what kernels over words do not need."""

    has_one_type = True


def pipeline_of(kernel: Kernel) -> type:
    """Return what compiles a kernel."""
    return kernel.pipeline or (LinkedCompiler if kernel.is_linked else KernelCompiler)
