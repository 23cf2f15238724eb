# mypy: disable-error-code="no-any-return, arg-type, assignment, return-value"
"""Giving out totals: rows of closed windows leave the store in the form that others read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elsinore.numeric import LIMB_BITS, THRESHOLD
from elsinore.trends.core.arrays import Codes, Doubles, Ints
from elsinore.trends.core.pairs import LIMBS
from elsinore.trends.core.totals import rebuild_table
from elsinore.trends.core.wide import wide_kernel
from elsinore.trends.core.window_times import end_of

DOWN, UP = 2.0**-LIMB_BITS, 2.0**LIMB_BITS
LOW = THRESHOLD * DOWN


@wide_kernel(linked=True)
def take_totals(
    header: Any,
    ints: Ints,
    doubles: Doubles,
    until: int,
    group: int,
    wholes: Ints,
    numbers: Doubles,
    codes: Codes,
    begin: int,
) -> int:
    """Take rows of windows out that end by a time; return how many there are.

    Those of a group stay. `wholes` is filled with the windows and each of the extremes, `numbers`
    with the cells, `codes` with the queries, groups and the cells' powers: one column after
    another, each from `begin` on, and with room for all rows behind it. Numbers are the normal ones
    of `elsinore.numeric`.
    """
    fields, outliers = header.field, header.outlier
    room = len(wholes) // (1 + outliers)
    place, kept = begin, 0
    for row in range(header.totals):
        query, of_group = ints[header.total_query + row], ints[header.total_group + row]
        window = ints[header.total_window + row]
        to = header.total_cells + kept * fields
        cells, powers = header.total_cells + row * fields, header.total_powers + row * fields
        extremes = header.total_extremes + row * outliers
        end = end_of(
            ints[header.within + query],
            ints[header.step + query],
            ints[header.origin + query],
            window,
        )
        if end <= until and of_group != group:
            codes[place], codes[room + place], wholes[place] = query, of_group, window
            for field in range(fields):
                cell, power = doubles[cells + field], doubles[powers + field] * LIMBS
                size = abs(cell)
                if THRESHOLD <= size < math.inf:
                    cell, power = cell * DOWN, power + 1.0
                elif power > 0.0 and size < LOW:
                    cell, power = cell * UP, power - 1.0
                numbers[field * room + place] = cell
                codes[(2 + field) * room + place] = np.int32(power)
            for outlier in range(outliers):
                wholes[(1 + outlier) * room + place] = ints[extremes + outlier]
            place += 1
            continue
        if kept < row:
            ints[header.total_query + kept] = query
            ints[header.total_group + kept] = of_group
            ints[header.total_window + kept] = window
            for field in range(fields):
                doubles[to + field] = doubles[cells + field]
                doubles[header.total_powers + kept * fields + field] = doubles[powers + field]
            for outlier in range(outliers):
                ints[header.total_extremes + kept * outliers + outlier] = ints[extremes + outlier]
        kept += 1
    if kept < header.totals:
        header.totals = kept
        rebuild_table(header, ints)
    return place - begin
