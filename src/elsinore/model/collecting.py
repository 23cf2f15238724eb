"""Making many objects that stay: Python's garbage collector waits meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000


@contextmanager
def without_collecting(much: bool = True) -> Iterator[None]:
    """Let the collector of cycles wait; also as a decorator, `@without_collecting()`.

    What parsing, planning and compiling make is kept, and has no cycles: to look through all of it
    again and again, as it grows, is up to half of the work on thousands of queries. Where MANY
    objects were made, all are old ones to the collector afterwards: it would look at them three
    times to find that out. Where there is not `much` to make, nothing waits.

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
            if gc.get_count()[0] > MANY and gc.get_freeze_count() == 0:  # nobody has set any aside
                gc.freeze()
                gc.unfreeze()
            gc.enable()
