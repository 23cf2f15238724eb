"""The one decorator that compiles: what the compiler is told stands here and nowhere else.

The compiler itself is not imported before a kernel is compiled or loaded: that takes longer than
plain Python does for a handful of events.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import cache, update_wrapper
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from typing import Any, ParamSpec, TypeGuard, TypeVar

from elsinore.kernels.source import BORROWS

P = ParamSpec("P")
R = TypeVar("R")

# "0": kernels run as plain Python, for debugging and coverage
COMPILE_VARIABLE = "ELSINORE_COMPILE"
DOCUMENTED = "documented"  # another value: they compile by documented means of Numba alone
COMPILER = "elsinore.kernels.dispatchers"  # the module that imports the compiler
_MAKING = RLock()  # of dispatchers, whichever thread asks


class Kernel:
    """A function that is compiled, or loaded, on its first call for each signature.

    `targetoptions` are the compiler's, `pipeline` the passes it makes, None for those of all.
    What a call calls stands in `__call__`, after the first one the dispatcher itself: a method that
    passes arguments on takes longer than the compiler's own way into a kernel.
    """

    __slots__ = ("__call__", "__dict__", "__weakref__")
    __call__: Callable[..., Any]

    def __init__(
        self,
        function: Any,
        options: Mapping[str, Any],
        pipeline: type | None,
    ) -> None:
        update_wrapper(self, function)
        self.py_func = function
        self.targetoptions = {"nopython": True, "boundscheck": None, **options}
        self.pipeline = pipeline
        self.made: Any = None  # the dispatcher, once it was asked for
        self.__call__ = self._first_call

    def _first_call(self, *args: Any, **kwargs: Any) -> Any:
        return self.dispatcher(*args, **kwargs)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Return the name it is found by; without one, as of users' code, what it is made of."""
        function = self.py_func
        if getattr(sys.modules.get(function.__module__), function.__qualname__, None) is self:
            name: str = function.__qualname__
            return name
        return Kernel, (function, self.targetoptions, self.pipeline)

    def __deepcopy__(self, _memo: object) -> Kernel:
        return self

    @property
    def dispatcher(self) -> Any:
        """Numba's object for it."""
        if self.made is None:
            made_of = import_module(COMPILER).dispatcher_of
            with _MAKING:
                self.made = self.made or made_of(self)
                self.__call__ = self.made
        return self.made

    @property
    def overloads(self) -> Mapping[Any, Any]:
        """What was compiled or loaded, by the types of arguments."""
        return {} if self.made is None else self.made.overloads

    def compile(self, signature: Any) -> Any:
        """Compile it for types of arguments."""
        return self.dispatcher.compile(signature)


def compiled(
    body: Callable[P, R],
    *,
    inline: bool = False,
    borrows: bool = False,
    pipeline: type | None = None,
) -> Callable[P, R]:
    """Return a function compiled on its first call for each signature; other threads may run.

    inline: copy the body into its callers before types are worked out. borrows: count no references
    to arrays: it makes, keeps and returns none, and its caller keeps those that it is given.
    pipeline: the compiler's passes.

    Without Numba, or with ELSINORE_COMPILE=0 in the environment, nothing is compiled.

    >>> import numpy as np
    >>> def total(numbers):
    ...     result = 0
    ...     for number in numbers:
    ...         result += number
    ...     return result
    >>> compiled(total)(np.arange(5))
    10
    """
    if is_off():
        return body
    # a kernel is no value of a kernel, as functions of Numba may be: what that takes is left out
    options: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    if inline:
        options["inline"] = "always"
    if borrows:
        setattr(body, BORROWS, True)
    python: Callable[P, R] = Kernel(body, options, pipeline)
    return python


def is_off() -> bool:
    """Return whether nothing is compiled: everything runs as plain Python."""
    return (
        os.environ.get(COMPILE_VARIABLE) == "0"
        or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
        or not numba_is_installed()
    )


@cache
def numba_is_installed() -> bool:
    """Return whether Numba, which the extra `compiled` installs, can be imported."""
    return find_spec("numba") is not None


def is_kernel(value: object) -> TypeGuard[Kernel]:
    """Return whether a value is a compiled function.

    >>> is_kernel(compiled(lambda number: number + 1)), is_kernel(len)
    (True, False)
    """
    return isinstance(value, Kernel)
