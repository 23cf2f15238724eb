"""Compiled passes that compute events' classes as mixed-radix numbers of predicates' digits."""

from __future__ import annotations

import cython

TINY = cython.declare(cython.double, 1e-300)  # a range of points below which all are in one piece
PIECES = 4  # into which the range of a few points is cut, for each of them
# Points of a piece that are compared one by one; if there are more, a search comes first.
COMPARED = cython.declare(cython.longlong, 4)


def look_up(
    table: cython.const_longlong[::1], places: cython.const_int[::1], out: cython.longlong[::1]
) -> None:
    """Put table[places[row]] into out[row]; places may be -1, the table's last."""
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    size: cython.Py_ssize_t = table.shape[0]
    with cython.nogil:
        for row in range(places.shape[0]):
            place = places[row]
            out[row] = table[place + ((place >> 31) & size)]  # size - 1 for -1, without a branch


def add_regions(
    codes: cython.longlong[::1],
    numbers: cython.const_int[::1],
    number: cython.int,
    values: cython.const_double[::1],
    points: cython.const_double[::1],
    guide: cython.longlong[::1],
    factor: cython.longlong,
) -> None:
    """Add `factor` times the region of a value among ascending points, in rows of one number.

    Region 2p + 1 is below point p (and above point p - 1), 2p + 2 is at point p, 0 is for NaN. The
    points end with NaN. Their range is divided into len(guide) - 1 pieces; `guide` is filled with
    the number of points before each piece. A value is compared only with the points of its piece,
    with the same number of points for each value, which avoids unpredictable branches. The piece of
    a number increases monotonically with the number; numbers outside of the range of points are in
    the first or the last piece.
    """
    with cython.nogil:
        most_points: cython.longlong = _count_points(points, guide)
        _add_regions(codes, numbers, number, values, points, guide, factor, most_points)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def _scale(points: cython.const_double[::1], guide: cython.const_longlong[::1]) -> cython.double:
    """Return the number of pieces per unit of a value."""
    width: cython.double = points[points.shape[0] - 2] - points[0]
    return (guide.shape[0] - 2) / width if width > TINY else 0.0


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _count_points(points: cython.const_double[::1], guide: cython.longlong[::1]) -> cython.longlong:
    """Fill `guide`; return the greatest number of points in a piece."""
    scale: cython.double = _scale(points, guide)
    most_points: cython.longlong = 0
    piece: cython.Py_ssize_t
    point: cython.Py_ssize_t
    for piece in range(guide.shape[0]):
        guide[piece] = 0
    for point in range(points.shape[0] - 1):
        guide[cython.cast(cython.longlong, (points[point] - points[0]) * scale) + 1] += 1
    for piece in range(guide.shape[0] - 1):
        most_points = max(most_points, guide[piece + 1])
        guide[piece + 1] += guide[piece]
    return most_points


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def _add_regions(
    codes: cython.longlong[::1],
    numbers: cython.const_int[::1],
    number: cython.int,
    values: cython.const_double[::1],
    points: cython.const_double[::1],
    guide: cython.const_longlong[::1],
    factor: cython.longlong,
    most_points: cython.longlong,
) -> cython.void:
    """Do what `add_regions` does; `guide` is filled; most_points: the maximum of a piece."""
    least: cython.double = points[0]
    highest: cython.double = points[points.shape[0] - 2]
    scale: cython.double = _scale(points, guide)
    steps: cython.longlong = min(most_points, COMPARED) - 1
    row: cython.Py_ssize_t
    for row in range(codes.shape[0]):
        value: cython.double = values[row]
        near: cython.double = value if value > least else least  # noqa: FURB136 - NaN is the least
        near = near if near < highest else highest  # noqa: FURB136 - as above
        piece: cython.longlong = cython.cast(cython.longlong, (near - least) * scale)
        points_below: cython.longlong = guide[piece]
        if most_points > COMPARED:
            end: cython.longlong = guide[piece + 1]
            while end - points_below > COMPARED:
                middle: cython.longlong = (points_below + end) >> 1
                if points[middle] < value:
                    points_below = middle
                else:
                    end = middle
        points_below += points[points_below] < value
        for _ in range(steps):
            points_below += points[points_below] < value
        region: cython.longlong = 2 * points_below + 1 + (points[points_below] == value)
        region *= (numbers[row] == number) & (value == value)  # noqa: PLR0124 - 0 for NaN
        codes[row] += factor * region


def add_truth(
    codes: cython.longlong[::1],
    numbers: cython.const_int[::1],
    number: cython.int,
    bits: cython.const_uchar[::1],
    first: cython.Py_ssize_t,
    factor: cython.longlong,
) -> None:
    """Add `factor` where a bit is set, in rows of one number; row 0's is bit `first`."""
    row: cython.Py_ssize_t
    place: cython.Py_ssize_t
    truth: cython.longlong
    with cython.nogil:
        for row in range(codes.shape[0]):
            place = first + row
            truth = (bits[place >> 3] >> (place & 7)) & 1
            codes[row] += factor * truth * (numbers[row] == number)


def add_places(
    codes: cython.longlong[::1],
    numbers: cython.const_int[::1],
    number: cython.int,
    places: cython.const_int[::1],
    factor: cython.longlong,
) -> None:
    """Add `factor` times a digit computed elsewhere, in rows of one number."""
    row: cython.Py_ssize_t
    with cython.nogil:
        for row in range(codes.shape[0]):
            codes[row] += factor * places[row] * (numbers[row] == number)
