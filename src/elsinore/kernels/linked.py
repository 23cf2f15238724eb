"""Kernels that only kernels call: they become machine code as parts of their callers alone.

Numba makes each function that it compiles ready to be called by itself: it optimizes its module,
turns it into machine code, and does so again for two wrappers, through which Python and C may call
it. For a function that nothing but compiled code calls, none of this is ever used: its callers
copy it into their own module, which is optimized as a whole. Without it, compiling costs a third
to a half.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering, NopythonRewrites, NopythonTypeInference
from numba.core.untyped_passes import InlineClosureLikes

from elsinore.kernels.decorator import Kernel
from elsinore.kernels.inference import OneTypeInference, RememberingInference
from elsinore.kernels.source import BORROWS, RARE

UNUSED = InlineClosureLikes, NopythonRewrites  # of functions in functions, and of whole arrays
KIND = "linked"  # what is kept is the code that callers link
SELDOM = 1000  # collections of objects that are not so old between two of all


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel with those that it calls, for others to link."""

    def finalize(self) -> None:
        """Take the code of those that are called; Numba's runtime comes with the last caller."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            if library is not rtsys.library:
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def _optimize_functions(self, module: Any) -> None:
        """Leave the functions as they are: they are optimized as parts of others."""
        module.data_layout = self._codegen._data_layout

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """Return what is kept: there is no machine code."""
        return self.name, KIND, self._get_module_for_linking().as_bitcode()


def rebuilt(target: Any, parts: tuple[Any, ...]) -> CompileResult:
    """Return what was compiled, from the parts of it that are kept."""
    (name, kind, code), descriptor, environment, signature, *_, reload_init, _ = parts
    if kind != KIND:
        return CompileResult._rebuild(target, *parts)
    for prepare in reload_init:
        prepare()
    library = LinkedLibrary(target.codegen(), name)
    library._final_module = llvm.parse_bitcode(code)
    library._finalized = True
    return CompileResult(
        target_context=target,
        typing_context=target.typing_context,
        library=library,
        environment=environment,
        entry_point=_entry(descriptor, environment, library),
        fndesc=descriptor,
        type_annotation=None,
        signature=signature,
        objectmode=False,
        lifted=(),
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=reload_init,
        referenced_envs=(),
    )


def _entry(descriptor: Any, environment: Any, library: LinkedLibrary) -> Any:
    """Return what Numba knows a kernel's code by; it cannot be called."""
    name = descriptor.qualname.split(".")[-1]
    module = descriptor.lookup_module()
    about = f"code of {descriptor.qualname}, for its callers"
    return _dynfunc.make_function(module, name, about, 0, environment, (library,))


@register_pass(mutates_CFG=True, analysis_only=False)
class LinkedLowering(NativeLowering):  # type: ignore[misc]
    """Writes the code of a kernel into a library that others link."""

    _name = "elsinore_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function; return True, as that is what all do."""
        flags = state.flags
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        name = state.func_id.func_qualname
        library = state.library = LinkedLibrary(state.targetctx.codegen(), name)
        library.enable_object_caching()
        super().run_pass(state)
        result = state["cr"]
        if getattr(state.func_id.func, RARE, False):
            function = library.get_function(result.fndesc.mangled_name)
            for attribute in ("noinline", "optsize"):
                function.add_function_attribute(attribute)
        entry = _entry(result.fndesc, result.env, library)
        state.targetctx.insert_user_function(entry, result.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = result._replace(cfunc=entry)
        return True


QUICK = {NopythonTypeInference: RememberingInference}
LINKED = {NopythonTypeInference: OneTypeInference, NativeLowering: LinkedLowering}


def changed(passes: Any, instead: Mapping[type, type], dropped: Collection[type] = ()) -> Any:
    """Return a pipeline's passes with others in the place of some, and without some."""
    passes.passes = [
        (instead.get(each, each), what) for each, what in passes.passes if each not in dropped
    ]
    return passes


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
    """Numba's compiler, for kernels: one that borrows counts no references to arrays."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a function; without Numba's runtime, which counts, if it borrows."""
        if getattr(function, BORROWS, False):
            self.state.flags.nrt = False
            self.state.targetctx = self.state.targetctx.subtarget(enable_nrt=False)
        with seldom_collecting():
            return super().compile_extra(function)

    def define_pipelines(self) -> list[Any]:
        """Return the compiler's passes."""
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


class LinkedCompiler(KernelCompiler):
    """Numba's compiler, for kernels that only kernels call."""

    def define_pipelines(self) -> list[Any]:
        """Return the compiler's passes, ours among them."""
        self.state.flags.enable_ssa = False
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = changed(passes, LINKED, UNUSED)
        passes.finalize()
        return [passes]


class QuickCompiler(KernelCompiler):
    """Numba's compiler without what kernels over words do not need."""

    def define_pipelines(self) -> list[Any]:
        """Return the compiler's passes, ours among them."""
        self.state.flags.enable_ssa = False
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = changed(passes, QUICK, UNUSED)
        passes.finalize()
        return [passes]


def pipeline_of(kernel: Any) -> type:
    """Return what compiles a kernel, or a user's function of Numba's."""
    if not isinstance(kernel, Kernel):
        return kernel._compiler.pipeline_class  # type: ignore[no-any-return]
    return kernel.pipeline or (LinkedCompiler if kernel.is_linked else KernelCompiler)
