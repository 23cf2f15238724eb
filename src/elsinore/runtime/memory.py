"""Reusing freed memory instead of returning it to the system."""

from __future__ import annotations

import numpy as np

RETAINED_BYTES = 2**24  # four times what a thread allocates for a range of rows


def retain_freed_memory() -> None:
    """Make the C library retain up to 2 * RETAINED_BYTES freed bytes for later allocations.

    Fresh memory takes as long as the computation that fills it. glibc returns freed memory to the
    system above twice the size of the largest mapped array that was freed, up to 32 MB (mallopt(3),
    M_MMAP_THRESHOLD): so one such array is allocated and freed here, never written to. With other C
    libraries, or if the user has set the threshold, nothing changes.
    """
    np.empty(RETAINED_BYTES, dtype=np.uint8)
