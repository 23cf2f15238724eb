"""Sums and averages of lengths of time over all trends, from sums of ticks.

A length of time is a whole number of ticks (`elsinore.expressions.lengths.unit_of`), so a sum is
exact or an error. Sums of doubles are exact up to 2^53; with EXACT they are so at any size.
Averages are rounded to the nearest tick, halves away from zero, as those of one match are.
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

EXACT_SUM = 2.0**53  # ticks below which sums of doubles are exact
LIMIT = 2**63  # ticks that do not fit in a length of time


def length_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of sums and averages of lengths of time of a type.

    >>> length_type(pa.duration("s"))
    DurationType(duration[us])
    """
    return pa.duration(lengths.unit_of(kind))


def length_sums(name: str, ticks: Doubles, counts: Doubles, kind: pa.DataType) -> pa.Array:
    """Return sums of lengths of time, null where no length was added.

    `ticks` are the sums, `counts` how many lengths each is of. Raises InputError for 2^53 ticks or
    more, with the name of the result column.
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
    """Return averages of lengths of time, null where there is no length.

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
    """Return the averages of exact sums of lengths of time, null where there is no length.

    >>> exact_length_averages([-5, 0], [2, 0], pa.duration("ns")).cast(pa.int64()).to_pylist()
    [-3, None]
    """
    averages = [
        _nearest(int(over), int(under)) if under else None
        for over, under in zip(sums, counts, strict=True)
    ]
    return to_arrow(averages, pa.int64()).cast(length_type(kind))


def _nearest(over: int, under: int) -> int:
    """Return a quotient as the nearest whole number, halves away from zero; `under` > 0."""
    nearest = (2 * abs(over) + under) // (2 * under)
    return nearest if over >= 0 else -nearest
