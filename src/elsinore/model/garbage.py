"""Pausing Python's garbage collector while many long-lived objects are created."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MANY = 100_000


@contextmanager
def without_garbage_collection(much: bool = True) -> Iterator[None]:
    """Pause the collector of cycles; also as a decorator, `@without_garbage_collection()`.

    The objects that parsing, planning and compiling create are long-lived and have no cycles:
    scanning them repeatedly takes up to half of the time for thousands of queries. After the
    creation of MANY objects, all are moved to the oldest generation, which saves three more scans.
    Without `much` work, the collector is not paused.

    >>> with without_garbage_collection():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    is_enabled = much and gc.isenabled()
    if is_enabled:
        gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            if gc.get_count()[0] > MANY and gc.get_freeze_count() == 0:  # none frozen elsewhere
                gc.freeze()
                gc.unfreeze()
            gc.enable()
