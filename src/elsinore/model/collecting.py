"""Making many objects that stay: Python's garbage collector waits meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting(much: bool = True) -> Iterator[None]:
    """Let the collector of cycles wait; also as a decorator, `@without_collecting()`.

    What parsing, planning and compiling make is kept, and has no cycles: to look through all of it
    again and again, as it grows, is up to half of the work on thousands of queries. Where there is
    not `much` to make, nothing waits.

    >>> with without_collecting():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = much and gc.isenabled()
    if was_enabled:
        gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
