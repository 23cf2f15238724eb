"""What kernels are passed together; arrays as the type checker sees them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Doubles = NDArray[np.float64]
Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]


class Values(NamedTuple):
    """The attributes of all events [row of the layout, event].

    The first rows of integers are their times, classes and moments.
    """

    doubles: Doubles
    integers: Ints


class Registers(NamedTuple):
    """The registers [row, register]: rows of events (below 0: none), and numbers."""

    held: Ints
    numbers: Doubles


class Rules(NamedTuple):
    """What conditions that are interpreted, and NOT, are looked at with.

    `negatives` [pattern, event] is the latest moment at which a match of a pattern under NOT began
    that ended by the event; the stacks are working room.
    """

    constants: Doubles
    negatives: Ints
    stack: Doubles
    whole_stack: Ints


class Given(NamedTuple):
    """Room for matches that are given out (`elsinore.matches.select` tells the rows of `found`)."""

    found: Ints  # [row, match]
    counted: Doubles  # [register, match]
    paths: Shorts  # [step, row and state]
