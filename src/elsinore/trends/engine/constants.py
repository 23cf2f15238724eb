"""Constants and types that compiled and other modules of the engine share."""

from __future__ import annotations

from typing import NamedTuple

Index = int  # an index of a lane, row, block and so on


class Number(NamedTuple):
    """A mantissa and a power of 2**512 (`elsinore.trends.engine.numbers`)."""

    mantissa: float
    power: float


FOREVER = 2**63 - 1  # after all times; also the rank after all ranks
NEVER = -(2**63)  # before all times
NO_KEY, NO_MOMENT = -1, -1

NO_ADDEND, ONE, VALUE = 0, 1, 2  # addends of a sum; VALUE + 2a: column a, + 1: its presence
NO_RANK, BEGINNING = -1, -2  # ranks of an extreme that are not columns
NO_BLOCK, NO_GUARD = -1, -1  # of a read of window starts; of a read without NOT
UNKNOWN, NO_STEPS = -2, -1  # entries of `Program.known` that are not classes

LIMIT = 2.0**512  # mantissas are below it
DOWN = 2.0**-512

LEAF_ROWS = 16  # rows of events in the smallest piece of memory
LEVELS = 27  # of runs: 2**31 rows of events

FORMS = 128  # most earlier bursts of a sharing set
NO_SHARING, DYNAMIC, ALWAYS = 0, 1, 2  # modes of sharing
