"""The one decorator that compiles: what the compiler is told stands here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeGuard, TypeVar, overload

from numba import njit
from numba.extending import is_jitted

from elsinore.kernels.cache import KernelCache
from elsinore.kernels.content import BORROWS, PACKAGE, RARE
from elsinore.kernels.linked import KernelCompiler, LinkedCompiler, LinkedDispatcher

P = ParamSpec("P")
R = TypeVar("R")

COMPILE_VARIABLE = "ELSINORE_COMPILE"  # "0": kernels run as plain Python, for debugging, coverage


@overload
def kernel(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def kernel(
    *, inline: bool = False, borrows: bool = False, linked: bool = False, rare: bool = False
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def kernel(
    function: Callable[P, R] | None = None,
    /,
    *,
    inline: bool = False,
    borrows: bool = False,
    linked: bool = False,
    rare: bool = False,
) -> Callable[P, R] | Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function on its first call for each signature; what was compiled is kept.

    A kernel takes numbers, arrays, records and tuples of them, calls kernels, and lets other
    threads run meanwhile. Kernels it calls are named by themselves (`from ... import add`, not
    `module.add`), for `uncompiled` to find. Where numbers are Python's for the type checker and the
    machine's for the compiler, a file of kernels begins with the line
    `# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"`.

    inline: copy the body into its callers before types are worked out, as the compiler's
    back end may do by itself for small functions. It makes every caller dearer to compile: ask for
    it where a measurement does.

    borrows: count no references to arrays. Counting takes a locked instruction for each array of
    each call, most of the time of a kernel that calls others for each event. A kernel that borrows
    makes no arrays and keeps no slices; its arrays are kept alive by whoever calls from Python.

    linked: nobody but kernels calls it, so it becomes machine code as a part of these alone (see
    `linked`), and compiles in half the time. Called from Python it runs as plain Python.

    rare: a linked kernel that is called seldom: its code is small, and no copy of it stands in its
    callers. Loops that copy a few words are else most of the machine code there is to make.

    With ELSINORE_COMPILE=0 in the environment nothing is compiled.

    >>> import numpy as np
    >>> @kernel
    ... def total(numbers):
    ...     result = 0
    ...     for number in numbers:
    ...         result += number
    ...     return result
    >>> total(np.arange(5))
    10
    """

    def declared(body: Callable[P, R]) -> Callable[P, R]:
        if rare:
            setattr(body, RARE, True)
        return compiled(body, inline=inline, borrows=borrows, linked=linked)

    return declared if function is None else declared(function)


def compiled(
    body: Callable[P, R],
    *,
    inline: bool = False,
    borrows: bool = False,
    linked: bool = False,
    pipeline: type | None = None,
) -> Callable[P, R]:
    """Return a function compiled as `kernel` does, by the compiler's passes of a `pipeline`.

    Those of a `linked` kernel include `LINKED`.
    """
    if os.environ.get(COMPILE_VARIABLE) == "0":
        return body
    # nothing of C calls a kernel: what would let it need not be compiled
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    if inline:
        options["inline"] = "always"
    if borrows:
        setattr(body, BORROWS, True)
    dispatcher: Any
    if linked:
        told = {"nopython": True, "boundscheck": None, **options}
        dispatcher = LinkedDispatcher(body, {}, told, pipeline or LinkedCompiler)
    else:
        dispatcher = njit(pipeline_class=pipeline or KernelCompiler, **options)(body)
    if _is_kept(body):
        dispatcher._cache = KernelCache(dispatcher)  # as `enable_caching` does with Numba's own
    python: Callable[P, R] = dispatcher
    return python


def is_kernel(value: object) -> TypeGuard[Callable[..., Any]]:
    """Return whether a value is a compiled function.

    >>> is_kernel(kernel(lambda number: number + 1)), is_kernel(len)
    (True, False)
    """
    return bool(is_jitted(value))


def _is_kept(body: Callable[..., Any]) -> bool:
    """Return whether what is compiled is kept: what stands in a file of this package."""
    named = not body.__code__.co_filename.startswith("<")
    return named and (body.__module__ or "").partition(".")[0] == PACKAGE
