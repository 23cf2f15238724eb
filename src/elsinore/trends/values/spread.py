"""Variances from sums: of deviations from a shift, of their squares, and the number of values.

Totals of one group may come with different shifts, from different tasks or keys. They are brought
to one before they are added up: with d = shift - new shift, n values, deviations S and squares Q,

    S' = S + d*n        Q' = Q + 2*d*S + d**2*n

The new shift is that of the total with the most values, near which the group's mean then lies, or
the variance is large beside what rounding leaves (Chan, Golub, LeVeque: Algorithms for computing
the sample variance, 1983).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from elsinore.arrow import to_arrow, to_numpy
from elsinore.numeric import LIMB_BITS
from elsinore.numeric.arrays import added, scaled
from elsinore.numeric.exact import Number
from elsinore.plan import TrendUnit
from elsinore.plan.aggregates import Outcome, Spread
from elsinore.plan.epochs import turn_of
from elsinore.trends.values import Codes, Doubles, Ints

Extended = tuple[Doubles, Codes]  # mantissas and exponents, see `elsinore.numeric`
_ROOT_BITS = 2**7  # so many bits of a root are worked out before it is rounded


def with_one_shift(unit: TrendUnit, totals: pa.Table, starts: Ints) -> pa.Table:
    """Return totals whose rows of a run, from starts[r] to starts[r + 1], have the same shifts."""
    columns = {name: to_numpy(totals.column(name)) for name in totals.column_names}
    queries = columns["query"]
    run = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    for number, squared in enumerate(unit.squared):
        shift = columns[f"shift{number}"]
        if (shift == shift[starts[:-1]][run]).all():
            continue
        turns = turn_of(squared.window, columns["window"])
        spreads = {
            query: [
                part
                for part in unit.members[query].aggregation.spreads
                if part.attribute == squared.attribute and part.type in squared.types
            ]
            for query in np.unique(queries).tolist()
            if unit.members[query].query.window == squared.window
        }
        weights = np.full(len(shift), -np.inf)
        for query, several in spreads.items():
            for present in {part.fields[-1] for part in several}:
                count = columns[f"cell{present}"], columns[f"power{present}"]
                with np.errstate(divide="ignore", invalid="ignore"):  # of other queries: a sum
                    size = np.log2(count[0]) + LIMB_BITS * count[1].astype(np.float64)
                weights = np.where(queries == query, np.maximum(weights, size), weights)
        heaviest = np.lexsort((weights, run))[starts[1:] - 1]
        target = shift[heaviest][run]
        for query, several in spreads.items():
            moving = (queries == query) & (shift != target)
            for part in several:
                rows = np.flatnonzero(moving & (turns == part.turn))
                _move(columns, part.fields, rows, (shift - target)[rows])
        columns[f"shift{number}"] = target
    return pa.table([to_arrow(columns[name]) for name in totals.column_names], totals.schema)


def _move(
    columns: dict[str, NDArray[Any]], fields: tuple[int, int, int], rows: Ints, by: Doubles
) -> None:
    """Take some rows' deviations from a shift that is less by so much."""
    sums = [(columns[f"cell{field}"][rows], columns[f"power{field}"][rows]) for field in fields]
    for field, moved in zip(fields, moved_by(by, *sums), strict=False):
        for name, values in zip((f"cell{field}", f"power{field}"), moved, strict=True):
            columns[name] = columns[name].copy()
            columns[name][rows] = values


def moved_by(
    by: Doubles, squares: Extended, deviations: Extended, present: Extended
) -> tuple[Extended, Extended]:
    """Return the sums of squares and of deviations from a shift that is less by so much.

    >>> power = np.zeros(1, dtype=np.int32)
    >>> sums = [(np.array([number]), power) for number in (5.0, 3.0, 2.0)]  # of values 1 and 2
    >>> [cells.tolist() for cells, _ in moved_by(np.array([10.0]), *sums)]  # of 11 and 12
    [[265.0], [23.0]]
    """
    moved = added(*deviations, *scaled(*present, by))
    twice = scaled(*added(*deviations, *moved), by)  # d*(S + S') is 2*d*S + d**2*n
    return added(*squares, *twice), moved


