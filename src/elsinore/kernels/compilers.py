"""Numba's compiler, with the passes that kernels are compiled by."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.errors import NumbaError, TypingError
from numba.core.typed_passes import NopythonTypeInference

from elsinore.kernels.borrowing import RULE, CheckBorrowing, CheckResult
from elsinore.kernels.decorator import Kernel
from elsinore.kernels.inference import CheckNames
from elsinore.kernels.means import shortcuts
from elsinore.kernels.source import BORROWS

SELDOM = 1000  # collections of objects that are not so old between two of all
# Numba's words where a kernel that borrows allocates, or returns an array that it was not given
REFUSALS = "NRT required", "Only accept returning of array"


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
            try:
                return super().compile_extra(function)
            except NumbaError as error:
                message = str(error)
                if getattr(function, BORROWS, False) and any(map(message.__contains__, REFUSALS)):
                    why = f"{function.__qualname__} makes, keeps or returns an array. {RULE}."
                    raise TypingError(f"{why}\n{message}") from error
                raise

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
        """Add the passes of kernels to those of all."""
        passes.add_pass_after(CheckBorrowing, NopythonTypeInference)
        if not self.is_linked:
            passes.add_pass_after(CheckResult, NopythonTypeInference)
        elif self.has_one_type:
            passes.add_pass_after(CheckNames, NopythonTypeInference)


class LinkedCompiler(KernelCompiler):
    """Numba's compiler, for kernels that only kernels call."""

    is_linked = has_one_type = True


class QuickCompiler(KernelCompiler):
    """Numba's compiler without what kernels over words do not need."""

    has_one_type = True


def pipeline_of(kernel: Kernel) -> type:
    """Return what compiles a kernel."""
    return kernel.pipeline or (LinkedCompiler if kernel.is_linked else KernelCompiler)
