"""Freed memory that serves again."""

from __future__ import annotations

import numpy as np

KEPT = 2**24  # bytes: what a thread makes of a stretch of rows takes a quarter of it


def keep_freed() -> None:
    """Have the C library keep up to 2 * KEPT bytes that are freed, for what is next.

    Fresh memory costs as much as what is put into it. glibc gives freed memory back to the system
    from twice the size of the largest array on that it ever did so with, up to 32 MB (mallopt(3),
    M_MMAP_THRESHOLD): here is one, never written to. Elsewhere, or where a user says how much it
    keeps, nothing changes.
    """
    np.empty(KEPT, dtype=np.uint8)
