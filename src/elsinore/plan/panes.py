"""Panes: stretches of time that no window's edge cuts (HAMLET, Section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from elsinore.model.window import Window


def pane_length(windows: Iterable[Window | None]) -> int | None:
    """Return the length of a pane: the greatest common divisor of all WITHIN and SLIDE.

    Queries without WITHIN (None) have one window, which cuts nothing. None where all are such.

    >>> pane_length([Window(10, 5), Window(15, 5)])
    5
    >>> pane_length([None]) is None
    True
    """
    found = 0
    for window in windows:
        if window is not None:
            found = math.gcd(found, window.pane)
    return found or None
