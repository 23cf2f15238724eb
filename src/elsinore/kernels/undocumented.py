"""What kernels use of Numba beyond its documentation, in one place; they compile without it too.

Documented are `jit` with its options (also `no_cfunc_wrapper`, `inline` and `pipeline_class`),
what `numba.extending` has, and how the compiler is customized: `CompilerBase`,
`DefaultPassBuilder`, passes, what a pass finds in its state, `register_pass`. All else is named
here and was seen to work with the releases in `TESTED`. To compile the README's query takes 14 s of
the processor with all of it, and 31 s with none; each by itself saves what is told.

- Linked kernels, 15 s. `JITCodeLibrary` with what it links and serializes, `NativeLowering` with
  the flags `no_compile` and `no_cpython_wrapper`, the result's `_replace`, `insert_user_function`,
  and `_dynfunc.make_function` for what Numba knows code by: a library that is neither optimized nor
  made machine code by itself. `passes` of a pass manager, to put it in.
- What operators make of numbers, asked once, 2 s: the typing context's `resolve_function_type` and
  `typing_key`.
- Names of one type each, 1 s: the flag `enable_ssa`.
- Borrowing: the option `_nrt`, without which all references to arrays are counted, and the search
  for matches takes four to ten times as long.
- Checked numbers of quantitative queries: how compiled code raises (`call_conv`), and the
  definitions of a function whose statements were changed. Without, these queries run in Python.
- The cache, 14 s in each process but the first: a dispatcher's `_cache`, which it asks for code
  before it compiles and gives it to after; `_reduce` and `_rebuild` of what was compiled,
  `serialize.dumps`, `has_dynamic_globals`, what a library's module declares, `rtsys.initialize` and
  `refresh` of a target, for what code refers to. In the keys of what is kept, `_compiler` of a
  dispatcher, and `cpu_target` with `magic_tuple`, the processor's features.

`compile_extra` of `CompilerBase` is wrapped for clearer errors and fewer garbage collections.
What intrinsics are given, Numba's documentation shows by examples alone (`cast`, `get_value_type`,
`get_function`, `make_array`, `get_abi_sizeof`): there is no other way to write one.

Nothing but `means` imports this module, and no other of this package uses such a name.
"""

from __future__ import annotations

import io
import operator
import pickle
from collections.abc import Sequence
from typing import Any

from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba import _dynfunc, types
from numba.core import serialize
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompileResult
from numba.core.compiler_machinery import register_pass
from numba.core.ir_utils import build_definitions
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.typed_passes import NativeLowering, NopythonTypeInference

TESTED = ("0.68",)  # releases of Numba
KIND = "linked"  # what is kept is the code that callers link
OPERATORS = frozenset(
    [bool, *(value for name, value in vars(operator).items() if name in operator.__all__)]
)
PLAIN = types.Number, types.Boolean, types.NoneType, types.CPointer
KNOWN: dict[Any, Any] = {}  # operator and types -> signature


# --- linked kernels -------------------------------------------------------------------------------


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel with those that it calls, for others to link.

    Numba makes each function that it compiles ready to be called by itself: it optimizes its
    module, turns it into machine code, and does so again for two wrappers, through which Python and
    C may call it. For a function that nothing but compiled code calls, none of this is ever used:
    its callers copy it into their own module, which is optimized as a whole.
    """

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
        entry = _entry(result.fndesc, result.env, library)
        state.targetctx.insert_user_function(entry, result.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = result._replace(cfunc=entry)
        return True


def _entry(descriptor: Any, environment: Any, library: LinkedLibrary) -> Any:
    """Return what Numba knows a kernel's code by; it cannot be called."""
    name = descriptor.qualname.split(".")[-1]
    module = descriptor.lookup_module()
    about = f"code of {descriptor.qualname}, for its callers"
    return _dynfunc.make_function(module, name, about, 0, environment, (library,))


def _rebuilt(target: Any, parts: tuple[Any, ...]) -> CompileResult:
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


# --- types ----------------------------------------------------------------------------------------


class Remembering:
    """Numba's typing context, with a memory for operators on numbers.

    For each operator in each function Numba goes through all that the operator may mean, anew: half
    a millisecond for a sum of two numbers, and most of the time of working out types. What it finds
    for numbers, and for words behind a pointer, is the same every time.
    """

    __slots__ = ("_context",)

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, given: Any, by_name: Any) -> Any:
        """Return the signature that a function has for types of arguments."""
        if by_name or getattr(function, "typing_key", None) not in OPERATORS:
            return self._context.resolve_function_type(function, given, by_name)
        if not all(isinstance(types.unliteral(kind), PLAIN) for kind in given):
            return self._context.resolve_function_type(function, given, by_name)
        key = function, tuple(given)
        resolved = KNOWN.get(key)
        if resolved is None:
            resolved = self._context.resolve_function_type(function, given, by_name)
            if resolved is not None:
                KNOWN[key] = resolved
        return resolved


@register_pass(mutates_CFG=True, analysis_only=False)
class RememberingInference(NopythonTypeInference):  # type: ignore[misc]
    """Numba's pass over a function's types, in that context."""

    _name = "elsinore_remembering_inference"

    def run_pass(self, state: Any) -> bool:
        """Work out the types; return True, as that is what all do."""
        context = state.typingctx
        state.typingctx = Remembering(context)
        try:
            super().run_pass(state)
        finally:
            state.typingctx = context
        return True


def give_one_type(state: Any) -> None:
    """Have each name of a function be of one type; before its passes are chosen."""
    state.flags.enable_ssa = False


def quicken(passes: Any, *, linked: bool) -> None:
    """Put the passes above in the place of Numba's; linked: what is compiled is for callers."""
    instead: dict[type, type] = {NopythonTypeInference: RememberingInference}
    if linked:
        instead[NativeLowering] = LinkedLowering
    passes.passes = [(instead.get(each, each), description) for each, description in passes.passes]


# --- borrowing ------------------------------------------------------------------------------------


def counting(borrows: bool) -> dict[str, Any]:
    """Return the options of a kernel that counts references to arrays, or does not.

    Told either way: a kernel that does not tell does as the one that first calls it.
    """
    return {"_nrt": not borrows}


# --- checked numbers ------------------------------------------------------------------------------


def write_error(context: Any, builder: Any, kind: type[Exception], text: str) -> None:
    """Write that compiled code raises an error."""
    context.call_conv.return_user_exc(builder, kind, (text,))


def define_anew(function: Any) -> None:
    """Find out anew what the names of a function stand for, whose statements were changed."""
    function._definitions = build_definitions(function.blocks)


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
    return _rebuilt(target, parts)


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
