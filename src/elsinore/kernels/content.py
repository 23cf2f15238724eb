"""What a kernel's machine code is made from, as one short text: the key it is kept under.

Two kernels with one key compile to the same code: their bytecode is the same, so is that of every
kernel they call, and so are the constants and the types that any of them reads, the compiler's
options, the types of the arguments, the compiler and the processor. Where a file lies, when it was
written, comments, docstrings and line numbers do not matter.
"""

from __future__ import annotations

import hashlib
import inspect
import platform
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.extending import is_jitted

from elsinore.kernels.decorator import Kernel, is_kernel
from elsinore.kernels.means import shortcuts
from elsinore.kernels.source import BORROWS, PACKAGE, global_names

FORM = 1  # of what is kept: to be raised where its files, or these keys, take another form
_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.generic)
WRAPPERS = {"no_cfunc_wrapper"}  # options for what stands beside a kernel's code
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")


def content_key(kernel: Kernel, signature: Any) -> str:
    """Return the key of a kernel's machine code for the types of its arguments.

    signature: the types, or Numba's signature with them.
    """
    types = tuple(getattr(signature, "args", signature))
    return _digest([*compiler(), *_of_kernel(kernel, {}), *_of_types(types, {id(kernel): 0})])


def compiler() -> tuple[str, ...]:
    """Return what the same source gives other code with: Python, Numba, its settings, processor."""
    undocumented = shortcuts()
    settings = [f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS]
    return (
        f"form {FORM}",
        platform.python_implementation(),
        platform.python_version(),
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        *settings,
        *(() if undocumented is None else undocumented.processor()),
        _compiler_source(),
    )


def _digest(parts: list[str] | tuple[str, ...]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def _of_kernel(kernel: Any, seen: dict[int, int]) -> Iterator[str]:
    """Yield what a kernel, or a user's function of Numba's, is made from.

    seen: id of each kernel met -> its number. One that was met is told by it: kernels may call one
    another in circles.
    """
    if id(kernel) in seen:
        yield f"kernel {seen[id(kernel)]}"
        return
    seen[id(kernel)] = len(seen)
    function = kernel.py_func
    options = {n: v for n, v in kernel.targetoptions.items() if n not in WRAPPERS}
    yield f"kernel {function.__module__}.{function.__qualname__}"
    yield repr(sorted((name, repr(value)) for name, value in options.items()))
    if getattr(function, BORROWS, False):
        yield BORROWS
    yield from _of_value(_pipeline(kernel), seen)
    yield from _of_function(function, seen)


def _pipeline(kernel: Any) -> type | None:
    if is_kernel(kernel):
        return kernel.pipeline
    undocumented = shortcuts()
    pipeline: type | None = None if undocumented is None else undocumented.pipeline_of(kernel)
    return pipeline


def _of_function(function: Callable[..., Any], seen: dict[int, int]) -> Iterator[str]:
    code = function.__code__
    yield from _of_code(code, function.__doc__)
    yield from _of_value(function.__defaults__, seen)
    yield from _of_value(sorted((function.__kwdefaults__ or {}).items()), seen)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield f"around {name}"
        yield from _of_value(cell.cell_contents, seen)
    for name in sorted(global_names(code)):
        if name in function.__globals__:
            yield f"global {name}"
            yield from _of_value(function.__globals__[name], seen)


def _of_code(code: CodeType, doc: str | None) -> Iterator[str]:
    yield f"code {code.co_name} {code.co_argcount} {code.co_kwonlyargcount} {code.co_flags}"
    yield code.co_code.hex()
    yield code.co_exceptiontable.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant, None)
        elif isinstance(constant, frozenset):  # their order is another in each process
            yield repr(sorted(map(repr, constant)))
        elif not (isinstance(constant, str) and constant == doc):
            yield f"{type(constant).__name__} {constant!r}"


def _of_value(value: Any, seen: dict[int, int]) -> Iterator[str]:
    """Yield what compiled code takes from a value it reads."""
    if is_kernel(value) or is_jitted(value):
        yield from _of_kernel(value, seen)
    elif isinstance(value, ModuleType):
        yield f"module {value.__name__}"
        if _is_ours(value.__name__):
            yield _module_source(value.__name__)
    elif isinstance(value, np.ndarray):
        yield f"array {value.dtype.descr} {value.shape} {value.strides} {value.tobytes().hex()}"
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)} {getattr(value, '_fields', '')}"
        for part in value:
            yield from _of_value(part, seen)
    elif value is None or isinstance(
        value, bool | int | float | complex | str | bytes | np.generic
    ):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, np.dtype):
        yield f"dtype {value.descr}"
    else:  # a class, an intrinsic, a plain function: by name, and where it is ours by its file
        home = getattr(value, "__module__", None) or type(value).__module__
        name = getattr(value, "__qualname__", None) or type(value).__qualname__
        yield f"{type(value).__qualname__} {home}.{name}"
        source = inspect.getmodule(getattr(value, "_defn", value))
        for module in {home, getattr(source, "__name__", home)}:
            if _is_ours(module):
                yield _module_source(module)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


@lru_cache(maxsize=256)
def _module_source(name: str) -> str:
    """Return a digest of a module's text: for what cannot be told by less."""
    module = __import__(name, fromlist=["_"])
    return hashlib.sha256(inspect.getsource(module).encode()).hexdigest()


@lru_cache(maxsize=1)
def _compiler_source() -> str:
    """Return a digest of the module that changes the compiler."""
    return _digest([Path(__file__).with_name("undocumented.py").read_text()])


def _of_types(types: Any, seen: dict[int, int]) -> Iterator[str]:
    """Yield the types of arguments; of named tuples also the names, which their text leaves out."""
    for kind in types:
        if isinstance(kind, numba.types.Dispatcher):
            yield from _of_kernel(getattr(kind.dispatcher, "kernel", kind.dispatcher), seen)
            continue
        yield str(kind)
        if isinstance(kind, numba.types.BaseNamedTuple):
            yield f"{kind.instance_class.__module__}.{kind.instance_class.__qualname__}"
            yield repr(kind.fields)
        if isinstance(kind, numba.types.BaseTuple):
            yield from _of_types(kind.types, seen)