def from_means(unit: TrendUnit, query: int, sums: list[Number]) -> Iterator[tuple[int, float]]:
    """Take exact sums of deviations from 0 as those from values' means, in the sums of all turns.

    Yields places in `unit.squared` and these means: that of most values, where there are several.
    """
    member = unit.members[query]
    several: dict[int, list[Spread]] = {}
    for part in member.aggregation.spreads:
        place = unit.place(part.attribute, part.type, member.query.window)
        several.setdefault(place, []).append(part)
    for place, parts in several.items():
        first = [part for part in parts if part.turn == 0]
        most = max(first, key=lambda part: sums[part.fields[2]])
        _, total, count = (sums[field] for field in most.fields)
        shift = float(Fraction(total) / Fraction(count)) if count else 0.0
        by = Fraction(shift)
        moved = {}
        for part in first:
            squares, deviations, present = (sums[field] for field in part.fields)
            from_it = deviations - by * present
            moved[part.fields[2]] = squares - by * (deviations + from_it), from_it
        for part in parts:
            sums[part.fields[0]], sums[part.fields[1]] = moved[part.fields[2]]
        yield place, shift


def spread(outcome: Outcome, squares: Extended, deviations: Extended, count: Extended) -> pa.Array:
    """Return variances, or their roots, as doubles; null for too few values.

    >>> power = np.zeros(2, dtype=np.int32)
    >>> numbers = [(np.array(sums), power) for sums in ([2.0, 1.0], [0.0, 1.0], [2.0, 1.0])]
    >>> spread(Outcome.VARIANCE, *numbers).to_pylist()
    [2.0, None]
    """
    values, powers = count
    less = np.where(powers == 0, values - 1.0, values) if outcome.of_sample else values
    nothing = (values == 0.0) | (less == 0.0)
    # (n*Q - S**2) / (n*n or n*(n - 1)): what is exact stays so, and equal values have none
    over_power = powers.astype(np.int64) + squares[1]
    under_power = 2 * deviations[1].astype(np.int64)
    top = np.maximum(over_power, under_power)
    with np.errstate(all="ignore"):
        over = _raised(values * squares[0], LIMB_BITS, over_power - top)
        over -= _raised(deviations[0] ** 2, LIMB_BITS, under_power - top)
        values_spread = np.maximum(over, 0.0) / (values * less)
        power = top - 2 * powers.astype(np.int64)
        if outcome.is_root:
            values_spread = _raised(np.sqrt(values_spread), LIMB_BITS // 2, power)
        else:
            values_spread = _raised(values_spread, LIMB_BITS, power)
    return to_arrow(values_spread, pa.float64(), mask=nothing)


def _raised(numbers: Doubles, bits: int, powers: Ints) -> Doubles:
    """Return numbers times 2**(bits * power); most often all powers are 0."""
    return np.asarray(np.ldexp(numbers, bits * powers)) if powers.any() else numbers


def exact_spread(outcome: Outcome, squares: Number, deviations: Number, count: int) -> float | None:
    """Return a variance, or its root, rounded once; None for too few values.

    >>> exact_spread(Outcome.STDDEV, 50, 10, 3), exact_spread(Outcome.STDDEV, 1, 1, 1)
    (2.8867513459481287, None)
    """
    under = count * (count - 1 if outcome.of_sample else count)
    if under == 0:
        return None
    variance = Fraction(count * squares - deviations * deviations, under)
    try:
        return _root(variance) if outcome.is_root else float(variance)
    except OverflowError:
        return math.inf


def _root(number: Fraction) -> float:
    """Return the square root; a whole number of enough bits is cut off first."""
    bits = number.numerator.bit_length() - number.denominator.bit_length()
    up = _ROOT_BITS - bits // 2
    scale = Fraction(4) ** up
    whole = number * scale
    root = math.isqrt(whole.numerator // whole.denominator)
    inexact = root * root != whole  # a last bit that says so rounds it the right way
    return float(Fraction(2 * root + inexact, 2) / Fraction(2) ** up)
