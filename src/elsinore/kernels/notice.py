"""The line on the screen that says that something is being compiled, and how long that takes."""

from __future__ import annotations

import logging
from functools import lru_cache

from elsinore.kernels.decorator import Kernel, is_kernel
from elsinore.kernels.source import global_names

LOG = logging.getLogger("elsinore.kernels")

# What compiling costs a byte of bytecode, callees included, on a core of 2.5 GHz: 0.4 ms where most
# is linked, up to 1.2 ms where little is, the more the more arrays are passed on.
_SECONDS_PER_BYTE = 0.0005
_SILENT_SECONDS = 4.0  # nobody wonders what happens for so long


class Notice:
    """Says what is to come, once; again only where something takes more than twice what was said.

    What was too small to be told counts when it is, so that one line tells of all.

    >>> notice = Notice()
    >>> notice.sentence(2.8), notice.sentence(0.3)
    (None, None)
    >>> notice.sentence(33)
    'Compiling for this processor: about 35 s.'
    >>> notice.sentence(20), notice.sentence(60)
    (None, None)
    >>> notice.sentence(90, "/cache")  # doctest: +NORMALIZE_WHITESPACE
    'Compiling for this processor, once: about 90 s. Later runs reuse the result from
    /cache.'
    """

    __slots__ = ("_small", "_told", "seen")

    def __init__(self) -> None:
        self._told = 0.0  # seconds
        self._small = 0.0  # seconds of what was too small to be told
        self.seen: set[int] = set()  # ids of kernels that were counted, by themselves or as callees

    def sentence(self, seconds: float, folder: str | None = None) -> str | None:
        """Return what to say before something that takes so long; None to be silent.

        folder: where the result goes, None where it is not kept.
        """
        if not self._told:
            seconds = self._small = self._small + seconds
        if seconds < max(_SILENT_SECONDS, 2 * self._told):
            return None
        self._told = seconds
        step = 1 if self._told < 10 else 5
        about = max(step, step * round(self._told / step))
        if folder is None:
            return f"Compiling for this processor: about {about} s."
        return (
            f"Compiling for this processor, once: about {about} s. Later runs reuse the result "
            f"from {folder}."
        )


NOTICE = Notice()  # of this process


def begin_notice(kernel: Kernel, folder: str | None) -> None:
    """Say that a kernel is about to be compiled, where that takes a while and was not said yet.

    What a kernel calls is compiled meanwhile, and counted with it alone.
    """
    if id(kernel) in NOTICE.seen:
        return
    size_of(kernel, NOTICE.seen)
    if sentence := NOTICE.sentence(seconds_of(kernel), folder):
        LOG.warning(sentence)


@lru_cache(maxsize=1024)
def seconds_of(kernel: Kernel) -> float:
    """Return about how long it takes to compile a kernel and all it calls, in seconds.

    >>> from elsinore.kernels import kernel
    >>> seconds_of(kernel(lambda number: number + 1)) < 0.1
    True
    """
    return _SECONDS_PER_BYTE * size_of(kernel, set())


def size_of(kernel: Kernel, seen: set[int]) -> int:
    """Return the bytes of bytecode of a kernel and all it calls, each taken once."""
    if id(kernel) in seen:
        return 0
    seen.add(id(kernel))
    function = kernel.py_func
    size = len(function.__code__.co_code)
    for name in global_names(function.__code__):
        callee = function.__globals__.get(name)
        if is_kernel(callee):
            size += size_of(callee, seen)
    return size
