"""Running a compiled kernel, and all kernels that it calls, as plain Python over any numbers."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numba.core.dispatcher import Dispatcher

P = ParamSpec("P")
R = TypeVar("R")


def uncompiled(function: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel as plain Python, with every kernel it calls as plain Python too.

    Other values are returned unchanged. Kernels are found among the global names that a
    kernel reads and the names of enclosing functions. Each call creates a new copy: reuse it.
    """
    python: Callable[P, R] = _as_python(function, {})
    return python


def _as_python(value: Any, copies: dict[int, FunctionType]) -> Any:
    """Return the plain Python value for a value; copies: id of a kernel -> its copy.

    A copy is recorded before the names that it reads are resolved, as kernels may be recursive.
    """
    if not isinstance(value, Dispatcher):
        return value
    if id(value) not in copies:
        source: FunctionType = value.py_func
        names: dict[str, Any] = {"__builtins__": source.__globals__["__builtins__"]}
        cells = tuple(CellType() for _ in source.__closure__ or ())
        copy = FunctionType(
            source.__code__, names, source.__name__, source.__defaults__, cells or None
        )
        copy.__kwdefaults__ = source.__kwdefaults__
        copy.__module__, copy.__doc__ = source.__module__, source.__doc__
        copies[id(value)] = copy
        for name in _global_names(source.__code__) & source.__globals__.keys():
            names[name] = _as_python(source.__globals__[name], copies)
        for cell, around in zip(cells, source.__closure__ or (), strict=True):
            cell.cell_contents = _as_python(around.cell_contents, copies)
    return copies[id(value)]


def _global_names(code: CodeType) -> set[str]:
    """Return the global names (and attributes) that code reads, with the code inside it."""
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*(_global_names(constant) for constant in inner))


def in_python(kernel: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel as plain Python over arrays of the machine's numbers.

    These wrap around and overflow silently, as compiled ones do, and records have their fields as
    attributes, as they have to the compiler.
    """
    python = uncompiled(kernel)

    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return python(*map(_with_attributes, args), **kwargs)

    return call


def _with_attributes(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value if value.dtype.names is None else value.view(np.recarray)
    if isinstance(value, tuple):
        parts = map(_with_attributes, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
