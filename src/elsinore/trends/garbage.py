"""Many objects that stay, made without the collector of garbage looking at all of them again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 500  # queries, from which on it matters


@contextmanager
def collector_resting(queries: int) -> Iterator[None]:
    """Let Python's collector of cyclic garbage rest while the program of so many queries is made.

    A program for thousands of queries is some millions of objects, all of which stay, beside those
    of the plan; each time that their number has grown by a quarter the collector looks at all of
    them. That was half of the time. Threads may rest it at once: it works again in the end.

    >>> with collector_resting(10_000):
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = queries >= MANY and gc.isenabled()
    if was_enabled:
        gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
