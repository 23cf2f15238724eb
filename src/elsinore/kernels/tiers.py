"""Entering a kernel from Python: as plain Python while that is sooner done than compiling.

Compiling takes seconds, and for a handful of events plain Python takes milliseconds. Which of the
two runs makes no difference to a result: the source is the same and so is the memory it works on,
so that what plain Python began, compiled code goes on with. Each kernel is given half the time that
compiling it takes (or all that loading it takes, where it is kept compiled): what it took so far,
and what the call is expected to take. Who needs more has it compiled, and has lost no more than
that half; what one call alone asks too much is compiled at once. The compiler itself is imported
when all kernels together have needed as long as that takes.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, ParamSpec, TypeVar

import numpy as np

from elsinore.kernels.decorator import COMPILE_VARIABLE, COMPILER, Kernel, is_kernel
from elsinore.kernels.notice import seconds_of
from elsinore.kernels.uncompiled import uncompiled

P = ParamSpec("P")
R = TypeVar("R")

SHARE = 0.5  # of the time that compiling takes, how much may go by without it
IMPORTING = 0.3  # seconds that importing the compiler takes
LOADING, LOADING_BYTE = 0.02, 1.5e-7  # seconds that loading a kernel takes, and each of its bytes
COMPILING = 0.1  # seconds that go by without the least kernel


@dataclass(slots=True)
class Tiers:
    """What this process knows of entering kernels: how long each ran as plain Python, and all."""

    spent: dict[int, float]  # id of a kernel -> seconds of the processor, as measured
    total: float = 0.0  # of all of them
    compiling: int = 0  # how many `compiling` are in force


TIERS = Tiers({})


def enter(kernel: Callable[P, R], seconds: float, /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a kernel, compiled or as plain Python, whichever is sooner done.

    seconds: about how long the call takes as plain Python. Everything is compiled at once under
    `compiling`, and with ELSINORE_COMPILE=1 in the environment.

    >>> from elsinore.kernels import kernel
    >>> @kernel
    ... def total(numbers):
    ...     result = 0
    ...     for number in numbers:
    ...         result += number
    ...     return result
    >>> int(enter(total, 1e-6, np.arange(5)))
    10
    """
    made = getattr(kernel, "made", None)
    if made is not None and made.overloads:  # compiled: asked first, as it is so in most calls
        result: R = made(*args, **kwargs)
        return result
    if not is_kernel(kernel):
        return _as_python(kernel, args, kwargs)
    call: Callable[P, R] = kernel
    if TIERS.compiling or os.environ.get(COMPILE_VARIABLE) == "1" or _pays(kernel, seconds, args):
        return call(*args, **kwargs)
    python: Callable[P, R] = _plain(call)
    begin = time.thread_time()
    try:
        return _as_python(python, args, kwargs)
    finally:
        took = time.thread_time() - begin
        TIERS.spent[id(kernel)] = TIERS.spent.get(id(kernel), 0.0) + took
        TIERS.total += took


def is_compiled(kernel: object) -> bool:
    """Return whether a kernel was compiled or loaded, for whatever types."""
    return is_kernel(kernel) and bool(kernel.overloads)


@contextmanager
def compiling() -> Iterator[None]:
    """Compile what is entered meanwhile, however little is asked of it."""
    TIERS.compiling += 1
    try:
        yield
    finally:
        TIERS.compiling -= 1


def _pays(kernel: Kernel, seconds: float, args: tuple[Any, ...]) -> bool:
    """Return whether it pays to compile or load a kernel, for a call of so many seconds."""
    needed = TIERS.spent.get(id(kernel), 0.0) + seconds
    if needed <= LOADING or (COMPILER not in sys.modules and TIERS.total + seconds <= IMPORTING):
        return False
    from elsinore.kernels.dispatchers import kept_size  # noqa: PLC0415 - the compiler

    kept = kept_size(kernel, args)
    if kept:
        return needed > LOADING + LOADING_BYTE * kept
    return needed > max(COMPILING, SHARE * seconds_of(kernel))


@cache
def _plain(kernel: Callable[P, R]) -> Callable[P, R]:
    return uncompiled(kernel)


def _as_python(function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    """Call a kernel's source; numbers wrap around and overflow silently, as compiled ones do."""
    with np.errstate(all="ignore"):
        return function(*map(_with_attributes, args), **kwargs)


def _with_attributes(value: Any) -> Any:
    """Return an array of records so that fields are attributes, as they are to the compiler."""
    if isinstance(value, np.ndarray):
        return value if value.dtype.names is None else value.view(np.recarray)
    if isinstance(value, tuple):
        parts = map(_with_attributes, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value
