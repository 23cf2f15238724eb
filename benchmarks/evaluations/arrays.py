"""Groups of arrays that are passed to kernels of the evaluations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from elsinore.matches.arrays import Doubles, Ints, Shorts
from elsinore.matches.operands import Operands

Bytes = NDArray[np.uint8]


class Values(NamedTuple):
    """The attributes of all events [row of the layout, event].

    The first rows of integers are their times, classes and moments.
    """

    doubles: Doubles
    integers: Ints


class Registers(NamedTuple):
    """The registers [row, register]: rows of events (below 0: none), and numbers."""

    bound_rows: Ints
    numbers: Doubles


class Rules(NamedTuple):
    """What conditions that are interpreted, and NOT, are evaluated with.

    `negatives` [pattern, event] is the latest moment at which a match of a pattern under NOT began
    that ended by the event; the stacks are working room.
    """

    constants: Doubles
    negatives: Ints
    stack: Doubles
    whole_stack: Ints


class Given(NamedTuple):
    """Room for matches (`benchmarks.evaluations.registers` has the rows of `found`)."""

    found: Ints  # [row, match]
    counted: Doubles  # [register, match]
    paths: Shorts  # [step, row and state]


def values_of(operands: Operands) -> Values:
    """Return what kernels read of the rows of a batch."""
    return Values(operands.doubles, operands.wholes)
