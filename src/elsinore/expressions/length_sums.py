"""Sums and averages of durations over all trends, from sums of ticks.

A duration is an integer number of ticks (`elsinore.expressions.lengths.unit_of`), so a sum is exact
or an error: sums of doubles are exact up to 2^53, with EXACT at any size. Averages are rounded to
the nearest tick, halves away from zero, like the average of one match.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from elsinore.arrow import to_arrow
from elsinore.errors import InputError
from elsinore.expressions import integers, lengths
from elsinore.model.expression import Operator
from elsinore.numeric.exact import Number

Doubles = NDArray[np.float64]

EXACT_SUM = 2.0**53  # ticks; smaller sums of doubles are exact
LIMIT = 2**63  # ticks that do not fit in a duration


def length_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of sums and averages of lengths of time of a type.

    >>> length_type(pa.duration("s"))
    DurationType(duration[us])
    """
    return pa.duration(lengths.unit_of(kind))


def length_sums(name: str, ticks: Doubles, counts: Doubles, kind: pa.DataType) -> pa.Array:
    """Return sums of durations, null for sums of nothing.

    `ticks` are the sums, `counts` the number of durations in each. Raises InputError, with the name
    of the result column, for 2^53 ticks or more.
    """
    is_none = counts == 0.0
    if np.any((np.abs(ticks) >= EXACT_SUM) & ~is_none):
        unit = lengths.unit_of(kind)
        raise InputError(
            f"'{name}': a sum of lengths of time over all trends is 2^53 {unit} or more, which is "
            "no longer exact. Add EXACT to the workload, or sum a column with a number of seconds "
            "as a double."
        )
    whole = np.where(is_none, 0.0, ticks).astype(np.int64)
    return to_arrow(whole, mask=is_none).cast(length_type(kind))


def length_averages(
    ticks: Doubles, counts: Doubles, quotients: Doubles, kind: pa.DataType
) -> pa.Array:
    """Return averages of durations, null for averages of nothing.

    `quotients` are used for sums or counts that are not exact.
    """
    is_exact = (np.abs(ticks) < EXACT_SUM) & (counts < EXACT_SUM)
    sums = to_arrow(np.where(is_exact, ticks, 0.0).astype(np.int64)).cast(length_type(kind))
    divisors = to_arrow(np.where(is_exact, counts, 0.0).astype(np.int64))
    exact = lengths.compute(Operator.DIV, sums, divisors)
    nearest = integers.rounded(to_arrow(np.where(counts == 0.0, np.nan, quotients)))
    return pc.if_else(to_arrow(is_exact), exact, nearest.cast(length_type(kind)))


def exact_length_averages(
    sums: Sequence[Number], counts: Sequence[Number], kind: pa.DataType
) -> pa.Array:
    """Return averages from exact sums of durations, null for averages of nothing.

    >>> exact_length_averages([-5, 0], [2, 0], pa.duration("ns")).cast(pa.int64()).to_pylist()
    [-3, None]
    """
    averages = [
        _nearest(int(dividend), int(divisor)) if divisor else None
        for dividend, divisor in zip(sums, counts, strict=True)
    ]
    return to_arrow(averages, pa.int64()).cast(length_type(kind))


def _nearest(dividend: int, divisor: int) -> int:
    """Return a quotient rounded to an integer, halves away from zero; `divisor` > 0."""
    nearest = (2 * abs(dividend) + divisor) // (2 * divisor)
    return nearest if dividend >= 0 else -nearest
