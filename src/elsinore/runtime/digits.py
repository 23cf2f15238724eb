# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Compiled passes that put events' types and digits into their classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from elsinore.kernels import kernel

NULL = 0  # the digit of a number that is none
TINY = 1e-300  # a range of points below which all are in one piece
PIECES = 4  # that the range of a few points is cut into, for each of them
COMPARED = 4  # points of a piece that are compared one by one; among more there is a search first


@kernel
def look_up(table: NDArray[np.int64], places: NDArray[np.int32], out: NDArray[np.int64]) -> None:
    """Put table[places[row]] into out[row]; places may be -1, the table's last."""
    for row in range(len(places)):
        out[row] = table[places[row]]


@kernel
def add_regions(
    codes: NDArray[np.int64],
    numbers: NDArray[np.int32],
    number: int,
    values: NDArray[np.float64],
    points: NDArray[np.float64],
    guide: NDArray[np.int64],
    factor: int,
) -> None:
    """Add `factor` times the region of a value among ascending points, in rows of one number.

    Region 2p + 1 is below point p (and above the one before it), 2p + 2 at it; NULL is NaN's. The
    points end with NaN, which nothing is above. Their range is cut into as many pieces as `guide`
    (which is filled) has places but one: it tells how many points lie in the pieces before each,
    and only those in a value's own piece are compared with it, as many for each value, as nobody
    could guess how many a value needs. Which piece a number is in never falls with the number,
    rounded or not; those beyond the points are in the first and the last.
    """
    count, pieces = len(points) - 1, len(guide) - 1
    least, most = points[0], points[count - 1]
    scale = (pieces - 1) / (most - least) if most - least > TINY else 0.0
    for piece in range(pieces + 1):
        guide[piece] = 0
    for point in range(count):
        guide[int((points[point] - least) * scale) + 1] += 1
    crowded = 0
    for piece in range(pieces):
        crowded = max(crowded, guide[piece + 1])
        guide[piece + 1] += guide[piece]
    more = min(crowded, COMPARED) - 1
    for row in range(len(codes)):
        value = values[row]
        near = value if value > least else least  # noqa: FURB136 - NaN is the least
        near = near if near < most else most  # noqa: FURB136 - as above
        piece = np.uint64(int((near - least) * scale))
        below = guide[piece]
        if crowded > COMPARED:
            end = guide[piece + np.uint64(1)]
            while end - below > COMPARED:
                middle = (below + end) >> 1
                if points[np.uint64(middle)] < value:
                    below = middle
                else:
                    end = middle
        below += np.int64(points[np.uint64(below)] < value)
        for _ in range(more):
            below += np.int64(points[np.uint64(below)] < value)
        region = 2 * below + 1 + np.int64(points[np.uint64(below)] == value)
        region = region if value == value else NULL  # noqa: PLR0124  (what NaN alone is not)
        codes[row] += factor * (region if numbers[row] == number else 0)


@kernel
def add_truth(
    codes: NDArray[np.int64],
    numbers: NDArray[np.int32],
    number: int,
    bits: NDArray[np.uint8],
    first: int,
    factor: int,
) -> None:
    """Add `factor` where a bit is set, in rows of one number; row 0's is bit `first`."""
    for row in range(len(codes)):
        place = first + row
        truth = (bits[place >> 3] >> (place & 7)) & 1
        codes[row] += factor * np.int64(truth) * np.int64(numbers[row] == number)


@kernel
def add_places(
    codes: NDArray[np.int64],
    numbers: NDArray[np.int32],
    number: int,
    places: NDArray[np.int32],
    factor: int,
) -> None:
    """Add `factor` times a digit that was found elsewhere, in rows of one number."""
    for row in range(len(codes)):
        if numbers[row] == number:
            codes[row] += factor * places[row]
